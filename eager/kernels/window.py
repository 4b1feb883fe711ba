"""Sliding windows over the last dimensions of an array: the ground of convolution and pooling."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..storage import Array


def spread(values: Sequence[int], n: int) -> tuple[int, ...]:
    """`values` for n dimensions: one is repeated."""
    return tuple(values) * n if len(values) == 1 else tuple(values)


def padded(x: Array, low: Sequence[int], high: Sequence[int], fill: float = 0) -> Array:
    """`x` with `low`/`high` cells added before and after each of its last dimensions."""
    if not any(low) and not any(high):
        return x
    n = len(low)
    widths = [(0, 0)] * (x.ndim - n) + list(zip(low, high, strict=True))
    return np.pad(x, widths, constant_values=fill)


def windows(
    x: Array, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Array:
    """A view (*lead, *outputs, *kernel) of x (*lead, *sizes); no copy."""
    n = len(kernel)
    lead, sizes = x.shape[:-n], x.shape[-n:]
    outputs = [
        (size - d * (k - 1) - 1) // s + 1
        for size, k, s, d in zip(sizes, kernel, stride, dilation, strict=True)
    ]
    steps = x.strides[-n:]
    strides = (
        *x.strides[:-n],
        *(step * s for step, s in zip(steps, stride, strict=True)),
        *(step * d for step, d in zip(steps, dilation, strict=True)),
    )
    return as_strided(x, (*lead, *outputs, *kernel), strides, writeable=False)
