"""What run-time lists hold (`grown.py`): kinds of elements, and which one holds several values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Attribute

from tensorscript.base.dtypes import DType, bool_, float64, int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.tg.lists import list_of
from tensorscript.dialects.tg.types import ListType, ScalarType
from tensorscript.dialects.ts import types as tt

from .builder import Builder
from .elements import as_expr
from .heap import Heap
from .kinds import options_of
from .sizes import same_size
from .text_values import TEXT, is_textual
from .values import (
    ABSENT,
    DictRef,
    Grown,
    ListRef,
    ObjectRef,
    Tensor,
    TupleValue,
    Value,
    Variant,
    is_scalar,
)


@dataclass(frozen=True)
class NumberElement:
    """int64, float64 or bool."""

    dtype: DType


@dataclass(frozen=True)
class TensorElement:
    """Tensors of one dtype and rank; a size is None where it differs between elements."""

    dtype: DType
    shape: tuple[Expr | None, ...]


@dataclass(frozen=True)
class TupleElement:
    """A tuple, whose parts lie in columns of their own."""

    elements: tuple[Element, ...]
    fields: tuple[str, ...] = ()
    class_name: str = ""


@dataclass(frozen=True)
class ListElement:
    """A run-time list of its own; if it is `frozen` the caller keeps it, or something in it."""

    element: Element
    frozen: bool = False


@dataclass(frozen=True)
class TextElement:
    """Strings, each as the list of its bytes."""


@dataclass(frozen=True)
class MapElement:
    """An item of a dict: a list of these is a dict, and a `ListElement` of it stands for one."""

    key: Element
    value: Element


@dataclass(frozen=True)
class RecordElement:
    """An object of a class, or a dict with known keys that holds values of different kinds. Its
    parts lie in columns of their own, as those of a tuple; it is not changed any more."""

    keys: tuple[object, ...]
    elements: tuple[Element, ...]
    class_name: str = ""


@dataclass(frozen=True)
class OptionalElement:
    """None or another element, a column of flags and its columns; `element` is None as long as
    nothing else has been seen."""

    element: Element | None


Element = (
    NumberElement
    | TensorElement
    | TupleElement
    | ListElement
    | TextElement
    | MapElement
    | RecordElement
    | OptionalElement
)


_NUMBERS: dict[type[Attribute], DType] = {
    tt.IntType: int64, tt.FloatType: float64, tt.BoolType: bool_,
}  # fmt: skip


def of_type(type_: Attribute | None) -> Element | None:
    """The element of a ts type; None where the type does not say all."""
    if type_ is None:
        return None
    if (dtype := _NUMBERS.get(type(type_))) is not None:
        return NumberElement(dtype)
    if isinstance(type_, tt.StringType):
        return TextElement()
    if isinstance(type_, tt.ListType):
        inner = of_type(type_.element)
        return None if inner is None else ListElement(inner)
    if isinstance(type_, tt.DictType):
        item = of_dict_type(type_)
        return None if item is None else ListElement(item)
    if isinstance(type_, tt.OptionalType):
        held = of_type(type_.element)
        return None if held is None else OptionalElement(held)
    if isinstance(type_, tt.TupleType):
        parts = [of_type(t) for t in type_.elements]
        known = tuple(p for p in parts if p is not None)
        if len(known) == len(parts) and parts:
            return TupleElement(known, type_.field_names, type_.class_name.data)
    return None


def of_dict_type(type_: Attribute | None) -> MapElement | None:
    """The items of a ts type of dicts; None where the type does not say all."""
    if not isinstance(type_, tt.DictType):
        return None
    key, value = of_type(type_.key), of_type(type_.value)
    return None if key is None or value is None else MapElement(key, value)


def of_value(b: Builder, value: Value, heap: Heap | None = None) -> Element | None:
    """The element that a value is (in a branch's heap); None if a run-time list cannot hold it."""
    if is_scalar(value):
        return NumberElement(as_expr(value).dtype)
    if is_textual(value):
        return TextElement()
    if value is None:
        return OptionalElement(None)
    if isinstance(value, Variant):
        return of_values(b, value.options, heap)
    if isinstance(value, Tensor):
        shape = tuple(None if b.is_found(s) else s for s in value.shape)
        return TensorElement(value.dtype, shape)
    if isinstance(value, TupleValue):
        parts = [of_value(b, v, heap) for v in value.elements]
        known = tuple(p for p in parts if p is not None)
        if len(known) == len(parts) and parts:
            return TupleElement(known, value.fields, value.class_name)
        return None
    if isinstance(value, ListRef):
        inner = of_list(b, value, heap)
        return None if inner is None else ListElement(inner, value.frozen)
    if isinstance(value, DictRef) and (item := of_dict(b, value, heap)) is not None:
        return ListElement(item)
    if isinstance(value, DictRef) or (isinstance(value, ObjectRef) and not value.path):
        return _record_of(b, value, heap)
    return None


def _record_of(b: Builder, ref: DictRef | ObjectRef, heap: Heap | None) -> Element | None:
    """An object or a known dict by its parts."""
    content: dict[Value, Value] = (b.heap if heap is None else heap)[ref]
    parts = [of_value(b, v, heap) for v in content.values()]
    known = tuple(p for p in parts if p is not None)
    if not parts or len(known) < len(parts):
        return None
    name = ref.class_name if isinstance(ref, ObjectRef) else ""
    return RecordElement(tuple(content), known, name)


def of_dict(b: Builder, ref: DictRef, heap: Heap | None = None) -> MapElement | None:
    """The items of a known dict."""
    content: dict[Value, Value] = (b.heap if heap is None else heap)[ref]
    if not content:
        return of_dict_type(ref.type)
    options = [o for v in content.values() for o in options_of(v) if o is not ABSENT]
    key, value = of_values(b, list(content), heap), of_values(b, options, heap)
    return None if key is None or value is None else MapElement(key, value)


def of_list(b: Builder, ref: ListRef, heap: Heap | None = None) -> Element | None:
    """What a list holds."""
    content = (b.heap if heap is None else heap)[ref]
    if isinstance(content, Grown):
        found: Element = content.element
        return found
    return of_values(b, content, heap) if content else of_type(ref.type)


def of_values(b: Builder, values: Sequence[Value], heap: Heap | None = None) -> Element | None:
    """What holds every one of the values; None if nothing does."""
    found: Element | None = None
    for k, value in enumerate(values):
        element = of_value(b, value, heap)
        found = element if k == 0 or element is None else joined(found, element)
        if found is None:
            return None
    return found


def joined(left: Element | None, right: Element | None) -> Element | None:
    """What holds both; None if nothing does."""
    if left == right or right is None:
        return left
    if isinstance(left, OptionalElement) or isinstance(right, OptionalElement):
        sides = [e.element if isinstance(e, OptionalElement) else e for e in (left, right)]
        inner = joined(*sides)
        return OptionalElement(inner) if inner is not None or sides == [None, None] else None
    if isinstance(left, TensorElement) and isinstance(right, TensorElement):
        if left.dtype is not right.dtype or len(left.shape) != len(right.shape):
            return None
        pairs = zip(left.shape, right.shape, strict=True)
        shape = tuple(
            a if a is not None and b is not None and same_size(a, b) else None for a, b in pairs
        )
        return TensorElement(left.dtype, shape)
    if isinstance(left, TupleElement) and isinstance(right, TupleElement):
        if len(left.elements) != len(right.elements):
            return None
        parts = [joined(a, b) for a, b in zip(left.elements, right.elements, strict=True)]
        known = tuple(p for p in parts if p is not None)
        same = len(known) == len(parts)
        return TupleElement(known, left.fields, left.class_name) if same else None
    if isinstance(left, RecordElement) and isinstance(right, RecordElement):
        if (left.keys, left.class_name) != (right.keys, right.class_name):
            return None
        parts = [joined(a, b) for a, b in zip(left.elements, right.elements, strict=True)]
        known = tuple(p for p in parts if p is not None)
        return replace(left, elements=known) if len(known) == len(parts) else None
    if isinstance(left, ListElement) and isinstance(right, ListElement):
        inner = joined(left.element, right.element)
        return None if inner is None else ListElement(inner, left.frozen or right.frozen)
    if isinstance(left, MapElement) and isinstance(right, MapElement):
        key, value = joined(left.key, right.key), joined(left.value, right.value)
        return None if key is None or value is None else MapElement(key, value)
    return right if left is None else None


def columns(element: Element) -> list[Attribute]:
    """The types of an element's leaves."""
    match element:
        case NumberElement(dtype):
            return [ScalarType(dtype)]
        case TensorElement(dtype, shape):
            return [ListType.of(dtype), *(ScalarType(int64) for s in shape if s is None)]
        case TupleElement(elements) | RecordElement(elements=elements):
            return [c for part in elements for c in columns(part)]
        case ListElement(inner):
            return [list_of(c) for c in columns(inner)]
        case OptionalElement(held):
            return [ScalarType(bool_), *(columns(held) if held is not None else ())]
        case TextElement():
            return [TEXT]
        case MapElement(key, value):
            return [*columns(key), *columns(value)]
