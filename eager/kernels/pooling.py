"""Pooling over sliding windows, and the adaptive forms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import int64
from tensorscript.base.errors import OperatorError

from ..storage import Array, compute, wrap
from .window import padded, spread, windows

Kernel = Callable[..., Any]
Ints = Sequence[int]


def _ceil_extra(size: int, k: int, s: int, p: int, d: int) -> int:
    """Cells to add behind so that the last, partial window counts; it must start inside."""
    reach = d * (k - 1) + 1
    outputs = -(-(size + 2 * p - reach) // s) + 1
    if (outputs - 1) * s >= size + p:
        outputs -= 1
    return max(0, (outputs - 1) * s + reach - size - 2 * p)


def _cells(x: Array, k: Ints, s: Ints, p: Ints, d: Ints, ceil: bool, fill: float) -> Array:
    n = len(k)
    for ki, pi in zip(k, p, strict=True):
        if pi < 0:
            raise OperatorError(f"pad must be non-negative, but got pad: {pi}")
        if pi > ki // 2:
            raise OperatorError(
                f"pad should be at most half of effective kernel size, but got pad={pi}, "
                f"kernel_size={ki} and dilation={d[0]}"
            )
    extra = [_ceil_extra(m, ki, si, pi, di) if ceil else 0
             for m, ki, si, pi, di in zip(x.shape[-n:], k, s, p, d, strict=True)]  # fmt: skip
    wide = padded(x, p, [pi + e for pi, e in zip(p, extra, strict=True)], fill)
    steps = zip(wide.shape[-n:], k, s, d, strict=True)
    out = [(m - di * (ki - 1) - 1) // si + 1 for m, ki, si, di in steps]
    if min(out) < 1:
        given, made = ("x".join(map(str, v)) for v in (x.shape[-n - 1 :], [x.shape[-n - 1], *out]))
        raise OperatorError(
            f"Given input size: ({given}). Calculated output size: ({made}). Output size is too "
            "small"
        )
    return windows(wide, k, s, d)


def max_pool(n: int, with_indices: bool) -> Kernel:
    def run(self: Any, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints,
            ceil_mode: bool) -> Any:  # fmt: skip
        x = compute(self)
        k, p, d = spread(kernel, n), spread(padding, n), spread(dilation, n)
        s = spread(stride, n) if stride else k
        low = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
        cells = _cells(x, k, s, p, d, ceil_mode, low)
        inner = tuple(range(-n, 0))
        best = wrap(cells.max(axis=inner), self.dtype)
        if not with_indices:
            return best
        inside = _cells(np.ones(x.shape[-n:], bool), k, s, p, d, ceil_mode, 0)
        flat = _place_of_best(_rows(cells, n), _rows(inside, n))
        return best, wrap(_positions(flat, x.shape[-n:], k, s, p, d), int64)

    return run


def _rows(cells: Array, n: int) -> Array:
    return cells.reshape(*cells.shape[:-n], math.prod(cells.shape[-n:]))


def _place_of_best(cells: Array, inside: Array) -> Array:
    """The first greatest of the cells that are not padding, which may be as great; or the last
    that is no number."""
    hits = cells if inside.all() else (cells == cells.max(-1, keepdims=True)) & inside
    best: Array = hits.argmax(-1)
    if cells.dtype.kind != "f" or not (odd := np.isnan(cells)).any():
        return best
    last: Array = cells.shape[-1] - 1 - odd[..., ::-1].argmax(-1)
    return np.where(odd.any(-1), last, best)


def _positions(flat: Array, sizes: Ints, k: Ints, s: Ints, p: Ints, d: Ints) -> Array:
    """Place of each maximum in the unpadded input, as one number."""
    n = len(k)
    inside = np.unravel_index(flat, tuple(k))
    out = np.zeros(flat.shape, np.int64)
    for axis in range(n):
        shape = [1] * flat.ndim
        shape[flat.ndim - n + axis] = -1
        start = (np.arange(flat.shape[flat.ndim - n + axis]) * s[axis] - p[axis]).reshape(shape)
        out = out * sizes[axis] + start + inside[axis] * d[axis]
    return out


def avg_pool(n: int) -> Kernel:
    def run(self: Any, kernel: Ints, stride: Ints = (), padding: Ints = (0,),
            ceil_mode: bool = False, count_include_pad: bool = True,
            divisor_override: int | None = None) -> Any:  # fmt: skip
        x = compute(self)
        k, p = spread(kernel, n), spread(padding, n)
        s = spread(stride, n) if stride else k
        ones = (1,) * n
        inner = tuple(range(-n, 0))
        total = _cells(x, k, s, p, ones, ceil_mode, 0).sum(axis=inner, dtype=x.dtype)
        if divisor_override == 0:
            raise OperatorError("divisor must be not zero")
        if divisor_override is not None:
            return wrap(total / x.dtype.type(divisor_override), self.dtype)
        counted = np.ones(x.shape[-n:], x.dtype)
        if count_include_pad:
            counted = padded(counted, p, p, 1)
            have: tuple[int, ...] = counted.shape
            reach = [
                max(0, (o - 1) * si + ki - m)
                for o, si, ki, m in zip(total.shape[-n:], s, k, have, strict=True)
            ]
            counts = windows(padded(counted, (0,) * n, reach), k, s, ones)
        else:
            counts = _cells(counted, k, s, p, ones, ceil_mode, 0)
        return wrap(total / counts.sum(axis=inner, dtype=x.dtype), self.dtype)

    return run


def _bins(size: int, outputs: int) -> list[tuple[int, int]]:
    return [(i * size // outputs, -(-(i + 1) * size // outputs)) for i in range(outputs)]


def _output_sizes(sizes: Ints, n: int) -> tuple[int, ...]:
    if len(sizes) not in (1, n):
        raise OperatorError(f"adaptive pooling: output_size must be {n}")
    if any(s is not None and s < 0 for s in sizes):
        raise OperatorError(
            "adaptive pooling: elements of output_size must be greater than or equal to 0 but "
            f"received {list(sizes)}"
        )
    return spread(sizes, n)


def _adaptive(x: Array, sizes: Ints, fn: Callable[..., Any]) -> Array:
    """Reduce one dimension after the other (averages of equal parts compose by dimension)."""
    n = len(sizes)
    for k, outputs in enumerate(sizes):
        axis = x.ndim - n + k
        found = x.shape[axis] if outputs is None else outputs
        if found == x.shape[axis]:
            continue
        if not found:
            x = x.take([], axis)
            continue
        if found and x.shape[axis] % found == 0:
            split = (*x.shape[:axis], found, x.shape[axis] // found, *x.shape[axis + 1 :])
            x = fn(x.reshape(split), axis=axis + 1)
            continue
        parts = [fn(np.take(x, np.arange(a, b), axis), axis=axis)
                 for a, b in _bins(x.shape[axis], found)]  # fmt: skip
        x = np.stack(parts, axis)
    return x


def adaptive_avg(n: int) -> Kernel:
    def run(self: Any, output_size: Ints) -> Any:
        x = compute(self)
        return wrap(_adaptive(x, _output_sizes(output_size, n), np.mean), self.dtype)

    return run


def _last_nan_or_largest(cells: Array) -> Array:
    """The position along the last dimension that a loop keeps which replaces by what is larger or
    NaN."""
    empty = np.isnan(cells)
    last = cells.shape[-1] - 1 - empty[..., ::-1].argmax(-1)
    return np.asarray(np.where(empty.any(-1), last, cells.argmax(-1)))


def adaptive_max(n: int) -> Kernel:
    """Values and their places (as one number over the spatial dimensions)."""

    def run(self: Any, output_size: Ints) -> Any:
        x = compute(self)
        sizes, spatial = _output_sizes(output_size, n), x.shape[-n:]
        best = np.empty((*x.shape[:-n], *sizes), x.dtype)
        places = np.empty(best.shape, np.int64)
        numbers = np.arange(int(np.prod(spatial))).reshape(spatial)
        bins = [_bins(m, o) for m, o in zip(spatial, sizes, strict=True)]
        for at in np.ndindex(*sizes):
            box = tuple(slice(*bins[a][i]) for a, i in enumerate(at))
            inside: Any = (..., *box)
            numbered = numbers[box].reshape(-1)
            cells = x[inside].reshape(*x.shape[:-n], numbered.size)
            pick = _last_nan_or_largest(cells)
            best[(..., *at)] = np.take_along_axis(cells, pick[..., None], -1)[..., 0]
            places[(..., *at)] = numbered[pick]
        return wrap(best, self.dtype), wrap(places, int64)

    return run


KERNELS: dict[str, Kernel] = {
    "aten::max_pool1d": max_pool(1, with_indices=False),
    "aten::max_pool2d": max_pool(2, with_indices=False),
    "aten::max_pool3d": max_pool(3, with_indices=False),
    "aten::max_pool1d_with_indices": max_pool(1, with_indices=True),
    "aten::max_pool2d_with_indices": max_pool(2, with_indices=True),
    "aten::max_pool3d_with_indices": max_pool(3, with_indices=True),
    "aten::avg_pool1d": avg_pool(1),
    "aten::avg_pool2d": avg_pool(2),
    "aten::avg_pool3d": avg_pool(3),
    "aten::adaptive_avg_pool1d": adaptive_avg(1),
    "aten::adaptive_avg_pool2d": adaptive_avg(2),
    "aten::adaptive_avg_pool3d": adaptive_avg(3),
    "aten::adaptive_max_pool1d": adaptive_max(1),
    "aten::adaptive_max_pool2d": adaptive_max(2),
    "aten::adaptive_max_pool3d": adaptive_max(3),
}
