"""erf, erfc, and gelu, which is made of them."""

from __future__ import annotations

import math

from .builder import Builder, Value
from .coefficients import ERF, ERFCX, LOG2ERFC, LOG2TAIL, TAIL_STEPS
from .exponential import at_most, power_of_two
from .registers import has_tables, lookup

# Where erf turns from a polynomial to 1 - erfc.
_NEAR = {"f32": 1.0, "f64": 0.9277}
_LAST_TAIL = 5.6


def _near_zero(b: Builder, x: Value) -> Value:
    z = x * x
    return b.fma(x, b.polynomial(z, ERF[b.dtype]), x)


def _tail(b: Builder, magnitude: Value) -> Value:
    """erfc(x) for 0.25 <= x as e^(-x^2) P(q)/(1+2x), q = (x-4)/(x+4); x^2 in two parts."""
    x = at_most(b, magnitude, 28.0)
    square = x * x
    rest = b.fma(x, x, -square)
    q = (x - 4.0) / (x + 4.0)
    scaled = b.polynomial(q, ERFCX["f64"]) / b.fma(x, 2.0, 1.0)
    return b.call("exp", -square) * b.fma(scaled, -rest, scaled)


def _short_tail(b: Builder, magnitude: Value) -> Value:
    """erfc(t) for 1 <= t in float32, absolutely precise to an ulp of 1 - erfc(t): as 2^(t q) with
    a polynomial q; t q is not rounded before its whole part is taken off."""
    t = at_most(b, magnitude, 3.93)
    return power_of_two(b, t, b.polynomial(t, LOG2ERFC["f32"]))


def erf(b: Builder, x: Value) -> Value:
    """Polynomial in x^2 near 0 (and for NaN); elsewhere 1 - erfc."""
    magnitude = b.abs(x)
    far = 1.0 - (_short_tail(b, magnitude) if b.dtype == "f32" else _tail(b, magnitude))
    return b.select(magnitude >= _NEAR[b.dtype], b.copysign(far, x), _near_zero(b, x))


def erfc(b: Builder, x: Value) -> Value:
    magnitude = b.abs(x)
    far = _tail(b, magnitude)
    far = b.select(x < 0.0, 2.0 - far, far)
    result = b.select(magnitude < 0.5, 1.0 - _near_zero(b, x), far)
    return b.select(x.is_nan(), x, result)


def gelu(b: Builder, x: Value) -> Value:
    """x times the normal distribution up to x, which is a tail T(|x|) or 1 less that.

    In float32 T is by steps where registers are tables, and elsewhere 2^p of a polynomial p; past
    5.6 it is less than an ulp of 1, and counts as 0.
    """
    if b.dtype == "f64":
        return x * 0.5 * (1.0 + b.call("erf", x * math.sqrt(0.5)))
    magnitude = b.abs(x)
    tail = _tail_by_steps(b, magnitude) if has_tables(b) else _tail_as_power(b, magnitude)
    tail = b.select(magnitude < _LAST_TAIL, tail, 0.0)
    return x * b.select(x > 0.0, 1.0 - tail, tail)


def _tail_as_power(b: Builder, u: Value) -> Value:
    return power_of_two(b, b.polynomial(u, LOG2TAIL["f32"]))


def _tail_by_steps(b: Builder, u: Value) -> Value:
    """Polynomials about the multiples of a half, which lie in tables."""
    centre, sum_bits = b.round_to_step(u, 1.0, steps=2)
    factors = [lookup(b, f"tail{place}", table, sum_bits) for place, table in enumerate(TAIL_STEPS)]
    return b.polynomial(u - centre, factors)
