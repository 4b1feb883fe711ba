"""A bounded reader for the zip files that `.pt` archives are.

Only what archives use is read: stored and deflated entries, found through the central directory
(local headers carry zero sizes). Sizes, names, counts and positions are checked before anything is
allocated, so a hostile file costs an error and not memory. Stored entries are views into the file.

Python's `zipfile` is not used because it reads a directory of any size, tolerates overlapping
entries, and copies stored entries. Layout: PKWARE APPNOTE 6.3.10, sections 4.3 and 4.5.3.
"""

from __future__ import annotations

import struct
import zlib

from tensorscript.base.errors import ArchiveError
from tensorscript.base.records import dataclass

_END = struct.Struct("<4s4H2LH")
_END64_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_MAX32, _MAX16 = 0xFFFFFFFF, 0xFFFF
_STORED, _DEFLATED = 0, 8
# Bits 1 and 2 tell the deflate level, 3 a data descriptor, 11 a UTF-8 name. The rest (encryption,
# patches, masked headers) never occurs in archives.
_KNOWN_FLAGS = 0x0002 | 0x0004 | 0x0008 | 0x0800


@dataclass(frozen=True)
class ZipLimits:
    """What a zip file may ask for.

    Attributes:
        entries: entries in the central directory.
        name_bytes: length of one entry's name.
        name_parts: folders in one entry's name.
        inflated_bytes: sum of the sizes of deflated entries (stored ones are views of the file).
        ratio: inflated size over deflated size of an entry larger than `ratio_floor`.
        ratio_floor: entries up to this size may have any ratio.
    """

    entries: int = 1 << 18
    name_bytes: int = 2048
    name_parts: int = 64
    inflated_bytes: int = 1 << 30
    ratio: int = 100
    ratio_floor: int = 1 << 20


@dataclass(frozen=True)
class Entry:
    """One file in the zip: `data` is its place (start, stop) in the file, still compressed."""

    name: str
    deflated: bool
    crc: int
    size: int
    header: int
    data: tuple[int, int]


def refuse(what: str) -> ArchiveError:
    """The error for a file that is no zip archive we read, in PyTorch's words."""
    return ArchiveError(
        f"PytorchStreamReader failed reading zip archive: {what}. If you are seeing this error, "
        "there is a high likelihood that your checkpoint file is corrupted. This can happen if the "
        "checkpoint was not saved properly, was transferred incorrectly, or the file was modified "
        "after saving."
    )


def read_directory(file: memoryview, limits: ZipLimits) -> dict[str, Entry]:
    """The entries of a zip file in directory order, each checked against the file and the limits.

    Raises:
        ArchiveError: not a zip file, truncated, over a limit, or built to deceive.
    """
    count, start, stop = _find_directory(file)
    if count > limits.entries:
        raise refuse(f"{count} entries are more than the limit of {limits.entries}")
    if count * _CENTRAL.size > stop - start:
        raise refuse("the central directory is truncated")
    entries: dict[str, Entry] = {}
    inflated = 0
    at = start
    for _ in range(count):
        entry, at = _read_entry(file, at, start, stop, limits)
        if entry.name in entries:
            raise refuse(f"entry {entry.name!r} occurs twice")
        inflated += entry.size if entry.deflated else 0
        if inflated > limits.inflated_bytes:
            raise refuse(f"its entries inflate to more than {limits.inflated_bytes} bytes")
        entries[entry.name] = entry
    if at != stop:
        raise refuse("the central directory has bytes after its last entry")
    _check_overlap(entries)
    return {name: entry for name, entry in entries.items() if not name.endswith("/")}


def read_entry_data(file: memoryview, entry: Entry) -> memoryview:
    """The contents of one entry: a view if stored, inflated otherwise; its CRC is checked.

    Raises:
        ArchiveError: the contents do not inflate to the declared size, or the CRC differs.
    """
    raw = file[entry.data[0] : entry.data[1]]
    if entry.deflated:
        raw = _inflate(raw, entry)
    # Writers that stream leave 0 where they never knew the CRC.
    if entry.crc and zlib.crc32(raw) != entry.crc:
        raise refuse(f"CRC-32 check failed for {entry.name!r}")
    return raw


def _inflate(raw: memoryview, entry: Entry) -> memoryview:
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        data = inflater.decompress(raw, entry.size + 1)
    except zlib.error as fault:
        raise refuse(f"entry {entry.name!r} is not valid deflate data ({fault})") from None
    if len(data) != entry.size or not inflater.eof or inflater.unused_data:
        raise refuse(f"entry {entry.name!r} does not inflate to its declared {entry.size} bytes")
    return memoryview(data)


def _find_directory(file: memoryview) -> tuple[int, int, int]:
    """(entry count, start, stop) of the central directory."""
    if len(file) < _END.size:
        raise refuse("not a ZIP archive")
    window = max(0, len(file) - _END.size - _MAX16)
    tail = bytes(file[window:])
    at = tail.rfind(b"PK\5\6", 0, len(tail) - _END.size + 4)
    if at < 0:
        raise refuse("not a ZIP archive (failed finding central directory)")
    end = window + at
    comment = _END.unpack_from(file, end)[-1]
    if end + _END.size + comment > len(file):
        raise refuse("the comment after its end record is truncated")
    disks, count, size, start, stop = _read_end(file, end)
    if disks:
        raise refuse("it spans several disks")
    if start + size != stop:
        raise refuse("its central directory is not where its end record says")
    return count, start, stop


