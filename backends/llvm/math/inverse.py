"""asin, acos, atan, atan2."""

from __future__ import annotations

import math

from .builder import Builder, Value
from .coefficients import ASIN, ATAN
from .words import fast_two_sum

_PI_LOW = {"f32": -8.742278e-08, "f64": 1.2246467991473532e-16}
_PI = {"f32": 3.1415927410125732, "f64": math.pi}


def _halves(b: Builder, magnitude: Value, x: Value) -> tuple[Value, Value, Value]:
    """(near, root, tail): root + tail is asin(|x|) where near, else asin(sqrt((1-|x|)/2))."""
    near = magnitude < 0.5
    z = b.select(near, x * x, (1.0 - magnitude) * 0.5)
    root = b.intrinsic("sqrt", z)
    # What the square root lost: (z - root^2) / (2 root).
    lost = b.fma(-root, root, z) / (root + root)
    lost = b.select(near | root.equals(0.0), 0.0, lost)
    root = b.select(near, magnitude, root)
    return near, root, b.fma(root * z, b.polynomial(z, ASIN[b.dtype]), lost)


def _less(b: Builder, whole: Value, low: float, root: Value, tail: Value) -> Value:
    """whole + low - 2 (root + tail), rounded last; whole is the largest."""
    top, rest = fast_two_sum(whole, -(root + root))
    return top + (rest + b.fma(tail, -2.0, b.constant(low)))


def asin(b: Builder, x: Value) -> Value:
    near, root, tail = _halves(b, b.abs(x), x)
    half_turn = b.constant(_PI[b.dtype] / 2)
    far = _less(b, half_turn, _PI_LOW[b.dtype] / 2, root, tail)
    return b.copysign(b.select(near, root + tail, far), x)


def acos(b: Builder, x: Value) -> Value:
    near, root, tail = _halves(b, b.abs(x), x)
    p = root + tail
    middle = (_PI[b.dtype] / 2) - (b.copysign(p, x) - _PI_LOW[b.dtype] / 2)
    left = _less(b, b.constant(_PI[b.dtype]), _PI_LOW[b.dtype], root, tail)
    return b.select(near, middle, b.select(x < 0.0, left, 2.0 * p))


def atan(b: Builder, x: Value) -> Value:
    magnitude = b.abs(x)
    far = magnitude > 1.0
    q = b.select(far, 1.0 / magnitude, magnitude)
    z = q * q
    p = b.fma(q * z, b.polynomial(z, ATAN[b.dtype]), q)
    turned = (_PI[b.dtype] / 2) - (p - _PI_LOW[b.dtype] / 2)
    return b.copysign(b.select(far, turned, p), x)


def atan2(b: Builder, y: Value, x: Value) -> Value:
    """The angle of (x, y) in (-pi, pi]; signed zeros and infinities as in C."""
    ax, ay = b.abs(x), b.abs(y)
    steep = ay > ax
    high, low = b.select(steep, ay, ax), b.select(steep, ax, ay)
    q = low / high
    q = b.select(high.equals(0.0), 0.0, q)
    q = b.select(low.equals(float("inf")), 1.0, q)
    z = q * q
    p = b.fma(q * z, b.polynomial(z, ATAN[b.dtype]), q)
    p = b.select(steep, (_PI[b.dtype] / 2) - (p - _PI_LOW[b.dtype] / 2), p)
    negative = b.bits_of(x).compare("slt", 0)
    p = b.select(negative, _PI[b.dtype] - (p - _PI_LOW[b.dtype]), p)
    p = b.copysign(p, y)
    return b.select(x.is_nan() | y.is_nan(), x + y, p)
