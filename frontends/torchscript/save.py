"""Writes an archive that PyTorch and `load` read.

Records come in PyTorch's order: extra files, storages, `data.pkl`, code, storages of constants,
`constants.pkl`, version, byte order, and an id made of names and contents. The same program makes
the same bytes.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import IO, Protocol

from tensorscript.base.dtypes import DType
from tensorscript.base.errors import ArchiveError
from tensorscript.base.records import dataclass
from tensorscript.base.source import Origin
from tensorscript.dialects.ts.constants import (
    Device,
    ObjectLiteral,
    TensorLiteral,
)
from tensorscript.eager.storage import Array

from . import pickled
from .code_files import CodeFiles, Definitions
from .debug_writer import debug_record
from .pickle_writer import pickle
from .storages import StorageTable
from .upgrade import CHANGED_IN
from .zip_writer import Bytes, ZipWriter

OLDEST_WRITTEN = 3
"""The version of a file none of whose operators ever changed."""

MOVED_VERSION = 6
"""From this version on, the version is in `.data/version`."""


class CapturedConstants(Protocol):
    """The objects that a program names, as they are stored."""

    storages: StorageTable

    def constant(self, value: object) -> pickled.Value: ...


ConstantCapture = Callable[[Sequence[object], Sequence[tuple[Array, DType]]], CapturedConstants]


@dataclass(frozen=True)
class SavedObject:
    """What an archive holds.

    Attributes:
        root: the module.
        storages: where its tensors are; they were referred to when `root` was made.
        definitions: the program of its classes.
        constants: captures the objects that the program names, beside arrays that it names.
        extra_files: name to contents of the user's files.
        origin: the place in the original source of a place in the program's text.
    """

    root: pickled.ObjectState
    storages: StorageTable
    definitions: Definitions
    constants: ConstantCapture
    extra_files: Mapping[str, Bytes] = field(default_factory=dict)
    origin: Origin = lambda span: span


def write_archive(file: IO[bytes], name: str, saved: SavedObject) -> None:
    """Write an archive whose records lie in the folder `name`.

    Raises:
        CompileError: the program calls Python.
        ArchiveError: a constant that archives cannot hold.
    """
    code = CodeFiles(saved.definitions)
    for class_name in _class_names(saved.root):
        code.write_class(class_name)
    code.write_rest()
    texts = list(code.texts())
    storages, constants = _constants(code, saved.constants)

    out = ZipWriter(file, name)
    for key, contents in saved.extra_files.items():
        out.add(f"extra/{key}", contents)
    for record, data in saved.storages.contents():
        out.add(record, data)
    out.add("data.pkl", pickle(saved.root))
    for module, text, places in texts:
        record = f"code/{module.replace('.', '/')}.py"
        out.add(record, text.encode(), deflate=True)
        debug = debug_record(text, places, saved.origin)
        out.add(f"{record}.debug_pkl", pickle(debug), deflate=True)
    for record, data in storages.contents():
        out.add(record, data)
    out.add("constants.pkl", pickle(constants))
    version = necessary_version(code.operators)
    out.add("version" if version < MOVED_VERSION else ".data/version", f"{version}\n".encode())
    out.add("byteorder", sys.byteorder.encode())
    out.add(".data/serialization_id", _identity(out.checksums).encode())
    out.close()


def necessary_version(operators: Iterable[str]) -> int:
    """The oldest version whose readers give these operators (by schema) the same meaning."""
    return max((CHANGED_IN.get(name, OLDEST_WRITTEN) for name in operators), default=OLDEST_WRITTEN)


def _class_names(root: pickled.Value) -> Iterator[str]:
    """The classes of all objects, outermost first, each once."""
    seen: dict[str, None] = {}
    done: set[int] = set()

    def walk(value: pickled.Value) -> None:
        if id(value) in done:
            return
        if isinstance(value, pickled.ObjectState):
            done.add(id(value))
            seen.setdefault(value.type_name)
        for child in pickled.children(value):
            walk(child)

    walk(root)
    yield from seen


def _constants(
    code: CodeFiles, capture: ConstantCapture
) -> tuple[StorageTable, tuple[pickled.Value, ...]]:
    """The constants that the code only names, and the storages of the tensors among them."""
    values = code.constants.values
    tensors = [value for value in values if isinstance(value, TensorLiteral)]
    objects = [value.get() for value in values if isinstance(value, ObjectLiteral)]
    captured = capture(objects, [(t.array, t.dtype) for t in tensors])
    return captured.storages, tuple(_constant(value, captured) for value in values)


def _constant(value: object, captured: CapturedConstants) -> pickled.Value:
    match value:
        case TensorLiteral():
            return captured.storages.ref(value.array, value.dtype, value.requires_grad)
        case ObjectLiteral():
            return captured.constant(value.get())
        case Device():
            return pickled.DeviceRef(value.text)
        case bool() | int() | float() | complex() | str() | None:
            return value
        case tuple():
            return tuple(_constant(v, captured) for v in value)
    raise ArchiveError(f"a constant of type {type(value).__name__} cannot be saved")


def _identity(checksums: list[tuple[str, int]]) -> str:
    """20 digits of the records' names and 20 of their contents."""
    names = "\n".join(name for name, _ in checksums).encode()
    sums = b"".join(crc.to_bytes(4, "little") for _, crc in checksums)
    return "".join(f"{zlib.crc32(part) << 32 | zlib.adler32(part):020d}" for part in (names, sums))
