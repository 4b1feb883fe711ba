"""Arithmetic of numbers, and of what else has its operators.

Integers wrap to 64 bits; `//` and `%` floor; division by zero is an error (asserted where the
divisor is not known), while `/` gives inf or nan.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping

from tensorscript.base.dtypes import bool_, float64, int64
from tensorscript.dialects.te.expr import Expr, binary, call, const, select

from .builder import Builder, Rows
from .elements import as_expr, convert, known
from .scalar_values import is_unknown, joined_texts, paired, tidy, wrap
from .values import Text, UnknownString, Value


def arithmetic(op: str, fn: Callable[[Value, Value], Value]) -> Callable[..., Value]:
    """Rows of binary operators on numbers: done now where both are known. `+` joins strings."""

    def row(b: Builder, x: Value, y: Value, *_: Value) -> Value:
        if isinstance(x, UnknownString | Text) or isinstance(y, UnknownString | Text):
            return joined_texts(b, x, y)
        if not is_unknown(x, y):
            return tidy(fn(x, y))
        p, q = paired(x, y)
        if p.dtype is bool_:
            p, q = convert(p, int64), convert(q, int64)
        return known(binary(op, p, q))

    return row


add = arithmetic("add", operator.add)


def true_div(b: Builder, x: Value, y: Value, *_: Value) -> Value:
    if is_unknown(x, y):
        return known(convert(as_expr(x), float64) / convert(as_expr(y), float64))
    x, y = float(x), float(y)
    if y == 0:
        return math.nan if x == 0 or x != x else math.copysign(math.inf, x) * math.copysign(1, y)
    return x / y


def _floor(op: str, fn: Callable[[Value, Value], Value]) -> Callable[..., Value]:
    def row(b: Builder, x: Value, y: Value, *_: Value) -> Value:
        p, q = paired(x, y)
        if q.dtype is float64:
            # Of floats, x // y is C++'s floor(x / y) and x % 0 is NaN.
            return known(call("floor", p / q) if op == "floordiv" else binary(op, p, q))
        if not is_unknown(y) and y == 0:
            b.error("division by 0" if op == "floordiv" else "modulo by 0")
        if not is_unknown(x, y):
            return tidy(fn(x, y))
        if q.op != "const" and q.dtype is int64 and any(n.startswith("$") for n in q.free):
            b.check(binary("ne", q, 0), "division by 0")
        return known(binary(op, p, q))

    return row


def _whole_power(b: Builder, x: Value, y: Value, *_: Value) -> Value:
    """An int to an int as an int."""
    return known(binary("pow", *paired(x, y)))


def _shift(op: str, fn: Callable[[int, int], int]) -> Callable[..., Value]:
    def row(b: Builder, x: Value, y: Value, *_: Value) -> Value:
        if not is_unknown(x, y) and 0 <= y < 64:
            return wrap(fn(x, y))
        b.check(known(binary("ge", as_expr(y), 0)), "negative shift count")
        p, q = paired(x, y)
        shifted = binary(op, p, binary("min", q, 63))
        return known(shifted if op == "shr" else select(q > 63, const(0, int64), shifted))

    return row


def _neg(b: Builder, x: Value, *_: Value) -> Value:
    return known(-convert(x, int64) if x.dtype is bool_ else -x) if is_unknown(x) else tidy(-x)


def _abs(b: Builder, x: Value, *_: Value) -> Value:
    if not isinstance(x, Expr):
        return abs(x)
    return known(call("abs", x) if x.dtype is float64 else select(x < 0, -x, x))


_EMPTY_SUMS: Mapping[str, Value] = {"aten::sum.float": 0.0, "aten::sum.complex": 0j}


def _sum(b: Builder, values: list[Value], *_: Value) -> Value:
    if not values:
        # An empty list has lost its element type; the overload says it.
        return _EMPTY_SUMS.get(b.operator, 0)
    total = values[0] if isinstance(values[0], float) else add(b, 0, values[0])
    for value in values[1:]:
        total = add(b, total, value)
    return total


def extremum(op: str, closer: Callable[[Value, Value], Value]) -> Callable[..., Value]:
    """Rows of `max` and `min` of two numbers, or of a list of them.

    A comparison decides, as in C++: of two numbers the second where it does not hold, of a list
    the earlier, so that NaN wins or loses by where it stands.
    """

    def better(x: Value, y: Value) -> Value:
        p, q = paired(x, y)
        if not is_unknown(x, y):
            found = x if closer(x, y) else y
            return float(found) if p.dtype is float64 else found
        return known(select(closer(p, q), p, q) if p.dtype is float64 else binary(op, p, q))

    def row(b: Builder, *values: Value) -> Value:
        if not isinstance(values[0], list):
            return better(*values)
        if len(values) == 2:
            return values[0] if closer(values[0], values[1]) else values[1]
        if not values[0]:
            b.error(f"{op}() arg is an empty sequence")
        out = values[0][0]
        for v in values[0][1:]:
            out = better(v, out)
        return out

    return row


def _range_length(b: Builder, start: Value, stop: Value, step: Value) -> Value:
    if not is_unknown(start, stop, step):
        if step == 0:
            b.error("range() arg 3 must not be zero")
        return len(range(start, stop, step))
    first, last, by = map(as_expr, (start, stop, step))
    if by.op != "const":
        b.check(binary("ne", by, 0), "range() arg 3 must not be zero")
        up = (last - first + (by - 1)) // by
        down = (first - last - by - 1) // -by
        return known(binary("max", select(by > 0, up, down), 0))
    if by.is_int(1):
        return known(binary("max", last - first, 0))
    span = (last - first + (by - 1)) // by if int(by.value) > 0 else (first - last - by - 1) // -by  # type: ignore[call-overload]
    return known(binary("max", span, 0))


ARITHMETIC: Rows = {
    "aten::add": add,
    "aten::sub": arithmetic("sub", operator.sub),
    "aten::mul": arithmetic("mul", operator.mul),
    "aten::div": true_div,
    "aten::floordiv": _floor("floordiv", operator.floordiv),
    "aten::floor_divide": _floor("floordiv", operator.floordiv),
    "aten::remainder": _floor("mod", operator.mod),
    "aten::pow.int_to_int": _whole_power,
    "aten::neg": _neg,
    "aten::abs": _abs,
    "prim::abs": _abs,
    "aten::__lshift__": _shift("shl", operator.lshift),
    "aten::__rshift__": _shift("shr", operator.rshift),
    "prim::min": extremum("min", operator.lt),
    "prim::max": extremum("max", operator.gt),
    "aten::sum": _sum,
    "aten::__range_length": _range_length,
    "aten::__derive_index": lambda b, i, start, step: known(
        as_expr(start) + as_expr(i) * as_expr(step)
    ),
}
