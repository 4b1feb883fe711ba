"""Numbers as unevaluated sums of two, for what one rounding would lose (Dekker 1971, Knuth)."""

from __future__ import annotations

from .builder import Builder, Value


def fast_two_sum(larger: Value, smaller: Value) -> tuple[Value, Value]:
    """The sum and what its rounding lost; the first must not be the smaller in magnitude."""
    total = larger + smaller
    return total, smaller - (total - larger)


def two_sum(a: Value, c: Value) -> tuple[Value, Value]:
    """The sum and what its rounding lost, of any two numbers."""
    total = a + c
    second = total - a
    return total, (a - (total - second)) + (c - second)


def two_product(b: Builder, x: Value, y: Value | float) -> tuple[Value, Value]:
    """The product and what its rounding lost."""
    product = x * y
    return product, b.fma(x, y, -product)


def quotient(
    b: Builder, top: Value, low: Value, divisor: Value, divisor_low: Value
) -> tuple[Value, Value]:
    """(top + low)/(divisor + divisor_low)."""
    inverse = 1.0 / divisor
    q = top * inverse
    rest = b.fma(-q, divisor_low, b.fma(-q, divisor, top) + low)
    return q, rest * inverse
