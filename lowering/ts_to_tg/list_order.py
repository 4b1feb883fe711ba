"""The order of run-time lists of tuples: by the first parts that differ.

Elements are put one by one where they belong among those before them, found by halving: n log n
comparisons, and moves within blocks of memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.dtypes import bool_, int64
from tensorscript.dialects.te.expr import Expr, binary, cast, select

from .builder import Builder
from .control import loop
from .elements import as_expr
from .grown import Element, NumberElement, TupleElement, leaves_of
from .list_access import fetch, length, named
from .list_actions import perform
from .values import Grown, TupleValue, Value

_MANY = 2**63 - 1
_LONG = 1 << 20
"""Ops of a loop that is not to be unrolled."""


def has_order(element: Element) -> bool:
    """Numbers, or tuples of what has an order."""
    if isinstance(element, TupleElement):
        return all(map(has_order, element.elements))
    return isinstance(element, NumberElement)


def _numbers(value: Value) -> list[Expr]:
    if isinstance(value, TupleValue):
        return [e for part in value.elements for e in _numbers(part)]
    e = as_expr(value)
    return [cast(e, int64) if e.dtype is bool_ else e]


def _is_before(left: Value, right: Value) -> Expr:
    pairs = list(zip(_numbers(left), _numbers(right), strict=True))
    first, second = pairs.pop()
    out = binary("lt", first, second)
    for first, second in reversed(pairs):
        tied = binary("and", first.equals(second), out)
        out = binary("or", binary("lt", first, second), tied)
    return out


def sort_tuples(b: Builder, content: Grown, descending: bool) -> None:
    """Sort a list whose elements have an order, in place; equal ones stay as they stand."""

    def place(at: Expr, item: Value) -> Expr:
        """Where among the elements before `at` an item belongs."""

        def halve(values: Sequence[Value]) -> list[Value]:
            low, high = map(as_expr, values[1:])
            middle = named(b, (low + high) // 2)
            other = fetch(b, content, middle)
            pair = (other, item) if descending else (item, other)
            found = b.scalar_of(b.scalar_operand(_is_before(*pair)))
            low, high = (
                named(b, select(found, low, middle + 1)),
                named(b, select(found, middle, high)),
            )
            return [binary("lt", low, high), low, high]

        return as_expr(loop(b, _MANY, True, [0, at], halve, _LONG)[0])

    def put(values: Sequence[Value]) -> list[Value]:
        at = named(b, as_expr(values[0]) + 1)
        item = fetch(b, content, at)
        to = place(at, item)
        for column, leaf in zip(content.columns, leaves_of(b, content.element, item), strict=True):
            perform(b, "remove", [column, b.scalar_operand(at)])
            perform(b, "insert", [column, b.scalar_operand(to), leaf])
        return [True]

    loop(b, named(b, binary("max", length(b, content) - 1, 0)), True, [], put, _LONG)