def _read_end(file: memoryview, end: int) -> tuple[bool, int, int, int, int]:
    """(several disks, entry count, directory size, start, stop) from the end record at `end`.

    PyTorch always writes the zip64 records before it; they count above 4 GiB or 65535 entries.
    """
    _, disk, first_disk, here, count, size, start, _ = _END.unpack_from(file, end)
    locator = end - _END64_LOCATOR.size
    if locator < 0 or bytes(file[locator : locator + 4]) != b"PK\6\7":
        return bool(disk or first_disk or here != count), count, size, start, end
    _, locator_disk, end64, disks = _END64_LOCATOR.unpack_from(file, locator)
    if locator_disk or disks > 1 or end64 + _END64.size != locator:
        raise refuse("malformed zip64 end record")
    fields = _END64.unpack_from(file, end64)
    magic, disk64, first_disk64, here64, count64, size64, start64 = (fields[0], *fields[4:])
    agree = (
        _agree(count, count64, _MAX16)
        and _agree(size, size64, _MAX32)
        and _agree(start, start64, _MAX32)
    )
    if magic != b"PK\6\6" or not agree:
        raise refuse("its zip64 end record contradicts its end record")
    several = bool(disk64 or first_disk64 or here64 != count64)
    return several, count64, size64, start64, end64


def _agree(short: int, long: int, unknown: int) -> bool:
    return short in (long, unknown)


def _read_entry(
    file: memoryview, at: int, start: int, stop: int, limits: ZipLimits
) -> tuple[Entry, int]:
    """The directory entry at `at` and the place after it; `start` is where file data must end."""
    if at + _CENTRAL.size > stop:
        raise refuse("the central directory is truncated")
    fields = _CENTRAL.unpack_from(file, at)
    magic, _, _, flags, method, _, _, crc, packed, size = fields[:10]
    name_len, extra_len, comment_len, disk, _, _, header = fields[10:]
    name_at = at + _CENTRAL.size
    after = name_at + name_len + extra_len + comment_len
    if magic != b"PK\1\2" or after > stop:
        raise refuse("the central directory is malformed")
    name = _decode_name(bytes(file[name_at : name_at + name_len]), limits)
    extra = bytes(file[name_at + name_len : name_at + name_len + extra_len])
    size, packed, header = _widen(name, extra, size, packed, header)
    if flags & ~_KNOWN_FLAGS or disk:
        raise refuse(f"entry {name!r} is encrypted or uses an unsupported zip feature")
    if method not in (_STORED, _DEFLATED):
        raise refuse(f"entry {name!r} uses compression method {method}; only 0 and 8 are read")
    if method == _STORED and packed != size:
        raise refuse(f"stored entry {name!r} has two sizes, {packed} and {size}")
    if method == _DEFLATED and size > limits.ratio_floor and size > packed * limits.ratio:
        raise refuse(f"entry {name!r} inflates more than {limits.ratio} times")
    data = _local_data(file, name, header, packed, size, flags, method)
    if data + packed > start:
        raise refuse(f"entry {name!r} reaches beyond the file's data")
    entry = Entry(name, method == _DEFLATED, crc, size, header, (data, data + packed))
    return entry, after


def _decode_name(raw: bytes, limits: ZipLimits) -> str:
    if len(raw) > limits.name_bytes:
        raise refuse(f"an entry's name is longer than {limits.name_bytes} bytes")
    try:
        name = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise refuse(f"the entry name {raw!r} is not UTF-8") from None
    parts = name.removesuffix("/").split("/")
    if len(parts) > limits.name_parts:
        raise refuse(f"an entry lies more than {limits.name_parts} folders deep")
    unsafe = "\0" in name or "\\" in name or (len(name) > 1 and name[1] == ":")
    if unsafe or any(part in ("", ".", "..") for part in parts):
        raise refuse(f"the entry name {name!r} is not a plain relative path")
    return name


def _widen(name: str, extra: bytes, size: int, packed: int, header: int) -> tuple[int, int, int]:
    """Replace 32-bit fields that are all ones by those of the zip64 extra field (id 1)."""
    if _MAX32 not in (size, packed, header):
        return size, packed, header
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        body = extra[at + 4 : at + 4 + length]
        at += 4 + length
        if kind != 1:
            continue
        wanted = [i for i, v in enumerate((size, packed, header)) if v == _MAX32]
        if len(body) < 8 * len(wanted):
            break
        values = [size, packed, header]
        for slot, value in zip(wanted, struct.unpack_from(f"<{len(wanted)}Q", body), strict=True):
            values[slot] = value
        return values[0], values[1], values[2]
    raise refuse(f"entry {name!r} lacks its zip64 sizes")


def _local_data(
    file: memoryview, name: str, header: int, packed: int, size: int, flags: int, method: int
) -> int:
    """Where an entry's data starts; its local header must not contradict the directory."""
    if header + _LOCAL.size > len(file):
        raise refuse(f"entry {name!r} reaches beyond the end of the file")
    fields = _LOCAL.unpack_from(file, header)
    magic, _, local_flags, local_method = fields[:4]
    local_packed, local_size, name_len, extra_len = fields[7:]
    name_at: int = header + _LOCAL.size
    same_name = bytes(file[name_at : name_at + name_len]) == name.encode()
    sizes_known = not local_flags & 0x0008
    same_sizes = _agree(local_packed, packed, _MAX32) and _agree(local_size, size, _MAX32)
    if magic != b"PK\3\4" or not same_name or local_method != method or local_flags != flags:
        raise refuse(f"the local header of {name!r} contradicts the central directory")
    if sizes_known and not same_sizes:
        raise refuse(f"the local header of {name!r} contradicts the central directory")
    return name_at + int(name_len) + int(extra_len)


def _check_overlap(entries: dict[str, Entry]) -> None:
    reached = 0
    for entry in sorted(entries.values(), key=lambda e: e.header):
        if entry.header < reached:
            raise refuse(f"entry {entry.name!r} overlaps another")
        reached = entry.data[1]
