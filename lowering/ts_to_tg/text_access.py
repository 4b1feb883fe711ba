"""Reading strings that the running program makes: what the rows on them have in common."""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.dtypes import bool_, int64
from tensorscript.dialects.te.expr import Expr, const, select, unary
from tensorscript.dialects.tg.types import ScalarType

from .builder import Builder
from .element_kinds import NumberElement
from .elements import as_expr, known
from .list_access import fetch, length
from .list_actions import perform
from .loops import LONG, loop
from .text_values import TEXT, text_column
from .values import Grown, Text, Value

_B1 = ScalarType(bool_)


def numbers_of(b: Builder, text: Value) -> Grown:
    """The bytes of a string."""
    return Grown(NumberElement(int64), (text_column(b, text),))


def size_of(b: Builder, text: Value) -> Expr:
    """How many bytes a string has."""
    return length(b, numbers_of(b, text))


def slice_of(b: Builder, text: Value, start: Expr, count: Expr, step: int = 1) -> Text:
    """`count` bytes of a string from `start` on, which are there."""
    operands = [b.scalar_operand(e) for e in (start, const(step), count)]
    return Text(perform(b, "slice", [text_column(b, text), *operands], TEXT))


def same_text(b: Builder, left: Value, right: Value) -> Expr:
    """Whether two strings are equal."""
    columns = [text_column(b, left), text_column(b, right)]
    return b.scalar_of(perform(b, "equal", columns, _B1))


def place_in(b: Builder, content: Grown, text: Value) -> Expr:
    """The first place of a string in a run-time list of strings, -1 if there is none."""

    def step(values: Sequence[Value]) -> list[Value]:
        at = as_expr(values[0])
        same = same_text(b, fetch(b, content, at), text)
        return [known(unary("not", same)), select(same, at, const(-1))]

    return as_expr(loop(b, length(b, content), True, [-1], step, LONG)[0])


def count_in(b: Builder, content: Grown, text: Value) -> Expr:
    """How often a string is in a run-time list of strings."""

    def step(values: Sequence[Value]) -> list[Value]:
        at, count = map(as_expr, values)
        same = same_text(b, fetch(b, content, at), text)
        return [True, count + select(same, const(1), const(0))]

    return as_expr(loop(b, length(b, content), True, [0], step, LONG)[0])
