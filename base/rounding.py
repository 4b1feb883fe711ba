"""Numbers as an element type holds them."""

from __future__ import annotations

import numpy as np

from .dtypes import DType, bfloat16, float64


def rounded(value: float, dtype: DType) -> float:
    """`value` rounded to a floating-point dtype: to nearest, of two to the even one."""
    if dtype is float64 or value != value:
        return value
    if dtype is bfloat16:
        return float(np.uint32(_bfloat_bits(value) << 16).view(np.float32))
    with np.errstate(over="ignore"):
        return float(dtype.numpy.type(value))


def _bfloat_bits(value: float) -> int:
    with np.errstate(over="ignore"):
        bits = int(np.float32(value).view(np.uint32))
    if bits & 0x7F800000 == 0x7F800000:
        return bits >> 16
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
