"""`isinstance` on run-time values against TorchScript types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Attribute

from tensorscript.dialects.ts import types as t
from tensorscript.dialects.ts.typing import is_named_tuple, is_subtype, is_told
from tensorscript.eager.device import device
from tensorscript.eager.random import Generator
from tensorscript.eager.tensor import Tensor

from .typed import TypedDict, TypedList
from .values import EnumValue, ScriptObject

_PYTHON: dict[type[Attribute], tuple[type, ...]] = {
    t.TensorType: (Tensor,),
    t.FloatType: (float,),
    t.ComplexType: (complex,),
    t.BoolType: (bool,),
    t.StringType: (str,),
    t.NoneType: (type(None),),
    t.DeviceType: (device,),
    t.GeneratorType: (Generator,),
    t.AnyListType: (list,),
    t.AnyTupleType: (tuple,),
}


Fulfils = Callable[[str, str], bool]
"""Whether a class, by name, has what an interface asks for."""


def _by_name(class_name: str, interface: str) -> bool:
    return class_name == interface


def is_instance(value: Any, type_: Attribute, fulfils: Fulfils = _by_name) -> bool:
    """Whether `value` is of a TorchScript type; containers are checked by their elements."""

    def inner(part: Any, wanted: Attribute) -> bool:
        return is_instance(part, wanted, fulfils)

    match type_:
        case t.AnyType():
            return True
        case t.IntType():
            return isinstance(value, int) and not isinstance(value, bool)
        case t.NumberType():
            return isinstance(value, int | float | complex) and not isinstance(value, bool)
        case t.OptionalType():
            return value is None or inner(value, type_.element)
        case t.UnionType():
            return any(inner(value, m) for m in type_.members)
        case t.ListType() | t.DictType():
            return _is_container(value, type_, inner)
        case t.TupleType():
            return (
                isinstance(value, tuple)
                and len(value) == len(type_.elements)
                and (not is_named_tuple(type_) or _fields(value) == type_.field_names)
                and all(map(inner, value, type_.elements))
            )
        case t.ClassType():
            return isinstance(value, ScriptObject) and value.class_name == type_.class_name.data
        case t.InterfaceType():
            return isinstance(value, ScriptObject) and fulfils(
                value.class_name, type_.class_name.data
            )
        case t.EnumType():
            return isinstance(value, EnumValue) and value.class_name == type_.class_name.data
    return isinstance(value, _PYTHON.get(type(type_), ()))


def _fields(value: tuple[Any, ...]) -> tuple[str, ...]:
    fields: tuple[str, ...] = getattr(value, "_fields", ())
    return fields


def _is_container(
    value: Any, type_: t.ListType | t.DictType, inner: Callable[[Any, Attribute], bool]
) -> bool:
    """By the type that it knows, else by what it holds."""
    if isinstance(value, TypedList | TypedDict):
        return is_subtype(value.type, type_)
    if not isinstance(value, list | dict) or (value and not is_told(type_)):
        return False
    if isinstance(type_, t.ListType):
        return isinstance(value, list) and all(inner(v, type_.element) for v in value)
    return isinstance(value, dict) and all(
        inner(k, type_.key) and inner(v, type_.value) for k, v in value.items()
    )
