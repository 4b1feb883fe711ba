"""Quotients, remainders and powers, with PyTorch's rounding and refusals of integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorscript.base.dtypes import (
    DType,
    bool_,
    complex128,
    float16,
    float64,
)
from tensorscript.base.errors import OperatorError
from tensorscript.base.operand_dtypes import unimplemented

from ..storage import Array, cast, floating, is_tensor, promoted, rounded, wrap
from .pointwise import (
    apply2,
    factor,
)


def div(self: Any, other: Any, rounding_mode: str | None = None) -> Any:
    if rounding_mode is None:
        dtype = floating(promoted(self, other))
        return wrap(apply2(np.divide, self, other, dtype, factor), dtype)
    if rounding_mode == "floor":
        return floor_divide(self, other)
    dtype = promoted(self, other)
    _refuse_complex("div_trunc_cpu", dtype)
    if dtype.is_floating_point:
        return wrap(np.trunc(rounded(apply2(np.divide, self, other, dtype, factor), dtype)), dtype)
    check_divisor(self, other, dtype)
    return wrap(apply2(_truncated, self, other, dtype), dtype)


def _truncated(a: Array, b: Array) -> Array:
    quotient = a // b
    return np.where((a % b != 0) & ((a < 0) != (b < 0)), quotient + 1, quotient).astype(a.dtype)


def check_divisor(self: Any, other: Any, dtype: DType) -> None:
    """Refuse to divide integers by zero; where there are none, nothing is divided."""
    is_empty = is_tensor(self) and self._array.size == 0
    if not is_empty and bool(np.any(cast(other, dtype) == 0)):
        raise OperatorError("ZeroDivisionError")


def _refuse_complex(kernel: str, dtype: DType) -> None:
    if dtype.is_complex:
        raise unimplemented(kernel, dtype)


def floor_divide(self: Any, other: Any) -> Any:
    dtype = promoted(self, other)
    _refuse_complex("div_floor_cpu", dtype)
    if dtype.is_floating_point:
        return wrap(apply2(_floor_divide, self, other, dtype, factor), dtype)
    check_divisor(self, other, dtype)
    return wrap(apply2(np.floor_divide, self, other, dtype), dtype)


def _floor_divide(a: Array, b: Array) -> Array:
    return np.where(b == 0, a / b, np.floor_divide(a, b))


def remainder(self: Any, other: Any) -> Any:
    dtype = promoted(self, other)
    if not dtype.is_floating_point:
        check_divisor(self, other, dtype)
    return wrap(apply2(_remainder, self, other, dtype), dtype)


def _remainder(a: Array, b: Array) -> Array:
    if a.dtype.kind != "f":
        return np.remainder(a, b)
    left = np.fmod(a, b)
    return np.where((left != 0) & ((b < 0) != (left < 0)), left + b, left)


def fmod(self: Any, other: Any) -> Any:
    dtype = promoted(self, other)
    if not dtype.is_floating_point:
        check_divisor(self, other, dtype)
    return wrap(apply2(np.fmod, self, other, dtype), dtype)


def power(self: Any, exponent: Any) -> Any:
    """Integers stay integers; a negative integer exponent is refused for a number exponent."""
    dtype = promoted(self, exponent)
    if not is_tensor(exponent) and dtype.is_integral and exponent < 0:
        raise OperatorError("Integers to negative integer powers are not allowed.")
    if dtype.is_integral or dtype is bool_:
        return wrap(apply2(_integer_power, self, exponent, dtype), dtype)
    is_root = dtype.is_floating_point and dtype is not float16
    if is_root and not is_tensor(exponent) and abs(exponent) == 0.5:
        root = np.sqrt(cast(self, dtype))
        return wrap(root if exponent > 0 else 1 / root, dtype)
    return wrap(apply2(np.power, self, exponent, dtype), dtype)


def _integer_power(a: Array, b: Array) -> Array:
    if a.dtype == bool:
        return a | ~b
    positive = np.power(a, np.maximum(b, 0))
    inverse = np.where(a == 1, 1, np.where(a == -1, np.where(b % 2 == 0, 1, -1), 0))
    return np.where(b < 0, inverse, positive).astype(a.dtype)


def float_power(base: Any, exponent: Any) -> Any:
    """`**` in double precision."""
    dtype = complex128 if promoted(base, exponent).is_complex else float64
    return wrap(np.power(cast(base, dtype), cast(exponent, dtype)), dtype)
