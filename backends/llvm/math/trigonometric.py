"""sin, cos, tan.

x = n pi/2 + r with pi/2 in three words: x - n P1 is exact with fma, as both are multiples of the
last place of P1. Past `_LIMIT` a lane takes the reduction of Payne and Hanek (`reduction.py`).
"""

from __future__ import annotations

from .builder import Builder, Value
from .coefficients import COS, SIN
from .reduction import far_reduction

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
    r = b.fma(n, -p2, first)
    low = b.fma(n, -p3, b.fma(n, -p2, first - r))
    return far_reduction(b, x, far, r, low, whole)


def _sine(b: Builder, r: Value, low: Value, z: Value) -> Value:
    tail = b.fma(r * z, b.polynomial(z, SIN[b.dtype]), low)
    return r + tail


def _cosine(b: Builder, r: Value, low: Value, z: Value) -> Value:
    half = z * 0.5
    top = 1.0 - half
    rest = (1.0 - top) - half
    return top + b.fma(z * z, b.polynomial(z, COS[b.dtype]), b.fma(-r, low, rest))


def _quadrant(b: Builder, x: Value, shift: int) -> Value:
    r, low, n = _reduce(b, x)
    n = n + shift if shift else n
    z = r * r
    odd = (n & 1).compare("ne", 0)
    value = b.select(odd, _cosine(b, r, low, z), _sine(b, r, low, z))
    return b.float_of(b.bits_of(value) ^ ((n & 2) << (b.bits - 2)))


def sin(b: Builder, x: Value) -> Value:
    return b.select(x.equals(0.0), x, _quadrant(b, x, 0))


def cos(b: Builder, x: Value) -> Value:
    return _quadrant(b, x, 1)


def tan(b: Builder, x: Value) -> Value:
    r, low, n = _reduce(b, x)
    z = r * r
    sine, cosine = _sine(b, r, low, z), _cosine(b, r, low, z)
    odd = (n & 1).compare("ne", 0)
    ratio = b.select(odd, -cosine, sine) / b.select(odd, sine, cosine)
    return b.select(x.equals(0.0), x, ratio)
