"""Rows of integers' common divisors and multiples, and of the parts of floating-point numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tensorscript.base.dtypes import bool_, float64, int32, int64
from tensorscript.dialects.te.expr import Expr, binary, call, cast, const, select

from .builder import Builder, Rows
from .elements import compute_dtype
from .loops import loop
from .pointwise import absolute
from .scalar_values import is_unknown
from .values import Tensor, TupleValue, Value

_STEPS = 128
"""Euclid's algorithm takes at most 92 divisions of 64-bit integers (Lame, 1844)."""


def _gcd(b: Builder, x: Value, y: Value, *_: Value) -> Tensor:
    """Euclid's algorithm on all elements, until none has a rest."""
    dtype = b.result_type(x, y)
    if dtype.is_floating_point or dtype is bool_:
        b.unimplemented(f"{b.operator.removeprefix('aten::')}_cpu", dtype)

    def operand(which: int) -> Tensor:
        return b.pointwise(lambda *e: absolute(e[which]), x, y, dtype=dtype, compute=dtype)

    def step(arguments: Sequence[Value]) -> list[Value]:
        _, p, q = arguments

        def rest(e: Expr, by: Expr) -> Expr:
            zero, one = const(0, dtype), const(1, dtype)
            return select(by.equals(0), zero, binary("truncmod", e, select(by.equals(0), one, by)))

        after = b.pointwise(rest, p, q, dtype=dtype, compute=dtype)
        found = b.pointwise(
            lambda e, by: select(by.equals(0), e, by), p, q, dtype=dtype, compute=dtype
        )
        return [b.item(b.apply("aten::any", b.apply("aten::ne", after, 0))), found, after]

    found: Tensor = loop(b, _STEPS, True, [operand(0), operand(1)], step, 512)[0]
    return found


def _gcd_of_numbers(b: Builder, x: Value, y: Value) -> Value:
    """`math.gcd`."""
    if not is_unknown(x) and not is_unknown(y):
        return math.gcd(x, y)
    return b.item(_gcd(b, *(b.full((), v, int64) for v in (x, y))))


def _lcm(b: Builder, x: Value, y: Value, *_: Value) -> Tensor:
    divisor = _gcd(b, x, y)
    dtype = divisor.dtype

    def multiple(p: Expr, q: Expr, g: Expr) -> Expr:
        whole = binary("truncdiv", p, select(g.equals(0), const(1, dtype), g))
        return absolute(whole * q)

    return b.pointwise(multiple, x, y, divisor, dtype=dtype, compute=dtype)


def _frexp(b: Builder, x: Tensor, *_: Value) -> tuple[Tensor, Tensor]:
    """x = mantissa * 2^exponent with 0.5 <= |mantissa| < 1."""
    if not x.dtype.is_floating_point:
        b.error("torch.frexp() only supports floating-point dtypes")
    wide = compute_dtype(x.dtype)
    least = {32: 2.0**-126, 64: 2.0**-1022}[wide.bits]

    def parts(e: Expr) -> tuple[Expr, Expr]:
        small = call("abs", e) < least
        scaled = select(small, e * 2.0**64, e)
        plain = binary("and", call("isfinite", e), binary("ne", e, 0))
        safe = select(plain, scaled, const(1, wide))
        guess = call("floor", call("log2", call("abs", safe))) + 1
        # In two factors, both of them normal numbers; a logarithm may be one off.
        half = call("floor", guess * 0.5)
        mantissa = safe * call("exp2", -half) * call("exp2", half - guess)
        size = call("abs", mantissa)
        high, low = binary("ge", size, 1), size < 0.5
        mantissa = select(high, mantissa * 0.5, select(low, mantissa * 2, mantissa))
        one = const(1, wide)
        exponent = select(high, guess + one, select(low, guess - one, guess))
        exponent = exponent - select(small, const(64, wide), const(0, wide))
        return select(plain, mantissa, e), select(plain, exponent, const(0, wide))

    mantissa = b.pointwise(lambda e: parts(e)[0], x, dtype=x.dtype, compute=wide)
    exponent = b.pointwise(lambda e: cast(parts(e)[1], int32), x, dtype=int32, compute=wide)
    return mantissa, exponent


def _frexp_of_number(b: Builder, x: Value) -> TupleValue:
    """`math.frexp`."""
    if not is_unknown(x):
        return TupleValue(math.frexp(x))
    return TupleValue(tuple(b.item(t) for t in _frexp(b, b.full((), x, float64))))


DIVISORS: Rows = {
    "aten::gcd": _gcd,
    "aten::gcd.int": _gcd_of_numbers,
    "aten::lcm": _lcm,
    "aten::frexp": _frexp_of_number,
    "aten::frexp.Tensor": _frexp,
}
