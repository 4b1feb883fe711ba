"""`.pt` archives: the records in the zip, the version, and the storages of tensors.

`read` gives everything a loader needs as neutral values; `load` makes modules of them. Weights are
views of the memory-mapped file wherever byte order and alignment allow, so they are held once.
Entries of an archive: `version` or `.data/version`, `byteorder`, `data.pkl`, `constants.pkl`,
`data/<key>`, `constants/<key>`, `code/**.py`, `extra/<name>`.
"""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Iterator
from dataclasses import field
from typing import IO, Protocol

import numpy as np
import numpy.typing as npt

from tensorscript.base.errors import ArchiveError
from tensorscript.base.records import dataclass
from tensorscript.eager.growth import placed_at

from .pickled import PickleLimits, StorageRef, TensorRef, Value, tensors_in
from .records import Entry, ZipLimits, read_directory, read_entry_data, refuse
from .unpickle import unpickle

Source = str | os.PathLike[str] | IO[bytes] | bytes | bytearray | memoryview
Array = npt.NDArray[np.generic]
OLDEST_VERSION, NEWEST_VERSION = 1, 10


class Archive:
    """The records of one `.pt` file.

    Attributes:
        root: the folder in the zip that holds everything.
        names: the records' names below `root`, in file order.
        version: the file format version, 1 to 10.
        byteorder: "little" or "big".
    """

    def __init__(self, file: memoryview, entries: dict[str, Entry]) -> None:
        self._file = file
        self.root = _root_of(entries)
        prefix = self.root + "/"
        self._entries = {
            name.removeprefix(prefix): entry
            for name, entry in entries.items()
            if name.startswith(prefix)
        }
        self._inflated: dict[str, memoryview] = {}
        self.version = self._read_version()
        self.byteorder = self._read_byteorder()

    @classmethod
    def open(cls, source: Source, limits: ZipLimits | None = None) -> Archive:
        """Open an archive from a path (memory-mapped), a binary file object, or bytes.

        Raises:
            ValueError: the path does not exist or is a directory.
            ArchiveError: not an archive, damaged, over the limits, or of an unknown version.
        """
        file = _view(source)
        return cls(file, read_directory(file, limits or ZipLimits()))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._entries)

    def has(self, name: str) -> bool:
        return name in self._entries

    def size(self, name: str) -> int:
        """The size in bytes of a record, without reading it."""
        return self._entry(name).size

    def record(self, name: str) -> memoryview:
        """The contents of a record (read-only).

        Raises:
            ArchiveError: there is no such record, or its contents are damaged.
        """
        if name not in self._inflated:
            self._inflated[name] = read_entry_data(self._file, self._entry(name))
        return self._inflated[name]

    def text(self, name: str) -> str:
        """A record as UTF-8 text.

        Raises:
            ArchiveError: as `record`, or the contents are not UTF-8.
        """
        try:
            return str(self.record(name), "utf-8")
        except UnicodeDecodeError:
            raise refuse(f"record {name!r} is not UTF-8 text") from None

    def _entry(self, name: str) -> Entry:
        if entry := self._entries.get(name):
            return entry
        raise ArchiveError(
            f"PytorchStreamReader failed locating file {name}: file not found. If you are seeing "
            "this error, there is a high likelihood that your checkpoint file is corrupted. This "
            "can happen if the checkpoint was not saved properly, was transferred incorrectly, or "
            "the file was modified after saving."
        )

    def _read_version(self) -> int:
        name = ".data/version" if self.has(".data/version") else "version"
        if self.size(name) > 32:
            raise ArchiveError("Couldn't parse the version: the record is too long.")
        text = self.text(name).strip()
        if not (text.isascii() and text.isdigit()):
            raise ArchiveError(f"Couldn't parse the version {text} as Long Long.")
        version = int(text)
        if version < OLDEST_VERSION:
            raise ArchiveError(
                f"Attempted to read a PyTorch file with version {version}, but the minimum "
                f"supported version for reading is {OLDEST_VERSION}. Your PyTorch script module "
                "file is too old. Please regenerate it with latest version of PyTorch to mitigate "
                "this issue."
            )
        if version > NEWEST_VERSION:
            raise ArchiveError(
                f"Attempted to read a PyTorch file with version {version}, but the maximum "
                f"supported version for reading is {NEWEST_VERSION}. TensorScript may be too old, "
                "please upgrade it."
            )
        return version

    def _read_byteorder(self) -> str:
        if not self.has("byteorder"):  # written since PyTorch 2.1; before, always little
            return "little"
        text = self.text("byteorder").strip() if self.size("byteorder") < 32 else "?"
        if text not in ("little", "big"):
            raise ArchiveError(f"Unknown endianness {text!r}: expected 'little' or 'big'.")
        return text


