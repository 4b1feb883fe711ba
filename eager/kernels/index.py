"""Selecting and writing by index tensors and masks; embedding, search, counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.cpp_names import cpp_name
from tensorscript.base.dtypes import bool_, float32, float64, int32, int64, uint8
from tensorscript.base.errors import DimensionError, OperatorError
from tensorscript.base.operand_dtypes import unimplemented
from tensorscript.base.scalar_range import check_range

from ..indexing import check_kinds, check_mask, check_places, selected, warn_of_bytes
from ..indexing import gather as gather_view
from ..memory_format import in_order
from ..storage import (
    Array,
    TensorBase,
    array,
    compute,
    compute_dtype,
    make,
    to_storage,
    value,
    wrap,
)
from .shapes import check_broadcast, normal_dim

Kernel = Callable[..., Any]


def _advanced(self: Any, indices: Sequence[Any]) -> tuple[Any, ...]:
    a = array(self)
    check_kinds([array(i) for i in indices if i is not None and i.dtype is not uint8])
    masks = [i for i in indices if i is not None and i.dtype in (bool_, uint8)]
    if len(indices) - len(masks) + sum(m.dim() for m in masks) > a.ndim:
        raise DimensionError(
            f"too many indices for tensor of dimension {a.ndim} (got {len(indices)})"
        )
    warn_of_bytes(tuple(indices), 2)
    out: list[Any] = []
    dim = 0
    for index in indices:
        if index is None:
            out.append(slice(None))
            dim += 1
            continue
        found = array(index).astype(bool) if index.dtype is uint8 else array(index)
        if found.dtype == bool:
            check_mask(a, found, dim)
            dim += found.ndim
        else:
            dim += 1
        out.append(found)
    return tuple(out)


def index(self: Any, indices: Sequence[Any]) -> Any:
    found = gather_view(array(self), _advanced(self, indices))
    return make(found, self.dtype)


def index_put_(self: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
    at = _advanced(self, indices)
    shape = selected(array(self), at)
    check_places(array(self), at, shape)
    source = source_of(values, self)
    if not accumulate:
        array(self)[at] = source
        return self
    add_at(self, at, compute(make(source, self.dtype)))
    return self


def add_at(self: Any, at: tuple[Any, ...], added: Array) -> None:
    """Add to elements in order, each time to what is there by now, if memory is shared."""
    if compute_dtype(self.dtype) == array(self).dtype:
        np.add.at(array(self), at, added)
        return
    _add_rounded(self, at, added)


def _add_rounded(self: Any, at: tuple[Any, ...], added: Array) -> None:
    """Add in half types: each sum is rounded before the next one to the same memory."""
    a = array(self)[None]
    steps = (np.arange(n) * step for n, step in zip(a.shape, a.strides, strict=True))
    memory = sum(np.ix_(*steps), np.zeros(a.shape, np.int64))[0][at].reshape(-1)
    places = np.arange(a.size).reshape(a.shape)[0][at]
    new, places = np.broadcast_to(added, places.shape).reshape(-1), places.reshape(-1)
    order = np.argsort(memory, kind="stable")
    first = np.searchsorted(memory[order], memory[order])
    turn = np.arange(order.size) - first
    for k in range(int(turn.max(initial=-1)) + 1):
        chosen = order[turn == k]
        where = np.unravel_index(places[chosen], a.shape)
        a[where] = to_storage(compute(make(a[where], self.dtype)) + new[chosen], self.dtype)


def source_of(values: Any, self: Any) -> Array:
    """`values` (a tensor or a number) as storage of the dtype of `self`."""
    if not hasattr(values, "dtype"):
        return to_storage(np.asarray(values), self.dtype)
    return array(values) if values.dtype is self.dtype else to_storage(value(values), self.dtype)


def index_array(index: Any, name: str) -> Array:
    """int64 places; raises OperatorError for another dtype."""
    if index.dtype not in (int64, int32):
        raise OperatorError(f"{name}(): Expected dtype int32/int64 for index")
    return array(index).astype(np.int64, copy=False)


def index_select(self: Any, dim: int, index: Any) -> Any:
    a = array(self)
    axis = normal_dim(dim, a.ndim)
    at = index_array(index, "index_select").reshape(-1)
    if at.size and (at.min() < 0 or at.max() >= (a.shape[axis] if a.ndim else 1)):
        raise DimensionError("index out of range in self")
    if not a.ndim and at.size != 1:
        raise OperatorError(
            f"index_select(): Index to scalar can have only 1 value, got {at.size} value(s)"
        )
    return make(np.take(a, at, axis) if a.ndim else a.copy(), self.dtype)


def masked_fill(self: Any, mask: Any, number: Any) -> Any:
    a, m = array(self), array(mask)
    if getattr(number, "dtype", None) is not None and array(number).ndim:
        raise OperatorError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{array(number).ndim} dimension(s)."
        )
    if m.dtype != bool:
        raise OperatorError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype "
            f"{cpp_name(mask.dtype)}"
        )
    check_broadcast(a, m)
    if isinstance(number, TensorBase):
        check_range(value(number).item(), self.dtype)
    return make(np.where(m, source_of(number, self), a), self.dtype)


def masked_select(self: Any, mask: Any) -> Any:
    a, m = np.broadcast_arrays(array(self), array(mask))
    return make(a[m], self.dtype)


def nonzero(self: Any) -> Any:
    """The places of elements that are not zero, (n, d), in memory the first index of all first."""
    a = value(self)
    found = np.argwhere(a) if a.ndim else np.zeros((int(a != 0), 0), np.int64)
    return wrap(in_order(found, range(found.ndim)), int64)


def nonzero_numpy(self: Any) -> list[Any]:
    found = np.nonzero(np.atleast_1d(value(self)))
    return [wrap(i.copy(), int64) for i in found]


def embedding(
    weight: Any, indices: Any, padding_idx: int = -1, scale: bool = False, sparse: bool = False
) -> Any:
    """Rows of `weight` (V, D) -> (*indices, D)."""
    at = index_array(indices, "embedding")
    rows = array(weight)
    if rows.ndim != 2:
        raise OperatorError("'weight' must be 2-D")
    if at.size and (at.min() < 0 or at.max() >= rows.shape[0]):
        raise DimensionError("index out of range in self")
    return make(rows[at], weight.dtype)


def embedding_renorm_(self: Any, indices: Any, max_norm: float, norm_type: float) -> Any:
    """Rows that are named and longer than `max_norm` shortened to it, in place."""
    at = np.unique(index_array(indices, "embedding_renorm_"))
    rows = compute(self)[at]
    size = (np.abs(rows) ** norm_type).sum(-1, keepdims=True) ** (1 / norm_type)
    scale = np.where(size > max_norm, max_norm / (size + 1e-7), 1)
    array(self)[at] = to_storage((rows * scale).astype(rows.dtype), self.dtype)
    return self


def one_hot(self: Any, num_classes: int = -1) -> Any:
    at = array(self)
    if self.dtype is not int64:
        raise OperatorError("one_hot is only applicable to index tensor of type LongTensor.")
    if not at.size and num_classes < 1:
        raise OperatorError("Can not infer total number of classes from empty tensor.")
    if at.size and at.min() < 0:
        raise OperatorError("Class values must be non-negative.")
    count = int(at.max()) + 1 if num_classes == -1 else num_classes
    if at.size and at.max() >= count:
        raise OperatorError("Class values must be smaller than num_classes.")
    return wrap((at[..., None] == np.arange(count)).astype(np.int64), int64)


def nonzero_static(self: Any, size: int, fill_value: int = -1) -> Any:
    """The first `size` rows of `nonzero`, filled up with `fill_value`."""
    if size < 0:
        raise OperatorError(
            f"nonzero_static: 'size' must be an non-negative integer, but got {size}"
        )
    found = array(nonzero(self))[:size]
    missing = np.full((size - found.shape[0], found.shape[1]), fill_value, np.int64)
    return wrap(np.concatenate([found, missing]), int64)


def _masked_places(self: Any, mask: Any, indices: Sequence[Any]) -> list[Any]:
    """Index tensors that are inside where the mask is false, too."""
    sizes = array(self).shape
    return [None if index is None else wrap(np.clip(array(index), -n, max(n - 1, 0)), int64)
            for index, n in zip(indices, sizes, strict=False)]  # fmt: skip


def unsafe_masked_index(self: Any, mask: Any, indices: Sequence[Any], fill: Any) -> Any:
    found = array(index(self, _masked_places(self, mask, indices)))
    return make(np.where(array(mask), found, source_of(fill, self)), self.dtype)


def unsafe_masked_put(self: Any, mask: Any, indices: Sequence[Any], values: Any) -> Any:
    kept = masked_fill(values, wrap(~array(mask), bool_), 0)
    return _put(self, _masked_places(self, mask, indices), kept, accumulate=True)


def searchsorted(
    sequence: Any, self: Any, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Any = None,
) -> Any:  # fmt: skip
    where = "right" if right or side == "right" else "left"
    keys = value(self) if hasattr(self, "dtype") else np.asarray(self)
    rows = value(sequence)
    if sorter is not None:
        order = array(sorter)
        if order.size and not 0 <= order.min() <= order.max() < rows.shape[-1]:
            raise OperatorError("torch.searchsorted(): sorter index out of range")
        rows = np.take_along_axis(rows, order, -1)
    if not keys.size:
        found: Array = np.zeros(keys.shape, np.int64)
    elif rows.ndim == 1:
        found = np.searchsorted(rows, keys, where)  # type: ignore[call-overload]  # side is a word
    else:
        pairs = zip(rows.reshape(-1, rows.shape[-1]), keys.reshape(-1, keys.shape[-1]), strict=True)
        found = np.stack([np.searchsorted(r, k, where) for r, k in pairs]).reshape(keys.shape)  # type: ignore[call-overload]  # side is a word
    return wrap(np.asarray(found), int32 if out_int32 else int64)


def bucketize(self: Any, boundaries: Any, out_int32: bool = False, right: bool = False) -> Any:
    return searchsorted(boundaries, self, out_int32, right)


def bincount(self: Any, weights: Any = None, minlength: int = 0) -> Any:
    at = array(self)
    if at.ndim == 1 and at.dtype.kind not in "iu":
        raise unimplemented("bincount_cpu", self.dtype)
    if at.ndim != 1 or (at.size and at.min() < 0):
        raise OperatorError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise OperatorError("minlength should be >= 0")
    if weights is None:
        return wrap(np.bincount(at, None, minlength), int64)
    if array(weights).shape != at.shape:
        raise OperatorError("weights should be 1-d and have the same length as input")
    out = float32 if weights.dtype is float32 else float64
    return wrap(np.bincount(at, value(weights), minlength), out)


def _put(self: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    out = make(array(self).copy(), self.dtype)
    return index_put_(out, indices, values, accumulate)


KERNELS: dict[str, Kernel] = {
    "aten::index.Tensor": index,
    "aten::index_put_": index_put_,
    "aten::index_put": _put,
    "aten::_index_put_impl_": lambda s, i, v, a=False, unsafe=False: index_put_(s, i, v, a),
    "aten::index_select": index_select,
    "aten::masked_fill.Scalar": masked_fill,
    "aten::masked_fill.Tensor": masked_fill,
    "aten::masked_select": masked_select,
    "aten::nonzero": nonzero,
    "aten::nonzero_static": nonzero_static,
    "aten::_unsafe_masked_index": unsafe_masked_index,
    "aten::_unsafe_masked_index_put_accumulate": unsafe_masked_put,
    "aten::argwhere": nonzero,
    "aten::nonzero_numpy": nonzero_numpy,
    "aten::where": nonzero_numpy,
    "aten::embedding": embedding,
    "aten::embedding_renorm_": embedding_renorm_,
    "aten::one_hot": one_hot,
    "aten::searchsorted.Tensor": searchsorted,
    "aten::searchsorted.Scalar": searchsorted,
    "aten::bucketize.Tensor": bucketize,
    "aten::bucketize.Scalar": bucketize,
    "aten::bincount": bincount,
}
