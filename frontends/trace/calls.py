"""Calls of compiled functions and methods inside a trace: they stay calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Attribute

from tensorscript.base.records import dataclass
from tensorscript.dialects.ts.constants import ListLiteral
from tensorscript.dialects.ts.types import INT, STRING, TENSOR, DictType, ListType, TupleType
from tensorscript.dialects.ts.typing import without_none
from tensorscript.eager.storage import TensorBase
from tensorscript.frontends.script.draft import Node, Value
from tensorscript.frontends.script.link import Linkable
from tensorscript.frontends.script.signature import Signature, constant_type

from .cautions import TracingError
from .facts import has_tensor, type_of
from .nesting import entry_of
from .places import here
from .tracer import Tracer


@dataclass(frozen=True)
class Callee:
    """What is called.

    Attributes:
        symbol: its qualified name in its own program.
        receiver: the object of a method.
    """

    symbol: str
    signature: Signature
    linkable: Linkable
    receiver: object = None


def record_call(tracer: Tracer, callee: Callee, arguments: Sequence[Any], result: Any) -> None:
    """Record a call with its script arguments (of a method without the object).

    Raises:
        TracingError: the object is no submodule of the traced module, or the result is neither a
            tensor nor a list or tuple of tensors.
    """
    renaming = tracer.linker.link(callee.linkable, [callee.signature])
    own = () if callee.receiver is None else (_receiver(tracer, callee),)
    formals = callee.signature.arguments[len(own) :]
    given = [
        _argument(tracer, value, renaming.attribute(formal.type))
        for formal, value in zip(formals, arguments, strict=True)
    ]
    name = renaming.name(callee.symbol)
    kind, attributes = "prim::CallFunction", {"callee": name}
    if own:
        kind, attributes = "prim::CallMethod", {"method": name.rpartition(".")[2]}
    type_ = renaming.attribute(callee.signature.returns[0])
    if isinstance(result, TensorBase):
        type_ = type_of(result)
    node: Node = tracer.add(kind, [*own, *given], [type_], None, None, **attributes)
    define(tracer, result, node.output)


def _receiver(tracer: Tracer, callee: Callee) -> Value:
    place = tracer.objects.get(id(callee.receiver))
    if place is None:
        owner = callee.symbol.rpartition(".")[0]
        raise TracingError(
            f"Tried to trace <{owner} object at {id(callee.receiver):#x}> but it is not part of "
            "the active trace. Modules that are called during a trace must be registered as "
            "submodules of the thing being traced."
        )
    return place


def _argument(tracer: Tracer, value: Any, type_: Attribute) -> Value:
    """An argument's value; containers of tensors are built, others are constants."""
    if isinstance(value, TensorBase):
        return tracer.value_of(value)
    type_ = without_none(type_) if value is not None else type_
    match value:
        case list() if has_tensor(value):
            parts = [_argument(tracer, v, TENSOR) for v in value]
            return tracer.add("prim::ListConstruct", parts, [ListType(TENSOR)]).output
        case list():
            literal = ListLiteral(tuple(value))
            return tracer.constant(literal, type_, here())
        case tuple():
            kinds = type_.elements if isinstance(type_, TupleType) else [TENSOR] * len(value)
            parts = [_argument(tracer, v, t) for v, t in zip(value, kinds, strict=True)]
            made = TupleType.of(p.type for p in parts)
            return tracer.add("prim::TupleConstruct", parts, [made]).output
        case dict():
            entries = [
                _argument(tracer, part, INT if isinstance(part, int) else STRING)
                for pair in value.items()
                for part in pair
            ]
            kind = type_ if isinstance(type_, DictType) else DictType(STRING, TENSOR)
            return tracer.add("prim::DictConstruct", entries, [kind]).output
    return tracer.constant(value, constant_type(value), here())


def define(tracer: Tracer, result: Any, value: Value) -> None:
    """Make the tensors of a result known as parts of `value`."""
    match result:
        case TensorBase():
            tracer.know(result, value)
        case tuple() if has_tensors(result):
            _unpack(tracer, "prim::TupleUnpack", result, value)
        case list() if has_tensors(result):
            _unpack(tracer, "prim::ListUnpack", result, value)
        case dict() if has_tensors(list(result.values())):
            types = _part_types(list(result.values()), value.type)
            for (key, part), type_ in zip(result.items(), types, strict=True):
                define(tracer, part, entry_of(tracer, value, key, type_))
        case _:
            raise TracingError(
                f"Tracer cannot set value trace for type {type(result).__name__.capitalize()}. "
                "Supported types are tensor, tensor list, and tuple of tensors."
            )


def has_tensors(parts: Sequence[Any]) -> bool:
    return all(isinstance(p, TensorBase | tuple | list | dict) for p in parts)


def _unpack(tracer: Tracer, kind: str, parts: Sequence[Any], value: Value) -> None:
    unpacked = tracer.add(kind, [value], _part_types(parts, value.type))
    for part, made in zip(parts, unpacked.outputs, strict=True):
        define(tracer, part, made)


def _part_types(parts: Sequence[Any], whole: Attribute) -> list[Attribute]:
    """The types of the parts of a container: complete for tensors, else as it declares them."""
    declared: Sequence[Attribute]
    match whole:
        case TupleType():
            declared = list(whole.elements)
        case ListType():
            declared = [whole.element] * len(parts)
        case DictType():
            declared = [whole.value] * len(parts)
        case _:
            declared = [TENSOR] * len(parts)
    pairs = zip(parts, declared, strict=True)
    return [type_of(p) if isinstance(p, TensorBase) else d for p, d in pairs]
