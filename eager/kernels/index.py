"""Gathering and scattering by index tensors and masks; embedding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import bool_, int32, int64, uint8
from tensorscript.base.errors import DimensionError, OperatorError

from ..indexing import check_index, check_mask
from ..indexing import gather as gather_view
from ..storage import Array, array, compute, make, to_storage, value, wrap
from .bag import reduce_at
from .shapes import check_broadcast, normal_dim

Kernel = Callable[..., Any]


def _plain(x: Any) -> Array:
    return array(x).astype(bool) if x.dtype is uint8 else array(x)


def _advanced(self: Any, indices: Sequence[Any]) -> tuple[Any, ...]:
    a = array(self)
    if len(indices) > a.ndim:
        raise DimensionError(
            f"too many indices for tensor of dimension {a.ndim} (got {len(indices)})"
        )
    out: list[Any] = []
    dim = 0
    for index in indices:
        if index is None:
            out.append(slice(None))
            dim += 1
            continue
        found = _plain(index)
        if found.dtype == bool:
            check_mask(a, found, dim)
            dim += found.ndim
        else:
            check_index(found, a.shape[dim], dim)
            dim += 1
        out.append(found)
    return tuple(out)


def index(self: Any, indices: Sequence[Any]) -> Any:
    found = gather_view(array(self), _advanced(self, indices))
    return make(np.ascontiguousarray(found).reshape(found.shape), self.dtype)


def index_put_(self: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
    at = _advanced(self, indices)
    source = _source(values, self)
    if accumulate:
        np.add.at(array(self), at, source)
    else:
        array(self)[at] = source
    return self


def _source(values: Any, self: Any) -> Array:
    if not hasattr(values, "dtype"):
        return to_storage(np.asarray(values), self.dtype)
    return array(values) if values.dtype is self.dtype else to_storage(value(values), self.dtype)


def _index_array(index: Any, name: str) -> Array:
    if index.dtype not in (int64, int32):
        raise OperatorError(f"{name}(): Expected dtype int32/int64 for index")
    return array(index).astype(np.int64, copy=False)


def index_select(self: Any, dim: int, index: Any) -> Any:
    a = array(self)
    axis = normal_dim(dim, a.ndim)
    at = _index_array(index, "index_select").reshape(-1)
    if at.size and (at.min() < 0 or at.max() >= (a.shape[axis] if a.ndim else 1)):
        raise DimensionError("index out of range in self")
    return make(np.take(a, at, axis) if a.ndim else a.copy(), self.dtype)


def _along(a: Array, axis: int, at: Array) -> tuple[Any, ...]:
    """The NumPy index that names, for each element of `at`, its own place on the other axes."""
    grids = list(np.ogrid[tuple(slice(n) for n in at.shape)])
    grids[axis] = at
    return tuple(grids)


def _checked(a: Array, axis: int, at: Array) -> None:
    size = a.shape[axis] if a.ndim else 1
    bad = at[(at < 0) | (at >= size)] if at.size else at
    if bad.size:
        raise DimensionError(
            f"index {int(bad.flat[0])} is out of bounds for dimension {axis} with size {size}"
        )


def gather(self: Any, dim: int, index: Any, sparse_grad: bool = False) -> Any:
    a, at = array(self), _index_array(index, "gather")
    axis = normal_dim(dim, a.ndim)
    if a.ndim != at.ndim and at.ndim and a.ndim:
        raise OperatorError("Index tensor must have the same number of dimensions as input tensor")
    _checked(a, axis, at)
    if a.ndim == 0:
        return make(a.copy().reshape(at.shape), self.dtype)
    return make(a[_along(a, axis, at)], self.dtype)


def _scatter(fn: Callable[[Array, Any, Array], Any]) -> Kernel:
    def run(self: Any, dim: int, index: Any, src: Any) -> Any:
        a, at = array(self).copy(), _index_array(index, "scatter")
        axis = normal_dim(dim, a.ndim)
        _checked(a, axis, at)
        source = _source(src, self)
        if source.ndim == at.ndim:
            source = source[tuple(slice(n) for n in at.shape)]
        if at.size:
            fn(a, _along(a, axis, at), source)
        return make(a, self.dtype)

    return run


def _assign(a: Array, at: Any, source: Array) -> None:
    a[at] = source


def scatter_reduce(
    self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool = True
) -> Any:
    """sum, prod, mean, amax or amin of what lands on a place."""
    return _scatter(lambda a, at, source: _set(a, reduce_at(a, at, source, reduce, include_self)))(
        self, dim, index, src
    )


def _set(a: Array, new: Array) -> None:
    a[...] = new


def scatter_with(self: Any, dim: int, index: Any, src: Any, reduce: str) -> Any:
    words = {"add": "sum", "multiply": "prod"}
    if reduce not in words:
        raise OperatorError(f"reduce argument must be either add or multiply, got {reduce}.")
    return scatter_reduce(self, dim, index, src, words[reduce])


def index_reduce(
    self: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool = True
) -> Any:
    """scatter_reduce of whole slices along `dim`."""
    word = {"mean": "mean", "prod": "prod", "amax": "amax", "amin": "amin"}.get(reduce)
    if word is None:
        raise OperatorError(
            f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    return _rows(lambda a, at, new: _set(a, reduce_at(a, at, new, word, include_self)))(
        self, dim, index, source
    )


def _rows(fn: Callable[[Array, Any, Array], Any], wraps: bool = False) -> Kernel:
    """index_add, index_copy, index_fill: whole slices along a dimension."""

    def run(self: Any, dim: int, index: Any, source: Any, alpha: Any = 1) -> Any:
        a = array(self).copy()
        axis = normal_dim(dim, a.ndim)
        at = _index_array(index, "index").reshape(-1)
        if wraps and at.size:
            at = np.where(at < 0, at + (a.shape[axis] if a.ndim else 1), at)
        _checked(a, axis, at)
        new = _source(source, self)
        new = new if alpha == 1 else (new * alpha).astype(new.dtype)
        moved = np.moveaxis(a, axis, 0) if a.ndim else a.reshape(1)
        fn(moved, at, np.moveaxis(new, axis, 0) if new.ndim else new)
        return make(a, self.dtype)

    return run


def masked_fill(self: Any, mask: Any, number: Any) -> Any:
    a, m = array(self), array(mask)
    if getattr(number, "dtype", None) is not None and array(number).ndim:
        raise OperatorError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{array(number).ndim} dimension(s)."
        )
    if m.dtype != bool:
        raise OperatorError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype.name}"
        )
    check_broadcast(a, m)
    return make(np.where(m, _source(number, self), a), self.dtype)


def masked_select(self: Any, mask: Any) -> Any:
    if mask.dtype is not bool_:
        raise OperatorError("masked_select: expected BoolTensor for mask")
    a, m = np.broadcast_arrays(array(self), array(mask))
    return make(a[m], self.dtype)


def masked_scatter(self: Any, mask: Any, source: Any) -> Any:
    a = array(self).copy()
    m = np.broadcast_to(_plain(mask), a.shape)
    a[m] = array(source).reshape(-1)[: int(m.sum())]
    return make(a, self.dtype)


def take(self: Any, index: Any) -> Any:
    flat = array(self).reshape(-1)
    check_index(array(index), flat.size, 0)
    return make(flat[array(index)], self.dtype)


def take_along_dim(self: Any, indices: Any, dim: int | None = None) -> Any:
    if indices.dtype is not int64:
        raise OperatorError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.word}"
        )
    if dim is None:
        flat = array(self).reshape(-1)
        _checked(flat, 0, array(indices))
        return make(flat[array(indices).reshape(-1)], self.dtype)
    axis = normal_dim(dim, array(self).ndim)
    _checked(array(self), axis, array(indices))
    return make(np.take_along_axis(array(self), array(indices), axis), self.dtype)


def nonzero(self: Any) -> Any:
    a = value(self)
    return wrap(np.argwhere(a) if a.ndim else np.zeros((int(a != 0), 0), np.int64), int64)


def nonzero_numpy(self: Any) -> list[Any]:
    return [wrap(i, int64) for i in np.nonzero(np.atleast_1d(value(self)))]


def embedding(
    weight: Any, indices: Any, padding_idx: int = -1, scale: bool = False, sparse: bool = False
) -> Any:
    """Rows of `weight` (V, D) -> (*indices, D)."""
    at = _index_array(indices, "embedding")
    rows = array(weight)
    if at.size and (at.min() < 0 or at.max() >= rows.shape[0]):
        raise DimensionError("index out of range in self")
    return make(rows[at], weight.dtype)


def embedding_renorm_(self: Any, indices: Any, max_norm: float, norm_type: float) -> Any:
    """Rows that are named and longer than `max_norm` shortened to it, in place."""
    at = np.unique(_index_array(indices, "embedding_renorm_"))
    rows = compute(self)[at]
    size = (np.abs(rows) ** norm_type).sum(-1, keepdims=True) ** (1 / norm_type)
    scale = np.where(size > max_norm, max_norm / (size + 1e-7), 1)
    array(self)[at] = to_storage((rows * scale).astype(rows.dtype), self.dtype)
    return self


def one_hot(self: Any, num_classes: int = -1) -> Any:
    at = array(self)
    if self.dtype is not int64:
        raise OperatorError("one_hot is only applicable to index tensor of type LongTensor.")
    if at.size and at.min() < 0:
        raise OperatorError("Class values must be non-negative.")
    count = int(at.max()) + 1 if num_classes == -1 else num_classes
    if at.size and at.max() >= count:
        raise OperatorError("Class values must be smaller than num_classes.")
    return wrap((at[..., None] == np.arange(count)).astype(np.int64), int64)


def searchsorted(
    sequence: Any, self: Any, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Any = None,
) -> Any:  # fmt: skip
    where = "right" if right or side == "right" else "left"
    keys = value(self) if hasattr(self, "dtype") else np.asarray(self)
    rows = value(sequence)
    if rows.ndim == 1:
        found = np.searchsorted(rows, keys, where)  # type: ignore[call-overload]  # side is a word
    else:
        pairs = zip(rows.reshape(-1, rows.shape[-1]), keys.reshape(-1, keys.shape[-1]), strict=True)
        found = np.stack([np.searchsorted(r, k, where) for r, k in pairs]).reshape(keys.shape)  # type: ignore[call-overload]  # side is a word
    return wrap(np.asarray(found), int32 if out_int32 else int64)


def bucketize(self: Any, boundaries: Any, out_int32: bool = False, right: bool = False) -> Any:
    return searchsorted(boundaries, self, out_int32, right)


def bincount(self: Any, weights: Any = None, minlength: int = 0) -> Any:
    w = None if weights is None else value(weights)
    return wrap(np.bincount(array(self), w, minlength), int64 if weights is None else weights.dtype)


def _put(self: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    out = make(array(self).copy(), self.dtype)
    return index_put_(out, indices, values, accumulate)


KERNELS: dict[str, Kernel] = {
    "aten::index.Tensor": index,
    "aten::index_put_": index_put_,
    "aten::index_put": _put,
    "aten::_index_put_impl_": lambda s, i, v, a=False, unsafe=False: index_put_(s, i, v, a),
    "aten::index_select": index_select,
    "aten::gather": gather,
    "aten::scatter.src": _scatter(_assign),
    "aten::scatter.value": _scatter(_assign),
    "aten::scatter.reduce": scatter_with,
    "aten::scatter.value_reduce": scatter_with,
    "aten::scatter_add": _scatter(np.add.at),
    "aten::scatter_reduce.two": scatter_reduce,
    "aten::index_add": _rows(np.add.at),
    "aten::index_copy": _rows(_assign),
    "aten::index_reduce": index_reduce,
    "aten::index_fill.int_Scalar": _rows(_assign, wraps=True),
    "aten::index_fill.int_Tensor": _rows(_assign, wraps=True),
    "aten::masked_fill.Scalar": masked_fill,
    "aten::masked_fill.Tensor": masked_fill,
    "aten::masked_select": masked_select,
    "aten::masked_scatter": masked_scatter,
    "aten::take": take,
    "aten::take_along_dim": take_along_dim,
    "aten::nonzero": nonzero,
    "aten::argwhere": nonzero,
    "aten::nonzero_numpy": nonzero_numpy,
    "aten::where": nonzero_numpy,
    "aten::embedding": embedding,
    "aten::embedding_renorm_": embedding_renorm_,
    "aten::one_hot": one_hot,
    "aten::searchsorted.Tensor": searchsorted,
    "aten::searchsorted.Scalar": searchsorted,
    "aten::bucketize.Tensor": bucketize,
    "aten::bincount": bincount,
}
