"""How dtypes and literals are spelled in LLVM IR.

A dtype has two spellings: in memory and in registers. bool is i8 in memory and i1 in registers.
float16 and bfloat16 are computed in float: a register holds the float that equals the half value,
and each operation rounds its result to the narrow type (`emit_cast.round_result`).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

from tensorscript.base.dtypes import DType, bfloat16, bool_, float16
from tensorscript.base.errors import InternalError
from tensorscript.base.rounding import rounded

STAGE = "llvm"
ALIGN = 64
"""Bytes that every buffer is aligned to."""


class Value(NamedTuple):
    """An emitted value: LLVM operand text and its number of lanes (1: a scalar)."""

    text: str
    lanes: int = 1

    @property
    def is_literal(self) -> bool:
        return self.text[0] not in "%@"


def memory_type(dtype: DType) -> str:
    """The LLVM type of one element in memory (bfloat16 is its bits).

    Raises:
        InternalError: the dtype has no scalar LLVM type (complex).
    """
    if not dtype.llvm:
        raise InternalError(f"no LLVM type for {dtype}", STAGE)
    return "i16" if dtype is bfloat16 else dtype.llvm


def register_type(dtype: DType, lanes: int = 1) -> str:
    """The LLVM type of a value of `dtype` in a register."""
    if dtype is bool_:
        element = "i1"
    elif is_half(dtype):
        element = "float"
    else:
        element = memory_type(dtype)
    return vector_of(element, lanes)


def vector_of(element: str, lanes: int) -> str:
    return element if lanes == 1 else f"<{lanes} x {element}>"


def suffix(element: str, lanes: int) -> str:
    """The part of an overloaded intrinsic's name that spells its type (`v8f32`, `i64`)."""
    short = {"float": "f32", "double": "f64", "half": "f16"}.get(element, element)
    return short if lanes == 1 else f"v{lanes}{short}"


def is_half(dtype: DType) -> bool:
    return dtype is float16 or dtype is bfloat16


def literal(value: object, dtype: DType) -> str:
    """A register literal; floats as the hexadecimal bits of a double, which is exact."""
    if dtype is bool_:
        return "true" if value else "false"
    if not dtype.is_floating_point:
        return str(int(value))  # type: ignore[call-overload]  # a literal holds a number
    number = rounded(float(value), dtype)  # type: ignore[arg-type]  # a literal holds a number
    bits = "7FF8000000000000" if number != number else struct.pack(">d", number).hex().upper()
    return f"0x{bits}"


def splat(dtype: DType, lanes: int, value: object) -> str:
    """The literal `value` in every lane, without its type."""
    text = literal(value, dtype)
    return text if lanes == 1 else f"splat ({register_type(dtype)} {text})"


def step_vector(lanes: int, coefficient: int = 1, element: str = "i64") -> str:
    """The constant vector 0, coefficient, 2 coefficient, ... without its type."""
    return f"<{', '.join(f'{element} {coefficient * k}' for k in range(lanes))}>"


def lane_mask(on: Iterable[bool]) -> str:
    """The constant mask of the lanes that are `on`, without its type."""
    return f"<{', '.join(f'i1 {str(k).lower()}' for k in on)}>"


def first_lanes(count: int, lanes: int) -> tuple[bool, ...]:
    """Which of `lanes` are on when the first `count` are."""
    return tuple(k < count for k in range(lanes))
