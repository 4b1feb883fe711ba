"""Tensors of test calls: dtypes, layouts and values, described by what a table can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.lib.stride_tricks import as_strided

CODES = {"u1": "uint8", "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64", "f2": "float16",
         "f4": "float32", "f8": "float64", "bf": "uint16", "b": "bool", "c8": "complex64",
         "c16": "complex128"}  # fmt: skip
FLOAT, INT64, BOOL = 6, 4, 11  # codes of the argument type ScalarType


@dataclass(frozen=True)
class T:
    """A tensor of `shape`; whole numbers lie in [low, high), chances in [0, 1)."""

    shape: tuple[int, ...]
    dtype: str = ""
    low: int = -5
    high: int = 6
    is_chance: bool = False


@dataclass(frozen=True)
class Variant:
    """What the tensors of a row become. Layouts: `plain` is contiguous; `strided` has its first
    dimension innermost and gaps; `expanded` repeats along its longest dimension by stride 0."""

    dtype: str
    layout: str = "plain"
    special: bool = False


VARIANTS = (
    Variant("f4"),
    Variant("f8", "strided"),
    Variant("f4", "expanded"),
    Variant("f2", "strided"),
    Variant("bf"),
    Variant("f4", special=True),
    Variant("i8", "strided"),
    Variant("u1", "expanded"),
    Variant("b"),
)
COMPLEX_VARIANTS = (Variant("c8"), Variant("c16", "strided"))
"""Besides, of operators that take complex numbers."""
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-20, 2.5, -3.5, 30.0)


@cache
def tensor(spec: T, variant: Variant, position: int) -> np.ndarray:
    """The array of `spec`, the same one each time, so that equal calls share their arguments."""
    values = np.asarray(_values(spec, variant, position))
    if not values.size:
        values = np.zeros(spec.shape, values.dtype)
    match variant.layout:
        case "strided" if spec.shape:
            base = np.zeros((*spec.shape[:0:-1], spec.shape[0] * 2), values.dtype)
            out = base[..., ::2].T
            out[...] = values
        case "expanded" if max(spec.shape, default=0) > 1:
            d = spec.shape.index(max(spec.shape))
            first = np.ascontiguousarray(values[(slice(None),) * d + (slice(0, 1),)])
            strides = [0 if k == d else s for k, s in enumerate(first.strides)]
            out = as_strided(first, spec.shape, strides)
        case _:
            out = values
    out.flags.writeable = False
    return out


def _values(spec: T, variant: Variant, position: int) -> np.ndarray:
    dtype = np.dtype(CODES[spec.dtype or variant.dtype])
    random = np.random.default_rng([*spec.shape, position])
    if dtype == "bool":
        return random.random(spec.shape) > 0.5
    if dtype.kind in "iu" and dtype != "uint16":
        low, high = (0, 256) if dtype == "uint8" and not spec.dtype else (spec.low, spec.high)
        return random.integers(low, high, spec.shape).astype(dtype)
    values = random.standard_normal(spec.shape) * 2
    if spec.is_chance:
        values = random.random(spec.shape)
    if dtype.kind == "c":
        return (values + 2j * random.standard_normal(spec.shape)).astype(dtype)
    if variant.special and not spec.dtype:
        count = int(np.prod(spec.shape))
        cycle = (np.arange(count) * (position * 2 + 1) + position) % len(SPECIAL)
        values = np.array(SPECIAL)[cycle].reshape(spec.shape)
    if dtype == "uint16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(dtype)


# --- short names for tables -----------------------------------------------------------------------

Row = tuple[object, ...]
"""The leading arguments of a call."""


def t(*shape: int) -> T:
    return T(shape)


def index(*shape: int, high: int, low: int = 0) -> T:
    return T(shape, "i8", low, high)


def mask(*shape: int) -> T:
    return T(shape, "b")


def variants_of(row: Row, is_complex: bool = False) -> Sequence[Variant]:
    """All variants where a tensor of the row has an open dtype, else two layouts.

    Args:
        is_complex: the operator takes complex numbers.
    """
    parts = [v for item in row for v in (item if isinstance(item, list) else [item])]
    is_open = any(isinstance(v, T) and not v.dtype for v in parts)
    if is_open and is_complex:
        return VARIANTS + COMPLEX_VARIANTS
    return VARIANTS if is_open else (VARIANTS[0], Variant("f4", "strided"))


def filled(value: object, variant: Variant, position: int) -> object:
    """An argument of a row with its tensors made."""
    if isinstance(value, T):
        return tensor(value, variant, position)
    if isinstance(value, list):
        return [filled(v, variant, position * 5 + k) for k, v in enumerate(value)]
    return value
