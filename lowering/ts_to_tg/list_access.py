"""Lengths, places and elements of run-time lists: what the rows on them have in common."""

from __future__ import annotations

from xdsl.ir import SSAValue

from tensorscript.base.dtypes import int64
from tensorscript.base.errors import OperatorError
from tensorscript.dialects.te.expr import Expr, binary, const, select
from tensorscript.dialects.tg.lists import element_of
from tensorscript.dialects.tg.types import ListType, ScalarType

from .builder import Builder
from .elements import as_expr
from .grown import value_of
from .list_actions import perform
from .values import Grown, Value

_I64 = ScalarType(int64)


def is_never_negative(b: Builder, e: Expr) -> bool:
    """Sums and products of loop counters and literals."""
    if e.op == "const":
        return int(str(e.value)) >= 0
    if e.op == "var":
        return str(e.value) in b.bounds
    return e.op in ("add", "mul") and all(is_never_negative(b, a) for a in e.args)


def named(b: Builder, value: Value) -> Expr:
    """A number under a name, so that it is computed once."""
    e = as_expr(value)
    return e if e.op in ("const", "var") else b.scalar_of(b.scalar_operand(e))


def length(b: Builder, x: Grown) -> Expr:
    """How many elements a list has now; never negative."""
    found = b.scalar_of(perform(b, "length", x.columns[:1], _I64))
    b.counts.add(str(found.value))
    return found


def slice_range(
    b: Builder, size: Expr, start: Value, stop: Value, step: Value
) -> tuple[Expr, int, Expr]:
    """Of `[start:stop:step]` of so many elements: where it begins, its step, its length."""
    if step == 0:
        b.error("List slice should have non-zero step")
    if not isinstance(step, int):
        b.cannot("a slice with a step that is not known")
    least, most = (const(0), size) if step > 0 else (const(-1), size - 1)

    def end(value: Value, default: Expr) -> Expr:
        if value is None:
            return default
        e = named(b, value)
        return binary("min", binary("max", select(e < 0, e + size, e), least), most)

    first, last = (least, most) if step > 0 else (most, least)
    begin = named(b, end(start, first))
    span = end(stop, last) - begin if step > 0 else begin - end(stop, last)
    width = abs(step)
    return begin, step, binary("max", span if width == 1 else (span + (width - 1)) // width, 0)


def check(b: Builder, condition: Value, message: str) -> None:
    """Stop with an operator's message, which shows the user's line, unless the condition holds."""
    b.check(condition, str(OperatorError(message, b.span)))


def position(b: Builder, x: Grown, index: Value) -> Expr:
    """An index counted from either end, in bounds."""
    size, e = length(b, x), named(b, index)
    if e.op == "const" and int(str(e.value)) < 0:
        at = named(b, size + e)
        check(b, binary("ge", at, 0), "list index out of range")
        return at
    if is_never_negative(b, e):
        check(b, binary("lt", e, size), "list index out of range")
        return e
    # In the words in which an index of a tensor is tested: where the sizes are equal, one test is.
    inside = binary("and", binary("ge", e, 0 - size), binary("lt", e, size))
    check(b, inside, "list index out of range")
    return named(b, select(e < 0, e + size, e))


def fetch(b: Builder, x: Grown, at: Expr) -> Value:
    """The element at an index that is in bounds."""
    index = b.scalar_operand(at)
    leaves = [perform(b, "get", [c, index], _element_type(c)) for c in x.columns]
    return value_of(b, x.element, iter(leaves))


def _element_type(column: SSAValue) -> ScalarType | ListType:
    assert isinstance(column.type, ListType)
    found = element_of(column.type)
    assert isinstance(found, ScalarType | ListType)
    return found
