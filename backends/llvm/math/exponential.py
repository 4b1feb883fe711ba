"""exp, exp2, expm1, sigmoid, tanh, sinh, cosh.

Argument reduction x = n ln2 + r with |r| <= ln2/2 and ln2 in two parts (Cody and Waite), or
x log2(e) = n + f in the same way, a polynomial in r or f, then scaling by 2^n.
"""

from __future__ import annotations

from .builder import Builder, Value
from .coefficients import EXP, EXP2, TANH

LN2 = 0.6931471805599453
LOG2E = 1.4426950408889634
# log2(e) less its nearest number of the dtype.
LOG2E_LOW = {"f32": 1.9259629911266175e-8, "f64": 2.0355273740931033e-17}
# ln2 = high + low; the high part is short enough for n*high to be exact.
LN2_HIGH = {"f32": 0.693145751953125, "f64": 0.6931471803691238}
LN2_LOW = {"f32": 1.42860682030941723212e-6, "f64": 1.9082149292705877e-10}
_EXP_RANGE = {"f32": (-104.0, 89.0), "f64": (-746.0, 710.0)}
_EXP2_RANGE = {"f32": (-151.0, 129.0), "f64": (-1076.0, 1025.0)}


def clamp(b: Builder, x: Value, low: float, high: float) -> Value:
    """x within [low, high]; NaN passes through."""
    x = b.select(x < low, low, x)
    return b.select(x > high, high, x)


def reduce_ln2(b: Builder, x: Value) -> tuple[Value, Value, Value]:
    """(r, n as float, n as integer) with x = n ln2 + r."""
    n, whole = b.round_magic(x * LOG2E)
    r = b.fma(n, -LN2_HIGH[b.dtype], x)
    return b.fma(n, -LN2_LOW[b.dtype], r), n, whole


def bounded_exp(b: Builder, x: Value) -> Value:
    """e^x as 2^f 2^n, f = x log2(e) - n, for x within the range that `exp` clamps to."""
    n, whole = b.round_magic(x, LOG2E)
    f = b.fma(x, LOG2E_LOW[b.dtype], b.fma(x, LOG2E, -n))
    power = b.fma(f, b.polynomial(f, (LN2, *EXP2[b.dtype])), b.constant(1.0))
    return b.scale(power, n, whole)


def exp(b: Builder, x: Value) -> Value:
    low, high = _EXP_RANGE[b.dtype]
    return bounded_exp(b, clamp(b, x, low, high))


def exp2(b: Builder, x: Value) -> Value:
    low, high = _EXP2_RANGE[b.dtype]
    x = clamp(b, x, low, high)
    n, whole = b.round_magic(x)
    f = x - n
    tail = b.fma(f, LN2, f * f * b.polynomial(f, EXP2[b.dtype]))
    return b.scale(tail + 1.0, n, whole)


def expm1(b: Builder, x: Value) -> Value:
    """2^n (e^r - 1) + (2^n - 1), the sum kept in two parts; all scaled by 1/2 against overflow."""
    low, high = (-18.0, 89.0) if b.dtype == "f32" else (-38.0, 710.0)
    y = clamp(b, x, low, high)
    r, _, n = reduce_ln2(b, y)
    half = b.power_of_two(n - 1)
    base = half - 0.5
    top = b.fma(half, r, base)
    rest = b.fma(half, r, base - top)
    result = (top + b.fma(half, r * r * b.polynomial(r, EXP[b.dtype]), rest)) * 2.0
    tiny = b.abs(x) < 2.0 ** -(b.mantissa + 2)
    return b.select(tiny, x, result)


def sigmoid(b: Builder, x: Value) -> Value:
    """a/(1+a) for x < 0, else 1/(1+a), with a = e^-|x|: never overflows, no cancellation."""
    least, negative = _EXP_RANGE[b.dtype][0], -b.abs(x)
    a = bounded_exp(b, b.select(negative < least, least, negative))
    return b.select(x < 0.0, a, 1.0) / (a + 1.0)


def tanh(b: Builder, x: Value) -> Value:
    """Odd polynomial near 0, 1 - 2/(e^2|x| + 1) elsewhere."""
    z = x * x
    small = b.fma(x * z, b.polynomial(z, TANH[b.dtype]), x)
    magnitude = b.abs(x)
    limit = 10.0 if b.dtype == "f32" else 20.0
    bounded = b.select(magnitude > limit, limit, magnitude)
    large = 1.0 - 2.0 / (b.call("exp", bounded + bounded) + 1.0)
    return b.copysign(b.select(magnitude < 0.6, small, large), x)


def sinh(b: Builder, x: Value) -> Value:
    """(t + t/(t+1))/2 with t = e^|x| - 1; past e^|x|'s range (e^(|x|/2)/2) e^(|x|/2)."""
    magnitude = b.abs(x)
    t = b.call("expm1", magnitude)
    middle = 0.5 * (t + t / (t + 1.0))
    limit = 88.0 if b.dtype == "f32" else 709.0
    half = b.call("exp", magnitude * 0.5)
    result = b.select(magnitude > limit, (half * 0.5) * half, middle)
    return b.copysign(b.select(magnitude < 2.0 ** -(b.mantissa // 2 + 2), magnitude, result), x)


def cosh(b: Builder, x: Value) -> Value:
    magnitude = b.abs(x)
    e = b.call("exp", magnitude)
    limit = 88.0 if b.dtype == "f32" else 709.0
    half = b.call("exp", magnitude * 0.5)
    return b.select(magnitude > limit, (half * 0.5) * half, b.fma(0.5, e, 0.5 / e))
