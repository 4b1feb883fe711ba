"""A zip file that is damaged, hostile or no archive is refused with one clear error."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tensorscript.base.errors import ArchiveError
from tensorscript.frontends.torchscript.archive import Archive, read
from tensorscript.frontends.torchscript.records import ZipLimits


def refusal(data: bytes, limits: ZipLimits | None = None) -> str:
    """The message with which an archive is refused, once every record has been read."""
    with pytest.raises(ArchiveError) as caught:
        archive = Archive.open(data, limits)
        for name in archive.names:
            archive.record(name)
    return str(caught.value)


def zip_of(entries: list[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return file.getvalue()


def edit(data: bytes, magic: bytes, offset: int, form: str, value: int, nth: int = 0) -> bytes:
    """`data` with one field of the nth header that starts with `magic` replaced."""
    at = -1
    for _ in range(nth + 1):
        at = data.index(magic, at + 1)
    edited = bytearray(data)
    struct.pack_into(form, edited, at + offset, value)
    return bytes(edited)


LOCAL, CENTRAL, END = b"PK\3\4", b"PK\1\2", b"PK\5\6"


@pytest.mark.parametrize("data", [b"", b"PK", b"hello" * 100, b"PK\5\6" + bytes(10)])
def test_not_a_zip(data: bytes) -> None:
    expected = "PytorchStreamReader failed reading zip archive: not a ZIP archive"
    assert refusal(data).startswith(expected)


def test_missing_path_and_directory(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"The provided filename .*none\.pt does not exist"):
        read(tmp_path / "none.pt")
    with pytest.raises(ValueError, match="is a directory"):
        read(tmp_path)
    (tmp_path / "empty.pt").touch()
    with pytest.raises(ArchiveError, match="not a ZIP archive"):
        read(tmp_path / "empty.pt")


def test_truncated_everywhere(samples_folder: Path) -> None:
    data = (samples_folder / "s01_regressor_traced.pt").read_bytes()
    for length in range(0, len(data), 97):
        with pytest.raises(ArchiveError):
            read(data[:length])


def test_bytes_before_or_after(build_archive: Any) -> None:
    assert "not where its end record says" in refusal(b"#!/bin/sh\n" + build_archive())
    assert Archive.open(build_archive() + b"x").names  # a file that was padded
    commented = bytearray(build_archive())
    commented[-2:] = b"\1\0"
    assert "the comment after its end record is truncated" in refusal(bytes(commented))


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "m/../../x", "m//x", "m/./x", "C:/x", "m\\x", "m/a\0b"],
)
def test_names_that_leave_the_archive(name: str) -> None:
    data = zip_of([("m/version", b"3\n"), ("m/" + "y" * (len(name) - 2), b"")])
    data = data.replace(b"m/" + b"y" * (len(name) - 2), name.encode())
    assert "is not a plain relative path" in refusal(data)


def test_name_limits(build_archive: Any) -> None:
    assert "longer than 2048 bytes" in refusal(build_archive({"x" * 3000: b""}))
    assert "folders deep" in refusal(build_archive({"a/" * 70 + "b": b""}))
    bad = build_archive({"yyyy": b""}).replace(b"m/yyyy", b"m/\xff\xfe\xfdz")
    assert "is not UTF-8" in refusal(bad)


def test_duplicate_names() -> None:
    data = zip_of([("m/version", b"3\n"), ("m/aa", b"1"), ("m/bb", b"2")])
    assert "'m/aa' occurs twice" in refusal(data.replace(b"m/bb", b"m/aa"))


def test_no_entries_and_no_folder() -> None:
    assert "it has no entries" in refusal(zip_of([]))
    assert refusal(zip_of([("version", b"3\n")])) == (
        "file in archive is not in a subdirectory: version"
    )


def test_crc() -> None:
    data = bytearray(zip_of([("m/version", b"3\n"), ("m/x", b"payload")]))
    data[data.index(b"payload")] ^= 1
    assert "CRC-32 check failed for 'm/x'" in refusal(bytes(data))
    unknown = edit(bytes(data), CENTRAL, 16, "<I", 0, nth=1)
    assert bytes(Archive.open(unknown).record("x")) == b"qayload"


def test_encrypted_and_other_methods(build_archive: Any) -> None:
    data = edit(build_archive(), CENTRAL, 8, "<H", 1)
    assert "is encrypted or uses an unsupported zip feature" in refusal(data)
    squeezed = zip_of([("m/version", b"3\n" * 99)], zipfile.ZIP_LZMA)
    assert "uses compression method 14; only 0 and 8 are read" in refusal(squeezed)


def test_headers_that_disagree(build_archive: Any) -> None:
    contradiction = "contradicts the central directory"
    data = build_archive()
    assert contradiction in refusal(edit(data, LOCAL, 8, "<H", 8))
    assert contradiction in refusal(edit(data, LOCAL, 22, "<I", 1))
    assert contradiction in refusal(edit(data, LOCAL, 30, "<B", ord("x")))
    assert "has two sizes" in refusal(edit(data, CENTRAL, 24, "<I", 1))
    assert "several disks" in refusal(edit(data, END, 4, "<H", 1))
    assert "truncated" in refusal(edit(edit(data, END, 8, "<H", 999), END, 10, "<H", 999))


def test_overlapping_entries() -> None:
    """The quoted-overlap bomb: one entry's data holds the next entry whole."""
    inner = zip_of([("m/bb", b"2222")])
    inner = inner[: inner.index(CENTRAL)]
    data = zip_of([("m/version", inner), ("m/bb", b"2222")])
    inside = data.index(LOCAL, 4)
    data = edit(data, CENTRAL, 42, "<I", inside, nth=1)
    assert "'m/bb' overlaps another" in refusal(data)


