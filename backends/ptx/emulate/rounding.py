"""Correct rounding by NumPy's doubles: fused multiply-add and every narrowing.

A double result rounded *to odd* (inexact results get an odd last bit) can be rounded once more to
float32, half or bfloat16 in any direction as if from the exact value, since a double has more than
two bits to spare over each: S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums:
proved algorithms using rounding to odd", IEEE Transactions on Computers 57(4), 2008.
"""

from __future__ import annotations

import numpy as np

from tensorscript.base.dtypes import bfloat16, numbers
from tensorscript.base.rounding import bfloat16_bits

from .types import Array

_SPLITTER = np.float64(134217729.0)  # 2**27 + 1 (Veltkamp)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b as a rounded sum and its exact error (Knuth)."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """a * b as a rounded product and its error (Dekker); exact barring over- and underflow."""
    product = a * b
    scaled_a, scaled_b = _SPLITTER * a, _SPLITTER * b
    high_a, high_b = scaled_a - (scaled_a - a), scaled_b - (scaled_b - b)
    low_a, low_b = a - high_a, b - high_b
    error = low_a * low_b - (((product - high_a * high_b) - low_a * high_b) - high_a * low_b)
    return product, error


def make_odd(value: Array, error: Array) -> Array:
    """A nearest-even double and the sign of its error to the round-to-odd double."""
    bits = np.ascontiguousarray(value).view(np.uint64)
    even = (bits & np.uint64(1)) == 0
    inexact = (error != 0) & np.isfinite(value) & np.isfinite(error)
    toward = np.where(error > 0, np.inf, -np.inf)
    return np.where(inexact & even, np.nextafter(value, toward), value)


def add_odd(a: Array, b: Array) -> Array:
    """a + b rounded to odd, for doubles."""
    return make_odd(*two_sum(a, b))


def fma_odd(a: Array, b: Array, c: Array) -> Array:
    """a * b + c of float32 or narrower values (as doubles) rounded to odd; the product is exact."""
    return add_odd(a * b, c)


def fma64(a: Array, b: Array, c: Array) -> Array:
    """a * b + c of doubles, rounded once (Boldo and Melquiond, algorithm 5).

    Plain arithmetic where a product over- or underflows or anything is not finite.
    """
    product, low = two_product(a, b)
    upper, middle = two_sum(c, low)
    high, rest = two_sum(product, upper)
    result = high + add_odd(middle, rest)
    simple = a * b + c
    safe = np.isfinite(result) & (np.abs(product) > 1e-280) & (np.abs(product) < 1e280)
    return np.where(safe, result, simple)


def narrow(value: Array, type_name: str, mode: str = "rn") -> Array:
    """Doubles to "f64", "f32", "f16" or "bf16" (as bits), rounded by `mode` (rn, rz, rm, rp, rna).

    Exact when `value` is exact or rounded to odd.
    """
    if type_name == "f64":
        return value
    if type_name == "bf16":
        return _to_bfloat(value, mode)
    target = np.float32 if type_name == "f32" else np.float16
    nearest = value.astype(target)
    if mode == "rn":
        return nearest
    back = nearest.astype(np.float64)
    if mode == "rz":
        beyond, toward = np.abs(back) > np.abs(value), np.zeros_like(nearest)
    elif mode == "rm":
        beyond, toward = back > value, np.full_like(nearest, -np.inf)
    else:
        beyond, toward = back < value, np.full_like(nearest, np.inf)
    return np.where(beyond, np.nextafter(nearest, toward), nearest)


def to_float32_odd(value: Array) -> Array:
    """Doubles to float32, rounded to odd."""
    nearest = value.astype(np.float32)
    error = value - nearest.astype(np.float64)
    even = (nearest.view(np.uint32) & np.uint32(1)) == 0
    toward = np.where(error > 0, np.float32(np.inf), np.float32(-np.inf))
    inexact = (error != 0) & np.isfinite(nearest)
    return np.where(inexact & even, np.nextafter(nearest, toward), nearest)


def bfloat_bits(value: Array) -> Array:
    """float32 to bfloat16 bits, nearest even; NaN becomes the canonical 0x7fff."""
    return np.where(np.isnan(value), np.uint16(0x7FFF), bfloat16_bits(value))


def from_bfloat(bits: Array) -> Array:
    """bfloat16 bits to float32, exact."""
    return numbers(bits, bfloat16)


def _to_bfloat(value: Array, mode: str) -> Array:
    nearest = bfloat_bits(to_float32_odd(value))
    if mode == "rn":
        return nearest
    back = from_bfloat(nearest).astype(np.float64)
    if mode == "rz":
        beyond = np.abs(back) > np.abs(value)
        return np.where(beyond, nearest - np.uint16(1), nearest)
    below = back > value if mode == "rm" else back < value
    away = back < 0 if mode == "rm" else back > 0
    step = np.where(away, np.uint16(1), np.uint16(0xFFFF))
    return np.where(below, nearest + step, nearest)


def widen(value: Array, type_name: str) -> Array:
    """Any float type to doubles, exact."""
    if type_name == "bf16":
        return from_bfloat(value).astype(np.float64)
    return value.astype(np.float64)


def flush(value: Array, type_name: str) -> Array:
    """Subnormals to zero of their sign (.ftz)."""
    if type_name == "bf16":
        subnormal = (value & np.uint16(0x7F80)) == 0
        return np.where(subnormal, value & np.uint16(0x8000), value)
    if type_name == "f64":
        return value
    tiny = np.finfo(value.dtype).tiny
    zero = np.copysign(value.dtype.type(0), value)
    return np.where(np.abs(value) < tiny, zero, value)


def saturate(value: Array) -> Array:
    """Clamp to [0, 1]; NaN becomes 0 (.sat), for float arrays."""
    zero, one = value.dtype.type(0), value.dtype.type(1)
    answer: Array = np.where(value > zero, np.minimum(value, one), zero)
    return answer