@dataclass(frozen=True)
class ArchiveContents:
    """A whole archive as neutral values; debug records are not read.

    Attributes:
        code: qualified module name (`__torch__.torch.nn.functional`) to its source text.
        constants: what `CONSTANTS.c0`, `CONSTANTS.c1`, ... stand for.
        root: the object in `data.pkl`, mostly an `ObjectState`.
        version: the file format version.
        archive: the archive itself, for storages and extra files.
    """

    code: dict[str, str]
    constants: tuple[Value, ...]
    root: Value
    version: int
    archive: Archive = field(repr=False)

    @property
    def extra_files(self) -> tuple[str, ...]:
        """Names of the user's files."""
        return tuple(n.removeprefix("extra/") for n in self.archive.names if n.startswith("extra/"))

    def extra_file(self, name: str) -> bytes:
        """The contents of one of the user's files; `b""` where there is none, as PyTorch says."""
        record = f"extra/{name}"
        return bytes(self.archive.record(record)) if self.archive.has(record) else b""


def read(source: Source, limits: PickleLimits | None = None) -> ArchiveContents:
    """Read an archive without executing anything in it.

    Raises:
        ValueError: the path does not exist or is a directory.
        ArchiveError: the archive is damaged, hostile, or holds what TorchScript does not write.
    """
    return contents_of(Archive.open(source), limits)


def contents_of(archive: Archive, limits: PickleLimits | None = None) -> ArchiveContents:
    """The contents of an archive, as `read` gives them.

    Raises:
        ArchiveError: as `read`.
    """
    limits = limits or PickleLimits()
    constants = unpickle(archive.record("constants.pkl"), "constants", limits)
    if not isinstance(constants, tuple):
        raise ArchiveError("constants.pkl must hold a tuple")
    root = unpickle(archive.record("data.pkl"), "data", limits)
    for tensor in (*tensors_in(constants), *tensors_in(root)):
        check_storage(archive, tensor.storage)
    return ArchiveContents(dict(_code(archive)), constants, root, archive.version, archive)


class Records(Protocol):
    """What storages are read from: an archive, or a file of another kind."""

    @property
    def byteorder(self) -> str: ...
    def record(self, name: str) -> memoryview: ...
    def size(self, name: str) -> int: ...


def check_storage(archive: Records, ref: StorageRef) -> None:
    """Raise ArchiveError unless the storage's record has exactly the bytes that `ref` needs."""
    size = archive.size(ref.record)
    if size != ref.numel * ref.dtype.itemsize:
        raise ArchiveError(
            f"storage {ref.record!r} holds {size} bytes where {ref.numel} elements of "
            f"{ref.dtype} need {ref.numel * ref.dtype.itemsize}"
        )


def load_storage(archive: Records, ref: StorageRef) -> Array:
    """A storage as a 1-D read-only array of native byte order: a view of the file if possible.

    bfloat16 comes as its bits in uint16, bool with bytes 0 and 1 only.

    Raises:
        ArchiveError: there is no such record, it is damaged or of another size.
    """
    check_storage(archive, ref)
    stored = ref.dtype.numpy.newbyteorder("<" if archive.byteorder == "little" else ">")
    array: Array = np.frombuffer(archive.record(ref.record), dtype=stored)
    if archive.byteorder != sys.byteorder or not array.flags.aligned:
        array = array.astype(ref.dtype.numpy)
    if ref.dtype.name == "bool" and array.size and array.view(np.uint8).max() > 1:
        # NumPy's loops assume 0 and 1; PyTorch reads any other byte as true.
        array = array.view(np.uint8) != 0
    array.flags.writeable = False
    return array


def load_tensor(ref: TensorRef, storage: Array) -> Array:
    """The tensor as a strided view of its storage (from `load_storage`)."""
    itemsize = ref.storage.dtype.itemsize
    # Where there are no elements, the offset is not bound to lie in the storage.
    offset = ref.offset if ref.numel else min(ref.offset, storage.size)
    steps = tuple(s * itemsize for s in ref.stride)
    return placed_at(storage, offset * itemsize, storage, ref.size, steps)


def _view(source: Source) -> memoryview:
    if isinstance(source, bytes | bytearray | memoryview):
        return memoryview(source).toreadonly().cast("B")
    if not isinstance(source, str | os.PathLike):
        return memoryview(source.read())
    path = os.fspath(source)
    if not os.path.exists(path):
        raise ValueError(f"The provided filename {path} does not exist")
    if os.path.isdir(path):
        raise ValueError(f"The provided filename {path} is a directory")
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise refuse("not a ZIP archive (the file is empty)")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _root_of(entries: dict[str, Entry]) -> str:
    if not entries:
        raise refuse("it has no entries")
    first = next(iter(entries))
    if "/" not in first:
        raise ArchiveError(f"file in archive is not in a subdirectory: {first}")
    return first.split("/", 1)[0]


def _code(archive: Archive) -> Iterator[tuple[str, str]]:
    for name in archive.names:
        if name.startswith("code/") and name.endswith(".py"):
            yield name[len("code/") : -len(".py")].replace("/", "."), archive.text(name)
