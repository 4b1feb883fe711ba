"""Numbers as strings, made by the running program."""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.dtypes import bool_, int64
from tensorscript.dialects.te.expr import Expr, binary, cast, const, select

from .builder import Builder
from .control import branch, loop
from .elements import as_expr
from .list_actions import perform
from .text_values import TEXT
from .values import Text, Value, Variant

_MANY = 2**63 - 1
_LONG = 1 << 20
"""Ops of a loop that is not to be unrolled."""


def text_of_number(b: Builder, number: Expr) -> Value:
    """The text of an int64 or a bool."""
    if number.dtype is bool_:
        return Variant(cast(number, int64), ("False", "True"))
    given = b.scalar_of(b.scalar_operand(number))
    out = perform(b, "new", (), TEXT)

    def push(code: Expr) -> None:
        perform(b, "push", [out, b.scalar_operand(code)])

    def digit(values: Sequence[Value]) -> list[Value]:
        rest = as_expr(values[1])
        push(rest % 10 + ord("0"))
        less = b.scalar_of(b.scalar_operand(rest // 10))
        return [binary("gt", less, 0), less]

    def minus(_: Sequence[Value]) -> list[Value]:
        push(const(ord("-")))
        return []

    loop(b, _MANY, True, [select(given < 0, -given, given)], digit, _LONG)
    branch(b, given < 0, minus, lambda _: [])
    perform(b, "reverse", [out])
    return Text(out)
