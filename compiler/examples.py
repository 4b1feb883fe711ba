"""Example inputs: what a function is compiled for before it is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Attribute

from tensorscript.base.dtypes import bool_, float64, int64
from tensorscript.base.errors import GuardError
from tensorscript.dialects.ts import typing
from tensorscript.dialects.ts.type_text import message_text
from tensorscript.dialects.ts.types import (
    BOOL,
    FLOAT,
    INT,
    TENSOR,
    ListType,
    TensorType,
    TupleType,
)
from tensorscript.lowering.ts_to_tg.specs import ArgumentSpec, ScalarSpec, SequenceSpec
from tensorscript.lowering.ts_to_tg.specs import TensorSpec as LoweredTensorSpec

from . import specs
from .arguments import Taking, bind
from .convert import call_values
from .function import CompiledFunction

_SCALARS = {"int": (INT, int64), "float": (FLOAT, float64), "bool": (BOOL, bool_)}


def _argument(function: CompiledFunction, at: int, example: Any) -> ArgumentSpec:
    if not _holds_spec(example):
        return function.spec_of(at, example)
    formal = function.schema.arguments[at]
    made = _of_type(example, formal.type)
    if made is None:
        raise GuardError(
            f"{function.schema.name}() Expected a value of type "
            f"'{message_text(formal.type)}' for argument '{formal.name}' but instead found "
            f"{_told(example)}.\nPosition: {at}\nDeclaration: {function.declaration}"
        )
    return made


def _holds_spec(example: Any) -> bool:
    if isinstance(example, list | tuple):
        return any(map(_holds_spec, example))
    return isinstance(example, specs.TensorSpec | specs.ScalarSpec)


def _told(example: Any) -> str:
    match example:
        case specs.TensorSpec():
            return f"the spec of a tensor {example}"
        case specs.ScalarSpec():
            return f"the spec of a number {example.kind!r}"
    return f"a {type(example).__name__} with specs"


def _apart(sizes: Sequence[int | str]) -> tuple[int | str, ...]:
    """Sizes whose names are none that programs give their own variables, which have no capitals."""
    return tuple(f"N_{s}" if isinstance(s, str) and s.islower() else s for s in sizes)


def _of_type(example: Any, type_: Attribute) -> ArgumentSpec | None:
    """The spec of an example that holds specs; None if it cannot be of `type_`."""
    inner = typing.without_none(type_)
    match example:
        case specs.TensorSpec(shape, dtype, strides):
            fits = isinstance(inner, TensorType) or typing.is_subtype(TENSOR, type_)
            if not fits:
                return None
            return LoweredTensorSpec(dtype, _apart(shape), strides)
        case specs.ScalarSpec(kind):
            given, scalar = _SCALARS[kind]
            if inner == FLOAT and given == INT:
                return ScalarSpec(float64)  # as a call converts the number
            return ScalarSpec(scalar) if typing.is_subtype(given, type_) else None
        case list() if isinstance(inner, ListType) and isinstance(inner.element, TensorType):
            return _sequence(example, [inner.element] * len(example))
        case tuple() if isinstance(inner, TupleType) and len(inner.elements) == len(example):
            return _sequence(example, list(inner.elements))
    return None


def _sequence(examples: Sequence[Any], types: Sequence[Attribute]) -> ArgumentSpec | None:
    found = [
        _of_type(e, t) if _holds_spec(e) else bind(["element"], [e], Taking()).specs[0]
        for e, t in zip(examples, types, strict=True)
    ]
    parts = tuple(spec for spec in found if spec is not None)
    kind = type(examples)
    if len(parts) < len(found):
        return None
    return SequenceSpec(parts, kind is tuple, (), kind.__name__)


def argument_specs(function: CompiledFunction, examples: Sequence[Any]) -> list[ArgumentSpec]:
    """Specs of example inputs (arrays, numbers, TensorSpec, ScalarSpec), defaults filled in.

    Raises:
        GuardError: too many or missing inputs, or a spec that is not of the argument's type.
    """
    program = function.program
    values = call_values(function.schema, program.defaults, examples, {})
    return [_argument(function, at, v) for at, v in enumerate(values)]


def prepare(function: CompiledFunction, examples: list[Any]) -> None:
    """Compile for example inputs; a number given as a spec stays unknown."""
    flexible = not any(isinstance(v, specs.ScalarSpec) for v in examples)
    wanted = argument_specs(function, examples)
    while function.specialise(wanted, flexible) is None:
        again = argument_specs(function, examples)
        if again == wanted:
            return
        wanted = again
