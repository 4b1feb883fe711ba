"""Questions about tensors and the eager state, and `prim` helpers on values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorscript.base.dtypes import bfloat16, promote_types, scalar_dtype

from ..device import CPU, device, strided
from ..modes import MODES, set_grad_enabled
from ..storage import array, make, wrap

Kernel = Callable[..., Any]


def number_to_tensor(x: Any) -> Any:
    return wrap(x, scalar_dtype(x, MODES.default_dtype))


def to_device(self: Any, *_: Any) -> device:
    return CPU


_NEVER: Kernel = lambda self: False  # noqa: E731 - a table cell

_ABSENT = (
    "cuda", "meta", "quantized", "nested", "mtia", "ipu", "vulkan", "mps", "mkldnn", "sparse",
    "sparse_csr", "xpu", "xla",
)  # fmt: skip
KERNELS: dict[str, Kernel] = {
    "prim::dtype": lambda self: self.dtype,
    "prim::device": to_device,
    "prim::layout": lambda self: strided,
    "prim::requires_grad": lambda self: self.requires_grad,
    "prim::grad": lambda self: None,
    "prim::data": lambda self: make(array(self), self.dtype),
    "prim::itemsize": lambda self: self.dtype.itemsize,
    "prim::nbytes": lambda self: array(self).size * self.dtype.itemsize,
    "prim::name": lambda self: None,
    "prim::is_cpu": lambda self: True,
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
    "aten::device": device,
    "aten::device.with_index": device,
    "aten::is_grad_enabled": lambda: MODES.grad_enabled,
    "aten::set_grad_enabled": set_grad_enabled,
    "aten::is_autocast_enabled": lambda: MODES.autocast_enabled,
    "aten::is_autocast_cpu_enabled": lambda: MODES.autocast_enabled,
    "aten::get_autocast_dtype": lambda device_type: bfloat16,
    "aten::is_scripting": lambda: True,
    "aten::has_torch_function": lambda *_: False,
    "aten::promote_types": promote_types,
    "aten::can_cast": lambda source, target: source.category <= target.category,
    "aten::Size": lambda sizes: list(sizes),
    "aten::requires_grad_": lambda self, flag=True: self.requires_grad_(flag),
}
