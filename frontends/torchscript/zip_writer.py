"""Writes the zip files that `.pt` archives are, laid out as PyTorch's own.

The data of every entry starts at a multiple of 64 (the local header's extra field is padded), so
that a reader can map weights in place. Sizes and CRC stand behind the data and in the central
directory, and the zip64 end records are always written. Times are zero: one program makes one
sequence of bytes. Layout: PKWARE APPNOTE 6.3.10, sections 4.3 and 4.5.3.
"""

from __future__ import annotations

import struct
import zlib
from typing import IO, TypeAlias

from tensorscript.base.records import dataclass

ALIGNMENT = 64

Bytes: TypeAlias = bytes | bytearray | memoryview

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_DESCRIPTOR, _DESCRIPTOR64 = struct.Struct("<4s3L"), struct.Struct("<4sL2Q")
_END64 = struct.Struct("<4sQ2H2L4Q")
_END64_LOCATOR = struct.Struct("<4sLQL")
_END = struct.Struct("<4s4H2LH")
_MAX32, _MAX16 = 0xFFFFFFFF, 0xFFFF
_FLAGS = 0x0008 | 0x0800  # sizes follow the data; names are UTF-8
_STORED, _DEFLATED = 0, 8


@dataclass(frozen=True)
class _Written:
    """What the central directory says of one entry."""

    name: bytes
    method: int
    crc: int
    packed: int
    size: int
    header: int


class ZipWriter:
    """Writes entries one after the other; `close` writes the directory.

    Args:
        file: a binary file, written from its current position and never read or rewound.
        root: the folder that holds every entry.
    """

    def __init__(self, file: IO[bytes], root: str) -> None:
        self._file = file
        self._root = root
        self._at = 0
        self._entries: list[_Written] = []

    def add(self, name: str, data: Bytes, deflate: bool = False) -> None:
        """Write one entry.

        Args:
            deflate: compress where that makes it smaller.
        """
        view = memoryview(data).cast("B")
        packed = _deflated(view) if deflate else view
        is_smaller = len(packed) < len(view)
        body = packed if is_smaller else view
        full = f"{self._root}/{name}".encode()
        method = _DEFLATED if is_smaller else _STORED
        entry = _Written(full, method, zlib.crc32(view), len(body), len(view), self._at)
        self._write(_local_header(entry))
        self._write(body)
        is_wide = max(entry.packed, entry.size) >= _MAX32
        form = _DESCRIPTOR64 if is_wide else _DESCRIPTOR
        self._write(form.pack(b"PK\7\10", entry.crc, entry.packed, entry.size))
        self._entries.append(entry)

    @property
    def checksums(self) -> list[tuple[str, int]]:
        """(name below the root, CRC-32 of the contents) of every entry so far."""
        prefix = len(self._root) + 1
        return [(entry.name.decode()[prefix:], entry.crc) for entry in self._entries]

    def close(self) -> None:
        """Write the central directory and the end records."""
        start = self._at
        for entry in self._entries:
            self._write(_central_header(entry))
        size, count, end64 = self._at - start, len(self._entries), self._at
        rest = _END64.size - 12
        self._write(
            _END64.pack(b"PK\6\6", rest, 0x031E, 45, 0, 0, count, count, size, start)
            + _END64_LOCATOR.pack(b"PK\6\7", 0, end64, 1)
            + _END.pack(
                b"PK\5\6",
                0,
                0,
                min(count, _MAX16),
                min(count, _MAX16),
                min(size, _MAX32),
                min(start, _MAX32),
                0,
            )
        )

    def _write(self, data: Bytes) -> None:
        self._file.write(data)
        self._at += len(data)


def _deflated(data: memoryview) -> bytes:
    packer = zlib.compressobj(zlib.Z_BEST_COMPRESSION, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def _local_header(entry: _Written) -> bytes:
    """The header in front of the data, padded so that the data is aligned."""
    # An extra field has its kind and its length in front.
    before = entry.header + _LOCAL.size + len(entry.name) + 4
    padding = -before % ALIGNMENT
    extra = b"FB" + struct.pack("<H", padding) + b"Z" * padding
    fields = (0, _FLAGS, entry.method, 0, 0, 0, 0, 0, len(entry.name), len(extra))
    return _LOCAL.pack(b"PK\3\4", *fields) + entry.name + extra


def _central_header(entry: _Written) -> bytes:
    wide = [value for value in (entry.size, entry.packed, entry.header) if value >= _MAX32]
    extra = struct.pack(f"<2H{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
    fixed = (b"PK\1\2", 0, 0, _FLAGS, entry.method, 0, 0, entry.crc)
    sizes = (min(entry.packed, _MAX32), min(entry.size, _MAX32))
    lengths = (len(entry.name), len(extra), 0, 0, 0, 0, min(entry.header, _MAX32))
    return _CENTRAL.pack(*fixed, *sizes, *lengths) + entry.name + extra
