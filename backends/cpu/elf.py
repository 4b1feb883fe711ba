"""Where a section of a relocatable object lies in its file.

ELF-64, System V ABI (gabi, chapter 4): the file header names the table of section headers, one of
which holds their names.
"""

from __future__ import annotations

import struct

from tensorscript.base.errors import InternalError

_MAGIC = b"\x7fELF\x02\x01"
_SECTION = struct.Struct("<IIQQQQIIQQ")  # name, type, flags, address, offset, size, ...


def section(data: bytes, name: str) -> tuple[int, int]:
    """(offset, size) of a section's bytes.

    Raises:
        InternalError: not a little-endian ELF-64 object, or it has no such section.
    """
    if data[:6] != _MAGIC:
        raise InternalError("expected a little-endian ELF-64 object", "object")
    (table,) = struct.unpack_from("<Q", data, 40)
    count, names_at = struct.unpack_from("<HH", data, 60)
    headers = [_SECTION.unpack_from(data, table + k * _SECTION.size) for k in range(count)]
    names = headers[names_at][4]
    wanted = name.encode() + b"\0"
    for header in headers:
        at = names + header[0]
        if data[at : at + len(wanted)] == wanted:
            return header[4], header[5]
    raise InternalError(f"the object has no section {name!r}", "object")


def objects(data: bytes) -> list[bytes]:
    """The objects that lie one after the other in `data`; LLVM ends each with its section headers.

    Data of another format is one object.
    """
    found, start = [], 0
    while data[start : start + len(_MAGIC)] == _MAGIC:
        (table,) = struct.unpack_from("<Q", data, start + 40)
        (count,) = struct.unpack_from("<H", data, start + 60)
        end = start + table + count * _SECTION.size
        found.append(data[start:end])
        start = end
    return found if found and start == len(data) else [data]
