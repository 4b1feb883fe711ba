"""Numbers as an element type holds them."""

from __future__ import annotations

import numpy as np

from .dtypes import DType, bfloat16, float64, numbers


def rounded(value: float, dtype: DType) -> float:
    """`value` rounded to a floating-point dtype: to nearest, of two to the even one."""
    if dtype is float64 or value != value:
        return value
    if dtype is bfloat16:
        return float(numbers(bfloat16_bits(np.asarray(value)), bfloat16))
    with np.errstate(over="ignore"):
        return float(dtype.numpy.type(value))


def bfloat16_bits(values: np.ndarray) -> np.ndarray:
    """The bits (uint16) of numbers as bfloat16, from float32: to nearest, of two to the even one;
    NaN stays NaN (quiet). They lie in memory as `values` do."""
    with np.errstate(over="ignore"):
        wide = np.asarray(values).astype(np.float32, copy=False)
    bits = wide.view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    out = (rounded >> np.uint32(16)).astype(np.uint16)
    return np.where(np.isnan(wide), np.uint16(0x7FC0), out)
