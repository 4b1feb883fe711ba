"""Rows that put the elements of a run-time list together: sums, extremes, `all` and `any`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorscript.dialects.te.expr import binary, const

from .builder import Rows
from .element_kinds import NumberElement
from .elements import as_expr
from .evaluator import Evaluator
from .list_access import check, fetch, length, named
from .list_content import content_of, numbers_of
from .loops import LONG, loop
from .scalars import SCALAR
from .values import ListRef, Value


def _fold(ev: Evaluator, x: ListRef, first: Value, name: str, skip: int) -> Value:
    """The elements from number `skip` on put together by a scalar operator, which takes each new
    element first: `min` and `max` keep the earlier of two that are alike."""
    b, content = ev.b, content_of(ev, x)
    size = length(b, content)

    def step(values: Sequence[Value]) -> list[Value]:
        counter, total = values
        value = fetch(b, content, as_expr(counter) + skip)
        return [True, SCALAR[name](b, value, total)]

    trips = binary("max", size - skip, 0)
    return loop(b, named(b, trips), True, [first], step, LONG)[0]


def _sum(ev: Evaluator, x: ListRef, *_: Value) -> Value:
    element = content_of(ev, x).element
    if not isinstance(element, NumberElement):
        return ev.b.cannot("the sum of such a list")
    zero: Value = 0.0 if element.dtype.is_floating_point else 0
    return _fold(ev, x, zero, "aten::add", 0)


def _extreme(name: str) -> Callable[..., Value]:
    def row(ev: Evaluator, x: ListRef, *others: Value) -> Value:
        numbers_of(ev, x)
        if others:
            return ev.b.cannot(f"the {name} of two lists")
        content = content_of(ev, x)
        some = binary("gt", length(ev.b, content), 0)
        check(ev.b, some, f"{name}() arg is an empty sequence")
        return _fold(ev, x, fetch(ev.b, content, const(0)), f"prim::{name}", 1)

    return row


def _all(ev: Evaluator, x: ListRef) -> Value:
    return _fold(ev, x, True, "aten::__and__", 0)


def _any(ev: Evaluator, x: ListRef) -> Value:
    return _fold(ev, x, False, "aten::__or__", 0)


LIST_FOLDING: Rows = {
    "aten::sum": _sum,
    "prim::min": _extreme("min"),
    "prim::max": _extreme("max"),
    "aten::all": _all,
    "aten::any": _any,
}
