"""Tensors put together from others: scattered slices, block diagonals, products, histograms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np

from tensorscript.base.errors import OperatorError

from ..modes import MODES
from ..storage import (
    Array,
    array,
    cast,
    make,
    promoted,
    to_storage,
    value,
    wrap,
)
from .shapes import normal_dim

Kernel = Callable[..., Any]


def _replaced(self: Any, part_of: Callable[[Array], Array], src: Any) -> Any:
    """A copy of `self` whose view `part_of` holds `src`.

    Raises:
        OperatorError: `src` has another shape than the view.
    """
    out = array(self).copy()
    part = part_of(out)
    if part.shape != array(src).shape:
        raise OperatorError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(array(src).shape)}, slice size = {list(part.shape)}"
        )
    part[...] = array(src) if src.dtype is self.dtype else to_storage(value(src), self.dtype)
    return make(out, self.dtype)


def _along(dim: int, what: Any) -> Callable[[Array], Array]:
    """The view that `what` takes along `dim`; the Ellipsis keeps a single element an array."""
    return lambda a: a[(*[slice(None)] * normal_dim(dim, a.ndim), what, ...)]


def slice_scatter(
    self: Any, src: Any, dim: int = 0, start: int | None = None, end: int | None = None,
    step: int = 1,
) -> Any:  # fmt: skip
    return _replaced(self, _along(dim, slice(start, end, step)), src)


def select_scatter(self: Any, src: Any, dim: int, index: int) -> Any:
    return _replaced(self, _along(dim, index), src)


def diagonal_scatter(self: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    def diagonal(a: Array) -> Array:
        part = np.diagonal(a, offset, normal_dim(dim1, a.ndim), normal_dim(dim2, a.ndim))
        part.setflags(write=True)
        return part

    return _replaced(self, diagonal, src)


def block_diag(tensors: Sequence[Any]) -> Any:
    if not tensors:
        return wrap(np.zeros((1, 0), MODES.default_dtype.numpy), MODES.default_dtype)
    for at, t in enumerate(tensors):
        if array(t).ndim > 2:
            raise OperatorError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                f"{at} has {array(t).ndim} dimensions"
            )
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
    if r == 0:
        return make(x[:0].copy(), self.dtype)
    at = np.array(list(pick(range(x.size), r)), np.int64).reshape(-1, r)
    return make(x[at], self.dtype)


KERNELS: dict[str, Kernel] = {
    "aten::slice_scatter": slice_scatter,
    "aten::select_scatter": select_scatter,
    "aten::diagonal_scatter": diagonal_scatter,
    "aten::block_diag": block_diag,
    "aten::cartesian_prod": cartesian_prod,
    "aten::combinations": combined,
}
