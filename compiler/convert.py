"""The values of a call to compiled code against the types of its signature, as TorchScript checks
them: an int does for a float, a 0-dim tensor for a number, and nothing else changes its type.

Tensors inside of containers are the specialiser's to judge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tensorscript.dialects.ts.constants import ValueAttr
from tensorscript.dialects.ts.ops import FuncOp
from tensorscript.frontends.script.signature import NO_DEFAULT, Formal, Signature

from .arguments import is_array
from .jit.boundary import Classes
from .jit.matching import arranged, match_argument

_CLASSES = Classes()


def schema_of(function: FuncOp, name: str, skip: int) -> Signature:
    """The signature of a function of `ts`, without its first `skip` arguments (`self`)."""
    rows = zip(function.argument_names, function.block.args, function.defaults, strict=True)
    by_name = {name.data for name in function.keyword_only or ()}
    formals = [
        Formal(
            name.data,
            argument.type,
            default.data if isinstance(default, ValueAttr) else NO_DEFAULT,
            kwarg_only=name.data in by_name,
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


def _as_it_is(value: Any) -> Any:
    """What stands for a tensor stays what it is, so that results may be of its kind."""
    return value if is_array(value) else None


def convert(schema: Signature, at: int, value: Any, classes: Classes = _CLASSES) -> Any:
    """The value of argument `at` as the schema wants it; tensors stay the same objects.

    Raises:
        GuardError: it is not of the argument's type, in TorchScript's words.
    """
    formal = schema.arguments[at]
    return match_argument(value, formal, at, schema, replace(classes, tensor=_as_it_is))
