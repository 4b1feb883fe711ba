"""erf and erfc."""

from __future__ import annotations

from .builder import Builder, Value
from .coefficients import ERF, ERFCX, LOGERFC


def _near_zero(b: Builder, x: Value) -> Value:
    z = x * x
    return b.fma(x, b.polynomial(z, ERF[b.dtype]), x)


def _tail(b: Builder, magnitude: Value) -> Value:
    """erfc(x) for 0.25 <= x as e^(-x^2) P(q)/(1+2x), q = (x-4)/(x+4); x^2 in two parts."""
    x = b.select(magnitude > 28.0, 28.0, magnitude)
    square = x * x
    rest = b.fma(x, x, -square)
    q = (x - 4.0) / (x + 4.0)
    scaled = b.polynomial(q, ERFCX["f64"]) / b.fma(x, 2.0, 1.0)
    return b.call("exp", -square) * b.fma(scaled, -rest, scaled)


def erf(b: Builder, x: Value) -> Value:
    """Polynomial in x^2 near 0; elsewhere 1 - erfc, in float32 through a fit of log(erfc)."""
    magnitude = b.abs(x)
    if b.dtype == "f32":
        t = b.select(magnitude > 3.93, 3.93, magnitude)
        far = 1.0 - b.call("exp", b.polynomial(t, LOGERFC["f32"]))
    else:
        far = 1.0 - _tail(b, magnitude)
    result = b.select(magnitude < 0.9277, _near_zero(b, x), b.copysign(far, x))
    return b.select(x.is_nan(), x, result)


def erfc(b: Builder, x: Value) -> Value:
    magnitude = b.abs(x)
    far = _tail(b, magnitude)
    far = b.select(x < 0.0, 2.0 - far, far)
    result = b.select(magnitude < 0.5, 1.0 - _near_zero(b, x), far)
    return b.select(x.is_nan(), x, result)
