"""asin, acos, atan, atan2."""

from __future__ import annotations

import math

from tensorscript.base.importing import imported

from .builder import Builder, Value, round_to_f32
from .coefficients import ASIN, ATAN
from .registers import has_tables, inverse_root
from .words import fast_two_sum

_PI_LOW = {"f32": -8.742278e-08, "f64": 1.2246467991473532e-16}
_NEAR, _FAR = 0.66, 2.414213562373095  # tan(3 pi / 8)
_LARGE = {"f32": 2.0**120, "f64": 2.0**1000}
_PI = {"f32": 3.1415927410125732, "f64": math.pi}


def _halves(b: Builder, magnitude: Value, x: Value) -> tuple[Value, Value, Value]:
    """(near, root, tail): root + tail is asin(|x|) where near, else asin(sqrt((1-|x|)/2))."""
    near = magnitude < 0.5
    z = b.select(near, x * x, (1.0 - magnitude) * 0.5)
    root, lost = _root(b, z)
    lost = b.select(near, 0.0, lost)
    root = b.select(near, magnitude, root)
    return near, root, b.fma(root * z, b.polynomial(z, ASIN[b.dtype]), lost)


def _root(b: Builder, z: Value) -> tuple[Value, Value]:
    """The square root, and what its rounding lost: (z - root^2) / (2 root)."""
    if not has_tables(b):
        root = b.intrinsic("sqrt", z)
        lost = b.fma(-root, root, z) / (root + root)
        return root, b.select(root.equals(0.0), 0.0, lost)
    inverse = b.select(z.equals(0.0), 0.0, inverse_root(b, z))
    half = inverse * 0.5
    if b.dtype == "f64":
        root = b.intrinsic("sqrt", z)
    else:  # a step of Newton's takes less time than the instruction
        rough = z * inverse
        root = b.fma(b.fma(-rough, rough, z), half, rough)
    return root, b.fma(-root, root, z) * half


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


def _turns(dtype: str, quarter: int) -> tuple[float, float]:
    """quarter pi / 4 in two parts."""
    Fraction = imported("fractions").Fraction
    whole = Fraction(_PI[dtype]) * quarter / 4
    top = round_to_f32(float(whole)) if dtype == "f32" else float(whole)
    return top, float(whole - Fraction(top)) + _PI_LOW[dtype] * quarter / 4


def _angle(b: Builder, y: Value, x: Value, left: Value | None = None) -> Value:
    """atan(y / x) of y >= 0 and x > 0, from pi where `left`; by parts, as in the Cephes library.

    atan(y/x) = pi/4 + atan((y - x) / (y + x)) = pi/2 + atan(-x / y); what a quotient of such
    terms loses is small beside the turn, which is added exactly.
    """
    far, middle = y > x * _FAR, y >= x * _NEAR  # equal: the smallest number times 0.66 is itself
    over = b.select(far, -x, b.select(middle, y - x, y))
    under = b.select(far, y, b.select(middle, y + x, x))
    q = over / under
    parts = list(zip(*(_turns(b.dtype, quarter) for quarter in range(5)), strict=True))
    turn, low = (b.select(far, p[2], b.select(middle, p[1], 0.0)) for p in parts)
    if left is not None:
        turn, low = (
            b.select(left, b.select(far, p[2], b.select(middle, p[3], p[4])), given)
            for p, given in zip(parts, (turn, low), strict=True)
        )
        # Both sides vary here, so that the quotient's rounding meets every angle.
        lost = b.fma(-q, under, over) / (under + over * q)
        lost = b.select(under < float("inf"), lost, 0.0)
        low = low + b.select(left, -lost, lost)
        q = b.select(left, -q, q)
    z = q * q
    top, rest = fast_two_sum(turn, q)
    return top + (rest + b.fma(q * z, b.polynomial(z, ATAN[b.dtype]), low))


def atan(b: Builder, x: Value) -> Value:
    return b.copysign(_angle(b, b.abs(x), b.constant(1.0)), x)


def atan2(b: Builder, y: Value, x: Value) -> Value:
    """The angle of (x, y) in (-pi, pi]; signed zeros and infinities as in C."""
    ax, ay = b.abs(x), b.abs(y)
    infinite = ax.equals(float("inf")) & ay.equals(float("inf"))
    ax, ay = (b.select(infinite, 1.0, side) for side in (ax, ay))
    # Sums and products of sides this large would overflow.
    large = (ax > _LARGE[b.dtype]) | (ay > _LARGE[b.dtype])
    ax, ay = (b.select(large, side * 0.125, side) for side in (ax, ay))
    left = b.bits_of(x).compare("slt", 0)
    p = b.copysign(_angle(b, ay, b.select(ay.equals(0.0), 1.0, ax), left), y)
    return b.select(x.is_nan() | y.is_nan(), x + y, p)
