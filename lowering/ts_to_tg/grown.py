"""Lists that exist when the program runs: what they hold, and how elements go in and come out.

The specialiser begins with lists whose elements it knows one by one (a tuple in the heap). A list
that cannot stay so, because a loop appends to it or reads it at an unknown index, raises
`ListGrows`; the specialisation starts again and makes the list a run-time one where it is created.

A run-time list is one tg.list per *column*: a number is one column, a tuple those of its parts,
a tensor its box and each size that differs between elements, a list the columns of its elements
with a list around each. List[Tuple[int, float]] is two lists of the same length.

An object in a list is its parts, too: it cannot be changed there. Where there may be None, a flag
stands before the columns.

A run-time dict is a run-time list of its items (`MapElement`) in the order they were put in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn

import numpy as np
from xdsl.ir import Attribute, SSAValue

from tensorscript.base.dtypes import int64
from tensorscript.base.source import Span
from tensorscript.dialects.te.expr import Expr, cast, const
from tensorscript.dialects.tg.lists import list_of
from tensorscript.dialects.tg.types import ListType, ScalarType, tensor

from .builder import Builder
from .element_kinds import (
    Element,
    ListElement,
    MapElement,
    NumberElement,
    OptionalElement,
    RecordElement,
    TensorElement,
    TextElement,
    TupleElement,
    columns,
    joined,
    of_dict,
    of_list,
    of_value,
)
from .elements import as_expr
from .emission import MayShare
from .list_actions import perform
from .text_values import is_textual, text_column, texts_column
from .values import (
    DictRef,
    Grown,
    ListRef,
    ObjectRef,
    Site,
    Tensor,
    Text,
    TupleValue,
    Value,
    Variant,
    is_scalar,
)


class ListGrows(Exception):
    """The lists made at `sites` have to be run-time lists; `element` is what is known to be in
    them, None for nothing."""

    def __init__(
        self, sites: tuple[Site, ...], element: Element | None, reason: str, span: Span | None
    ) -> None:
        super().__init__(reason)
        self.sites, self.element, self.reason, self.span = sites, element, reason, span


def must_grow(b: Builder, sites: Iterable[Site], element: Element | None, reason: str) -> NoReturn:
    """The lists made at `sites` cannot stay known ones.

    Raises:
        ListGrows: they are made as run-time lists next time.
        NotCompilable: there are no sites.
    """
    distinct = tuple(dict.fromkeys(sites))
    if not distinct:
        b.cannot(reason)
    raise ListGrows(distinct, element, f"{b.operator}: {reason}", b.span)


def new_grown(b: Builder, element: Element) -> Grown:
    """An empty run-time list."""
    types = [list_of(c) for c in columns(element)]
    return Grown(element, tuple(perform(b, "new", (), t) for t in types))


def leaves_of(b: Builder, element: Element, value: Value) -> list[SSAValue]:
    """A value taken apart as a list of `element` stores it.

    Raises:
        ListGrows: a list in it is not a run-time list (of the wanted kind).
        NotCompilable: the value is something else.
    """
    match element, value:
        case OptionalElement(held), None:
            return [b.scalar_operand(False), *(_fillers(b, held) if held is not None else ())]
        case OptionalElement(held), _ if held is not None and not isinstance(value, Variant):
            return [b.scalar_operand(True), *leaves_of(b, held, value)]
        case NumberElement(dtype), _ if is_scalar(value) and as_expr(value).dtype is dtype:
            return [b.scalar_operand(value)]
        case TensorElement(), Tensor() if joined(element, of_value(b, value)) == element:
            # What the list holds is the tensor itself: a later write would have to show in it.
            value.storage.held = True
            b.copies[value.storage] += 1
            box = perform(b, "box", [b.ssa(value)], ListType.of(value.dtype))
            sizes = zip(element.shape, value.shape, strict=True)
            return [box, *(b.scalar_operand(b.unsized(s)) for e, s in sizes if e is None)]
        case TupleElement(parts), TupleValue(values) if len(parts) == len(values):
            pairs = zip(parts, values, strict=True)
            return [leaf for part, v in pairs for leaf in leaves_of(b, part, v)]
        case ListElement(inner), ListRef():
            return _list_leaves(b, inner, value)
        case RecordElement(keys, parts, name), DictRef() | ObjectRef() if (
            tuple(held := b.heap[value]) == keys and getattr(value, "class_name", "") == name
        ):
            # What the list holds is the object itself: a later change would have to show in it.
            value.shared = True
            pairs = zip(parts, held.values(), strict=True)
            return [leaf for part, v in pairs for leaf in leaves_of(b, part, v)]
        case ListElement(MapElement() as inner), DictRef():
            found = of_dict(b, value)
            must_grow(b, value.sites, joined(inner, found), "a dict that is put into a list")
        case MapElement(key, item), TupleValue((k, v)):
            return [*leaves_of(b, key, k), *leaves_of(b, item, v)]
        case TextElement(), _ if is_textual(value):
            return [text_column(b, value)]
    return b.cannot("a list of values of different kinds")


def _fillers(b: Builder, element: Element) -> list[SSAValue]:
    """Leaves where there is no value."""
    match element:
        case TensorElement(dtype, shape):
            empty = b.full([const(0) if s is None else s for s in shape], 0, dtype)
            box = perform(b, "box", [b.ssa(empty)], ListType.of(dtype))
            return [box, *(b.scalar_operand(0) for s in shape if s is None)]
        case TupleElement(parts) | RecordElement(elements=parts):
            return [leaf for part in parts for leaf in _fillers(b, part)]
        case OptionalElement():
            return leaves_of(b, element, None)
    types = columns(element)
    return [_filler(b, type_) for type_ in types]


def _filler(b: Builder, type_: Attribute) -> SSAValue:
    if isinstance(type_, ScalarType):
        return b.scalar_operand(const(0, type_.dtype))
    return perform(b, "new", (), type_)


def _list_leaves(b: Builder, inner: Element, value: ListRef) -> list[SSAValue]:
    content = b.heap[value]
    if isinstance(content, Grown) and content.element == inner:
        return list(content.columns)
    wanted = joined(inner, of_list(b, value)) if content else inner
    if wanted is None:
        b.cannot("a list in a list that holds something else")
    must_grow(b, value.sites, wanted, "a list that is put into another one")


def value_of(b: Builder, element: Element, leaves: Iterator[SSAValue]) -> Value:
    """The value that leaves fetched from a list make."""
    match element:
        case NumberElement():
            return b.scalar_of(next(leaves))
        case TensorElement(dtype, shape):
            box = next(leaves)
            sizes = tuple(b.size(b.scalar_of(next(leaves))) if s is None else s for s in shape)
            made = b.fresh(perform(b, "unbox", [box], tensor(dtype, sizes)))
            made.storage.held = True
            b.copies[made.storage] += 1
            return made
        case TupleElement(parts, fields, class_name):
            values = tuple(value_of(b, part, leaves) for part in parts)
            return TupleValue(values, fields, class_name)
        case OptionalElement(held_element):
            is_there = b.scalar_of(next(leaves))
            if held_element is None:
                return None
            found = value_of(b, held_element, leaves)
            return Variant(cast(is_there, int64), (None, found))
        case RecordElement(keys, parts, name):
            made_ref = ObjectRef(name) if name else DictRef()
            held = [value_of(b, part, leaves) for part in parts]
            b.heap[made_ref] = dict(zip(keys, held, strict=True))
            made_ref.shared = True
            return made_ref
        case ListElement(inner, frozen):
            ref = ListRef(frozen=frozen)
            b.heap[ref] = Grown(inner, tuple(next(leaves) for _ in columns(inner)))
            return ref
        case TextElement():
            return Text(next(leaves))
        case MapElement(key, item):
            return TupleValue((value_of(b, key, leaves), value_of(b, item, leaves)))


def fill(b: Builder, grown: Grown, values: Sequence[Value]) -> Grown:
    """Append values."""
    for value in values:
        leaves = leaves_of(b, grown.element, value)
        for column, leaf in zip(grown.columns, leaves, strict=True):
            perform(b, "push", [column, leaf])
    return grown


def as_grown(b: Builder, value: ListRef, element: Element) -> Grown:
    """The content of a list that is only read here: a known one is copied."""
    content = b.heap[value]
    return content if isinstance(content, Grown) else grown_of(b, element, content)


FEW = 16
"""So many elements are put into a list one by one; more of them, if they are known, at once."""


def grown_of(b: Builder, element: Element, values: Sequence[Value]) -> Grown:
    """A new run-time list of values."""
    if len(values) > FEW and (made := _constants(b, element, values)) is not None:
        return Grown(element, tuple(made))
    return fill(b, new_grown(b, element), values)


def _constants(b: Builder, element: Element, values: Sequence[Value]) -> list[SSAValue] | None:
    """The columns of known numbers and strings; None if there is anything else."""
    match element:
        case NumberElement(dtype):
            if any(isinstance(v, Expr) or as_expr(v).dtype is not dtype for v in values):
                return None
            table = b.literal(np.array(values, dtype.numpy), dtype)
            return [perform(b, "from", [b.ssa(table)], ListType.of(dtype))]
        case TextElement():
            return [texts_column(b, values)] if all(isinstance(v, str) for v in values) else None
        case TupleElement(parts):
            columns_of = [tuple(v.elements) for v in values]
        case MapElement(key, item):
            parts = (key, item)
            columns_of = [tuple(v.elements) for v in values]
        case _:
            return None
    made: list[SSAValue] = []
    for part, column in zip(parts, zip(*columns_of, strict=True), strict=True):
        if (found := _constants(b, part, column)) is None:
            return None
        made += found
    return made


class Hints:
    """Which lists are run-time lists, by the place that makes them.

    Attributes:
        shares: why tensors that control flow chooses between are kept apart; None if they are not.
    """

    def __init__(self) -> None:
        self.shares: MayShare | None = None
        self.elements: dict[Site, Element | None] = {}

    def learn(self, grows: ListGrows) -> bool:
        """Note a finding; False if it says nothing new."""
        changed = False
        for site in grows.sites:
            known = self.elements.get(site)
            wanted = grows.element if known is None else joined(known, grows.element)
            changed |= site not in self.elements or wanted != known
            self.elements[site] = wanted
        return changed
