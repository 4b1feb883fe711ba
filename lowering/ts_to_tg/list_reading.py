"""Rows that read run-time lists: elements, searches and comparisons."""

from __future__ import annotations

from tensorscript.base.dtypes import bool_, int64
from tensorscript.dialects.te.expr import Expr, binary, const, unary
from tensorscript.dialects.tg.types import ScalarType

from .builder import Rows
from .element_kinds import TextElement
from .elements import as_expr, known
from .evaluator import Evaluator
from .list_access import check, fetch, length, position
from .list_actions import perform
from .list_content import content_of, numbers_of, pair
from .scalars import SCALAR
from .text_access import count_in, place_in
from .values import ListRef, Value

_I64, _B1 = ScalarType(int64), ScalarType(bool_)


def _length(ev: Evaluator, x: ListRef) -> Value:
    return length(ev.b, content_of(ev, x))


def _get_item(ev: Evaluator, x: ListRef, index: Value) -> Value:
    content = content_of(ev, x)
    return fetch(ev.b, content, position(ev.b, content, index))


def find(ev: Evaluator, x: ListRef, value: Value) -> Expr:
    if isinstance(content_of(ev, x).element, TextElement):
        return place_in(ev.b, content_of(ev, x), value)
    arguments = [numbers_of(ev, x), ev.b.scalar_operand(value)]
    return ev.b.scalar_of(perform(ev.b, "find", arguments, _I64))


def _contains(ev: Evaluator, x: ListRef, value: Value) -> Value:
    return binary("ge", find(ev, x, value), 0)


def _index_of(ev: Evaluator, x: ListRef, value: Value, *_: Value) -> Value:
    at = find(ev, x, value)
    shown = "{}" if isinstance(value, Expr) else value
    check(ev.b, binary("ge", at, 0), f"'{shown}' is not in list")
    return at


def _count(ev: Evaluator, x: ListRef, value: Value) -> Value:
    if isinstance(content_of(ev, x).element, TextElement):
        return count_in(ev.b, content_of(ev, x), value)
    arguments = [numbers_of(ev, x), ev.b.scalar_operand(value)]
    return ev.b.scalar_of(perform(ev.b, "count", arguments, _I64))


def _equal(ev: Evaluator, x: Value, y: Value) -> Value:
    left, right = pair(ev, x, y)
    same: Value = True
    for a, b in zip(left.columns, right.columns, strict=True):
        one = ev.b.scalar_of(perform(ev.b, "equal", [a, b], _B1))
        same = SCALAR["aten::__and__"](ev.b, same, one)
    return same


def _not_equal(ev: Evaluator, x: Value, y: Value) -> Value:
    return known(unary("not", as_expr(_equal(ev, x, y))))


def unpack(ev: Evaluator, x: ListRef, count: int) -> list[Value]:
    """The elements of a run-time list that must have `count`."""
    content = content_of(ev, x)
    message = f"Expected {count} elements in a list but found another number"
    check(ev.b, length(ev.b, content).equals(count), message)
    return [fetch(ev.b, content, const(k)) for k in range(count)]


LIST_READING: Rows = {
    "aten::len": _length,
    "aten::__getitem__": _get_item,
    "aten::__contains__": _contains,
    "aten::index": _index_of,
    "aten::count": _count,
    "aten::eq": _equal,
    "aten::ne": _not_equal,
}
