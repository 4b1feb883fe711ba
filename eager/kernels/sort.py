"""Sorting, scans and sets. NaN sorts as the greatest, as in PyTorch and NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.dtypes import int64
from tensorscript.base.errors import DimensionError, OperatorError

from ..storage import Array, array, cast, compute, floating, make, sum_dtype, value, wrap
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


def kthvalue(self: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    x = value(self)
    axis = normal_dim(dim, x.ndim)
    at = np.take(order(x, axis, False), [k - 1], axis)
    found = np.take_along_axis(array(self), at, axis)
    if not keepdim:
        at, found = at.squeeze(axis), found.squeeze(axis)
    return make(found, self.dtype), wrap(at, int64)


def median_dim(self: Any, dim: int, keepdim: bool = False) -> Any:
    """The lower of the two middle elements; the first NaN where there is one."""
    x = value(self)
    axis = normal_dim(dim, x.ndim)
    if x.ndim == 0:
        return make(array(self).copy(), self.dtype), wrap(np.zeros((), np.int64), int64)
    if not x.shape[axis]:
        raise DimensionError(f"median(): Expected reduction dim {axis} to have non-zero size.")
    at = np.take(order(x, axis, False), [(x.shape[axis] - 1) // 2], axis)
    if x.dtype.kind == "f":
        empty = np.isnan(x)
        first = np.expand_dims(empty.argmax(axis), axis)
        at = np.where(np.expand_dims(empty.any(axis), axis), first, at)
    found = np.take_along_axis(array(self), at, axis)
    if not keepdim:
        at, found = at.squeeze(axis), found.squeeze(axis)
    return make(found, self.dtype), wrap(at, int64)


def median(self: Any) -> Any:
    flat = np.sort(array(self).reshape(-1))
    if not flat.size:
        return wrap(np.asarray(np.nan), self.dtype)
    if flat.dtype.kind == "f" and np.isnan(flat[-1:]).any():
        return wrap(flat[-1], self.dtype)
    return make(flat[(flat.size - 1) // 2].reshape(()), self.dtype)


def scan(fn: Callable[..., Any]) -> Kernel:
    def run(self: Any, dim: int, dtype: Any = None) -> Any:
        out = dtype or sum_dtype(self.dtype)
        x = cast(self, out)
        axis = normal_dim(dim, x.ndim)
        return wrap(fn(x, axis=axis, dtype=x.dtype) if x.ndim else x, out)

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
    return wrap(np.logaddexp.accumulate(x, axis=axis) if x.ndim else x.copy(), dtype)


def diff(self: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    parts = [compute(p) for p in (prepend, self, append) if p is not None]
    x = np.concatenate(parts, normal_dim(dim, parts[0].ndim))
    return wrap(np.diff(x, n, axis=dim), self.dtype)


def unique(
    self: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Any:
    """Distinct values in order, the place of each input in them, and their counts."""
    x = value(self)
    found, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
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
    found, inverse, counts = np.unique(
        value(self), axis=dim, return_inverse=True, return_counts=True
    )
    return wrap(found, self.dtype), wrap(inverse.reshape(-1), int64), wrap(counts, int64)


def unique_consecutive(
    self: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    x = value(self)
    flat = x.reshape(-1)
    new = np.ones(flat.shape, bool)
    new[1:] = flat[1:] != flat[:-1]
    starts = np.flatnonzero(new)
    counts = np.diff(np.append(starts, flat.size))
    inverse = (np.cumsum(new) - 1).reshape(x.shape) if return_inverse else np.zeros(0)
    return (
        wrap(flat[new], self.dtype),
        wrap(inverse, int64),
        wrap(counts if return_counts else np.zeros(0), int64),
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
    "aten::kthvalue": kthvalue,
    "aten::median": median,
    "aten::median.dim": median_dim,
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
