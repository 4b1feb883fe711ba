"""Order statistics: quantiles, the most frequent value, medians that skip NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.dtypes import bool_, int64
from tensorscript.base.errors import DimensionError, OperatorError
from tensorscript.base.operand_dtypes import unimplemented

from ..storage import Array, array, compute, make, value, wrap
from .shapes import normal_dim
from .sort import order

Kernel = Callable[..., Any]


def quantile(fn: Callable[..., Any]) -> Kernel:
    def run(self: Any, q: Any, dim: int | None = None, keepdim: bool = False,
            interpolation: str = "linear") -> Any:  # fmt: skip
        x = compute(self)
        if not x.size:
            raise OperatorError("quantile() input tensor must be non-empty")
        at = np.asarray(compute(q) if hasattr(q, "dtype") else q, x.dtype)
        if not hasattr(q, "dtype") and not 0 <= q <= 1:
            raise OperatorError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        if ((at < 0) | (at > 1)).any():
            raise OperatorError("quantile() q values must be in the range [0, 1]")
        axis = None if dim is None or not x.ndim else normal_dim(dim, x.ndim)
        found = fn(x, at, axis=axis, keepdims=keepdim, method=interpolation)
        return wrap(np.asarray(found, x.dtype), self.dtype)

    return run


def mode(self: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent value along `dim` (the smallest of several) and its last place."""
    x = compute(self)
    axis = normal_dim(dim, x.ndim)
    if x.ndim == 0:
        return _only(self)
    moved = np.moveaxis(x, axis, -1)
    at = np.empty(moved.shape[:-1], np.int64)
    for place in np.ndindex(*at.shape):
        _, which, counts = np.unique(moved[place], return_inverse=True, return_counts=True)
        at[place] = np.flatnonzero(which == counts.argmax())[-1]
    return chosen(self, axis, np.expand_dims(at, axis), keepdim)


def chosen(self: Any, axis: int, at: Array, keepdim: bool) -> tuple[Any, Any]:
    """The elements at the places `at` (size 1 along `axis`), and the places."""
    values = np.take_along_axis(array(self), at, axis)
    if not keepdim:
        at, values = at.squeeze(axis), values.squeeze(axis)
    return make(np.asarray(values), self.dtype), wrap(at, int64)


def _only(self: Any) -> tuple[Any, Any]:
    """What every order statistic of a 0-dim tensor is."""
    return make(array(self).copy(), self.dtype), wrap(np.zeros((), np.int64), int64)


def kthvalue(self: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest (from 1) and its place."""
    x = value(self)
    axis = normal_dim(dim, x.ndim)
    if not 1 <= k <= (x.shape[axis] if x.ndim else 1):
        raise OperatorError(f"kthvalue(): selected number k out of range for dimension {axis}")
    if x.ndim == 0:
        return _only(self)
    return chosen(self, axis, np.take(order(x, axis, False), [k - 1], axis), keepdim)


def _no_bool(self: Any, kernel: str) -> None:
    """Truth values have a median only where there are none of them."""
    if self.dtype is bool_:
        raise unimplemented(kernel, bool_)


def median(self: Any) -> Any:
    """The lower of the two middle elements; NaN where there is one."""
    x = value(self).reshape(-1)
    if not x.size:
        return wrap(np.asarray(np.nan), self.dtype)
    _no_bool(self, "median_cpu")
    at = _lower_middle(x, 0)
    return make(array(self).reshape(-1)[at].reshape(()), self.dtype)


def _lower_middle(x: Array, axis: int) -> Array:
    """Places of the lower medians; the first NaN where there is one."""
    at = np.take(order(x, axis, False), [(x.shape[axis] - 1) // 2], axis)
    if x.dtype.kind != "f":
        return at
    empty = np.isnan(x)
    first = np.expand_dims(empty.argmax(axis), axis)
    return np.where(np.expand_dims(empty.any(axis), axis), first, at)


def _along(choose: Callable[[Array, int], Array]) -> Kernel:
    """The medians along a dimension, whose places `choose` finds, and the places."""

    def run(self: Any, dim: int, keepdim: bool = False) -> Any:
        x = value(self)
        axis = normal_dim(dim, x.ndim)
        if x.ndim and not x.shape[axis]:
            raise DimensionError(f"median(): Expected reduction dim {axis} to have non-zero size.")
        _no_bool(self, "median_out")
        return chosen(self, axis, choose(x, axis), keepdim) if x.ndim else _only(self)

    return run


def _middle(x: Array, axis: int) -> Array:
    """The place of each row's lower median, NaN left out; 0 in a row of nothing else."""
    odd = np.isnan(x) if x.dtype.kind == "f" else np.zeros(x.shape, bool)
    count = (~odd).sum(axis, keepdims=True)
    order = np.argsort(x, axis, kind="stable")
    return np.take_along_axis(order, np.maximum(0, (count - 1) // 2), axis)


def nanmedian(self: Any) -> Any:
    flat = value(self).reshape(-1)
    if not flat.size:
        return wrap(np.asarray(np.nan), self.dtype)
    _no_bool(self, "median_cpu")
    return make(array(self).reshape(-1)[_middle(flat, 0)].reshape(()), self.dtype)


KERNELS: dict[str, Kernel] = {
    "aten::quantile": quantile(np.quantile),
    "aten::quantile.scalar": quantile(np.quantile),
    "aten::nanquantile": quantile(np.nanquantile),
    "aten::nanquantile.scalar": quantile(np.nanquantile),
    "aten::mode": mode,
    "aten::kthvalue": kthvalue,
    "aten::median": median,
    "aten::median.dim": _along(_lower_middle),
    "aten::nanmedian": nanmedian,
    "aten::nanmedian.dim": _along(_middle),
}
