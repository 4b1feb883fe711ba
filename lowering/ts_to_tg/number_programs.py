"""Rows on numbers that are short programs of others."""

from __future__ import annotations

import math

from tensorscript.base.dtypes import bool_, float64
from tensorscript.dialects.te.expr import binary, call, const, select

from .builder import Builder, Rows
from .dims import dtype_of
from .elements import as_expr, convert, known
from .scalar_values import is_unknown, paired, wrap
from .scalars import SCALAR
from .sizes import product
from .values import Tensor, TupleValue, Value


def _divided(b: Builder, x: Value, y: Value, *_: Value) -> TupleValue:
    """`divmod(x, y)`."""
    is_float = any(as_expr(v).dtype is float64 for v in (x, y))
    what = "float divmod()" if is_float else "integer division or modulo by zero"
    b.check(known(binary("ne", as_expr(y), 0)), f"ZeroDivisionError: {what}")
    # The quotient of floats is Python's, and not that of `//`.
    if is_float:
        whole = known(binary("floordiv", *paired(x, y)))
    else:
        whole = SCALAR["aten::floordiv"](b, x, y)
    return TupleValue((whole, SCALAR["aten::remainder"](b, x, y)))


def _parts(b: Builder, x: Value, *_: Value) -> TupleValue:
    """`math.modf(x)`: the fraction and the whole part, both with the sign of `x`."""
    if not is_unknown(x):
        return TupleValue(math.modf(x))
    e = convert(as_expr(x), float64)
    whole = call("trunc", e)
    is_infinite = binary("eq", call("abs", e), math.inf)
    part = select(is_infinite, const(0.0, float64), e - whole)
    return TupleValue((call("copysign", part, e), whole))


def _factorial(b: Builder, n: Value, *_: Value) -> Value:
    """The factorial modulo 2**64: 0 from 66 on."""
    e = as_expr(n)
    b.check(known(binary("ge", e, 0)), "factorial() not defined for negative values")
    out = const(0)
    for k in range(66):
        out = select(e.equals(k), const(wrap(math.factorial(k))), out)
    return known(out)


def _can_cast(b: Builder, source: Value, target: Value, *_: Value) -> Value:
    return dtype_of(source, bool_).category <= dtype_of(target, bool_).category


def _assert_nonzero(b: Builder, x: Tensor, message: str = "", *_: Value) -> None:
    count = product(x.shape)
    if not count.is_int(1):
        b.cannot("a number of elements that is not known to be one")
    told = message or "Expected Tensor with single nonzero value, but got zero"
    b.check(b.item(b.apply("aten::ne", x, 0)), told)


NUMBER_PROGRAMS: Rows = {
    "aten::divmod": _divided,
    "aten::modf": _parts,
    "aten::factorial": _factorial,
    "aten::can_cast": _can_cast,
    "aten::_assert_async": _assert_nonzero,
}
