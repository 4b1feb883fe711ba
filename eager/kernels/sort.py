"""Sorting, scans and sets. NaN sorts as the greatest, as in PyTorch and NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.dtypes import int64
from tensorscript.base.errors import OperatorError

from ..storage import Array, array, cast, compute, floating, make, sum_dtype, value, wrap
from .elementwise import log_add_exp
from .shapes import normal_dim

Kernel = Callable[..., Any]


def order(x: Array, axis: int, descending: bool) -> Array:
    """Indices that sort `x` along `axis`; equal elements keep their order."""
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    turned = np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
    return np.asarray(x.shape[axis] - 1 - turned)


def sort(self: Any, dim: int = -1, descending: bool = False) -> Any:
    x = value(self)
    if x.ndim == 0:
        return make(array(self).copy(), self.dtype), wrap(np.zeros((), np.int64), int64)
    axis = normal_dim(dim, x.ndim)
    at = order(x, axis, descending)
    return make(np.take_along_axis(array(self), at, axis), self.dtype), wrap(at, int64)


def topk(self: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    x = value(self)
    axis = normal_dim(dim, x.ndim)
    if not 0 <= k <= (x.shape[axis] if x.ndim else 1):
        raise OperatorError("selected index k out of range")
    if x.ndim == 0:
        return sort(self)
    at = np.take(order(x, axis, largest), np.arange(k), axis)
    return make(np.take_along_axis(array(self), at, axis), self.dtype), wrap(at, int64)


_RUNNING = {"f": np.float64, "c": np.complex128}


def scan(fn: Callable[..., Any]) -> Kernel:
    """cumsum and cumprod; of floats the running value is wide, and rounded where it is stored."""

    def run(self: Any, dim: int, dtype: Any = None) -> Any:
        out = dtype or sum_dtype(self.dtype)
        x = cast(self, out)
        axis = normal_dim(dim, x.ndim)
        if not x.ndim:
            return wrap(x, out)
        wide = fn(x, axis=axis, dtype=_RUNNING.get(x.dtype.kind, x.dtype))
        if fn is np.cumsum:
            wide = wide + 0  # sums begin with 0, of which one with -0 is 0
        with np.errstate(over="ignore"):
            return wrap(wide.astype(x.dtype), out)

    return run


def scan_extremum(fn: Any) -> Kernel:
    """cummax and cummin: values, and the last place that reached them."""

    def run(self: Any, dim: int) -> Any:
        x = value(self)
        axis = normal_dim(dim, x.ndim)
        if x.ndim == 0:
            return wrap(x.copy(), self.dtype), wrap(np.zeros((), np.int64), int64)
        best = fn.accumulate(x, axis=axis)
        shape = [1] * x.ndim
        shape[axis] = -1
        here = (x == best) | (np.isnan(x) if x.dtype.kind == "f" else False)
        places = np.where(here, np.arange(x.shape[axis]).reshape(shape), 0)
        return wrap(best, self.dtype), wrap(np.maximum.accumulate(places, axis=axis), int64)

    return run


def logcumsumexp(self: Any, dim: int) -> Any:
    dtype = floating(self.dtype)
    x = cast(self, dtype)
    axis = normal_dim(dim, x.ndim)
    if not x.ndim:
        return wrap(x.copy(), dtype)
    if x.dtype.kind == "c":
        rows = np.moveaxis(x.copy(), axis, 0)
        for k in range(1, rows.shape[0]):
            rows[k] = log_add_exp(rows[k - 1], rows[k])
        return wrap(np.moveaxis(rows, 0, axis), dtype)
    return wrap(np.logaddexp.accumulate(x, axis=axis), dtype)


def diff(self: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours, n times over; of bools, where they differ."""
    if array(self).ndim == 0:
        raise OperatorError("diff expects input to be at least one-dimensional")
    axis = normal_dim(dim, array(self).ndim)
    if n == 0:
        return make(array(self).copy(), self.dtype)
    parts = [compute(p) for p in (prepend, self, append) if p is not None]
    if len({p.ndim for p in parts}) > 1:
        raise OperatorError("diff expects prepend or append to be the same dimension as input")
    for part in parts:
        for at, (n_own, n_in) in enumerate(zip(part.shape, array(self).shape, strict=True)):
            if at != axis and n_own != n_in:
                raise OperatorError(
                    "diff expects the shape of tensor to prepend or append to match that of input "
                    f"except along the differencing dimension; input.size({at}) = {n_in}, but got "
                    f"tensor.size({at}) = {n_own}"
                )
    x = np.concatenate(parts, axis)
    return wrap(np.diff(x, min(n, x.shape[axis]), axis=axis), self.dtype)


def unique(
    self: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Any:
    """Distinct values in order, the place of each input in them, and their counts."""
    x = value(self)
    found, inverse, counts = np.unique(x, return_inverse=True, return_counts=True, equal_nan=False)
    empty = np.zeros(0, np.int64)
    return (
        wrap(found, self.dtype),
        wrap(inverse.reshape(x.shape) if return_inverse else empty, int64),
        wrap(counts if return_counts else empty, int64),
    )


def unique_dim(
    self: Any, dim: int, sorted: bool = True, return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:  # fmt: skip
    x = value(self)
    found, inverse, counts = np.unique(
        x, axis=normal_dim(dim, x.ndim), return_inverse=True, return_counts=True
    )
    return wrap(found, self.dtype), wrap(inverse.reshape(-1), int64), wrap(counts, int64)


def unique_consecutive(
    self: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Runs of equal elements (of equal slices along `dim`) made one."""
    x = value(self)
    rows = (
        x.reshape(-1)
        if dim is None
        else np.ascontiguousarray(np.moveaxis(x, normal_dim(dim, x.ndim), 0))
    )
    new = np.ones(rows.shape[0], bool)
    other = rows[1:] != rows[:-1]
    new[1:] = other.any(axis=tuple(range(1, other.ndim)))
    starts = np.flatnonzero(new)
    none = np.zeros(0, np.int64)
    inverse, counts = np.cumsum(new) - 1, np.diff(np.append(starts, rows.shape[0]))
    kept = rows[new] if dim is None else np.moveaxis(rows[new], 0, normal_dim(dim, x.ndim))
    shaped = inverse.reshape(x.shape) if dim is None else inverse
    return (
        wrap(kept, self.dtype),
        wrap(shaped if return_inverse else none, int64),
        wrap(counts if return_counts else none, int64),
    )


KERNELS: dict[str, Kernel] = {
    "aten::sort": sort,
    "aten::sort.stable": lambda self, stable=None, dim=-1, descending=False: sort(
        self, dim, descending
    ),
    "aten::argsort": lambda self, dim=-1, descending=False: sort(self, dim, descending)[1],
    "aten::argsort.stable": lambda self, stable, dim=-1, descending=False: sort(
        self, dim, descending
    )[1],
    "aten::msort": lambda self: sort(self, 0)[0],
    "aten::topk": topk,
    "aten::cumsum": scan(np.cumsum),
    "aten::cumprod": scan(np.cumprod),
    "aten::cummax": scan_extremum(np.maximum),
    "aten::cummin": scan_extremum(np.minimum),
    "aten::logcumsumexp": logcumsumexp,
    "aten::diff": diff,
    "aten::_unique": lambda self, sorted=True, inverse=False: unique(self, sorted, inverse)[:2],
    "aten::_unique2": unique,
    "aten::unique_dim": unique_dim,
    "aten::unique_consecutive": unique_consecutive,
}
