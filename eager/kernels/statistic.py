"""Order statistics: quantiles, the most frequent value, medians that skip NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.dtypes import int64
from tensorscript.base.errors import OperatorError

from ..storage import Array, array, compute, make, wrap
from .shapes import normal_dim

Kernel = Callable[..., Any]
_METHODS: dict[str, Any] = {
    "linear": "linear", "lower": "lower", "higher": "higher", "midpoint": "midpoint",
    "nearest": "nearest",
}  # fmt: skip


def quantile(fn: Callable[..., Any]) -> Kernel:
    def run(self: Any, q: Any, dim: int | None = None, keepdim: bool = False,
            interpolation: str = "linear") -> Any:  # fmt: skip
        x = compute(self)
        if x.dtype.kind != "f":
            raise OperatorError("quantile() input tensor must be either float or double dtype")
        at = np.asarray(compute(q) if hasattr(q, "dtype") else q, x.dtype)
        if ((at < 0) | (at > 1)).any():
            raise OperatorError("quantile() q values must be in the range [0, 1]")
        if interpolation not in _METHODS:
            raise OperatorError(
                "quantile() interpolation must be one of linear, lower, higher, midpoint or "
                f"nearest, but got {interpolation}"
            )
        axis = None if dim is None else normal_dim(dim, x.ndim)
        found = fn(x, at, axis=axis, keepdims=keepdim, method=_METHODS[interpolation])
        return wrap(np.asarray(found, x.dtype), self.dtype)

    return run


def mode(self: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent value along `dim` (the smallest of several) and its last place."""
    x = compute(self)
    if x.ndim == 0:
        return make(array(self).copy(), self.dtype), wrap(np.zeros((), np.int64), int64)
    axis = normal_dim(dim, x.ndim)
    moved = np.moveaxis(x, axis, -1)
    at = np.empty(moved.shape[:-1], np.int64)
    for place in np.ndindex(*at.shape):
        found, counts = np.unique(moved[place], return_counts=True)
        at[place] = np.flatnonzero(moved[place] == found[counts.argmax()])[-1]
    at = np.expand_dims(at, axis)
    values = np.take_along_axis(array(self), at, axis)
    if not keepdim:
        at, values = at.squeeze(axis), values.squeeze(axis)
    return make(values, self.dtype), wrap(at, int64)


def _middle(x: Array) -> int:
    """The place of the lower median of a row, NaN left out; 0 in a row of nothing else."""
    count = int((~np.isnan(x)).sum()) if x.dtype.kind == "f" else x.size
    return int(np.argsort(x, kind="stable")[max(0, (count - 1) // 2)])


def nanmedian(self: Any) -> Any:
    flat = compute(self).reshape(-1)
    if not flat.size:
        return wrap(np.asarray(np.nan), self.dtype)
    return make(array(self).reshape(-1)[_middle(flat)].reshape(()), self.dtype)


def nanmedian_dim(self: Any, dim: int, keepdim: bool = False) -> Any:
    x = compute(self)
    axis = normal_dim(dim, x.ndim)
    if x.ndim == 0:
        return make(array(self).copy(), self.dtype), wrap(np.zeros((), np.int64), int64)
    at = np.expand_dims(np.apply_along_axis(_middle, axis, x), axis)
    values = np.take_along_axis(array(self), at, axis)
    if not keepdim:
        at, values = at.squeeze(axis), values.squeeze(axis)
    return make(values, self.dtype), wrap(at, int64)


KERNELS: dict[str, Kernel] = {
    "aten::quantile": quantile(np.quantile),
    "aten::quantile.scalar": quantile(np.quantile),
    "aten::nanquantile": quantile(np.nanquantile),
    "aten::nanquantile.scalar": quantile(np.nanquantile),
    "aten::mode": mode,
    "aten::nanmedian": nanmedian,
    "aten::nanmedian.dim": nanmedian_dim,
}
