"""Inputs taken apart into tensors, and outputs put together, as a trace records them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute

from tensorscript.base.dtypes import DType
from tensorscript.base.named_tuples import remade
from tensorscript.base.schema import schema
from tensorscript.dialects.ts.type_text import annotation_text
from tensorscript.dialects.ts.types import (
    DEVICE,
    GENERATOR,
    INT,
    NONE,
    STRING,
    TENSOR,
    ClassType,
    DictType,
    ListType,
    TensorType,
    TupleType,
)
from tensorscript.eager.device import Layout, MemoryFormat, device
from tensorscript.eager.random import Generator
from tensorscript.eager.storage import TensorBase
from tensorscript.frontends.script.draft import Value
from tensorscript.frontends.script.python_names import qualified_name

from . import cautions
from .cautions import TracingError
from .facts import type_of
from .literals import PYTHON_TYPES, contents
from .places import here
from .tracer import Tracer

_SCALARS: dict[type, Attribute] = {
    **PYTHON_TYPES, bytes: STRING, Generator: GENERATOR, DType: INT, Layout: INT, device: DEVICE,
}  # fmt: skip
_ALLOWED = "Only Tensors and (possibly nested) Lists, Dicts, and Tuples of Tensors can be traced"
_OUTPUTS = (
    "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced "
    "functions"
)
_DICTIONARIES = (
    "cannot be understood by the tracer, only outputs matching dict[Union[str, Tensor], "
    "Union[Tensor, Tuple[Tensor, ...]]] can be a dictionary output of a traced function"
)


class _NotInferable(Exception):
    """A value that has no type of the language; the text says why."""


def input_type(value: Any) -> Attribute:
    """The type of an example input; of tensors inside a list or dict only that they are tensors.

    Raises:
        TracingError: no such type, or a container of mixed types.
    """
    try:
        return _inferred(value)
    except _NotInferable as reason:
        raise TracingError(f"Tracer cannot infer type of {value!r}\n:{reason}") from None


def _inferred(value: Any) -> Attribute:
    match value:
        case TensorBase():
            return type_of(value)
        case tuple():
            return TupleType.of(map(_inferred, value))
        case list():
            if not value:
                raise _NotInferable("List trace inputs must have elements")
            return ListType(_same([_loose(_inferred(v)) for v in value], "List", "element type"))
        case dict():
            if not value:
                raise _NotInferable("Dictionary inputs must have entries")
            keys = _same(list(map(_inferred, value)), "Dictionary", "type")
            parts = [_loose(_inferred(v)) for v in value.values()]
            parts = [p for p in parts if p != NONE] or parts
            return DictType(keys, _same(parts, "Dictionary", "type"))
    kind = type(value)
    if (found := _SCALARS.get(kind)) is not None:
        return found
    if kind.__module__ in ("builtins", "numpy") or kind is MemoryFormat:
        raise _NotInferable(
            "Only tensors and (possibly nested) tuples of tensors, lists, or dicts are supported "
            "as inputs or outputs of traced functions, but instead got value of type "
            f"{kind.__name__}."
        )
    return ClassType(StringAttr(qualified_name(kind)))


def _loose(type: Attribute) -> Attribute:
    """Inside a list or dict: `Tensor` without sizes."""
    match type:
        case TensorType():
            return TENSOR
        case TupleType():
            return TupleType.of(map(_loose, type.elements))
    return type


unshaped = _loose


def _same(types: Sequence[Attribute], what: str, of: str) -> Attribute:
    """The one type of the parts of a container."""
    for other in types[1:]:
        if other != types[0]:
            first, second = map(annotation_text, (types[0], other))
            raise _NotInferable(
                f"{what} inputs to traced functions must have consistent {of}. Found {first} and "
                f"{second}"
            )
    return types[0]


def _is_traceable(type: Attribute) -> bool:
    match type:
        case TensorType():
            return True
        case ListType():
            return _is_traceable(type.element)
        case TupleType():
            return all(map(_is_traceable, type.elements))
        case DictType():
            return type.key in (STRING, INT) and _is_traceable(type.value)
    return False


def check_inputs(values: Sequence[Any]) -> None:
    """Raise TracingError unless all example inputs are tensors or containers of tensors."""
    types = input_type(tuple(values))
    if not _is_traceable(types):
        text = annotation_text(types)
        raise TracingError(f"Type '{text}' cannot be traced. {_ALLOWED}")


def add_input(tracer: Tracer, value: Any, made: Value) -> Any:
    """Make the tensors inside `value` known as parts of `made`; gives the value to call with.

    A tensor that is an input already, or a parameter, is passed as a view of itself.
    """
    match value:
        case TensorBase():
            if tracer.knows(value):
                value = type(value).view(value, *value._array.shape)  # type: ignore[attr-defined]  # every Tensor has it
            tracer.know(value, made)
            return value
        case tuple():
            parts = tracer.add("prim::TupleUnpack", [made], [input_type(v) for v in value])
            return tuple(add_input(tracer, v, p) for v, p in zip(value, parts.outputs, strict=True))
        case list():
            parts = tracer.add("prim::ListUnpack", [made], [input_type(v) for v in value])
            return [add_input(tracer, v, p) for v, p in zip(value, parts.outputs, strict=True)]
    return {key: _entry(tracer, key, part, made) for key, part in value.items()}


def _entry(tracer: Tracer, key: Any, part: Any, made: Value) -> Any:
    return add_input(tracer, part, entry_of(tracer, made, key, input_type(part)))


def entry_of(tracer: Tracer, made: Value, key: Any, type_: Attribute) -> Value:
    """Record `made[key]` of a dict."""
    is_text = isinstance(key, str)
    at = tracer.constant(key, STRING if is_text else INT, None)
    found = schema("aten::__getitem__.Dict_str" if is_text else "aten::__getitem__.Dict_int")
    return tracer.add(found.name, [made, at], [type_], None, found).output


def output_of(tracer: Tracer, result: Any) -> Value:
    """The value that a traced function returns.

    Raises:
        TracingError: nothing was returned, or what was is no tensor or container of tensors.
    """
    if result is None:
        raise TracingError(
            "The traced function didn't return any values! Side-effects are not captured in "
            "traces, so it would be a no-op."
        )
    if not _can_leave(input_type(result)):
        raise TracingError(_OUTPUTS)
    return built(tracer, result)


def _can_leave(type: Attribute) -> bool:
    """Whether a program may give back a value; a dict is asked again when it is put together."""
    match type:
        case ListType():
            return isinstance(type.element, TensorType)
        case TupleType():
            return all(map(_can_leave, type.elements))
    return isinstance(type, TensorType | DictType)


def is_traceable(value: Any) -> bool:
    """Whether a value is a tensor, or a container of tensors that a trace can hold."""
    try:
        return _is_traceable(_inferred(value))
    except _NotInferable:
        return False


def built(tracer: Tracer, result: Any) -> Value:
    """The value of a tensor, or of a container, which is put together."""
    match result:
        case TensorBase():
            return tracer.output_value(result)
        case list():
            return _sequence(tracer, result)
        case dict():
            return _dictionary(tracer, result)
    parts = [built(tracer, part) for part in result]
    made = TupleType.of(p.type for p in parts)
    return tracer.add("prim::TupleConstruct", parts, [made]).output


def _sequence(tracer: Tracer, result: list[Any]) -> Value:
    if tracer.manner.strict:
        cautions.warn(cautions.container("list"))
    parts = [built(tracer, part) for part in result]
    return tracer.add("prim::ListConstruct", parts, [ListType(_loose(parts[0].type))]).output


def _dictionary(tracer: Tracer, result: dict[Any, Any]) -> Value:
    if tracer.manner.strict:
        raise TracingError(cautions.container("dict"))
    if not all(_is_entry(key, part) for key, part in result.items()):
        raise TracingError(f"output 1 ({contents(result)}) of traced region {_DICTIONARIES}")
    entries: list[Value] = []
    for key, part in result.items():
        is_text = isinstance(key, str)
        entries.append(tracer.constant(key, STRING, here()) if is_text else built(tracer, key))
        entries.append(built(tracer, part))
    type_ = DictType(_loose(entries[0].type), _loose(entries[1].type))
    return tracer.add("prim::DictConstruct", entries, [type_]).output


def _is_entry(key: Any, value: Any) -> bool:
    """Whether a key and its value may stand in a dict that a program gives back."""
    parts = value if isinstance(value, tuple) else (value,)
    return isinstance(key, str | TensorBase) and all(isinstance(p, TensorBase) for p in parts)


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """`value` with `change` of everything in it that is no container."""
    match value:
        case tuple() if hasattr(value, "_fields"):
            return remade(value, (mapped(v, change) for v in value))
        case tuple():
            return tuple(mapped(v, change) for v in value)
        case list():
            return [mapped(v, change) for v in value]
        case dict():
            return {k: mapped(v, change) for k, v in value.items()}
    return change(value)
