"""Constants of traces: plain values with their types, and how messages show values."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import Attribute

from tensorscript.base.dtypes import DType, numbers
from tensorscript.base.tensor_text import tensor_text
from tensorscript.dialects.ts.constants import Device, GeneratorLiteral
from tensorscript.dialects.ts.types import (
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    GENERATOR,
    INT,
    NONE,
    NUMBER,
    STRING,
    TENSOR,
)
from tensorscript.eager.device import Layout, MemoryFormat, device
from tensorscript.eager.random import Generator
from tensorscript.eager.storage import TensorBase, shown

from .cautions import TracingError

PYTHON_TYPES: dict[type, Attribute] = {
    bool: BOOL, int: INT, float: FLOAT, complex: COMPLEX, str: STRING, type(None): NONE,
}  # fmt: skip
"""The types of plain values."""
SCHEMA_TYPES: dict[str, Attribute] = {
    "Tensor": TENSOR, "int": INT, "float": FLOAT, "bool": BOOL, "complex": COMPLEX,
    "Scalar": NUMBER, "str": STRING,
}  # fmt: skip
"""The types of what schemas take by the words that they use."""


def plain(value: Any) -> tuple[object, Attribute]:
    """A constant argument and its type: dtypes and layouts are ints, devices have their text."""
    if isinstance(value, DType | Layout | MemoryFormat):
        return value.code, INT
    if isinstance(value, device):
        return Device(str(value)), DEVICE
    if isinstance(value, Generator):
        return GeneratorLiteral(value.initial_seed(), value), GENERATOR
    if isinstance(value, np.generic):
        value = value.item()
    if (type_ := PYTHON_TYPES.get(type(value))) is not None:
        return value, type_
    raise TracingError(f"a trace cannot hold a constant of type {type(value).__name__}")


def contents(value: Any) -> str:
    """A value in a message, as PyTorch's runtime prints it."""
    match value:
        case TensorBase():
            return _shown(value)
        case dict():
            return "{" + ", ".join(f"{contents(k)}: {contents(v)}" for k, v in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(contents, value)) + "]"
        case tuple():
            comma = "," if len(value) == 1 else ""
            return "(" + ", ".join(map(contents, value)) + f"{comma})"
    return str(value)


def _shown(tensor: TensorBase) -> str:
    """A tensor in a message."""
    return tensor_text(numbers(shown(tensor), tensor.dtype), f"torch.{tensor.dtype.word}Tensor")
