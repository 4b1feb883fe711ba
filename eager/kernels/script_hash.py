"""`hash` of script values: the same numbers in every run, those of PyTorch with GNU's C++ library.

Objects and tensors hash by their identity.
"""

from __future__ import annotations

import struct
from typing import Any

from tensorscript.base.errors import OperatorError

from ..device import DEVICE_TYPES, device

_MASK = (1 << 64) - 1
_FACTOR = 0xC6A4A7935BD1E995
_SEED = 0xC70F6907


def script_hash(x: Any, kind: str) -> int:
    """The hash of a value; of an object or a tensor one that holds for as long as it lives.

    Args:
        kind: how messages call the type of the value.

    Raises:
        OperatorError: values of its type have none.
    """
    return _signed(_hash(x, kind))


def _hash(x: Any, kind: str) -> int:
    match x:
        case None:
            return 0
        case int():
            return int(x) & _MASK
        case float():
            return _murmur(struct.pack("<d", x)) if x else 0
        case str():
            return _murmur(x.encode(errors="surrogateescape"))
        case tuple():
            return _combined([_hash(part, kind) for part in x])
        case device():
            return DEVICE_TYPES.index(x.type) << 16 | (255 if x.index is None else x.index)
        case list() | dict() | complex():
            raise OperatorError(f"unhashable type: '{kind}'")
    return hash(x) & _MASK


def _signed(x: int) -> int:
    return x - (1 << 64) if x >> 63 else x


def _combined(parts: list[int]) -> int:
    seed = 0
    for part in parts:
        seed = (seed ^ (part + 0x9E3779B9 + (seed << 6) + (seed >> 2))) & _MASK
    return seed


def _murmur(data: bytes) -> int:
    """MurmurHash64A (Austin Appleby, public domain), as `std::hash` of a string uses it."""
    whole = len(data) - len(data) % 8
    h = (_SEED ^ len(data) * _FACTOR) & _MASK
    for at in range(0, whole, 8):
        word = int.from_bytes(data[at : at + 8], "little") * _FACTOR & _MASK
        h = (h ^ (word ^ word >> 47) * _FACTOR & _MASK) * _FACTOR & _MASK
    if data[whole:]:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _FACTOR & _MASK
    h = (h ^ h >> 47) * _FACTOR & _MASK
    return h ^ h >> 47
