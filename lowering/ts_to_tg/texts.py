"""Rows on strings that the running program makes; their places and lengths count bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorscript.base.dtypes import bool_, int64
from tensorscript.dialects.te.expr import Expr, binary, const, select, unary
from tensorscript.dialects.tg.types import ScalarType

from .builder import Builder, Rows
from .control import loop
from .elements import as_expr, known
from .evaluator import Evaluator
from .grown import NumberElement, TextElement, as_grown, fill, new_grown
from .list_access import check, fetch, length, named, position
from .list_actions import perform
from .text_values import TEXT, is_textual, joined_text, text_column
from .values import Grown, ListRef, Text, Value

_I64, _B1 = ScalarType(int64), ScalarType(bool_)
_LONG = 1 << 20
"""Ops of a loop that is not to be unrolled."""


def numbers_of(b: Builder, text: Value) -> Grown:
    """The bytes of a string."""
    return Grown(NumberElement(int64), (text_column(b, text),))


def _length(ev: Evaluator, text: Text) -> Value:
    return length(ev.b, numbers_of(ev.b, text))


def _part(b: Builder, text: Value, start: Expr, count: Expr, step: int = 1) -> Text:
    operands = [b.scalar_operand(e) for e in (start, const(step), count)]
    return Text(perform(b, "slice", [text_column(b, text), *operands], TEXT))


def item(ev: Evaluator, text: Value, index: Value) -> Value:
    """`text[index]`, of which at least one is not known."""
    at = position(ev.b, numbers_of(ev.b, text), index)
    return _part(ev.b, text, at, const(1))


def part(
    ev: Evaluator, text: Value, start: Value = None, stop: Value = None, step: Value = 1
) -> Value:
    """`text[start:stop]`, of which something is not known."""
    b = ev.b
    if step != 1:
        b.cannot("a slice of a string with such a step")
    size = length(b, numbers_of(b, text))

    def end(value: Value, default: Expr) -> Expr:
        if value is None:
            return default
        e = named(b, value)
        return binary("min", binary("max", select(e < 0, e + size, e), 0), size)

    first = named(b, end(start, const(0)))
    return _part(b, text, first, binary("max", end(stop, size) - first, 0))


def same_text(b: Builder, left: Value, right: Value) -> Expr:
    """Whether two strings are equal."""
    columns = [text_column(b, left), text_column(b, right)]
    return b.scalar_of(perform(b, "equal", columns, _B1))


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
    inside = binary("and", binary("ge", e, 0), binary("lt", e, 256))
    b.check(known(inside), "chr() arg not in range(256), found: {}")
    out = perform(b, "new", (), TEXT)
    perform(b, "push", [out, b.scalar_operand(e)])
    return Text(out)


def _characters(ev: Evaluator, text: Text) -> Value:
    b, content = ev.b, numbers_of(ev.b, text)
    made = new_grown(b, TextElement())

    def step(values: Sequence[Value]) -> list[Value]:
        fill(b, made, [_part(b, text, as_expr(values[0]), const(1))])
        return [True]

    loop(b, length(b, content), True, [], step, _LONG)
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
    loop(b, size, True, [], step, _LONG)
    extra = select(binary("gt", size, 0), length(b, numbers_of(b, separator)), const(0))
    whole = Text(out)
    return _part(b, whole, named(b, extra), length(b, numbers_of(b, whole)) - extra)


def _mapped(low: str, high: str, shift: int) -> Callable[[Evaluator, Text], Value]:
    """Letters from `low` to `high` moved by `shift`."""

    def row(ev: Evaluator, text: Text) -> Value:
        b, content = ev.b, numbers_of(ev.b, text)
        out = perform(b, "new", (), TEXT)

        def step(values: Sequence[Value]) -> list[Value]:
            e = as_expr(fetch(b, content, as_expr(values[0])))
            moves = binary("and", binary("ge", e, ord(low)), binary("le", e, ord(high)))
            perform(b, "push", [out, b.scalar_operand(select(moves, e + shift, e))])
            return [True]

        loop(b, length(b, content), True, [], step, _LONG)
        return Text(out)

    return row


def _starts(ev: Evaluator, text: Value, prefix: Value, *rest: Value) -> Value:
    if rest and tuple(rest) != (0, -1):
        ev.b.cannot("a part of a string that is compared")
    count = length(ev.b, numbers_of(ev.b, prefix))
    return same_text(ev.b, part(ev, text, 0, count), prefix)


def _ends(ev: Evaluator, text: Value, suffix: Value, *rest: Value) -> Value:
    if rest and tuple(rest) != (0, -1):
        ev.b.cannot("a part of a string that is compared")
    sizes = [length(ev.b, numbers_of(ev.b, t)) for t in (text, suffix)]
    return same_text(ev.b, part(ev, text, binary("max", sizes[0] - sizes[1], 0)), suffix)


# --- containers -------------------------------------------------------------------------------


def place_in(b: Builder, content: Grown, text: Value) -> Expr:
    """The first place of a string in a run-time list of strings, -1 if there is none."""

    def step(values: Sequence[Value]) -> list[Value]:
        at = as_expr(values[0])
        same = same_text(b, fetch(b, content, at), text)
        return [known(unary("not", same)), select(same, at, const(-1))]

    return as_expr(loop(b, length(b, content), True, [-1], step, _LONG)[0])


def _contains(ev: Evaluator, x: Value, key: Value) -> Value:
    if not isinstance(x, ListRef):
        return ev.b.cannot("looking for a string in one that is not known")
    content = as_grown(ev.b, x, TextElement())
    return known(binary("ge", place_in(ev.b, content, key), 0))


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
    "aten::lower": _mapped("A", "Z", 32),
    "aten::upper": _mapped("a", "z", -32),
    "aten::startswith": _starts,
    "aten::endswith": _ends,
    "aten::__contains__": _contains,
}

BY_UNKNOWN: Rows = {
    "aten::__getitem__.str": item,
    "prim::StringIndex": item,
    "aten::slice.str": part,
    "aten::chr": character,
    "aten::join": join,
}
"""Rows on known strings with other arguments that are not known."""
