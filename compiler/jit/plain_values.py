"""Numbers, strings and tensors of Python as script values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from tensorscript.base.dtypes import DType
from tensorscript.base.text import decoded
from tensorscript.compiler.arguments import tensor_of
from tensorscript.dialects.ts.type_text import message_text
from tensorscript.dialects.ts.types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NUMBER,
    STRING,
    TensorType,
)
from tensorscript.eager.device import Layout, MemoryFormat, device
from tensorscript.eager.foreign import is_foreign_tensor
from tensorscript.eager.tensor import Tensor
from tensorscript.frontends.script.python_names import python_constant


class Mismatch(Exception):
    """A Python value that is not of the script type; the text says why."""


def cannot(value: Any, type_: Attribute) -> Mismatch:
    wanted = "Tensor" if isinstance(type_, TensorType) else message_text(type_)
    return Mismatch(f"Unable to cast {value!r:.200} to {wanted}")


def our_tensor(value: Any) -> Tensor | None:
    """Our tensor, also of another library's."""
    if isinstance(value, Tensor):
        return value
    return tensor_of(value) if is_foreign_tensor(value) else None


def _number_of(value: Any) -> Any:
    """A tensor of one element or what is a scalar in NumPy as a Python number; everything else
    unchanged."""
    tensor = our_tensor(value)
    if tensor is not None and tensor._array.size == 1:
        return tensor._only()
    is_scalar = isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.ndim)
    return value.item() if is_scalar else value


def own(value: Any) -> Any:
    """PyTorch's dtype, layout, memory format or device as ours; everything else unchanged."""
    kind = type(value)
    if kind.__module__ != "torch":
        return value
    if kind.__name__ == "device":
        return device(str(value))
    return python_constant(value) if kind.__name__ in _TORCH_CODES else value


_TORCH_CODES = ("dtype", "layout", "memory_format")


def _int(value: Any) -> int:
    if isinstance(value, DType | Layout | MemoryFormat):
        return value.code
    number = _number_of(value)
    if isinstance(number, float) and not isinstance(value, float) and math.isfinite(number):
        # Tensors and NumPy scalars (np.float64 is a float) are cut off.
        number = int(number)
    if not isinstance(number, int) or not -(1 << 63) <= number < 1 << 63:
        raise cannot(value, INT)
    return int(number)


def _float(value: Any) -> float:
    value = _number_of(value)
    if not isinstance(value, int | float):
        raise cannot(value, FLOAT)
    return float(value)


def _complex(value: Any) -> complex:
    value = _number_of(value)
    if not isinstance(value, int | float | complex):
        raise cannot(value, COMPLEX)
    return complex(value)


def _bool(value: Any) -> bool:
    value = _number_of(value)
    if value is not None and not isinstance(value, bool | int | float):
        raise cannot(value, BOOL)
    return bool(value)


def _scalar(value: Any) -> Any:
    """A number of any kind; unlike for numbers of one kind, no tensor stands for it."""
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, int | float | complex):
        raise cannot(value, NUMBER)
    return value


def _string(value: Any) -> str:
    if isinstance(value, bytes):
        return str(decoded(value))
    if not isinstance(value, str):
        raise cannot(value, STRING)
    return value


PLAIN: dict[Attribute, Callable[[Any], Any]] = {
    INT: _int,
    FLOAT: _float,
    COMPLEX: _complex,
    BOOL: _bool,
    NUMBER: _scalar,
    STRING: _string,
}
