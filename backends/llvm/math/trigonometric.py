"""sin, cos, tan.

x = n pi/2 + r with pi/2 in three words: x - n P1 is exact with fma, as both are multiples of the
last place of P1, and what n P2 takes from it is kept in two words, as little may be left. Past
`_LIMIT` a lane takes the reduction of Payne and Hanek (`reduction.py`).
"""

from __future__ import annotations

from .builder import Builder, Value
from .coefficients import COS, SIN
from .reduction import far_reduction
from .words import fast_two_sum, quotient, two_product, two_sum

_HALF_PI = {
    "f32": (1.57079637050628662109375, -4.37113900018624283e-8, -1.71512e-15),
    "f64": (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33),
}
_LIMIT = {"f32": 1.0e5, "f64": 1.0e9}
_TWO_OVER_PI = 0.6366197723675814


def _reduce(b: Builder, x: Value) -> tuple[Value, Value, Value]:
    """(r, its low word, n modulo 4)."""
    far = b.abs(x) >= _LIMIT[b.dtype]
    near = b.select(far, 0.0, x)
    n, whole = b.round_magic(near * _TWO_OVER_PI)
    p1, p2, p3 = _HALF_PI[b.dtype]
    first = b.fma(n, -p1, near)
    second, lost = two_product(b, n, -p2)
    top, rest = two_sum(first, second)
    r, low = fast_two_sum(top, b.fma(n, -p3, rest + lost))
    return far_reduction(b, x, far, r, low, whole)


def _sine(b: Builder, r: Value, low: Value, z: Value) -> tuple[Value, Value]:
    """In two words that do not overlap by much."""
    return r, b.fma(r * z, b.polynomial(z, SIN[b.dtype]), low)


def _cosine(b: Builder, r: Value, low: Value, z: Value) -> tuple[Value, Value]:
    half = z * 0.5
    top = 1.0 - half
    rest = b.fma(b.fma(r, r, -z), -0.5, (1.0 - top) - half)
    return top, b.fma(z * z, b.polynomial(z, COS[b.dtype]), b.fma(-r, low, rest))


def _quadrant(b: Builder, x: Value, shift: int) -> Value:
    r, low, n = _reduce(b, x)
    n = n + shift if shift else n
    z = r * r
    odd = (n & 1).compare("ne", 0)
    (cosine, cosine_low), (sine, sine_low) = _cosine(b, r, low, z), _sine(b, r, low, z)
    value = b.select(odd, cosine, sine) + b.select(odd, cosine_low, sine_low)
    return b.float_of(b.bits_of(value) ^ ((n & 2) << (b.bits - 2)))


def sin(b: Builder, x: Value) -> Value:
    return b.select(x.equals(0.0), x, _quadrant(b, x, 0))


def cos(b: Builder, x: Value) -> Value:
    return _quadrant(b, x, 1)


def tan(b: Builder, x: Value) -> Value:
    r, low, n = _reduce(b, x)
    z = r * r
    sine, cosine = (fast_two_sum(*f(b, r, low, z)) for f in (_sine, _cosine))
    odd = (n & 1).compare("ne", 0)
    top, top_low = (b.select(odd, -c, s) for s, c in zip(sine, cosine, strict=True))
    divisor, divisor_low = (b.select(odd, s, c) for s, c in zip(sine, cosine, strict=True))
    q, q_low = quotient(b, top, top_low, divisor, divisor_low)
    return b.select(x.equals(0.0), x, q + q_low)
