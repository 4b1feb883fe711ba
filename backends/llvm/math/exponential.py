"""exp, decay, decay2, exp2, sigmoid.

Argument reduction x = n ln2 + r with |r| <= ln2/2 and ln2 in two parts (Cody and Waite), or
x log2(e) = n + f in the same way, a polynomial in r or f, then scaling by 2^n. Where registers are
tables n goes in steps of a 16th or an 8th, and a shorter polynomial is multiplied with a root of 2
(Tang, "Table-driven implementation of the exponential function", 1989).
"""

from __future__ import annotations

from collections.abc import Callable

from .builder import Builder, Value
from .coefficients import EXP2, EXP2_ABOVE, EXP2_STEP
from .registers import floor_to_step, has_tables, lookup, scale, scales_whole_registers
from .tables import ROOTS

LN2 = 0.6931471805599453
LOG2E = 1.4426950408889634
# log2(e) less its nearest number of the dtype.
LOG2E_LOW = {"f32": 1.9259629911266175e-8, "f64": 2.0355273740931033e-17}
# ln2 = high + low; the high part is short enough for n*high to be exact.
LN2_HIGH = {"f32": 0.693145751953125, "f64": 0.6931471803691238}
LN2_LOW = {"f32": 1.42860682030941723212e-6, "f64": 1.9082149292705877e-10}
_EXP_RANGE = {"f32": (-104.0, 89.0), "f64": (-746.0, 710.0)}
_LEAST_NORMAL = {"f32": -126.0, "f64": -1022.0}
"""Of the exponents of 2."""
_EXP2_RANGE = {"f32": (-151.0, 129.0), "f64": (-1076.0, 1025.0)}


def at_most(b: Builder, x: Value, high: float) -> Value:
    """The lesser of the two; NaN passes through."""
    return b.select(x > high, high, x)


def clamp(b: Builder, x: Value, low: float, high: float) -> Value:
    """x within [low, high]; NaN passes through."""
    return at_most(b, b.select(x < low, low, x), high)


def power_of_two(
    b: Builder,
    x: Value,
    factor: Value | float = 1.0,
    factor_low: float = 0.0,
    kept: Value | None = None,
) -> Value:
    """2^(x (factor + factor_low)), where that is in the range of `scale`; 0 where it is not `kept`,
    which takes whole registers."""
    roots = ROOTS[b.dtype] if has_tables(b) else (1.0,)
    n, sum_bits = b.round_to_step(x, factor, len(roots))
    rough = x - n if factor == 1.0 else b.fma(x, factor, -n)
    f = b.fma(x, factor_low, rough) if factor_low else rough
    steps = b.steps_in(sum_bits, len(roots))
    if not has_tables(b):
        power = b.fma(f, b.polynomial(f, (LN2, *EXP2[b.dtype])), b.constant(1.0))
        return scale(b, power, n, steps)
    root = lookup(b, "roots", roots, sum_bits)
    # What f is multiplied by varies little: it need not wait for all digits of f.
    slope = b.fma(f, b.polynomial(rough, EXP2_STEP[b.dtype]), b.constant(LN2))
    power = b.fma(root * f, slope, root)
    return scale(b, power, n, steps.sar(len(roots).bit_length() - 1), kept)


def power_in_factors(
    b: Builder, x: Value, factor: float, low: Value
) -> tuple[Value, Value, Callable[[Value], Value]]:
    """2^(x factor + low) as a root, what the next factor has above 1, and a function that scales by
    a power of two; `low` is far less than a step, and registers are tables."""
    roots = ROOTS[b.dtype]
    n, sum_bits = b.round_to_step(x, factor, len(roots))
    f = b.fma(x, factor, -n) + low
    above = f * b.polynomial(f, (LN2, *EXP2_STEP[b.dtype]))
    whole = b.steps_in(sum_bits, len(roots)).sar(len(roots).bit_length() - 1)
    return lookup(b, "roots", roots, sum_bits), above, lambda y: scale(b, y, n, whole)


def bounded_exp(b: Builder, x: Value) -> Value:
    """e^x as 2^(x log2(e)), for x within the range that `exp` clamps to."""
    return power_of_two(b, x, LOG2E, LOG2E_LOW[b.dtype])


def exp(b: Builder, x: Value) -> Value:
    low, high = _EXP_RANGE[b.dtype]
    return bounded_exp(b, clamp(b, x, low, high))


def decay(b: Builder, x: Value) -> Value:
    """e^x of x <= 0, as a softmax takes it of what its maximum was subtracted from."""
    low, _ = _EXP_RANGE[b.dtype]
    if not scales_whole_registers(b):
        return bounded_exp(b, b.select(x < low, low, x))
    # A condition costs what a bound does, and some processors take 150 cycles for a result that
    # becomes too small.
    return power_of_two(b, x, LOG2E, LOG2E_LOW[b.dtype], x.compare("uge", low))


def exp2(b: Builder, x: Value) -> Value:
    low, high = _EXP2_RANGE[b.dtype]
    return power_of_two(b, clamp(b, x, low, high))


def decay2(b: Builder, x: Value) -> Value:
    """2^x of x <= 0, and 0 where that is no normal number: some processors take 150 cycles for each
    sum with a subnormal one. Where scaling rounds its exponent down, a step that is rounded down as
    well leaves x as it is for that."""
    low = _LEAST_NORMAL[b.dtype]
    kept = x.compare("uge", low)
    if not has_tables(b):
        return b.select(kept, power_of_two(b, b.select(x < low, low, x)), 0.0)
    roots = ROOTS[b.dtype]
    f, sum_bits = floor_to_step(b, x, len(roots), low)
    root = lookup(b, "roots", roots, sum_bits)
    power = b.fma(root * f, b.polynomial(f, EXP2_ABOVE[b.dtype]), root)
    whole = b.steps_in(sum_bits, len(roots)).sar(len(roots).bit_length() - 1)
    scaled = scale(b, power, x, whole, kept)
    return scaled if scales_whole_registers(b) else b.select(kept, scaled, 0.0)


def sigmoid(b: Builder, x: Value) -> Value:
    """1/(1 + e^-x), 0 where e^-x overflows; conditions would cost as much as multiply-adds."""
    low, high = _EXP_RANGE[b.dtype]
    return 1.0 / (bounded_exp(b, -clamp(b, x, -high, -low)) + 1.0)
