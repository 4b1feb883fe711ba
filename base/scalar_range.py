"""Which Python numbers an element type takes: operators that fill with a number refuse others."""

from __future__ import annotations

import math

import numpy as np

from .dtypes import DType, bfloat16, bool_, float16, float64
from .errors import OperatorError

Number = bool | int | float | complex

_NAMES = {
    "int32": "int",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}
"""How the refusal names an element type; the other integers are called `int64_t` and so on."""
_MAX_BFLOAT16 = 3.3895313892515355e38


def check_range(number: Number, dtype: DType, name: str = "", rounds_halves: bool = False) -> None:
    """Refuse a number outside the range of `dtype`.

    Infinities and NaN are numbers of every floating-point dtype, negative numbers are those of
    unsigned dtypes that are congruent to them, and fractions are cut off.

    Args:
        name: what the refusal calls the element type.
        rounds_halves: half types take what float64 takes, beyond their range as infinity.

    Raises:
        OperatorError: the number is outside.
    """
    if rounds_halves and dtype in (float16, bfloat16):
        dtype = float64
    if not _fits(number, dtype):
        name = name or _NAMES.get(dtype.name, f"{dtype.name}_t")
        raise OperatorError(f"value cannot be converted to type {name} without overflow")


def _fits(number: Number, dtype: DType) -> bool:
    if dtype is bool_:
        return True
    if isinstance(number, complex):
        if dtype.is_complex:
            return _fits(number.real, dtype.to_real()) and _fits(number.imag, dtype.to_real())
        return not number.imag and _fits(number.real, dtype)
    if dtype.is_complex:
        return _fits(number, dtype.to_real())
    if dtype.is_floating_point:
        return not math.isfinite(number) or abs(number) <= _largest(dtype)
    if math.isnan(number):
        return False
    limits = np.iinfo(dtype.numpy)
    highest = float(limits.max) if isinstance(number, float) else limits.max  # as C compares
    return (limits.min if dtype.signed else -limits.max) <= number <= highest


def _largest(dtype: DType) -> float:
    return _MAX_BFLOAT16 if dtype is bfloat16 else float(np.finfo(dtype.numpy).max)
