"""erf, erfc, and gelu, which is made of them."""

from __future__ import annotations

import math

from .builder import Builder, Value
from .coefficients import ERF, ERFCX, LOG2ERFC, LOG2TAIL
from .exponential import LOG2E, LOG2E_LOW, at_most, power_in_factors, power_of_two
from .registers import has_tables, lookup
from .tables import ERF_STEPS, ERFCX_STEPS, TAIL_STEPS
from .words import two_product

# Where erf turns from a polynomial to 1 - erfc.
_NEAR = {"f32": 1.0, "f64": 0.9277}
_LAST_TAIL = 5.6
_ERF_LIMIT, _ERF_PLACES = 5.93, (4.0, -0.234)
_ERFC_LIMIT, _ERFC_OFFSET, _ERFC_STEP_BITS = 10.3, 0.75, 21


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
    """Polynomial in x^2 near 0 (and for NaN); elsewhere 1 - erfc. In float64 by steps where
    registers are tables."""
    magnitude = b.abs(x)
    if b.dtype == "f64" and has_tables(b):
        return b.copysign(_erf_by_steps(b, at_most(b, magnitude, _ERF_LIMIT)), x)
    far = 1.0 - (_short_tail(b, magnitude) if b.dtype == "f32" else _tail(b, magnitude))
    return b.select(magnitude >= _NEAR[b.dtype], b.copysign(far, x), _near_zero(b, x))


def _erf_by_steps(b: Builder, t: Value) -> Value:
    """A polynomial about one of 16 centres, which lie the closer the nearer to 0."""
    _, sum_bits = b.round_to_step(t, b.polynomial(t, _ERF_PLACES))
    centre, value, *factors = (
        lookup(b, f"erf{place}", table, sum_bits) for place, table in enumerate(ERF_STEPS)
    )
    start = b.select(value.equals(0.0), t, value)
    return b.polynomial(t - centre, (start, *factors))


def erfc(b: Builder, x: Value) -> Value:
    """In float32 by steps where registers are tables, and elsewhere in float64."""
    if b.dtype == "f32":
        return _erfc_by_steps(b, x) if has_tables(b) else b.widened("erfc", x)
    magnitude = b.abs(x)
    far = _tail(b, magnitude)
    far = b.select(x < 0.0, 2.0 - far, far)
    result = b.select(magnitude < 0.5, 1.0 - _near_zero(b, x), far)
    return b.select(x.is_nan(), x, result)


def _erfc_by_steps(b: Builder, x: Value) -> Value:
    """e^(-t^2) G(t) of t = |x|, or 2 less that; past 10.1 it rounds to 0.

    G is a polynomial about one of 16 centres, whose interval shows in the exponent and the first
    bits of t + 0.75. e^(-t^2) is 2^n R (1 + e) with R a root of 2. The product of R and of G's
    value at the centre has two words, so that other roundings are of small summands.
    """
    t = at_most(b, b.abs(x), _ERFC_LIMIT)
    square, rest = two_product(b, t, t)
    rest = b.fma(square, -LOG2E_LOW["f32"], rest * -LOG2E)
    root, above, scaled = power_in_factors(b, square, -LOG2E, rest)
    index = b.bits_of(t + _ERFC_OFFSET).sar(_ERFC_STEP_BITS)
    centre, value, *factors = (
        lookup(b, f"erfc{place}", table, index) for place, table in enumerate(ERFCX_STEPS)
    )
    away = t - centre
    change = away * b.polynomial(away, factors)
    top, lost = two_product(b, root, value)
    far = scaled(top + b.fma(root, b.fma(value + change, above, change), lost))
    return b.select(x < 0.0, 2.0 - far, far)


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
