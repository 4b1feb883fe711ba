"""Padding and resampling. Interpolation is separable: one dimension after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.errors import OperatorError
from tensorscript.base.resampling import HAT, KEYS, Filter, antialiased_weights, step

from ..storage import Array, array, compute, make, to_storage, wrap

Kernel = Callable[..., Any]
CUBIC = -0.75
"""Coefficient of the cubic convolution kernel."""


def _widths(pad: Sequence[int], ndim: int) -> list[tuple[int, int]]:
    """PyTorch's (last before, last after, next to last before, ...) by dimension."""
    if len(pad) % 2 or len(pad) > 2 * ndim:
        raise OperatorError("Padding length must be divisible by two and at most twice the number "
                            "of dimensions of the input")  # fmt: skip
    given = [(pad[k], pad[k + 1]) for k in range(0, len(pad), 2)]
    return [(0, 0)] * (ndim - len(given)) + given[::-1]


def constant_pad(self: Any, pad: Sequence[int], number: Any = 0) -> Any:
    """Negative widths crop."""
    a = array(self)
    widths = _widths(pad, a.ndim)
    for n, (low, high) in zip(a.shape, widths, strict=True):
        if n + low + high < 0:
            raise OperatorError(
                f"The input size {n}, plus negative padding {low} and {high} resulted in a negative"
                " output size"
            )
    cell = to_storage(np.asarray(number or 0), self.dtype)
    kept, grow = _cropped(a, widths)
    return make(np.pad(kept, grow, constant_values=cell.item()), self.dtype)


def _cropped(a: Array, widths: list[tuple[int, int]]) -> tuple[Array, list[tuple[int, int]]]:
    """What negative widths leave of `a`, and the widths that remain."""
    inside = tuple(slice(max(0, -b), n - max(0, -e))
                   for n, (b, e) in zip(a.shape, widths, strict=True))  # fmt: skip
    return a[inside], [(max(0, b), max(0, e)) for b, e in widths]


def pad_by(mode: str) -> Kernel:
    """`mode` in NumPy's words: reflect, edge, wrap. Negative widths crop what has been padded."""

    def run(self: Any, padding: Sequence[int]) -> Any:
        a = array(self)
        widths = _widths(padding, a.ndim)
        for d, (n, (low, high)) in enumerate(zip(a.shape, widths, strict=True)):
            if mode == "reflect" and max(low, high) >= n and max(low, high) > 0:
                raise OperatorError(
                    "Padding size should be less than the corresponding input dimension, but got: "
                    f"padding ({low}, {high}) at dimension {d} of input {list(a.shape)}"
                )
        if mode == "wrap":
            a, widths = _cropped(a, widths)
        grow = [(max(0, b), max(0, e)) for b, e in widths]
        wide = np.pad(a, grow, mode=mode)  # type: ignore[call-overload]  # mode is a word
        crop = [(min(0, b), min(0, e)) for b, e in widths]
        return make(np.ascontiguousarray(_cropped(wide, crop)[0]), self.dtype)

    return run


_MODES = {"reflect": pad_by("reflect"), "replicate": pad_by("edge"), "circular": pad_by("wrap")}


def pad(self: Any, widths: Sequence[int], mode: str = "constant", number: Any = None) -> Any:
    if mode == "constant":
        return constant_pad(self, widths, number)
    if mode not in _MODES:
        raise OperatorError(f"Unrecognised padding mode {mode}")
    return _MODES[mode](self, widths)


def _places(size: int, outputs: int, scale: float | None, align: bool) -> Array:
    at = np.arange(outputs, dtype=np.float64)
    each = step(size, outputs, scale, align)
    return at * each if align else (at + 0.5) * each - 0.5


