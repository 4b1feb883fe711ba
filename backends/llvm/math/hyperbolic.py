"""expm1, sinh, cosh, tanh: what is made of e^x - 1 in two words.

Near 0 the difference is what counts, so neither its rounding nor that of a quotient of it may be
lost. Where registers are tables float32's tanh is a polynomial about one of 16 centres whose value
is nearly a float32 number (Gal, "Computing elementary functions: a new approach for achieving high
accuracy and good performance", 1986).
"""

from __future__ import annotations

from .builder import Builder, Value
from .coefficients import EXP
from .exponential import LN2_HIGH, LN2_LOW, LOG2E, at_most, clamp
from .registers import has_tables, lookup
from .tables import TANH_STEPS
from .words import fast_two_sum, quotient

_EXPM1_RANGE = {"f32": (-18.0, 89.0), "f64": (-38.0, 710.0)}
# Where tanh rounds to 1.
_TANH_LIMIT = {"f32": 9.02, "f64": 19.07}
_TANH_OFFSET = 0.625
_TANH_STEP_BITS = 21
_FAR_LIMIT = {"f32": 88.0, "f64": 709.0}


def _half_expm1(b: Builder, x: Value) -> tuple[Value, Value]:
    """(e^x - 1)/2 in two words, by halves against overflow: 2^(n-1) (e^r - 1) + (2^(n-1) - 1/2)."""
    n, whole = b.round_magic(x, LOG2E)
    first = b.fma(n, -LN2_HIGH[b.dtype], x)
    second = n * -LN2_LOW[b.dtype]
    r, r_low = fast_two_sum(first, second)
    tail = b.fma(r * r, b.polynomial(r, EXP[b.dtype]), r_low)
    less, less_low = fast_two_sum(r, tail)
    half = b.power_of_two(whole - 1)
    base = half - 0.5
    base_low = (half - base) - 0.5
    top = b.fma(half, less, base)
    lost = b.fma(half, less, base - top)
    return top, b.fma(half, less_low, lost + base_low)


def expm1(b: Builder, x: Value) -> Value:
    top, low = _half_expm1(b, clamp(b, x, *_EXPM1_RANGE[b.dtype]))
    tiny = b.abs(x) < 2.0 ** -(b.mantissa + 2)
    return b.select(tiny, x, (top + low) * 2.0)


def tanh(b: Builder, x: Value) -> Value:
    """h/(h + 1) with h = (e^2|x| - 1)/2."""
    magnitude = at_most(b, b.abs(x), _TANH_LIMIT[b.dtype])
    if has_tables(b) and b.dtype == "f32":
        return b.copysign(_tanh_by_steps(b, magnitude), x)
    top, low = _half_expm1(b, magnitude + magnitude)
    larger, smaller = b.select(top > 1.0, top, 1.0), b.select(top > 1.0, 1.0, top)
    divisor, lost = fast_two_sum(larger, smaller)
    q, q_low = quotient(b, top, low, divisor, lost + low)
    return b.copysign(q + q_low, x)


def _tanh_by_steps(b: Builder, x: Value) -> Value:
    """Of 0 <= x < 9.375: the interval shows in the exponent and the first bits of x + 0.625."""
    index = b.bits_of(x + _TANH_OFFSET).sar(_TANH_STEP_BITS)
    centre, *factors = (
        lookup(b, f"tanh{place}", table, index) for place, table in enumerate(TANH_STEPS)
    )
    return b.polynomial(x - centre, factors)


def sinh(b: Builder, x: Value) -> Value:
    """h + h/(2h + 1) with h = (e^|x| - 1)/2; past e^|x|'s range (e^(|x|/2)/2) e^(|x|/2)."""
    magnitude = b.abs(x)
    top, low = _half_expm1(b, magnitude)
    double = top + top
    larger, smaller = b.select(double > 1.0, double, 1.0), b.select(double > 1.0, 1.0, double)
    divisor, lost = fast_two_sum(larger, smaller)
    q, q_low = quotient(b, top, low, divisor, lost + (low + low))
    total, rest = fast_two_sum(top, q)
    middle = total + (rest + (q_low + low))
    tiny = magnitude < 2.0 ** -(b.mantissa // 2 + 2)  # a half of the least number would be lost
    return b.select(tiny, x, b.copysign(_far(b, magnitude, middle), x))


def cosh(b: Builder, x: Value) -> Value:
    """d + 1/(4d) with d = e^|x|/2."""
    magnitude = b.abs(x)
    top, low = _half_expm1(b, magnitude)
    larger, smaller = b.select(top > 0.5, top, 0.5), b.select(top > 0.5, 0.5, top)
    half, lost = fast_two_sum(larger, smaller)
    half_low = lost + low
    return _far(b, magnitude, half + (0.25 / half + half_low))


def _far(b: Builder, magnitude: Value, near: Value) -> Value:
    """`near`, or (e^(|x|/2)/2) e^(|x|/2) past e^|x|'s range."""
    half = b.call("exp", magnitude * 0.5)
    return b.select(magnitude > _FAR_LIMIT[b.dtype], (half * 0.5) * half, near)
