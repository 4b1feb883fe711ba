"""Tensors put together from others: scattered slices, block diagonals, products, histograms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np

from tensorscript.base.errors import OperatorError

from ..storage import Array, array, cast, compute, floating, make, promoted, to_storage, value, wrap
from .shapes import normal_dim

Kernel = Callable[..., Any]


def _replaced(self: Any, place: Any, src: Any) -> Any:
    """A copy of `self` with `src` at `place`."""
    out = array(self).copy()
    if out[place].shape != array(src).shape:
        raise OperatorError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(array(src).shape)}, slice size = {list(out[place].shape)}"
        )
    out[place] = array(src) if src.dtype is self.dtype else to_storage(value(src), self.dtype)
    return make(out, self.dtype)


def _along(ndim: int, dim: int, what: Any) -> tuple[Any, ...]:
    return (*[slice(None)] * normal_dim(dim, ndim), what)


def slice_scatter(
    self: Any, src: Any, dim: int = 0, start: int | None = None, end: int | None = None,
    step: int = 1,
) -> Any:  # fmt: skip
    return _replaced(self, _along(array(self).ndim, dim, slice(start, end, step)), src)


def select_scatter(self: Any, src: Any, dim: int, index: int) -> Any:
    return _replaced(self, _along(array(self).ndim, dim, index), src)


def diagonal_scatter(self: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    out = array(self).copy()
    moved = np.moveaxis(out, (normal_dim(dim1, out.ndim), normal_dim(dim2, out.ndim)), (-2, -1))
    count = np.diagonal(moved, offset, -2, -1).shape[-1]
    k = np.arange(count)
    moved[..., k + max(0, -offset), k + max(0, offset)] = array(src)
    return make(out, self.dtype)


def block_diag(tensors: Sequence[Any]) -> Any:
    dtype = promoted(*tensors)
    blocks = [np.atleast_2d(cast(t, dtype)) for t in tensors]
    out = np.zeros(np.sum([b.shape for b in blocks], axis=0, dtype=int), blocks[0].dtype)
    row = column = 0
    for b in blocks:
        out[row : row + b.shape[0], column : column + b.shape[1]] = b
        row, column = row + b.shape[0], column + b.shape[1]
    return wrap(out, dtype)


def cartesian_prod(tensors: Sequence[Any]) -> Any:
    if len(tensors) == 1:
        return tensors[0]
    grids = np.meshgrid(*(array(t) for t in tensors), indexing="ij")
    return make(np.stack([g.reshape(-1) for g in grids], -1), tensors[0].dtype)


def combined(self: Any, r: int = 2, with_replacement: bool = False) -> Any:
    pick = combinations_with_replacement if with_replacement else combinations
    x = array(self)
    at = np.array(list(pick(range(x.size), r)), np.int64).reshape(-1, r)
    return make(x[at], self.dtype)


def _gaps(y: Array, x: Any, axis: int) -> Array:
    """Areas of the trapezoids; `x` is the common width or the places."""
    low = np.take(y, np.arange(max(y.shape[axis] - 1, 0)), axis)
    high = np.take(y, np.arange(1, y.shape[axis]), axis)
    if not hasattr(x, "dtype"):
        return np.asarray((low + high) / 2 * x, y.dtype)
    places = compute(x)
    shape = [1] * y.ndim
    if places.ndim == 1:
        shape[axis] = -1
        widths = np.diff(places).reshape(shape)
    else:
        widths = np.diff(places, axis=axis)
    return np.asarray((low + high) / 2 * widths, y.dtype)


def trapezoid(self: Any, x: Any = 1, dim: int = -1) -> Any:
    dtype = floating(self.dtype)
    y = cast(self, dtype)
    axis = normal_dim(dim, y.ndim)
    return wrap(_gaps(y, x, axis).sum(axis), dtype)


def cumulative_trapezoid(self: Any, x: Any = 1, dim: int = -1) -> Any:
    dtype = floating(self.dtype)
    y = cast(self, dtype)
    axis = normal_dim(dim, y.ndim)
    return wrap(np.cumsum(_gaps(y, x, axis), axis), dtype)


def cov(self: Any, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """Covariances of the rows (variables); integer weights repeat columns, others weigh them."""
    if array(self).ndim > 2:
        raise OperatorError(
            f"cov(): expected input to have two or fewer dimensions but got an input with "
            f"{array(self).ndim} dimensions"
        )
    for name, w in (("fweights", fweights), ("aweights", aweights)):
        if w is not None and array(w).ndim > 1:
            raise OperatorError(
                f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
                f"{array(w).ndim} dimensions"
            )
    if fweights is not None and not fweights.dtype.is_integral:
        raise OperatorError(
            "cov(): expected fweights to have integral dtype but got fweights with "
            f"{fweights.dtype.word} dtype"
        )
    weights = [None if w is None else value(w) for w in (fweights, aweights)]
    dtype = floating(self.dtype if aweights is None else promoted(self, aweights))
    x = cast(self, dtype)
    found = np.cov(x, ddof=correction, fweights=weights[0], aweights=weights[1])
    return wrap(found, dtype)


KERNELS: dict[str, Kernel] = {
    "aten::slice_scatter": slice_scatter,
    "aten::select_scatter": select_scatter,
    "aten::diagonal_scatter": diagonal_scatter,
    "aten::block_diag": block_diag,
    "aten::cartesian_prod": cartesian_prod,
    "aten::combinations": combined,
    "aten::trapz.dx": trapezoid,
    "aten::trapz.x": trapezoid,
    "aten::trapezoid.dx": trapezoid,
    "aten::trapezoid.x": trapezoid,
    "aten::cumulative_trapezoid.dx": cumulative_trapezoid,
    "aten::cumulative_trapezoid.x": cumulative_trapezoid,
    "aten::cov": cov,
    "aten::corrcoef": lambda self: wrap(np.corrcoef(compute(self)), floating(self.dtype)),
}
