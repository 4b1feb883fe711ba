"""erf, erfc, and gelu, which is made of them."""

from __future__ import annotations

import math

from .builder import Builder, Value
from .coefficients import ERF, ERFCX, LOG2ERFC, LOG2TAIL
from .exponential import at_most, power_of_two

# Where erf turns from a polynomial to 1 - erfc.
_NEAR = {"f32": 1.0, "f64": 0.9277}


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
    """x times the normal distribution up to x: max(x, 0) - |x| T(|x|) with T the tail beyond.

    In float32 T is 2^p of a polynomial p; past 5.6 it is less than an ulp of 1, and counts as 0.
    """
    if b.dtype == "f64":
        return x * 0.5 * (1.0 + b.call("erf", x * math.sqrt(0.5)))
    magnitude = b.abs(x)
    tail = power_of_two(b, b.polynomial(magnitude, LOG2TAIL["f32"]))
    # max(x, 0), but a zero of x's sign, and NaN for -inf.
    base = b.fma(b.select(x > 0.0, 0.0, x), b.constant(0.0), b.select(x < -0.0, -0.0, x))
    return b.select(magnitude < 5.6, b.fma(-magnitude, tail, base), base)
