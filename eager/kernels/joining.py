"""Joining and stacking tensors, splitting by one of the first dimensions, writing into a view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import DType
from tensorscript.base.errors import OperatorError, ValueRangeError

from ..storage import array, cast, make, promoted, sum_dtype, to_storage, value
from .shapes import normal_dim
from .slicing import tensor_split, tensor_split_at
from .strided import as_strided
from .view import reshape, unsqueeze, view

Kernel = Callable[..., Any]


def cat(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Concatenate; tensors of shape (0,) are passed over."""
    if not tensors:
        raise ValueRangeError("torch.cat(): expected a non-empty list of Tensors")
    dtype = promoted(*tensors)
    arrays = [_converted(x, dtype) for x in tensors]
    kept = [a for a in arrays if a.shape != (0,)]
    if not kept:
        return make(arrays[0].copy(), dtype)
    axis = normal_dim(dim, kept[0].ndim)
    for k, a in enumerate(kept):
        if a.ndim == 0:
            raise OperatorError(f"zero-dimensional tensor (at position {k}) cannot be concatenated")
        if a.ndim != kept[0].ndim:
            raise OperatorError(
                f"Tensors must have same number of dimensions: got {kept[0].ndim} and {a.ndim}"
            )
        for d, (m, n) in enumerate(zip(kept[0].shape, a.shape, strict=True)):
            if d != axis and m != n:
                raise OperatorError(
                    f"Sizes of tensors must match except in dimension {axis}. Expected size {m} "
                    f"but got size {n} for tensor number {k} in the list."
                )
    return make(np.concatenate(kept, axis), dtype)


def _converted(x: Any, dtype: DType) -> Any:
    return array(x) if x.dtype is dtype else to_storage(value(x), dtype)


def stack(tensors: Sequence[Any], dim: int = 0) -> Any:
    if not tensors:
        raise OperatorError("stack expects a non-empty TensorList")
    dtype = promoted(*tensors)
    arrays = [_converted(x, dtype) for x in tensors]
    for k, a in enumerate(arrays):
        if a.shape != arrays[0].shape:
            raise OperatorError(
                f"stack expects each tensor to be equal size, but got {list(arrays[0].shape)} at "
                f"entry 0 and {list(a.shape)} at entry {k}"
            )
    return make(np.stack(arrays, normal_dim(dim, arrays[0].ndim + 1)), dtype)


def atleast(ndim: int) -> Kernel:
    """The tensor itself, or a view with dimensions of size 1 around."""

    def run(self: Any) -> Any:
        a = array(self)
        if a.ndim >= ndim:
            return self
        if a.ndim == 0:
            return view(self, [1] * ndim)
        wide = unsqueeze(self, 0) if a.ndim == 1 else self
        return unsqueeze(wide, -1) if ndim == 3 else wide

    return run


def _each_atleast(ndim: int) -> Kernel:
    one = atleast(ndim)
    return lambda tensors: [one(x) for x in tensors]


def stacked(prepare: Kernel, dim: Callable[[Any], int]) -> Kernel:
    def run(tensors: Sequence[Any]) -> Any:
        ready = [prepare(x) for x in tensors]
        return cat(ready, dim(ready[0]))

    return run


def _split_rows(name: str, least: int, dim: int) -> dict[str, Kernel]:
    """hsplit, vsplit, dsplit: tensors of at least `least` dimensions, cut along `dim`."""

    def refuse_small(self: Any) -> int:
        ndim = array(self).ndim
        if ndim < least:
            raise OperatorError(
                f"torch.{name} requires a tensor with at least {least} dimension, "
                f"but got a tensor with {ndim} dimensions!"
            )
        return dim if ndim > 1 else 0

    def by_count(self: Any, sections: int) -> list[Any]:
        axis = refuse_small(self)
        if sections <= 0 or array(self).shape[axis] % sections:
            raise OperatorError(
                f"torch.{name} attempted to split along dimension {axis}, but the size of the "
                f"dimension {array(self).shape[axis]} is not divisible by the split_size "
                f"{sections}!"
            )
        return tensor_split(self, sections, axis)

    def by_places(self: Any, indices: Sequence[int]) -> list[Any]:
        return tensor_split_at(self, indices, refuse_small(self))

    return {f"aten::{name}.int": by_count, f"aten::{name}.array": by_places}


def _column(x: Any) -> Any:
    return reshape(x, [array(x).size, 1]) if array(x).ndim <= 1 else x


def diagflat(self: Any, offset: int = 0) -> Any:
    return make(np.diagflat(array(self), offset), self.dtype)


def as_strided_scatter(
    self: Any,
    src: Any,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Any:
    """A copy of `self` with `src` in the places that the strided view names."""
    out = make(np.array(array(self)), self.dtype)
    target = array(as_strided(out, size, stride, storage_offset))
    if target.shape != array(src).shape:
        raise OperatorError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(array(src).shape)}, slice size = {list(target.shape)}"
        )
    target[...] = to_storage(value(src), self.dtype)
    return out


def chunk_cat(tensors: Sequence[Any], dim: int, num_chunks: int) -> Any:
    """Every tensor cut (the last chunk filled with zeros), the chunks side by side."""
    dtype = promoted(*tensors)
    axis = normal_dim(dim, array(tensors[0]).ndim)
    parts = []
    for x in tensors:
        a = cast(x, dtype)
        size = -(-a.shape[axis] // num_chunks)
        fill = [(0, 0)] * a.ndim
        fill[axis] = (0, size * num_chunks - a.shape[axis])
        wide = np.pad(a, fill)
        parts.append(wide.reshape(*a.shape[:axis], num_chunks, -1))
    return make(to_storage(np.concatenate(parts, axis + 1), dtype), dtype)


def sum_to_size(self: Any, size: Sequence[int]) -> Any:
    """Sums over what broadcasting `size` to the shape of `self` would repeat."""
    x = value(self)
    lead = x.ndim - len(size)
    pairs = list(zip(x.shape[max(lead, 0) :], size, strict=False))
    if lead < 0 or any(m != n and n != 1 for m, n in pairs):
        raise OperatorError(f"size {{{list(size)}}} is not expandable to size {{{list(x.shape)}}}.")
    over = (*range(lead), *(lead + k for k, (m, n) in enumerate(pairs) if n == 1 != m))
    if size and not over:
        return self
    out = sum_dtype(self.dtype)
    total = cast(self, out).sum(over, keepdims=True)
    return make(to_storage(total, out).reshape(tuple(size)), out)


KERNELS: dict[str, Kernel] = {
    "aten::row_stack": stacked(atleast(2), lambda x: 0),
    "aten::cat": cat,
    "aten::concat": cat,
    "aten::concatenate": cat,
    "aten::stack": stack,
    "aten::hstack": stacked(atleast(1), lambda x: 0 if array(x).ndim == 1 else 1),
    "aten::vstack": stacked(atleast(2), lambda x: 0),
    "aten::dstack": stacked(atleast(3), lambda x: 2),
    **{f"aten::atleast_{n}d": atleast(n) for n in (1, 2, 3)},
    **{f"aten::atleast_{n}d.Sequence": _each_atleast(n) for n in (1, 2, 3)},
    **_split_rows("hsplit", 1, 1),
    **_split_rows("vsplit", 2, 0),
    **_split_rows("dsplit", 3, 2),
    "aten::column_stack": lambda tensors: cat([_column(x) for x in tensors], 1),
    "aten::diagflat": diagflat,
    "aten::as_strided_scatter": as_strided_scatter,
    "aten::_chunk_cat": chunk_cat,
    "aten::sum_to_size": sum_to_size,
}
