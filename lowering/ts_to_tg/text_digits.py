"""Numbers as strings, made by the running program."""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.dtypes import bool_, float32, float64, int64
from tensorscript.base.text import conversion_of
from tensorscript.dialects.te.expr import Expr, binary, cast, const, select

from .branches import branch
from .builder import Builder
from .elements import as_expr, known
from .list_actions import perform
from .loops import ENDLESS, LONG, loop
from .text_values import TEXT
from .values import Text, Value, Variant


def text_of_number(b: Builder, number: Expr, base: int = 10, prefix: str = "") -> Value:
    """The text of a float, an int64 (in a base, behind a prefix) or a bool."""
    if number.dtype is bool_:
        return Variant(cast(number, int64), ("False", "True"))
    given = b.scalar_of(b.scalar_operand(number))
    out = perform(b, "new", (), TEXT)
    if number.dtype is float64:
        perform(b, "digits", [out, b.scalar_operand(given), b.scalar_operand(const(0))])
        return Text(out)

    def named(e: Expr) -> Expr:
        return b.scalar_of(b.scalar_operand(e))

    def push(code: Expr) -> None:
        perform(b, "push", [out, b.scalar_operand(code)])

    def push_digit(digit: Expr) -> None:
        code = digit + ord("0")
        push(code if base <= 10 else select(digit < 10, code, digit + (ord("a") - 10)))

    def step(values: Sequence[Value]) -> list[Value]:
        rest = as_expr(values[1])
        push_digit(named(rest % base))
        less = named(rest // base)
        return [binary("gt", less, 0), less]

    def minus(_: Sequence[Value]) -> list[Value]:
        push(const(ord("-")))
        return []

    # The least number has no opposite one: the last digit is taken from what is not positive.
    low = named(select(given < 0, given, -given))
    push_digit(named(-(low % -base)))
    rest = named(low // -base)
    loop(b, ENDLESS, known(binary("gt", rest, 0)), [rest], step, LONG)
    for letter in reversed(prefix):
        push(const(ord(letter)))
    branch(b, given < 0, minus, lambda _: [])
    perform(b, "reverse", [out])
    return Text(out)


def text_of_float(b: Builder, number: Expr, letter: str) -> Value:
    """The text that `%e`, `%E`, `%f` or `%F` makes of a float: TorchScript rounds it to float32."""
    out = perform(b, "new", (), TEXT)
    single = cast(cast(number, float32), float64)
    form = const(ord(conversion_of(letter)))
    perform(b, "digits", [out, b.scalar_operand(single), b.scalar_operand(form)])
    return Text(out)
