"""Slices, parts and single entries along one dimension, which share memory with the input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tensorscript.base.errors import DimensionError, OperatorError

from ..parts import part
from ..storage import array, make
from .shapes import normal_dim

Kernel = Callable[..., Any]


def slice_(
    self: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    if step <= 0:
        raise OperatorError("slice step must be positive")
    a = array(self)
    index = [slice(None)] * normal_dim(dim, a.ndim)
    return make(part(a, (*index, slice(start, end, step))), self.dtype)


def select(self: Any, dim: int, index: int) -> Any:
    a = array(self)
    if a.ndim == 0:
        raise DimensionError("select() cannot be applied to a 0-dim tensor.")
    axis = normal_dim(dim, a.ndim)
    size = a.shape[axis]
    if not -size <= index < size:
        raise DimensionError(
            f"select(): index {index} out of range for tensor of size {list(a.shape)} at "
            f"dimension {axis}"
        )
    at: Any = (*[slice(None)] * axis, index, ...)
    return make(a[at], self.dtype)


def narrow(self: Any, dim: int, start: int, length: int) -> Any:
    if not array(self).ndim:
        raise OperatorError("narrow() cannot be applied to a 0-dim tensor.")
    size = array(self).shape[normal_dim(dim, array(self).ndim)]
    first = int(start.item()) if hasattr(start, "item") else int(start)
    if length < 0:
        raise OperatorError("narrow(): length must be non-negative.")
    if not -size <= first <= size:
        raise DimensionError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {first})"
        )
    first = first + size if first < 0 else first
    if first + length > size:
        raise OperatorError(f"start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return slice_(self, dim, first, first + length)


def split(self: Any, split_size: int, dim: int = 0) -> list[Any]:
    if not array(self).ndim:
        raise OperatorError("split expects at least a 1-dimensional tensor")
    n = array(self).shape[normal_dim(dim, array(self).ndim)]
    if split_size < 0:
        raise OperatorError(
            f"split expects split_size be non-negative, but got split_size={split_size}"
        )
    if n and not split_size:
        raise OperatorError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}"
        )
    if n == 0:
        return [slice_(self, dim)]
    return [slice_(self, dim, k, k + split_size) for k in range(0, n, split_size)]


def split_with_sizes(self: Any, sizes: Sequence[int], dim: int = 0) -> list[Any]:
    n = array(self).shape[normal_dim(dim, array(self).ndim)]
    if sum(sizes) != n:
        raise OperatorError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at "
            f"dimension {dim}), but got split_sizes={list(sizes)}"
        )
    if any(size < 0 for size in sizes):
        raise OperatorError(
            "split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={list(sizes)}"
        )
    ends = np.cumsum(sizes).tolist()
    return [slice_(self, dim, e - s, e) for s, e in zip(sizes, ends, strict=True)]


def chunk(self: Any, chunks: int, dim: int = 0) -> list[Any]:
    n = array(self).shape[normal_dim(dim, array(self).ndim)]
    if n == 0:
        return [slice_(self, dim) for _ in range(chunks)]
    return split(self, -(-n // chunks), dim)


def tensor_split(self: Any, sections: int, dim: int = 0) -> list[Any]:
    n = array(self).shape[normal_dim(dim, array(self).ndim)]
    if sections <= 0:
        raise OperatorError(f"number of sections must be larger than 0, got {sections}")
    small, larger = divmod(n, sections)
    return split_with_sizes(self, [small + (k < larger) for k in range(sections)], dim)


def tensor_split_at(self: Any, indices: Sequence[int], dim: int = 0) -> list[Any]:
    bounds = [0, *indices, None]
    return [slice_(self, dim, a, b) for a, b in pairwise(bounds)]


def tensor_split_by(self: Any, where: Any, dim: int = 0) -> list[Any]:
    """`where` holds the number of parts, or the places between them."""
    if not array(self).ndim:
        raise OperatorError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    found = array(where)
    if found.ndim > 1:
        raise OperatorError(
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
            f"one-dimensional tensor, but got a tensor with {found.ndim} dims"
        )
    if found.ndim == 0:
        return tensor_split(self, int(found), dim)
    return tensor_split_at(self, found.tolist(), dim)


def unbind(self: Any, dim: int = 0) -> list[Any]:
    a = array(self)
    if a.ndim == 0:
        raise DimensionError("Dimension specified as 0 but tensor has no dimensions")
    return [select(self, dim, k) for k in range(a.shape[normal_dim(dim, a.ndim)])]


KERNELS: dict[str, Kernel] = {
    "aten::unsafe_chunk": chunk,
    "aten::unsafe_split.Tensor": split,
    "aten::unsafe_split_with_sizes": split_with_sizes,
    "aten::slice.Tensor": slice_,
    "aten::select.int": select,
    "aten::narrow": narrow,
    "aten::narrow.Tensor": narrow,
    "aten::split.Tensor": split,
    "aten::split": split_with_sizes,
    "aten::split.sizes": split_with_sizes,
    "aten::split_with_sizes": split_with_sizes,
    "aten::chunk": chunk,
    "aten::tensor_split.sections": tensor_split,
    "aten::tensor_split.indices": tensor_split_at,
    "aten::tensor_split.tensor_indices_or_sections": tensor_split_by,
    "aten::unbind.int": unbind,
}
