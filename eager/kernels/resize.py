"""Resampling. Interpolation is separable: one dimension after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tensorscript.base.dtypes import uint8
from tensorscript.base.resampling import (
    CUBIC,
    HAT,
    KEYS,
    LANCZOS,
    Filter,
    antialiased_weights,
    fixed_point,
    interpolated_weights,
    step,
)

from ..storage import Array, array, compute, wrap

Kernel = Callable[..., Any]
_COEFFICIENT = -0.75
"""Of the cubic convolution kernel."""


def _places(x: Array, axis: int, outputs: int, scale: float | None, align: bool) -> Array:
    """Where the outputs lie in the input; in float32, as PyTorch has them, except of float64."""
    at: Array = np.arange(outputs).astype(np.float64 if x.dtype == np.float64 else np.float32)
    each = at.dtype.type(step(x.shape[axis], outputs, scale, align))
    return np.asarray(at * each if align else (at + 0.5) * each - 0.5)  # numbers keep the dtype


def _linear(x: Array, axis: int, outputs: int, scale: float | None, align: bool) -> Array:
    size = x.shape[axis]
    at = np.maximum(_places(x, axis, outputs, scale, align), 0)
    low = np.minimum(np.floor(at).astype(np.int64), size - 1)
    high = np.minimum(low + 1, size - 1)
    weight = _along((at - low).astype(x.dtype), x.ndim, axis)
    return np.asarray(np.take(x, low, axis) * (1 - weight) + np.take(x, high, axis) * weight)


def _along(weights: Array, ndim: int, axis: int) -> Array:
    shape = [1] * ndim
    shape[axis] = -1
    return weights.reshape(shape)


def _cubic(x: Array, axis: int, outputs: int, scale: float | None, align: bool) -> Array:
    size, a = x.shape[axis], _COEFFICIENT
    at = _places(x, axis, outputs, scale, align)
    low = np.floor(at).astype(np.int64)
    t = at - low
    far = [((a * s - 5 * a) * s + 8 * a) * s - 4 * a for s in (t + 1, 2 - t)]
    near = [((a + 2) * s - (a + 3)) * s * s + 1 for s in (t, 1 - t)]
    taps = (far[0], near[0], near[1], far[1])
    out = np.zeros((), x.dtype)
    for k, weights in enumerate(taps):
        index = np.clip(low + k - 1, 0, size - 1)
        out = out + np.take(x, index, axis) * _along(weights.astype(x.dtype), x.ndim, axis)
    return np.asarray(out)


def _nearest(exact: bool) -> Callable[..., Array]:
    def run(x: Array, axis: int, outputs: int, scale: float | None, align: bool) -> Array:
        size = x.shape[axis]
        at = (np.arange(outputs) + 0.5 * exact) * np.float32(step(size, outputs, scale, False))
        return np.asarray(np.take(x, np.minimum(np.floor(at).astype(np.int64), size - 1), axis))

    return run


def _smooth(filter: Filter) -> Callable[..., Array]:
    def run(x: Array, axis: int, outputs: int, scale: float | None, align: bool) -> Array:
        weights = antialiased_weights(filter, x.shape[axis], outputs, scale, align, x.dtype)
        return np.asarray(np.moveaxis(np.moveaxis(x, axis, -1) @ weights.T, -1, axis))

    return run


Axis = Callable[..., Array]
Weights = Callable[..., Array]


def _of_bytes(weigh: Weights) -> Axis:
    """Sums of bytes in fixed point, rounded to bytes again: PyTorch follows Pillow here."""

    def run(x: Array, axis: int, outputs: int, scale: float | None, align: bool) -> Array:
        found = fixed_point(weigh(x.shape[axis], outputs, scale, align))
        total = np.moveaxis(x, axis, -1).astype(np.int64) @ found.weights.T
        rounded = (total + (1 << found.bits >> 1)) >> found.bits
        return np.moveaxis(np.clip(rounded, 0, 255).astype(np.uint8), -1, axis)

    return run


def resample(self: Any, fn: Axis, sizes: Sequence[int], scales: Sequence[float | None],
             align: bool) -> Any:  # fmt: skip
    n = len(sizes)
    x = compute(self)
    for k in reversed(range(n)):
        x = fn(x, x.ndim - n + k, sizes[k], scales[k], align)
    return wrap(x, self.dtype)


def _rows(
    name: str, n: int, fn: Axis, aligned: bool, weigh: Weights | None = None
) -> dict[str, Kernel]:
    """`weigh` gives the weights that bytes are summed with."""
    of_bytes = fn if weigh is None else _of_bytes(weigh)

    def along(self: Any) -> Axis:
        return of_bytes if self.dtype is uint8 else fn

    def plain(self: Any, sizes: Sequence[int], *rest: Any) -> Any:
        align, scales = (rest[0], rest[1:]) if aligned else (False, rest)
        filled = [*scales, *[None] * (n - len(scales))]
        return resample(self, along(self), sizes, filled, align)

    def vec(self: Any, sizes: Any, *rest: Any) -> Any:
        align, factors = (rest[0], rest[1]) if aligned else (False, rest[0])
        scales = list(factors) if factors else [None] * n
        if sizes is None:
            shape = array(self).shape[-n:]
            sizes = [int(np.floor(m * s)) for m, s in zip(shape, scales, strict=True)]
        return resample(self, along(self), sizes, scales, align)

    return {f"aten::{name}": plain, f"aten::{name}.vec": vec}


KERNELS: dict[str, Kernel] = {
    **_rows("upsample_nearest1d", 1, _nearest(exact=False), aligned=False),
    **_rows("upsample_nearest2d", 2, _nearest(exact=False), aligned=False),
    **_rows("upsample_nearest3d", 3, _nearest(exact=False), aligned=False),
    **_rows("_upsample_nearest_exact1d", 1, _nearest(exact=True), aligned=False),
    **_rows("_upsample_nearest_exact2d", 2, _nearest(exact=True), aligned=False),
    **_rows("_upsample_nearest_exact3d", 3, _nearest(exact=True), aligned=False),
    **_rows("upsample_linear1d", 1, _linear, aligned=True),
    **_rows("upsample_bilinear2d", 2, _linear, True, partial(interpolated_weights, HAT)),
    **_rows("upsample_trilinear3d", 3, _linear, aligned=True),
    **_rows("upsample_bicubic2d", 2, _cubic, True, partial(interpolated_weights, CUBIC)),
    **_rows("_upsample_bilinear2d_aa", 2, _smooth(HAT), True, partial(antialiased_weights, HAT)),
    **_rows("_upsample_bicubic2d_aa", 2, _smooth(KEYS), True, partial(antialiased_weights, KEYS)),
    **_rows(
        "_upsample_lanczos2d_aa", 2, _smooth(LANCZOS), True, partial(antialiased_weights, LANCZOS)
    ),
}
