"""Scalar arguments of a launch as the bytes that their `.param` declares."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from .errors import LaunchError
from .syntax import Variable
from .types import DTYPES, width


def pack_argument(variable: Variable, value: Any, name: str) -> bytes:
    """The bytes of one scalar or struct argument, typed by its parameter.

    Raises:
        LaunchError: a value that the parameter cannot hold.
    """
    if variable.array:
        raw = value if isinstance(value, bytes) else b""
        if isinstance(value, np.generic):
            raw = value.tobytes()
        if len(raw) != variable.size:
            raise LaunchError(f"{name} takes {variable.size} bytes (bytes or a NumPy scalar)")
        return raw
    if isinstance(value, np.generic):
        value = value.item()
    size, dtype = width(variable.type), DTYPES[variable.type]
    if dtype.kind == "f":
        if not isinstance(value, (int, float)):
            raise LaunchError(f"{name} is .{variable.type}, got {type(value).__name__}")
        return np.array([value], dtype).tobytes()
    if isinstance(value, float) and variable.type == "b32":
        return struct.pack("<f", value)
    if isinstance(value, float) and variable.type == "b64":
        return struct.pack("<d", value)
    if not isinstance(value, int):
        raise LaunchError(f"{name} is .{variable.type}, got {type(value).__name__}")
    bits = 8 * size
    if not -(1 << (bits - 1)) <= value < 1 << bits:
        raise LaunchError(f"{name}: {value} does not fit in .{variable.type}")
    return (value & ((1 << bits) - 1)).to_bytes(size, "little")
