"""The safetensors format: a length, a JSON header, and the tensors' bytes.

Layout (safetensors README, "Format"): 8 bytes little-endian length N of the header; N bytes of
JSON, `{"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}` with text under
`__metadata__`; then the data, row by row, little-endian. Nothing in a file is executed.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import sys
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from tensorscript.base.dtypes import BY_NAME, DType
from tensorscript.base.errors import ArchiveError, ArgumentError
from tensorscript.base.replacing import replacing
from tensorscript.eager.storage import shown
from tensorscript.eager.tensor import Tensor

MAX_HEADER = 100_000_000
"""Bytes of a header; the format's own limit."""

_WORDS = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64",
    "U16": "uint16", "U32": "uint32", "U64": "uint64",
    "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64", "C64": "complex64",
}  # fmt: skip
DTYPES = {word: BY_NAME[name] for word, name in _WORDS.items()}
_SPELLED = {dtype: word for word, dtype in DTYPES.items()}


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors in the bytes of a file, by name.

    Raises:
        ArchiveError: malformed, truncated, or of a dtype that is not supported.
    """
    return _tensors(memoryview(bytearray(data)))


def load_file(filename: str | os.PathLike[str], device: str = "cpu") -> dict[str, Tensor]:
    """The tensors in a file, by name; they are mapped copy-on-write.

    Raises:
        ArchiveError: malformed, truncated, or of a dtype or device that is not supported.
    """
    if str(device) != "cpu":
        raise ArchiveError(f"safetensors: tensors live on the CPU; there is no device {device}")
    with open(filename, "rb") as file:
        if os.fstat(file.fileno()).st_size < 8:
            raise ArchiveError("safetensors: the file is too short for its header's length")
        return _tensors(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)))


def _tensors(data: memoryview) -> dict[str, Tensor]:
    header, start = _header(data)
    found = {}
    for name, entry in header.items():
        if name != "__metadata__":
            found[name] = _tensor(name, entry, data[start:])
    return found


def _header(data: memoryview) -> tuple[dict[str, Any], int]:
    """The parsed header and where the data starts."""
    if len(data) < 8:
        raise ArchiveError("safetensors: the file is too short for its header's length")
    (size,) = struct.unpack_from("<Q", data)
    if size > MAX_HEADER or 8 + size > len(data):
        raise ArchiveError(f"safetensors: a header of {size} bytes does not fit")
    try:
        parsed = json.loads(bytes(data[8 : 8 + size]))
    except (UnicodeDecodeError, ValueError, RecursionError):
        raise ArchiveError("safetensors: the header is not JSON") from None
    if not isinstance(parsed, dict):
        raise ArchiveError("safetensors: the header is not an object")
    return parsed, 8 + size


def _tensor(name: str, entry: object, data: memoryview) -> Tensor:
    match entry:
        case {"dtype": str(word), "shape": list(shape), "data_offsets": [int(start), int(stop)]}:
            pass
        case _:
            raise ArchiveError(f"safetensors: the entry of {name!r} is malformed")
    if word not in DTYPES:
        raise ArchiveError(f"safetensors: {name!r} has the dtype {word}, which is not supported")
    if not all(type(n) is int and n >= 0 for n in shape):
        raise ArchiveError(f"safetensors: {name!r} has a malformed shape")
    dtype = DTYPES[word]
    if not 0 <= start <= stop <= len(data) or stop - start != prod(shape) * dtype.itemsize:
        raise ArchiveError(f"safetensors: the data of {name!r} is not where its entry says")
    return Tensor(_elements(data[start:stop], dtype).reshape(shape), dtype)


def _elements(data: memoryview, dtype: DType) -> Any:
    """The elements in memory of their own kind: mapped if aligned and of our byte order."""
    stored = np.frombuffer(data, dtype.numpy.newbyteorder("<"))
    if dtype.name == "bool":
        return stored.view(np.uint8) != 0
    native = sys.byteorder == "little" and stored.flags.aligned
    return stored.view(dtype.numpy) if native else stored.astype(dtype.numpy)


def save(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """The bytes of a file with these tensors, those of large elements first.

    Raises:
        ArgumentError: a value is no tensor, or has a dtype that the format has not.
    """
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    body = bytearray()
    for name, tensor in sorted(tensors.items(), key=_place):
        start = len(body)
        array = np.ascontiguousarray(shown(tensor))
        body += array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        offsets = [start, len(body)]
        header[name] = {
            "dtype": _SPELLED[tensor.dtype], "shape": list(tensor.shape), "data_offsets": offsets,
        }  # fmt: skip
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + bytes(body)


def _place(item: tuple[str, Tensor]) -> tuple[int, str]:
    name, tensor = item
    if not isinstance(tensor, Tensor):
        raise ArgumentError(f"safetensors: {name!r} is a {type(tensor).__name__}, not a tensor")
    if tensor.dtype not in _SPELLED:
        raise ArgumentError(f"safetensors: {name!r} has the dtype {tensor.dtype}")
    return -tensor.dtype.itemsize, name


def save_file(
    tensors: Mapping[str, Tensor],
    filename: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write `save` to a file."""
    data = save(tensors, metadata)
    with replacing(filename) as file:
        file.write(data)
