"""Checkpoints of PyTorch before 1.6: what `torch.save` wrote before files were zips.

One behind the other: three pickles (a magic number, the version of the protocol, facts of the
machine), the pickle of the data, the pickle of a list of storage keys, and for each key the number
of its elements (64 bits) and their bytes. `torch.save(_use_new_zipfile_serialization=False)` still
writes them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property

import numpy as np

from tensorscript.base.errors import ArchiveError
from tensorscript.base.records import dataclass

from .pickled import PickleLimits, StorageRef, TaggedDict, TaggedList, Value, tensors_in
from .rebuild import CHECKPOINT
from .unpickle import unpickle_first

_MAGIC = b"\x80\x02\x8a\x0a" + (0x1950A86A20F9469CFC6C).to_bytes(10, "little") + b"."
_VERSION = 1001
_COUNT = struct.Struct("<q")
_PREFIX = "data"
_TAR, _TAR_PLACE = b"ustar", slice(257, 262)


def is_legacy_checkpoint(file: memoryview) -> bool:
    """Whether a file begins as such a checkpoint does.

    Raises:
        ArchiveError: it is a checkpoint of PyTorch 0.1, which is a tar file.
    """
    if bytes(file[_TAR_PLACE]) == _TAR:
        raise ArchiveError(
            "the file is a checkpoint of PyTorch 0.1 (a tar file), which is not supported. Load it "
            "in PyTorch and save it again."
        )
    return bytes(file[: len(_MAGIC)]) == _MAGIC


@dataclass
class LegacyStorages:
    """The storages of such a file, as records of an archive.

    Attributes:
        byteorder: "little" or "big".
    """

    byteorder: str
    _records: Mapping[str, memoryview] = field(default_factory=dict)

    def record(self, name: str) -> memoryview:
        """The bytes of a storage.

        Raises:
            ArchiveError: there is no such storage.
        """
        if name not in self._records:
            raise ArchiveError(f"the checkpoint holds no storage {name!r}")
        return self._records[name]

    def size(self, name: str) -> int:
        return len(self.record(name))


def read_legacy_checkpoint(
    file: memoryview, limits: PickleLimits | None = None
) -> tuple[Value, LegacyStorages]:
    """The data in such a file and its storages, which are views of it.

    Where the file's memory may be written, a storage is moved to the next place below that is
    aligned, over the end of its count: nothing else is then held of it.

    Raises:
        ArchiveError: it is damaged, or holds what a checkpoint may not hold.
    """
    reader = _Reader(file.cast("B"), limits or PickleLimits(), len(_MAGIC))
    version = reader.pickle()
    if version != _VERSION:
        raise ArchiveError(f"the checkpoint has protocol version {version!r}, not {_VERSION}")
    match reader.pickle():
        case TaggedDict(items=facts):
            byteorder = "little" if facts.get("little_endian", True) is True else "big"
        case _:
            raise ArchiveError("the checkpoint does not tell of which machine it is")
    root = reader.pickle()
    referred: dict[str, StorageRef] = {}
    for tensor in tensors_in(root):
        referred.setdefault(tensor.storage.key, tensor.storage)
    return root, LegacyStorages(byteorder, dict(_storages(reader, referred, byteorder)))


@dataclass
class _Reader:
    """What is left of a file."""

    file: memoryview
    limits: PickleLimits
    at: int

    @cached_property
    def address(self) -> int:
        """Where the file lies in memory."""
        return np.frombuffer(self.file, np.uint8).ctypes.data

    def pickle(self) -> Value:
        """The pickle that comes next."""
        value, size = unpickle_first(self.file[self.at :], _PREFIX, self.limits, CHECKPOINT)
        self.at += size
        return value

    def take(self, count: int) -> memoryview:
        if count < 0 or self.at + count > len(self.file):
            raise ArchiveError("the checkpoint ends before its storages do")
        piece = self.file[self.at : self.at + count]
        self.at += count
        return piece

    def aligned(self, data: memoryview, alignment: int) -> memoryview:
        """The piece that was taken last, moved to an aligned place if that may be done."""
        start = self.at - len(data)
        step = (self.address + start) % alignment
        if not step or self.file.readonly or step > _COUNT.size:
            return data
        moved = self.file[start - step : self.at - step]
        moved[:] = data
        return moved


def _storages(
    reader: _Reader, referred: Mapping[str, StorageRef], byteorder: str
) -> list[tuple[str, memoryview]]:
    """(record, bytes) of all storages in the order of the file."""
    match reader.pickle():
        case TaggedList(elements=keys):
            pass
        case _:
            raise ArchiveError("the checkpoint has no list of its storages")
    count = _COUNT if byteorder == "little" else struct.Struct(">q")
    out: list[tuple[str, memoryview]] = []
    for key in keys:
        storage = referred.get(key) if isinstance(key, str) else None
        if storage is None:
            raise ArchiveError(f"the checkpoint has a storage {key!r} that no tensor is of")
        (numel,) = count.unpack(reader.take(_COUNT.size))
        data = reader.take(numel * storage.dtype.itemsize)
        out.append((storage.record, reader.aligned(data, storage.dtype.itemsize).toreadonly()))
    return out