def _linear(x: Array, axis: int, outputs: int, scale: float | None, align: bool) -> Array:
    size = x.shape[axis]
    at = np.maximum(_places(size, outputs, scale, align), 0)
    low = np.minimum(np.floor(at).astype(np.int64), size - 1)
    high = np.minimum(low + 1, size - 1)
    weight = _along((at - low).astype(x.dtype), x.ndim, axis)
    return np.asarray(np.take(x, low, axis) * (1 - weight) + np.take(x, high, axis) * weight)


def _along(weights: Array, ndim: int, axis: int) -> Array:
    shape = [1] * ndim
    shape[axis] = -1
    return weights.reshape(shape)


def _cubic(x: Array, axis: int, outputs: int, scale: float | None, align: bool) -> Array:
    size, a = x.shape[axis], CUBIC
    at = _places(size, outputs, scale, align)
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
        weights = antialiased_weights(filter, x.shape[axis], outputs, scale, align).astype(x.dtype)
        return np.asarray(np.moveaxis(np.moveaxis(x, axis, -1) @ weights.T, -1, axis))

    return run


Axis = Callable[..., Array]


def resample(self: Any, fn: Axis, sizes: Sequence[int], scales: Sequence[float | None],
             align: bool) -> Any:  # fmt: skip
    n = len(sizes)
    x = compute(self)
    if x.ndim != n + 2:
        raise OperatorError(f"It is expected input_size equals to {n + 2}, but got size {x.ndim}")
    if min(sizes) <= 0:
        raise OperatorError(
            f"Input and output sizes should be greater than 0, but got output {list(sizes)}"
        )
    for k in range(n):
        x = fn(x, x.ndim - n + k, sizes[k], scales[k], align)
    return wrap(x, self.dtype)


def _rows(name: str, n: int, fn: Axis, aligned: bool) -> dict[str, Kernel]:
    def plain(self: Any, sizes: Sequence[int], *rest: Any) -> Any:
        align, scales = (rest[0], rest[1:]) if aligned else (False, rest)
        filled = [*scales, *[None] * (n - len(scales))]
        return resample(self, fn, sizes, filled, align)

    def vec(self: Any, sizes: Any, *rest: Any) -> Any:
        align, factors = (rest[0], rest[1]) if aligned else (False, rest[0])
        scales = list(factors) if factors else [None] * n
        if sizes is None:
            shape = array(self).shape[-n:]
            sizes = [int(np.floor(m * s)) for m, s in zip(shape, scales, strict=True)]
        return resample(self, fn, sizes, scales, align)

    return {f"aten::{name}": plain, f"aten::{name}.vec": vec}


KERNELS: dict[str, Kernel] = {
    "aten::pad": pad,
    "aten::constant_pad_nd": constant_pad,
    **{f"aten::reflection_pad{n}d": _MODES["reflect"] for n in (1, 2, 3)},
    **{f"aten::replication_pad{n}d": _MODES["replicate"] for n in (1, 2, 3)},
    **_rows("upsample_nearest1d", 1, _nearest(exact=False), aligned=False),
    **_rows("upsample_nearest2d", 2, _nearest(exact=False), aligned=False),
    **_rows("upsample_nearest3d", 3, _nearest(exact=False), aligned=False),
    **_rows("_upsample_nearest_exact1d", 1, _nearest(exact=True), aligned=False),
    **_rows("_upsample_nearest_exact2d", 2, _nearest(exact=True), aligned=False),
    **_rows("_upsample_nearest_exact3d", 3, _nearest(exact=True), aligned=False),
    **_rows("upsample_linear1d", 1, _linear, aligned=True),
    **_rows("upsample_bilinear2d", 2, _linear, aligned=True),
    **_rows("upsample_trilinear3d", 3, _linear, aligned=True),
    **_rows("upsample_bicubic2d", 2, _cubic, aligned=True),
    **_rows("_upsample_bilinear2d_aa", 2, _smooth(HAT), aligned=True),
    **_rows("_upsample_bicubic2d_aa", 2, _smooth(KEYS), aligned=True),
}
