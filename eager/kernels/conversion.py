"""The same tensor in another dtype or memory layout, and the parts of complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.dtypes import (
    BY_CODE,
    BY_WORD,
    CAST_WORDS,
    NAMED,
    DType,
    bfloat16,
    check_held,
    complex_dtype,
    float16,
    float32,
)
from tensorscript.base.errors import OperatorError

from ..device import CPU, contiguous_format, preserve_format
from ..memory_format import (
    in_format,
    is_in_format,
    kept_strides,
    known_format,
    laid_out,
    suggested_format,
)
from ..placement import placed
from ..storage import array, make, to_storage, value

Kernel = Callable[..., Any]


def contiguous(self: Any, memory_format: Any = None) -> Any:
    """The tensor itself where its memory is in that format already."""
    a, wanted = array(self), known_format(memory_format) or contiguous_format
    if wanted is preserve_format:
        raise OperatorError("preserve memory format is unsupported by the contiguous operator")
    return self if is_in_format(a, wanted) else make(in_format(a, wanted), self.dtype)


def to(self: Any, dtype: DType | int | None, copy: bool = False, memory_format: Any = None) -> Any:
    """The tensor itself where nothing changes, unless a copy is asked for."""
    wanted = BY_CODE[dtype] if isinstance(dtype, int) else (dtype or self.dtype)
    a, layout = array(self), known_format(memory_format) or preserve_format
    if wanted is self.dtype and not copy and layout in (preserve_format, suggested_format(a)):
        return self
    found = np.array(a if wanted is self.dtype else to_storage(value(self), wanted))
    if layout is not preserve_format:
        return make(in_format(found, layout), wanted)
    return make(laid_out(found, kept_strides(a)), wanted)


def _cast(dtype: DType) -> Kernel:
    """`_cast_Float` and the like, which PyTorch's first traces call."""
    return lambda self, non_blocking=False: to(self, dtype)


def to_layout(
    self: Any, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None,
    non_blocking: bool = False, copy: bool = False, memory_format: Any = None,
) -> Any:  # fmt: skip
    return to(self, dtype, copy, memory_format)


def to_reduced(
    self: Any, cuda_enabled: bool, cpu_enabled: bool, cuda_dtype: Any, cpu_dtype: Any
) -> Any:
    """What graphs rewritten for autocast call: float32 becomes the short dtype."""
    return to(self, cpu_dtype) if cpu_enabled and self.dtype is float32 else self


def to_full(self: Any, cuda_enabled: bool, cpu_enabled: bool) -> Any:
    """What graphs rewritten for autocast call: short floats become float32."""
    return to(self, float32) if cpu_enabled and self.dtype in (float16, bfloat16) else self


def view_as_complex(self: Any) -> Any:
    """A view: pairs along the last dimension as numbers."""
    a = array(self)
    if not self.dtype.is_floating_point or self.dtype is bfloat16:
        raise OperatorError(
            "view_as_complex is only supported for half, float and double tensors, but got a "
            f"tensor of scalar type: {self.dtype.word}"
        )
    if not a.ndim:
        raise OperatorError("Input tensor must have one or more dimensions")
    if a.shape[-1] != 2:
        raise OperatorError("Tensor must have a last dimension of size 2")
    if a.size and a.strides[-1] != a.itemsize:
        raise OperatorError("Tensor must have a last dimension with stride 1")
    if a.size and any(step % (2 * a.itemsize) for step in a.strides[:-1]):
        raise OperatorError("Tensor must have a stride divisible by 2 for all but last dimension")
    if self.dtype is float16:
        check_held(NAMED["complex32"])
    dtype = complex_dtype(self.dtype)
    return make(a.view(dtype.numpy)[..., 0], dtype)


KERNELS: dict[str, Kernel] = {
    "aten::contiguous": contiguous,
    "aten::to.dtype": lambda self, dtype, nb=False, copy=False, mf=None: to(self, dtype, copy, mf),
    "aten::to.dtype_layout": to_layout,
    "aten::to.device": lambda self, device, dtype, nb=False, copy=False, mf=None: to(
        self, dtype, copy, mf
    ),
    "aten::to.other": lambda self, other, nb=False, copy=False, mf=None: to(
        self, other.dtype, copy, mf
    ),
    "aten::to.prim_Device": lambda self, device, dtype=None, nb=False, copy=False: to(
        self, dtype, copy
    ),
    "aten::to.prim_dtype": lambda self, dtype=None, nb=False, copy=False: to(self, dtype, copy),
    "aten::to.prim_other": lambda self, nb=False, copy=False: to(self, None, copy),
    "aten::type_as": lambda self, other: to(self, other.dtype),
    **{f"aten::_cast_{word}": _cast(BY_WORD[word]) for word in CAST_WORDS},
    "aten::_autocast_to_reduced_precision": to_reduced,
    "aten::_autocast_to_full_precision": to_full,
    "aten::cpu": lambda self: placed(self, CPU),
    "aten::cuda": lambda self: placed(self, "cuda"),
    "aten::view_as_complex": view_as_complex,
}
