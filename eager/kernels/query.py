"""Questions about tensors and the eager state, and `prim` helpers on values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.dtypes import BY_CODE, bool_, promote_types, scalar_dtype
from tensorscript.base.errors import DimensionError, OperatorError

from ..autocast import get_autocast_dtype, is_autocast_cpu_enabled, is_autocast_enabled
from ..device import contiguous_format, device, strided
from ..memory_format import is_in_format, known_format
from ..modes import MODES, switch_gradients
from ..placement import device_of
from ..storage import array, make, promoted, wrap
from .shapes import broadcast, normal_dim

Kernel = Callable[..., Any]


def number_to_tensor(x: Any) -> Any:
    return wrap(x, scalar_dtype(x, MODES.default_dtype))


def is_contiguous(self: Any, memory_format: Any = None) -> bool:
    return is_in_format(array(self), known_format(memory_format) or contiguous_format)


def size_at(self: Any, dim: int) -> int:
    shape = array(self).shape
    if not shape:
        raise DimensionError(f"Dimension specified as {dim} but tensor has no dimensions")
    return int(shape[normal_dim(dim, len(shape))])


def strides(self: Any) -> list[int]:
    a = array(self)
    if not a.size:  # NumPy has no strides for these
        return [int(np.prod([max(n, 1) for n in a.shape[d + 1 :]])) for d in range(a.ndim)]
    return [s // a.itemsize for s in a.strides]


def stride_at(self: Any, dim: int) -> int:
    shape = array(self).shape
    if not shape:
        raise DimensionError(f"Dimension specified as {dim} but tensor has no dimensions")
    return strides(self)[normal_dim(dim, len(shape))]


def assert_nonzero(self: Any, assert_msg: str) -> None:
    """Raise unless a tensor of one element is not 0."""
    a = array(self)
    if a.size != 1:
        word = "no values" if not a.size else "more than one value"
        raise OperatorError(f"Boolean value of Tensor with {word} is ambiguous")
    if not a.reshape(()):
        raise OperatorError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def is_set_to(self: Any, tensor: Any) -> bool:
    """Whether both are the same elements of the same memory."""
    ours, theirs = array(self), array(tensor)
    return (
        (ours.shape, ours.strides) == (theirs.shape, theirs.strides)
        and ours.__array_interface__["data"][0] == theirs.__array_interface__["data"][0]
    )  # fmt: skip


_NEVER: Kernel = lambda self: False  # noqa: E731 - a table cell

_ABSENT = (
    "meta", "quantized", "mtia", "ipu", "vulkan", "mps", "mkldnn", "sparse",
    "sparse_csr", "xpu", "xla",
)  # fmt: skip
KERNELS: dict[str, Kernel] = {
    "prim::dtype": lambda self: self.dtype,
    "prim::device": device_of,
    "prim::layout": lambda self: strided,
    "prim::requires_grad": lambda self: self.requires_grad,
    "prim::grad": lambda self: None,
    "prim::data": lambda self: make(array(self), self.dtype),
    "prim::itemsize": lambda self: self.dtype.itemsize,
    "prim::nbytes": lambda self: array(self).size * self.dtype.itemsize,
    "prim::name": lambda self: None,
    "prim::is_cpu": lambda self: self.is_cpu,
    "prim::is_cuda": lambda self: self.is_cuda,
    **{f"prim::is_{k}": _NEVER for k in _ABSENT},
    "prim::NumToTensor.Scalar": number_to_tensor,
    "prim::NumToTensor.bool": number_to_tensor,
    "prim::type": lambda self: self.type,
    "prim::index": lambda self: self.index,
    "prim::TupleIndex": lambda items, i: items[i],
    "prim::EnumName": lambda member: member.name,
    "prim::EnumValue.int": lambda member: member.value,
    "prim::EnumValue.float": lambda member: member.value,
    "prim::EnumValue.str": lambda member: member.value,
    "prim::unchecked_cast": lambda x: x,
    "prim::unchecked_unwrap_optional": lambda x: x,
    "aten::_shape_as_tensor": lambda self: make(np.array(array(self).shape, np.int64), BY_CODE[4]),
    "aten::broadcast_shapes": lambda a, b: list(broadcast(a, b)),
    "aten::size": lambda self: list(array(self).shape),
    "aten::size.int": size_at,
    "aten::sym_size.int": size_at,
    "aten::stride": strides,
    "aten::stride.int": stride_at,
    "aten::get_device": lambda self: self.get_device(),
    "aten::numel": lambda self: array(self).size,
    "aten::element_size": lambda self: self.element_size(),
    "aten::storage_offset": lambda self: self.storage_offset(),
    "aten::dense_dim": lambda self: array(self).ndim,
    "aten::sparse_dim": lambda self: 0,
    "aten::dim": lambda self: array(self).ndim,
    "aten::is_contiguous": is_contiguous,
    "aten::is_contiguous.memory_format": is_contiguous,
    "aten::is_floating_point": lambda self: self.dtype.is_floating_point,
    "aten::is_complex": lambda self: self.dtype.is_complex,
    "aten::is_nonzero": lambda self: bool(self),
    "aten::is_same_size": lambda self, other: array(self).shape == array(other).shape,
    "aten::item": lambda self: self.item(),
    "aten::_local_scalar_dense": lambda self: self.item(),
    "aten::result_type.Tensor": lambda a, b: promoted(a, b),
    "aten::result_type.Scalar": lambda a, b: promoted(a, b),
    "aten::result_type.Scalar_Tensor": lambda a, b: promoted(a, b),
    "aten::result_type.Scalar_Scalar": lambda a, b: promoted(
        number_to_tensor(a), number_to_tensor(b)
    ),
    "aten::is_signed": lambda self: self.dtype is not bool_ and self.dtype.signed,
    "aten::is_inference": _NEVER,
    "aten::is_distributed": _NEVER,
    "aten::is_pinned": lambda self, device=None: False,
    "aten::is_set_to": is_set_to,
    "aten::_assert_async": lambda self: assert_nonzero(self, ""),
    "aten::_assert_async.msg": assert_nonzero,
    "aten::device": device,
    "aten::device.with_index": device,
    "aten::is_grad_enabled": lambda: MODES.grad_enabled,
    "aten::set_grad_enabled": switch_gradients,
    "aten::is_autocast_enabled": is_autocast_enabled,
    "aten::is_autocast_cpu_enabled": is_autocast_cpu_enabled,
    "aten::get_autocast_dtype": get_autocast_dtype,
    "aten::is_scripting": lambda: True,
    "aten::has_torch_function": lambda *_: False,
    "aten::promote_types": promote_types,
    "aten::can_cast": lambda source, target: source.category <= target.category,
    "aten::Size": lambda sizes: list(sizes),
    "aten::requires_grad_": lambda self, flag=True: self.requires_grad_(flag),
}
