"""Rows on strings that the running program makes; their places and lengths count bytes."""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.dialects.te.expr import binary, const, select, unary

from .builder import Rows
from .element_kinds import TextElement
from .elements import as_expr, known
from .evaluator import Evaluator
from .grown import fill, new_grown
from .list_access import check, fetch, length, named, position, slice_range
from .list_actions import perform
from .loops import LONG, loop
from .text_access import numbers_of, same_text, size_of, slice_of
from .text_letters import TEXT_LETTERS
from .text_search import TEXT_SEARCH
from .text_values import TEXT, is_textual, joined_text, text_column
from .values import Grown, ListRef, Text, Value


def _length(ev: Evaluator, text: Text) -> Value:
    return length(ev.b, numbers_of(ev.b, text))


def item(ev: Evaluator, text: Value, index: Value) -> Value:
    """`text[index]`, of which at least one is not known."""
    at = position(ev.b, numbers_of(ev.b, text), index)
    return slice_of(ev.b, text, at, const(1))


def part(
    ev: Evaluator, text: Value, start: Value = None, stop: Value = None, step: Value = 1
) -> Value:
    """`text[start:stop]`, of which something is not known."""
    first, by, count = slice_range(ev.b, size_of(ev.b, text), start, stop, step)
    return slice_of(ev.b, text, first, count, by)


def _equal(ev: Evaluator, left: Value, right: Value) -> Value:
    if not is_textual(left) or not is_textual(right):
        return False
    return same_text(ev.b, left, right)


def _not_equal(ev: Evaluator, left: Value, right: Value) -> Value:
    return known(unary("not", as_expr(_equal(ev, left, right))))


def _code(ev: Evaluator, text: Text) -> Value:
    b, content = ev.b, numbers_of(ev.b, text)
    size = length(b, content)
    check(b, size.equals(1), "String for ord() must be 1 character, found {}")
    return fetch(b, content, const(0))


def character(ev: Evaluator, number: Value) -> Value:
    """`chr(number)`."""
    b, e = ev.b, as_expr(number)
    inside = binary("and", binary("ge", e, 0), binary("lt", e, 0x110000))
    b.check(known(inside), "chr() arg not in range(0x110000), found {}")
    out = perform(b, "new", (), TEXT)
    perform(b, "push", [out, b.scalar_operand(binary("and", e, 255))])
    return Text(out)


def _characters(ev: Evaluator, text: Text) -> Value:
    b, content = ev.b, numbers_of(ev.b, text)
    made = new_grown(b, TextElement())

    def step(values: Sequence[Value]) -> list[Value]:
        fill(b, made, [slice_of(b, text, as_expr(values[0]), const(1))])
        return [True]

    loop(b, length(b, content), True, [], step, LONG)
    out = ListRef((ev.site,))
    b.heap[out] = made
    return out


def join(ev: Evaluator, separator: Value, values: ListRef) -> Value:
    """`separator.join(values)`, of which something is not known."""
    b, content = ev.b, ev.b.heap[values]
    if not isinstance(content, Grown):
        parts = [p for v in content for p in (separator, v)][1:]
        return joined_text(b, parts)
    out, between = perform(b, "new", (), TEXT), text_column(b, separator)

    def step(given: Sequence[Value]) -> list[Value]:
        perform(b, "extend", [out, between])
        perform(b, "extend", [out, text_column(b, fetch(b, content, as_expr(given[0])))])
        return [True]

    size = length(b, content)
    loop(b, size, True, [], step, LONG)
    extra = select(binary("gt", size, 0), length(b, numbers_of(b, separator)), const(0))
    whole = Text(out)
    return slice_of(b, whole, named(b, extra), length(b, numbers_of(b, whole)) - extra)


TEXT_ROWS: Rows = {
    "aten::len": _length,
    "aten::__getitem__": item,
    "prim::StringIndex": item,
    "aten::slice": part,
    "aten::eq": _equal,
    "aten::ne": _not_equal,
    "aten::ord": _code,
    "aten::list": _characters,
    "aten::join": join,
    **TEXT_LETTERS,
    **TEXT_SEARCH,
}

BY_UNKNOWN: Rows = {
    "aten::chr": character,
    "aten::join": join,
}
"""Rows of which no argument is a string that is not known, and which make one."""
