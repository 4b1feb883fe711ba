"""The values of a call to compiled code against the types of its signature, as TorchScript checks
them: an int does for a float, a 0-dim tensor for a number, and nothing else changes its type.

Tensors inside of containers are the specialiser's to judge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from tensorscript.dialects.ts.constants import ValueAttr
from tensorscript.dialects.ts.ops import FuncOp
from tensorscript.dialects.ts.types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NUMBER,
    STRING,
    ClassType,
    EnumType,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
    UnionType,
)
from tensorscript.eager.foreign import is_foreign_tensor
from tensorscript.frontends.script.signature import NO_DEFAULT, Formal, Signature

from .arguments import is_array, tensor_of
from .jit.boundary import Classes, arranged, match_argument

_CLASSES = Classes()


def schema_of(function: FuncOp, name: str, skip: int) -> Signature:
    """The signature of a function of `ts`, without its first `skip` arguments (`self`)."""
    rows = zip(function.argument_names, function.block.args, function.defaults, strict=True)
    formals = [
        Formal(
            name.data,
            argument.type,
            default.data if isinstance(default, ValueAttr) else NO_DEFAULT,
        )
        for name, argument, default in rows
    ]
    return Signature(name, tuple(formals[skip:]), (function.return_type,))


def call_values(
    schema: Signature, defaults: Mapping[str, Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[Any]:
    """One value per argument, as it was given or the default by name.

    Raises:
        GuardError: too many, missing or unknown arguments, in TorchScript's words.
    """
    given = arranged(schema, args, kwargs)
    return [defaults[formal.name] if v is NO_DEFAULT else v for formal, v in given]


def _of_numbers(type_: Attribute) -> bool:
    """A type of numbers, strings and enums only, however nested, or of a class."""
    match type_:
        case EnumType() | ClassType():
            return True
        case OptionalType() | ListType():
            return _of_numbers(type_.element)
        case TupleType():
            return all(map(_of_numbers, type_.elements))
        case UnionType():
            return all(map(_of_numbers, type_.members))
    return type_ in (INT, FLOAT, COMPLEX, BOOL, NUMBER, STRING)


def _number(value: Any) -> Any:
    if is_foreign_tensor(value):
        return tensor_of(value)
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "biuf":
        return value.item()
    return value


def convert(schema: Signature, at: int, value: Any, classes: Classes = _CLASSES) -> Any:
    """The value of argument `at` as the schema wants it; tensors stay the same objects.

    Raises:
        GuardError: it is not of the argument's type, in TorchScript's words.
    """
    formal = schema.arguments[at]
    if isinstance(formal.type, TensorType):
        if not is_array(value) and value is not None:
            match_argument(value, formal, at, schema, _CLASSES)
    elif _of_numbers(formal.type) or isinstance(value, set):
        return match_argument(_number(value), formal, at, schema, classes)
    return value
