"""Weights of an exported program: inside of its object, or in a file beside it that is mapped.

Inside, they are the section `.ts_weights`: read-only, aligned, written over the zeros that LLVM put
there. Beside, the object holds room that takes no space in a file (`.bss`), and
`int NAME_load_weights(const char *path)` maps the file over it, shared between processes and read
as pages are touched. Kernels see the same addresses either way.

The file is a page with a header (16 bytes of magic, 32 of SHA-256 over the data, the size as
8 bytes, little-endian), then the data. The object knows the header and takes no other file.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tensorscript.backends.llvm.emit_text import c_string
from tensorscript.backends.llvm.emit_types import ALIGN
from tensorscript.backends.llvm.weights import Block
from tensorscript.backends.target import Target
from tensorscript.base.records import dataclass

from .c_entry import Status
from .elf import section

SECTION = ".ts_weights"
_MAGIC = b"tensorscript/w1\n"

_UNREADABLE = b"the weights' file cannot be read\0"
_FOREIGN = b"the file holds other weights, or is cut off\0"

Placed = Sequence[tuple[int, np.ndarray]]
"""Arrays and their offsets in a block."""


@dataclass(frozen=True)
class Beside:
    """Weights in a file.

    Attributes:
        block: their layout.
        header: of the file.
        page: the file's alignment: the largest page of the target.
    """

    block: Block
    header: bytes
    page: int

    @classmethod
    def of(cls, block: Block, arrays: Placed, target: Target) -> Beside:
        """What the file will begin with."""
        digest = hashlib.sha256()
        for piece in _pieces(block, arrays):
            digest.update(piece)
        header = _MAGIC + digest.digest() + struct.pack("<Q", block.size)
        # Linux on 64-bit ARM is built with pages of 4, 16 or 64 KiB.
        return cls(block, header, 1 << (16 if target.triple.startswith("aarch64") else 12))

    def write(self, path: Path, arrays: Placed) -> None:
        """Write the file."""
        with path.open("wb") as file:
            file.write(self.header.ljust(self.page, b"\0"))
            for piece in _pieces(self.block, arrays):
                file.write(piece)

    def loaded_text(self, name: str) -> str:
        """LLVM text that declares, in a further module, what `text` defines."""
        return f"@{name}.weights_loaded = external hidden global i8\n"

    def text(self, name: str) -> str:
        """LLVM text of the room for the weights and of `NAME_load_weights`."""
        words = {
            "PAGE": str(self.page), "SIZE": str(self.block.size),
            "END": str(self.page + self.block.size), "NAME": name, "BLOCK": self.block.symbol,
            "HEADER_SIZE": str(len(self.header)), "STATUS": str(int(Status.WEIGHTS)),
        }  # fmt: skip
        data = {"header": self.header, "unreadable": _UNREADABLE, "foreign": _FOREIGN}
        text = "".join(_bytes_text(f"{name}.{what}", value) for what, value in data.items())
        text += _room_text(self.block, self.page) + _BESIDE
        for word, value in words.items():
            text = text.replace(f"${word}$", value)
        return text


def _room_text(block: Block, page: int) -> str:
    """LLVM text of the room for weights that a file holds: whole pages."""
    room = -(-block.size // page) * page
    return (
        f"@{block.symbol} = internal externally_initialized global [{room} x i8] "
        f"zeroinitializer, align {page}\n{block.aliases}"
    )


def inside_text(block: Block) -> str:
    """LLVM text of the room for weights inside of the object; `fill` writes them."""
    return (
        f"@{block.symbol} = private externally_initialized constant [{block.size} x i8] "
        f'zeroinitializer, section "{SECTION}", align {ALIGN}\n{block.aliases}'
    )


def fill(data: bytes, arrays: Placed) -> bytearray:
    """An object with weights written into the room for them."""
    start, _ = section(data, SECTION)
    filled = bytearray(data)
    for offset, array in arrays:
        at = start + offset
        filled[at : at + array.nbytes] = _bytes(array)
    return filled


def _bytes_text(symbol: str, data: bytes) -> str:
    kind = f"[{len(data)} x i8]"
    return f"@{symbol} = private unnamed_addr constant {kind} {c_string(data)}\n"


def _bytes(array: np.ndarray) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _pieces(block: Block, arrays: Placed) -> list[memoryview]:
    """The data of a block in order, gaps between arrays filled with zeros."""
    pieces: list[memoryview] = []
    ends = [*(offset for offset, _ in arrays[1:]), block.size]
    for (offset, array), end in zip(arrays, ends, strict=True):
        pieces += [_bytes(array), memoryview(bytes(end - offset - array.nbytes))]
    return pieces


_BESIDE = """
@$NAME$.weights_loaded = hidden global i8 0

declare i32 @open(ptr, i32, ...)
declare i32 @close(i32)
declare i64 @lseek(i32, i64, i32)
declare i64 @pread(i32, ptr, i64, i64)
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @memcmp(ptr, ptr, i64)

define i32 @$NAME$_load_weights(ptr %path) nounwind {
entry:
  %head = alloca [$HEADER_SIZE$ x i8]
  call void @ts_clear_error()
  %file = call i32 (ptr, i32, ...) @open(ptr %path, i32 524288) ; O_RDONLY | O_CLOEXEC
  %closed = icmp slt i32 %file, 0
  br i1 %closed, label %unreadable, label %opened
opened:
  %got = call i64 @pread(i32 %file, ptr %head, i64 $HEADER_SIZE$, i64 0)
  %whole = icmp eq i64 %got, $HEADER_SIZE$
  br i1 %whole, label %compare, label %foreign
compare:
  %differs = call i32 @memcmp(ptr %head, ptr @$NAME$.header, i64 $HEADER_SIZE$)
  %same = icmp eq i32 %differs, 0
  br i1 %same, label %measure, label %foreign
measure:
  %length = call i64 @lseek(i32 %file, i64 0, i32 2)
  %long = icmp sge i64 %length, $END$
  br i1 %long, label %map, label %foreign
map:
  ; PROT_READ, MAP_PRIVATE | MAP_FIXED: over the room, which is whole pages.
  %at = call ptr @mmap(ptr @$BLOCK$, i64 $SIZE$, i32 1, i32 18, i32 %file, i64 $PAGE$)
  %mapped = icmp eq ptr %at, @$BLOCK$
  br i1 %mapped, label %done, label %read
read:
  ; A loader that does not honour the alignment: the weights are read.
  %from = phi i64 [ 0, %map ], [ %next, %more ]
  %left = sub i64 $SIZE$, %from
  %to = getelementptr i8, ptr @$BLOCK$, i64 %from
  %position = add i64 %from, $PAGE$
  %count = call i64 @pread(i32 %file, ptr %to, i64 %left, i64 %position)
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %more, label %foreign
more:
  %next = add i64 %from, %count
  %full = icmp eq i64 %next, $SIZE$
  br i1 %full, label %done, label %read
done:
  %ignored = call i32 @close(i32 %file)
  store atomic i8 1, ptr @$NAME$.weights_loaded release, align 1
  ret i32 0
foreign:
  %ignored2 = call i32 @close(i32 %file)
  call void @ts_set_error(i32 $STATUS$, ptr @$NAME$.foreign)
  ret i32 $STATUS$
unreadable:
  call void @ts_set_error(i32 $STATUS$, ptr @$NAME$.unreadable)
  ret i32 $STATUS$
}
"""
