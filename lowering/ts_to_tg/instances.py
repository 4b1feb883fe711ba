"""`isinstance` of abstract values against TorchScript types, and what a cast leaves of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Attribute

from tensorscript.base.dtypes import bool_ as tt_bool
from tensorscript.base.dtypes import float64, int64
from tensorscript.dialects.ts import types as tt
from tensorscript.dialects.ts.constants import Device, EnumRef
from tensorscript.dialects.ts.typing import is_named_tuple, is_subtype, is_told

from .element_kinds import (
    Element,
    ListElement,
    MapElement,
    OptionalElement,
    RecordElement,
    TensorElement,
    TupleElement,
    of_type,
)
from .elements import as_expr
from .evaluator import Evaluator
from .values import (
    ComplexTensor,
    DictRef,
    Grown,
    ListRef,
    NestedTensor,
    ObjectRef,
    QuantizedTensor,
    SparseTensor,
    Tensor,
    Text,
    TupleValue,
    UnknownString,
    Value,
    is_scalar,
)
from .variants import held


def is_instance(ev: Evaluator, value: Value, type_: Attribute, is_cast: bool = False) -> bool:
    """Whether an abstract value has a ts type.

    Args:
        is_cast: it has one of several types, and what is asked is whether it may be this one.
    """

    def inner(part: Value, wanted: Attribute) -> bool:
        return is_instance(ev, part, wanted, is_cast)

    if isinstance(type_, tt.OptionalType):
        return value is None or inner(value, type_.element)
    if isinstance(type_, tt.UnionType):
        return any(inner(value, m) for m in type_.members)
    if isinstance(type_, tt.ListType | tt.DictType):
        return _is_container(ev, value, type_, is_cast)
    if isinstance(type_, tt.TupleType):
        return (
            isinstance(value, TupleValue)
            and len(value.elements) == len(type_.elements)
            and (not is_named_tuple(type_) or value.fields == type_.field_names)
            and all(map(inner, value.elements, type_.elements))
        )
    if isinstance(type_, tt.AnyListType):
        return isinstance(value, ListRef) and not ev.is_map(value)
    if isinstance(type_, tt.ClassType):
        return isinstance(value, ObjectRef) and value.class_name == type_.class_name.data
    if isinstance(type_, tt.InterfaceType) and is_cast:
        return isinstance(value, ObjectRef)
    if isinstance(type_, tt.EnumType):
        return isinstance(value, EnumRef) and value.class_name == type_.class_name.data
    test = _TYPE_TESTS.get(type(type_))
    if test is None:
        ev.b.cannot(f"isinstance of {type_}")
    return test(value)


def _is_container(
    ev: Evaluator, value: Value, type_: tt.ListType | tt.DictType, is_cast: bool
) -> bool:
    """By the type that it was made as, else by what it holds."""
    if not isinstance(value, ListRef | DictRef):
        return False
    is_dict = isinstance(type_, tt.DictType)
    if is_dict != (isinstance(value, DictRef) or ev.is_map(value)):
        return False
    if value.type is not None:
        own = value.type if isinstance(value, DictRef) else tt.ListType(value.type)
        return is_subtype(own, type_)
    content = ev.b.heap[value]
    if isinstance(content, Grown):
        return _is_element(content.element if is_dict else ListElement(content.element), type_)
    if isinstance(type_, tt.ListType):
        rows = [(type_.element, list(content))]
    else:
        rows = [(type_.key, list(content)), (type_.value, [held(v) for v in content.values()])]
    return all(
        (is_cast or _is_told_by(values, wanted))
        and all(is_instance(ev, v, wanted, is_cast) for v in values)
        for wanted, values in rows
    )


def _is_element(element: Element, type_: Attribute) -> bool:
    """Whether what a run-time list holds is of a ts type; of a dict, its items are asked about."""
    if isinstance(element, OptionalElement):
        if isinstance(type_, tt.OptionalType):
            return element.element is None or _is_element(element.element, type_.element)
        return element.element is None and isinstance(type_, tt.NoneType)
    if isinstance(type_, tt.OptionalType):
        return _is_element(element, type_.element)
    if isinstance(type_, tt.UnionType):
        return any(_is_element(element, member) for member in type_.members)
    match element:
        case TensorElement():
            return isinstance(type_, tt.TensorType)
        case ListElement(element=MapElement() as item):
            return _is_element(item, type_)
        case ListElement(element=inner):
            return isinstance(type_, tt.ListType) and _is_element(inner, type_.element)
        case MapElement(key=key, value=value):
            return (
                isinstance(type_, tt.DictType)
                and _is_element(key, type_.key)
                and _is_element(value, type_.value)
            )
        case TupleElement(elements=parts, fields=fields):
            return (
                isinstance(type_, tt.TupleType)
                and len(parts) == len(type_.elements)
                and (not is_named_tuple(type_) or fields == type_.field_names)
                and all(map(_is_element, parts, type_.elements))
            )
        case RecordElement(class_name=""):
            return isinstance(type_, tt.DictType) and all(
                _is_element(part, type_.value) for part in element.elements
            )
        case RecordElement(class_name=name):
            return isinstance(type_, tt.ClassType) and name == type_.class_name.data
    return element == of_type(type_)


def _is_told_by(values: Sequence[Value], type_: Attribute) -> bool:
    """Whether the elements that the caller gave are of just this type, if they are of it."""
    if isinstance(type_, tt.OptionalType):
        return 0 < sum(v is None for v in values) < len(values) and is_told(type_.element)
    return not values or is_told(type_)


def _scalar_test(dtype: object) -> Callable[[Value], bool]:
    return lambda v: is_scalar(v) and as_expr(v).dtype is dtype


_TYPE_TESTS: dict[type[Attribute], Callable[[Value], bool]] = {
    tt.TensorType: lambda v: isinstance(
        v, Tensor | ComplexTensor | QuantizedTensor | NestedTensor | SparseTensor
    ),
    tt.IntType: _scalar_test(int64),
    tt.FloatType: _scalar_test(float64),
    tt.BoolType: _scalar_test(tt_bool),
    tt.NumberType: lambda v: is_scalar(v) and not isinstance(v, bool),
    tt.StringType: lambda v: isinstance(v, str | Text | UnknownString),
    tt.NoneType: lambda v: v is None,
    tt.DeviceType: lambda v: isinstance(v, Device),
    tt.AnyType: lambda v: True,
    tt.AnyTupleType: lambda v: isinstance(v, TupleValue),
}