def test_zip_bomb(build_archive: Any) -> None:
    bomb = build_archive({"code/x.py": bytes(8 << 20)}, deflate=("code/",))
    assert "inflates more than 100 times" in refusal(bomb)
    many = build_archive({f"code/{i}.py": bytes(9000) for i in range(20)}, deflate=("code/",))
    limits = ZipLimits(inflated_bytes=100_000)
    assert "inflate to more than 100000 bytes" in refusal(many, limits)
    assert "entries are more than the limit of 3" in refusal(build_archive(), ZipLimits(entries=3))


def test_a_size_that_lies(build_archive: Any) -> None:
    """The declared size bounds what is inflated, and must be met exactly."""
    data = build_archive({"data.pkl": bytes(5000)}, deflate=("data.pkl",))
    for size in (10, 6000):
        lie = edit(edit(data, CENTRAL, 24, "<I", size), LOCAL, 22, "<I", size)
        assert f"does not inflate to its declared {size} bytes" in refusal(lie)


def test_zip64_records_are_checked(samples_folder: Path) -> None:
    data = (samples_folder / "s01_regressor_traced.pt").read_bytes()
    assert "contradicts its end record" in refusal(edit(data, b"PK\6\6", 32, "<Q", 5))
    assert "malformed zip64 end record" in refusal(edit(data, b"PK\6\7", 8, "<Q", 0))
    huge = edit(data, CENTRAL, 20, "<I", 0xFFFFFFFF)
    assert "lacks its zip64 sizes" in refusal(huge)


def test_zip64_sizes() -> None:
    """An entry whose 32-bit sizes are all ones has its sizes in a zip64 extra field."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("m/version", b"3\n")
        info = zipfile.ZipInfo("m/big")
        # The directory's field (id 1), given as if zipfile had needed it.
        info.extra = struct.pack("<2H2Q", 1, 16, 7, 7)
        archive.writestr(info, b"payload")
    data = file.getvalue()
    for offset in (20, 24):
        data = edit(data, CENTRAL, offset, "<I", 0xFFFFFFFF, nth=1)
    assert bytes(Archive.open(data).record("big")) == b"payload"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"11\n", "with version 11, but the maximum supported version for reading is 10"),
        (b"0\n", "with version 0, but the minimum supported version for reading is 1"),
        (b"x\n", "Couldn't parse the version x as Long Long"),
        (b"-3\n", "Couldn't parse the version -3"),
        (b"9" * 99, "Couldn't parse the version"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_versions(build_archive: Any, text: bytes, message: str) -> None:
    assert message in refusal(build_archive({"version": text}))


def test_missing_records(build_archive: Any) -> None:
    for name in ("version", "constants.pkl", "data.pkl"):
        expected = f"PytorchStreamReader failed locating file {name}: file not found."
        with pytest.raises(ArchiveError, match=expected):
            read(build_archive({name: None}))


def test_byte_order_and_code(build_archive: Any) -> None:
    assert "Unknown endianness 'middle'" in refusal(build_archive({"byteorder": b"middle"}))
    with pytest.raises(ArchiveError, match=r"'code/__torch__\.py' is not UTF-8"):
        read(build_archive({"code/__torch__.py": b"\xff\xfe"}))
