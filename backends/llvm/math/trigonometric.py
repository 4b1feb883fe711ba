"""sin, cos, tan.

x = n pi/2 + r with pi/2 in three words: x - n P1 is exact with fma, as both are multiples of the
last place of P1, and what n P2 takes from it is kept in two words, as little may be left. Past
`_LIMIT` a lane takes the reduction of Payne and Hanek (`reduction.py`).
"""

from __future__ import annotations

from .builder import Builder, Value
from .coefficients import COS, SIN, TAN
from .reduction import far_reduction
from .words import fast_two_sum, two_product

_HALF_PI = {
    "f32": (1.57079637050628662109375, -4.37113900018624283e-8, -1.71512e-15),
    "f64": (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33),
}
_LIMIT = {"f32": 1.0e5, "f64": 1.0e9}
_TAN_SLOPE = 1.4
"""What tan has above 1 as its slope, over x^2: for low words up to pi/4."""
_TWO_OVER_PI = 0.6366197723675814


def _reduce(b: Builder, x: Value) -> tuple[Value, Value, Value]:
    """(r, its low word, n modulo 4)."""
    far = b.abs(x) >= _LIMIT[b.dtype]
    n, whole = b.round_magic(x, _TWO_OVER_PI)
    p1, p2, p3 = _HALF_PI[b.dtype]
    second, lost = two_product(b, n, -p2)
    # A multiple of a last place of P1 is one of the product's: the sum loses nothing unseen.
    r, rest = fast_two_sum(b.fma(n, -p1, x), second)
    return far_reduction(b, x, far, r, b.fma(n, -p3, rest + lost), whole)


def _sine(b: Builder, r: Value, low: Value, z: Value) -> tuple[Value, Value]:
    """In two words that do not overlap by much."""
    return r, b.fma(r * z, b.polynomial(z, SIN[b.dtype]), low)


def _cosine(b: Builder, r: Value, low: Value, z: Value) -> tuple[Value, Value]:
    top = b.fma(z, -0.5, 1.0)
    rest = b.fma(-r, low, b.fma(z, -0.5, 1.0 - top))
    return top, b.fma(z * z, b.polynomial(z, COS[b.dtype]), rest)


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
    """A polynomial of the rest, or -1 over it in two words."""
    r, low, n = _reduce(b, x)
    z = r * r
    slope = b.fma(z, _TAN_SLOPE, 1.0)
    tangent, rest = fast_two_sum(r, b.fma(r * z, b.polynomial(z, TAN[b.dtype]), low * slope))
    inverse = -1.0 / tangent
    lost = b.fma(inverse, rest, b.fma(inverse, tangent, 1.0))
    odd = (n & 1).compare("ne", 0)
    value = b.select(odd, b.fma(inverse, lost, inverse), tangent)
    return b.select(x.equals(0.0), x, value)
