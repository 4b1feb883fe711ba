"""PTX fundamental types: their NumPy dtype and width.

`bf16` has no NumPy dtype and travels as its bits; so do the packed pairs and `tf32`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

DTYPES: dict[str, np.dtype[Any]] = {
    "pred": np.dtype(np.bool_),
    "b8": np.dtype(np.uint8),
    "u8": np.dtype(np.uint8),
    "s8": np.dtype(np.int8),
    "b16": np.dtype(np.uint16),
    "u16": np.dtype(np.uint16),
    "s16": np.dtype(np.int16),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(np.uint16),
    "b32": np.dtype(np.uint32),
    "u32": np.dtype(np.uint32),
    "s32": np.dtype(np.int32),
    "f32": np.dtype(np.float32),
    "tf32": np.dtype(np.uint32),
    "f16x2": np.dtype(np.uint32),
    "bf16x2": np.dtype(np.uint32),
    "b64": np.dtype(np.uint64),
    "u64": np.dtype(np.uint64),
    "s64": np.dtype(np.int64),
    "f64": np.dtype(np.float64),
    "f32x2": np.dtype(np.uint64),
}

UNSIGNED: dict[int, np.dtype[Any]] = {
    1: np.dtype(np.uint8),
    2: np.dtype(np.uint16),
    4: np.dtype(np.uint32),
    8: np.dtype(np.uint64),
}

FLOATS = frozenset({"f16", "bf16", "f32", "f64", "f16x2", "bf16x2", "f32x2"})
SIGNED = frozenset({"s8", "s16", "s32", "s64"})
INTEGERS = frozenset(
    {"b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64"}
)


def width(type_name: str) -> int:
    """Bytes of one value; a predicate counts as one."""
    return DTYPES[type_name].itemsize
