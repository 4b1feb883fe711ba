"""Rows of antialiased resampling (`interpolate(antialias=True)`): two products with matrices of
weights, which are made while compiling.

Shrinking widens the filter by the factor, as in Pillow's `Image.resize`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .builder import Builder, Rows
from .dims import literal
from .elements import compute_dtype
from .resize import target_sizes
from .values import Tensor, Value

Filter = Callable[[np.ndarray], np.ndarray]


def _hat(t: np.ndarray) -> np.ndarray:
    return np.asarray(np.maximum(1 - t, 0))


def _keys(t: np.ndarray) -> np.ndarray:
    """Keys' cubic kernel with a = -1/2."""
    a = -0.5
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((t - 5) * t + 8) * t * a - 4 * a
    return np.where(t < 1, near, np.where(t < 2, far, 0.0))


def _weights(
    filter: Filter, taps: int, size: int, outputs: int, scale: float | None, align: bool
) -> np.ndarray:
    """How much each of `size` cells counts in each of the outputs: (outputs, size)."""
    if align:
        step = (size - 1) / (outputs - 1) if outputs > 1 else 0.0
    else:
        step = 1 / scale if scale else size / outputs
    wide = max(step, 1.0)
    centre = step * (np.arange(outputs) + 0.5)
    low = np.maximum((centre - taps / 2 * wide + 0.5).astype(np.int64), 0)
    high = np.minimum((centre + taps / 2 * wide + 0.5).astype(np.int64), size)
    cells = np.arange(size)
    weights = filter(np.abs((cells - centre[:, None] + 0.5) / wide))
    weights = np.where((cells >= low[:, None]) & (cells < high[:, None]), weights, 0)
    return np.asarray(weights / weights.sum(1, keepdims=True))


def _antialiased(filter: Filter, taps: int) -> Callable[..., Tensor]:
    def row(b: Builder, x: Tensor, size: Value, align: bool, *rest: Value) -> Tensor:
        if x.rank != 4:
            b.error(f"It is expected input_size equals to 4, but got size {x.rank}")
        if not x.dtype.is_floating_point:
            b.cannot("antialiased resampling of integers")
        factors = rest[0] if rest and isinstance(rest[0], list) else None
        sizes, scales = target_sizes(b, x, size, factors, 2)
        if len(rest) == 2:
            scales = list(rest)  # of the height and of the width, where the sizes are given
        wide = compute_dtype(x.dtype)

        def matrix(d: int) -> Tensor:
            old, new = (literal(b, n, "a size of an image") for n in (x.shape[2 + d], sizes[d]))
            found = _weights(filter, taps, old, new, scales[d], bool(align)).astype(wide.numpy)
            b.kept.append(found)
            return b.literal(found, wide)

        columns = b.apply("aten::matmul", matrix(0), b.cast(x, wide))
        turned = b.apply("aten::transpose", matrix(1), 0, 1)
        return b.cast(b.apply("aten::matmul", columns, turned), x.dtype)

    return row


ANTIALIAS: Rows = {
    "aten::_upsample_bilinear2d_aa": _antialiased(_hat, 2),
    "aten::_upsample_bicubic2d_aa": _antialiased(_keys, 4),
}
