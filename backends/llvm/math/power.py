"""pow: log(x) in two float64 words, times y, then exp; C's rules for signs and special values."""

from __future__ import annotations

from .builder import Builder, Value
from .coefficients import EXP, POWLOG
from .exponential import LOG2E, clamp
from .logarithm import decompose
from .registers import scale
from .words import fast_two_sum

_LN2 = (0.6931471805599453, 2.3190468138462996e-17)
_THIRD_LOW = 1.850371707708594e-17


def _log_two_words(b: Builder, x: Value) -> tuple[Value, Value]:
    """log(x) of a positive finite x, to about 2^-65: 2s(1 + z/3 + z^2 P(z)), s = f/(2+f)."""
    e, f = decompose(b, x)
    g, g_low = fast_two_sum(b.constant(2.0), f)
    s = f / g
    s_low = b.fma(-s, g_low, b.fma(-s, g, f)) / g
    z = s * s
    z_low = b.fma(s + s, s_low, b.fma(s, s, -z))
    third = 1.0 / 3.0
    w = z * third
    w_low = b.fma(z, third, -w) + b.fma(z, _THIRD_LOW, z_low * third)
    w_low = b.fma(z * z, b.polynomial(z, POWLOG["f64"]) * 0.5, w_low)
    # log(m) = 2s + 2s (w + w_low)
    double = s + s
    cubic = double * w
    cubic_low = b.fma(double, w, -cubic) + b.fma(double, w_low, (s_low + s_low) * w)
    top = e * _LN2[0]
    top_low = b.fma(e, _LN2[0], -top) + e * _LN2[1]
    high, low = fast_two_sum(double, cubic)
    low = low + (cubic_low + (s_low + s_low))
    # |top| is 0 or larger than |high|; with top = 0 the fast sum is exact the other way round.
    total = top + high
    larger_top = e.compare("une", 0.0)
    lost = b.select(larger_top, high - (total - top), 0.0)
    return total, lost + (low + top_low)


def _exp_two_words(b: Builder, high: Value, low: Value) -> Value:
    bounded = clamp(b, high, -800.0, 800.0)
    low = b.select(b.abs(high) > 800.0, 0.0, low)
    n, whole = b.round_magic(bounded * LOG2E)
    r = b.fma(n, -_LN2[0], bounded)
    r_low = b.fma(n, -_LN2[1], low)
    total, rest = fast_two_sum(r, r_low)
    rest = b.select(b.abs(r) > b.abs(r_low), rest, 0.0)
    tail = b.fma(total * total, b.polynomial(total, EXP["f64"]), rest)
    return scale(b, (total + tail) + 1.0, n, whole)


def _special(b: Builder, x: Value, y: Value, ax: Value, result: Value) -> Value:
    infinity = float("inf")
    ay = b.abs(y)
    grows = (ax > 1.0) ^ (y < 0.0)
    at_infinity = b.select(grows, infinity, 0.0)
    at_infinity = b.select(ax.equals(1.0), 1.0, at_infinity)
    up = y > 0.0
    result = b.select(ax.equals(0.0), b.select(up, b.constant(0.0), infinity), result)
    result = b.select(ax.equals(infinity), b.select(up, b.constant(infinity), 0.0), result)
    result = b.select(ay.equals(infinity), at_infinity, result)
    whole = b.intrinsic("floor", y).equals(y)
    half = y * 0.5
    odd = whole & b.intrinsic("floor", half).compare("une", half)
    negative = b.bits_of(x).compare("slt", 0)
    result = b.select(negative & odd, -result, result)
    bad = (x < 0.0) & (ax < infinity) & ~whole
    result = b.select(bad, float("nan"), result)
    result = b.select(x.is_nan() | y.is_nan(), x + y, result)
    return b.select(y.equals(0.0) | x.equals(1.0), 1.0, result)


def pow(b: Builder, x: Value, y: Value) -> Value:
    """x to the power y; float32 goes through one float64 logarithm and exponential."""
    ax = b.abs(x)
    if b.dtype == "f32":
        wide = b.wide()
        result = b.narrow(wide.call("exp", b.widen(y) * wide.call("log", b.widen(ax))))
    else:
        high, low = _log_two_words(b, ax)
        product = y * high
        result = _exp_two_words(b, product, b.fma(y, low, b.fma(y, high, -product)))
    return _special(b, x, y, ax, result)
