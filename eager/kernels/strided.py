"""Views by strides of the memory that a tensor lies in, and tensors moved onto other memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided as strided_view

from tensorscript.base.array_memory import holders, owner
from tensorscript.base.cpp_names import cpp_name
from tensorscript.base.errors import OperatorError

from ..device import contiguous_format, preserve_format
from ..growth import as_bytes, placed_at
from ..memory_format import (
    element_strides,
    format_strides,
    is_dense,
    known_format,
    suggested_format,
)
from ..placement import beside
from ..storage import Array, array, make, with_steps
from ..storages import make_room
from ..tracking import written
from ..typed_storages import elements_of
from .shapes import normal_dim

Kernel = Callable[..., Any]


def resize_(self: Any, size: Sequence[int], memory_format: Any = None) -> Any:
    """A new shape over the elements in order; what is added is not initialised.

    Without a memory format the strides of a tensor that has the shape already stay.
    """
    if memory_format is None and tuple(size) == array(self).shape:
        return self
    _refuse_overflow(size, self.dtype.itemsize)
    strides = format_strides(tuple(size), known_format(memory_format) or contiguous_format)
    start = make_room(self, math.prod(size))
    a = array(self)
    steps = tuple(step * a.itemsize for step in strides)
    self._array = placed_at(as_bytes(owner(a)), start, a, tuple(size), steps)
    return self


def resize_as_(self: Any, other: Any, memory_format: Any = None) -> Any:
    """The shape of `other`; with `preserve_format` also the memory format that it lies in."""
    wanted = known_format(memory_format)
    if wanted is preserve_format:
        wanted = suggested_format(array(other))
    return resize_(self, array(other).shape, wanted)


def _refuse_overflow(size: Sequence[int], itemsize: int) -> None:
    """Refuse sizes, strides and bytes past 64 bits.

    Raises:
        OperatorError: in PyTorch's words.
    """
    if any(n < 0 for n in size) or math.prod(size) >= 2**63:
        raise OperatorError("numel: integer multiplication overflow")
    if math.prod(max(n, 1) for n in size[1:]) >= 2**63:
        raise OperatorError("Stride calculation overflowed")
    if math.prod(size) * itemsize >= 2**63:
        raise OperatorError(f"Storage size calculation overflowed with sizes={list(size)}")


def set_(self: Any, source: Any = None) -> Any:
    """From now on `self` is a view of all of `source`, or of nothing."""
    if source is None:
        nothing = np.empty(0, array(self).dtype)
        self._array = with_steps(beside(nothing, array(self)))
        return self
    if source.dtype is not self.dtype:
        raise OperatorError(
            f"Could not set tensor of type {cpp_name(source.dtype)} to a tensor of type "
            f"{cpp_name(self.dtype)}"
        )
    self._array = array(source)
    return self


def set_strided(
    self: Any, source: Any, offset: int, size: Sequence[int], stride: Sequence[int] = ()
) -> Any:
    steps = list(stride) or [int(np.prod(size[k + 1 :], dtype=int)) for k in range(len(size))]
    return set_(self, as_strided(source, size, steps, offset))


def set_storage(self: Any, source: Any) -> Any:
    """From now on `self` is a view of all of a storage, in one dimension."""
    self._array = with_steps(elements_of(source, self.dtype))
    return self


def set_storage_strided(
    self: Any, source: Any, offset: int, size: Sequence[int], stride: Sequence[int] = ()
) -> Any:
    """As `set_storage`, of a part."""
    return set_strided(
        self, make(elements_of(source, self.dtype), self.dtype), offset, size, stride
    )


def unfold(self: Any, dimension: int, size: int, step: int) -> Any:
    a = array(self)
    axis = normal_dim(dimension, a.ndim)
    n = a.shape[axis] if a.ndim else 1
    if size < 0:
        raise OperatorError(f"size is {size} but must be >= 0")
    if size > n:
        raise OperatorError(
            f"maximum size for tensor at dimension {axis} is {n} but size is {size}"
        )
    if step <= 0:
        raise OperatorError(f"step is {step} but must be > 0")
    if a.ndim == 0:
        return make(strided_view(a, (size,), (a.itemsize,)), self.dtype)
    shape = [*a.shape, size]
    strides = [*a.strides, a.strides[axis]]
    shape[axis] = (n - size) // step + 1
    strides[axis] *= step
    return make(strided_view(a, shape, strides), self.dtype)


def as_strided(
    self: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Any:
    """A view by explicit strides (in elements) of the memory that `self` is a view of; it must
    stay inside. The default offset is that of `self`."""
    if len(size) != len(stride):
        raise OperatorError("mismatch in length of strides and shape")
    memory, own = memory_of(array(self))
    offset = own if storage_offset is None else storage_offset
    flat = memory[offset:]
    reach = sum((n - 1) * s for n, s in zip(size, stride, strict=True)) + 1
    if all(size) and reach > flat.size:
        width = memory.itemsize
        raise OperatorError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and "
            f"itemsize {width} requiring a storage size of {(offset + reach) * width} are out of "
            f"bounds for storage of size {memory.nbytes}"
        )
    out = strided_view(flat, tuple(size), tuple(s * flat.itemsize for s in stride))
    return make(out, self.dtype)


def memory_of(a: Array) -> tuple[Array, int]:
    """The elements that `a` is a view of in the order of memory, and where `a` starts in them."""
    memory = a
    for holder in holders(a):
        if holder.dtype != a.dtype:
            break
        memory = holder
    if not (memory.size and is_dense(memory.shape, element_strides(memory))):
        return a.reshape(-1), 0
    start = a.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    flat = strided_view(memory, (memory.size,), (memory.itemsize,))
    return flat, start // memory.itemsize


def counted(fn: Kernel) -> Kernel:
    """A write that counts if it changes the sizes, refused where a gradient is asked for."""

    def run(self: Any, *rest: Any) -> Any:
        if self.requires_grad:
            raise OperatorError("cannot resize variables that require grad")
        before = array(self).shape
        made = fn(self, *rest)
        if array(self).shape != before:
            written(self)
        return made

    return run


KERNELS: dict[str, Kernel] = {
    "aten::resize_": counted(resize_),
    "aten::resize_as_": counted(resize_as_),
    "aten::set_": set_,
    "aten::set_.source_Storage": set_storage,
    "aten::set_.source_Storage_storage_offset": set_storage_strided,
    "aten::set_.source_Tensor": set_,
    "aten::set_.source_Tensor_storage_offset": set_strided,
    "aten::unfold": unfold,
    "aten::as_strided": as_strided,
}
