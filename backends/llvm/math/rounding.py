"""sqrt, rsqrt, rounding to integers, fmod, remainder."""

from __future__ import annotations

from .builder import Builder, Value
from .registers import has_tables, inverse_root

_ROOT_STEPS = {"f32": 1, "f64": 2}


def sqrt(b: Builder, x: Value) -> Value:
    return b.intrinsic("sqrt", x)


def rsqrt(b: Builder, x: Value) -> Value:
    """By Halley's method from an inverse root of 14 bits where that is an instruction: the divider
    takes longer. Of 0 and infinity the first answer is the last one."""
    if not has_tables(b):
        return 1.0 / b.intrinsic("sqrt", x)
    first = found = inverse_root(b, x)
    for _ in range(_ROOT_STEPS[b.dtype]):
        left = b.fma(-(x * found), found, 1.0)
        found = b.fma(found * left, b.fma(left, 0.375, 0.5), found)
    return b.select(found.is_nan(), first, found)


def floor(b: Builder, x: Value) -> Value:
    return b.intrinsic("floor", x)


def ceil(b: Builder, x: Value) -> Value:
    return b.intrinsic("ceil", x)


def trunc(b: Builder, x: Value) -> Value:
    return b.intrinsic("trunc", x)


def round_half_even(b: Builder, x: Value) -> Value:
    return b.intrinsic("roundeven", x)


def _reduce_step(b: Builder, r: Value, y: Value) -> Value:
    """r mod (y 2^k), exactly, where k leaves a quotient of few enough bits.

    The quotient may come out one too large by rounding; then the exact remainder is negative.
    """
    room = b.mantissa - 2
    k = (b.bits_of(r).sar(b.mantissa)) - (b.bits_of(y).sar(b.mantissa)) - room
    k = b.select(k.compare("sgt", 0), k, b.integer(0))
    # Two factors, as 2^k alone may be out of range.
    half = k.sar(1)
    step = y * b.power_of_two(half) * b.power_of_two(k - half)
    quotient = b.intrinsic("trunc", r / step)
    rest = b.fma(-quotient, step, r)
    rest = b.select(rest < 0.0, rest + step, rest)
    return b.select(r >= step, rest, r)


def fmod(b: Builder, x: Value, y: Value) -> Value:
    """x - trunc(x/y) y, exact, with the sign of x; C's fmod.

    Subnormal divisors scale both operands up when the dividend has room, and otherwise take the
    dividend modulo the divisor times 2^(mantissa+2) first, which the same loop does.
    """
    divisor, dividend = b.abs(y), b.abs(x)
    infinity = float("inf")
    wrong = ~((dividend < infinity) & (divisor > 0.0))
    wrong = wrong | divisor.is_nan()
    plain = (divisor < infinity) & ~wrong
    start = b.select(wrong, 0.0, dividend)
    step = b.select(plain, divisor, infinity)
    result = b.loop(start, step, _reduce_step)
    result = b.select(wrong, float("nan"), result)
    return b.copysign(result, x)


def remainder(b: Builder, x: Value, y: Value) -> Value:
    """Python's %, as PyTorch computes it: fmod, plus y where the signs differ."""
    rest = b.call("fmod", x, y)
    differs = (rest < 0.0) ^ (y < 0.0)
    nonzero = rest.compare("une", 0.0)
    return b.select(nonzero & differs, rest + y, rest)
