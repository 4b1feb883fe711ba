"""The order of run-time lists of strings and tuples: by the first parts that differ.

Elements are put one by one where they belong among those before them, found by halving: n log n
comparisons, and moves within blocks of memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.dtypes import bool_, int64
from tensorscript.dialects.te.expr import Expr, binary, cast, select
from tensorscript.dialects.tg.types import ScalarType

from .builder import Builder
from .element_kinds import Element, NumberElement, TextElement, TupleElement
from .elements import as_expr
from .grown import leaves_of
from .list_access import fetch, length, named
from .list_actions import perform
from .loops import ENDLESS, LONG, loop
from .text_access import same_text
from .values import Grown, Text, TupleValue, Value

_B1 = ScalarType(bool_)


def has_order(element: Element) -> bool:
    """Numbers and strings, or tuples of what has an order."""
    if isinstance(element, TupleElement):
        return all(map(has_order, element.elements))
    return isinstance(element, NumberElement | TextElement)


def _parts(value: Value) -> list[Value]:
    if isinstance(value, TupleValue):
        return [e for part in value.elements for e in _parts(part)]
    if isinstance(value, Text):
        return [value]
    e = as_expr(value)
    return [cast(e, int64) if e.dtype is bool_ else e]


def _compared(b: Builder, left: Value, right: Value) -> tuple[Expr, Expr]:
    """(whether one part is less than another one, whether they are equal)."""
    if isinstance(left, Text):
        columns = [left.column, right.column]
        return b.scalar_of(perform(b, "less", columns, _B1)), same_text(b, left, right)
    return binary("lt", left, right), left.equals(right)


def _is_before(b: Builder, left: Value, right: Value) -> Expr:
    pairs = list(zip(_parts(left), _parts(right), strict=True))
    out, _ = _compared(b, *pairs.pop())
    for first, second in reversed(pairs):
        less, same = _compared(b, first, second)
        out = binary("or", less, binary("and", same, out))
    return out


def sort_in_order(b: Builder, content: Grown, descending: bool) -> None:
    """Sort a list whose elements have an order, in place; equal ones stay as they stand."""

    def place(at: Expr, item: Value) -> Expr:
        """Where among the elements before `at` an item belongs."""

        def halve(values: Sequence[Value]) -> list[Value]:
            low, high = map(as_expr, values[1:])
            middle = named(b, (low + high) // 2)
            other = fetch(b, content, middle)
            pair = (other, item) if descending else (item, other)
            found = b.scalar_of(b.scalar_operand(_is_before(b, *pair)))
            low, high = (
                named(b, select(found, low, middle + 1)),
                named(b, select(found, middle, high)),
            )
            return [binary("lt", low, high), low, high]

        return as_expr(loop(b, ENDLESS, True, [0, at], halve, LONG)[0])

    def put(values: Sequence[Value]) -> list[Value]:
        at = named(b, as_expr(values[0]) + 1)
        item = fetch(b, content, at)
        to = place(at, item)
        for column, leaf in zip(content.columns, leaves_of(b, content.element, item), strict=True):
            perform(b, "remove", [column, b.scalar_operand(at)])
            perform(b, "insert", [column, b.scalar_operand(to), leaf])
        return [True]

    loop(b, named(b, binary("max", length(b, content) - 1, 0)), True, [], put, LONG)
