"""Rows on run-time dicts: lists of items (`MapElement`) in the order in which they were put in.

A key is looked for from the first item to the last, which suits the small dicts of programs on
tensors; there is no table of hashes.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.dtypes import int64
from tensorscript.dialects.te.expr import Expr, binary, const, select
from tensorscript.dialects.tg.types import ScalarType

from .branches import branch
from .builder import Builder, Rows
from .dicts import items_of
from .element_kinds import Element, MapElement, TextElement, TupleElement, columns
from .elements import as_expr
from .evaluator import Evaluator
from .list_access import check, fetch, length, named
from .list_actions import perform
from .list_changes import changed, leaves_for
from .list_making import copied, fresh_list
from .lists import GROWN
from .loops import LONG, loop
from .text_access import place_in
from .values import DictRef, Grown, ListRef, TupleValue, Value

_I64 = ScalarType(int64)


def _content(ev: Evaluator, x: ListRef) -> Grown:
    content = ev.b.heap[x]
    assert isinstance(content, Grown)
    return content


def _keys(content: Grown) -> Grown:
    key: Element = content.element.key
    return Grown(key, content.columns[: len(columns(key))])


def _values(content: Grown) -> Grown:
    return Grown(content.element.value, content.columns[len(columns(content.element.key)) :])


def _place(b: Builder, content: Grown, key: Value) -> Expr:
    """The place of a key, -1 if there is none."""
    keys = _keys(content)
    if isinstance(keys.element, TextElement):
        return place_in(b, keys, key)
    return b.scalar_of(perform(b, "find", [keys.columns[0], b.scalar_operand(key)], _I64))


def _found(at: Expr) -> Expr:
    return binary("ge", at, 0)


def _require(b: Builder, at: Expr, key: Value) -> None:
    shown = key if isinstance(key, str | int | float) else "{}"
    check(b, _found(at), f"KeyError: {shown}")


def _get_item(ev: Evaluator, x: ListRef, key: Value) -> Value:
    content = _content(ev, x)
    at = _place(ev.b, content, key)
    _require(ev.b, at, key)
    return fetch(ev.b, _values(content), at)


def _get(ev: Evaluator, x: ListRef, key: Value, default: Value = None) -> Value:
    content = _content(ev, x)
    at = _place(ev.b, content, key)

    def held(_: Sequence[Value]) -> list[Value]:
        return [fetch(ev.b, _values(content), at)]

    return branch(ev.b, _found(at), held, lambda _: [default])[0]


def _set_item(ev: Evaluator, x: ListRef, key: Value, value: Value) -> Value:
    b, content = ev.b, changed(ev, x)
    leaves = leaves_for(ev, x, content, TupleValue((key, value)))
    at = _place(b, content, key)

    def replaced(_: Sequence[Value]) -> list[Value]:
        held = _values(content).columns
        for column, leaf in zip(held, leaves[-len(held) :], strict=True):
            perform(b, "set", [column, b.scalar_operand(at), leaf])
        return []

    def added(_: Sequence[Value]) -> list[Value]:
        for column, leaf in zip(content.columns, leaves, strict=True):
            perform(b, "push", [column, leaf])
        return []

    branch(b, _found(at), replaced, added)
    return None


def _remove(b: Builder, content: Grown, at: Expr) -> None:
    for column in content.columns:
        perform(b, "remove", [column, b.scalar_operand(at)])


def _delete(ev: Evaluator, x: ListRef, key: Value) -> Value:
    content = changed(ev, x)
    at = _place(ev.b, content, key)
    _require(ev.b, at, key)
    _remove(ev.b, content, at)
    return None


def _pop(ev: Evaluator, x: ListRef, key: Value, *default: Value) -> Value:
    content = changed(ev, x)
    at = _place(ev.b, content, key)

    def taken(_: Sequence[Value]) -> list[Value]:
        value = fetch(ev.b, _values(content), at)
        _remove(ev.b, content, at)
        return [value]

    if default:
        return branch(ev.b, _found(at), taken, lambda _: [default[0]])[0]
    _require(ev.b, at, key)
    return taken(())[0]


def _set_default(ev: Evaluator, x: ListRef, key: Value, value: Value) -> Value:
    """`x.setdefault(key, value)`."""
    b, content = ev.b, changed(ev, x)
    leaves = leaves_for(ev, x, content, TupleValue((key, value)))
    at = _place(b, content, key)

    def added(_: Sequence[Value]) -> list[Value]:
        for column, leaf in zip(content.columns, leaves, strict=True):
            perform(b, "push", [column, leaf])
        return []

    branch(b, _found(at), lambda _: [], added)
    size = length(b, content)
    return fetch(b, _values(content), named(b, select(_found(at), at, size - 1)))


def _pop_item(ev: Evaluator, x: ListRef) -> Value:
    """`x.popitem()`, which in TorchScript takes out the first one."""
    content = changed(ev, x)
    check(ev.b, binary("gt", length(ev.b, content), 0), "popitem(): dictionary is empty")
    item = fetch(ev.b, content, const(0))
    _remove(ev.b, content, const(0))
    return item


def _contains(ev: Evaluator, x: ListRef, key: Value) -> Value:
    return _found(_place(ev.b, _content(ev, x), key))


def _update(ev: Evaluator, x: ListRef, other: ListRef | DictRef) -> Value:
    if isinstance(other, DictRef):
        for key, value in items_of(ev, other).items():
            _set_item(ev, x, key, value)
        return None
    content = _content(ev, other)

    def step(values: Sequence[Value]) -> list[Value]:
        pair = fetch(ev.b, content, as_expr(values[0]))
        _set_item(ev, x, *pair.elements)
        return [True]

    loop(ev.b, length(ev.b, content), True, [], step, LONG)
    return None


def _listed(ev: Evaluator, content: Grown) -> Value:
    return fresh_list(ev, copied(ev.b, content))


def _items(ev: Evaluator, x: ListRef) -> Value:
    content = _content(ev, x)
    item = content.element
    assert isinstance(item, MapElement)
    return _listed(ev, Grown(TupleElement((item.key, item.value)), content.columns))


def _incomparable(ev: Evaluator, *_: Value) -> Value:
    return ev.b.cannot("comparing dicts that the running program makes")


MAPS: Rows = {
    "aten::len": GROWN["aten::len"],
    "aten::__getitem__": _get_item,
    "aten::get": _get,
    "aten::_set_item": _set_item,
    "aten::Delete": _delete,
    "aten::pop": _pop,
    "aten::popitem": _pop_item,
    "aten::setdefault": _set_default,
    "aten::clear": GROWN["aten::clear"],
    "aten::__contains__": _contains,
    "aten::update": _update,
    "aten::keys": lambda ev, x: _listed(ev, _keys(_content(ev, x))),
    "aten::values": lambda ev, x: _listed(ev, _values(_content(ev, x))),
    "aten::items": _items,
    "aten::copy": lambda ev, x: _listed(ev, _content(ev, x)),
    "aten::dict": lambda ev, x: _listed(ev, _content(ev, x)),
    "aten::eq": _incomparable,
    "aten::ne": _incomparable,
    "aten::__is__": lambda ev, x, y: x is y,
    "aten::__isnot__": lambda ev, x, y: x is not y,
}
