"""Checkpoints: what `torch.save` writes of state dicts and other plain data.

The file is a zip like a TorchScript archive, without code: `data.pkl`, `data/<key>`, `version`.
Reading executes nothing (see `rebuild.CHECKPOINT` for all that a file may hold), and PyTorch's
`torch.load(weights_only=True)` reads what is written.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from tensorscript.base.dtypes import DType
from tensorscript.base.errors import ArchiveError, ArgumentError
from tensorscript.base.replacing import replacing
from tensorscript.eager.device import device as Device
from tensorscript.eager.nn.parameter import Parameter
from tensorscript.eager.size import Size
from tensorscript.eager.storages import UntypedStorage
from tensorscript.eager.tensor import Tensor

from . import pickled
from .archive import Archive, Array, Records, Source
from .checkpoint_writer import CheckpointWriter
from .legacy_checkpoint import is_legacy_checkpoint, read_legacy_checkpoint
from .rebuild import CHECKPOINT
from .storages import StorageTable
from .tensors import Place, TensorStore, on_device, open_private, placed_on
from .unpickle import unpickle
from .zip_writer import ZipWriter

_VERSION = b"3\n"
_ONLY_ZIP = "files as before PyTorch 1.6 are read, but not written: this one is a zip archive"


def load(
    f: Source, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool = True,
    mmap: bool | None = None, encoding: str = "utf-8",
) -> Any:  # fmt: skip
    """The data in a checkpoint, with its tensors.

    Args:
        f: a path, a binary file object, or the bytes.
        map_location: where tensors go, whatever place the file names ("cpu" for files of a GPU); a
            dict from places in the file to places; or a function of a storage on the CPU and the
            place, which gives the storage to use, or None.
        pickle_module: taken as PyTorch's; nothing in a file is executed, so no module is asked.
        weights_only: a checkpoint is always read as if this were set.
        mmap: taken as PyTorch's; a path is always mapped.
        encoding: taken as PyTorch's, for strings of Python 2; all are read as UTF-8.

    Raises:
        ArchiveError: damaged, hostile, or holding what a checkpoint may not hold.
        OSError: the path cannot be opened; FileNotFoundError if there is none.
    """
    if isinstance(f, str | os.PathLike):
        with open(f, "rb"):  # as any file of Python's, where jit.load has words of its own
            pass
    memory = open_private(f)
    if memory is f and isinstance(memory, bytes | bytearray | memoryview):
        memory = memoryview(memory).toreadonly()  # the caller's, and not ours to change
    root, records = _read(memory)
    owned = memory if isinstance(memory, memoryview | bytearray) else None
    return _Objects(TensorStore(records, owned, _place(map_location))).make(root)


def _place(map_location: Any) -> Place:
    """What `map_location` says, as a function."""
    if isinstance(map_location, Mapping):
        table = {str(source): str(target) for source, target in map_location.items()}
        return lambda memory, location: on_device(memory, table.get(location, location))
    if not callable(map_location):
        return placed_on(None if map_location is None else str(Device(map_location)))

    def ask(memory: Array, location: str) -> Array:
        given = UntypedStorage.of(memory)
        if (found := map_location(given, location)) is None:
            return on_device(memory, location)
        return memory if found is given else found._array.view(memory.dtype)

    return ask


def _read(memory: Source) -> tuple[pickled.Value, Records]:
    """The data in a file, and where its storages are."""
    if isinstance(memory, bytes | bytearray | memoryview):
        file = memoryview(memory)
        if is_legacy_checkpoint(file):
            return read_legacy_checkpoint(file)
    archive = Archive.open(memory)
    if archive.has("constants.pkl"):
        raise ArchiveError("the file is a TorchScript archive; read it with jit.load")
    return unpickle(archive.record("data.pkl"), "data", vocabulary=CHECKPOINT), archive


class _Objects:
    """Makes Python objects of a checkpoint's values; what is shared there is shared here."""

    def __init__(self, tensors: TensorStore) -> None:
        self._tensors = tensors
        self._made: dict[int, Any] = {}

    def make(self, value: pickled.Value) -> Any:
        match value:
            case pickled.TensorRef():
                return self._tensors.tensor(value)
            case pickled.DeviceRef():
                return Device(value.text)
            case pickled.DTypeRef():
                return value.dtype
            case pickled.SizeRef():
                return Size(value.sizes)
            case tuple():
                return tuple(map(self.make, value))
            case pickled.ParameterRef() | pickled.TaggedList() | pickled.TaggedDict():
                return self._shared(value)
        return value

    def _shared(self, value: pickled.ParameterRef | pickled.TaggedList | pickled.TaggedDict) -> Any:
        if id(value) in self._made:
            return self._made[id(value)]
        made: Any
        match value:
            case pickled.ParameterRef():
                made = Parameter(self._tensors.tensor(value.tensor), value.requires_grad)
            case pickled.TaggedList():
                made = [self.make(element) for element in value.elements]
            case pickled.TaggedDict():
                made = OrderedDict() if value.ordered else {}
                made.update((self.make(k), self.make(v)) for k, v in value.items.items())
                for name, attribute in value.attributes.items():
                    setattr(made, name, self.make(attribute))
        self._made[id(value)] = made
        return made


def save(
    obj: Any, f: str | os.PathLike[str] | IO[bytes], pickle_module: Any = None,
    pickle_protocol: int = 2, _use_new_zipfile_serialization: bool = True,
) -> None:  # fmt: skip
    """Write plain data with tensors (a state dict, a list of tensors, ...) to a checkpoint.

    Views of one memory are views of one storage in the file.

    Args:
        obj: the data.
        f: a path, or a binary file object.
        pickle_module: taken as PyTorch's; no object's own code is asked how to pickle it.
        pickle_protocol: taken as PyTorch's; always 2 is written, which every version reads.
        _use_new_zipfile_serialization: a zip is written in any case, with a warning if not asked.

    Raises:
        ArgumentError: `obj` holds something that is no plain data.
        ArchiveError: a tensor's strides, or an integer, cannot be written.
    """
    if not _use_new_zipfile_serialization:
        warnings.warn(_ONLY_ZIP, UserWarning, stacklevel=2)
    storages = StorageTable("data", [(t._array, t.dtype) for t in _tensors(obj, {})])
    text = CheckpointWriter().whole(_Values(storages).make(obj))
    if isinstance(f, str | os.PathLike):
        with replacing(f) as file:
            _write(file, Path(f).stem or "archive", text, storages)
    else:
        _write(f, "archive", text, storages)


def _write(file: IO[bytes], name: str, text: bytes, storages: StorageTable) -> None:
    out = ZipWriter(file, name)
    out.add("data.pkl", text)
    out.add("byteorder", sys.byteorder.encode())
    for record, data in storages.contents():
        out.add(record, data)
    out.add("version", _VERSION)
    out.close()


def _attributes(obj: object) -> dict[str, Any]:
    """What an OrderedDict has beside its items (a state dict: `_metadata`)."""
    return vars(obj) if isinstance(obj, OrderedDict) else {}


def _tensors(obj: Any, seen: dict[int, Any]) -> list[Tensor]:
    """Every tensor in plain data."""
    if isinstance(obj, Tensor):
        return [obj]
    if not isinstance(obj, (Mapping, list, tuple)) or id(obj) in seen:
        return []
    seen[id(obj)] = obj
    parts = [*obj]
    if isinstance(obj, Mapping):
        parts += [*obj.values(), *_attributes(obj).values()]
    return [tensor for part in parts for tensor in _tensors(part, seen)]


class _Values:
    """Makes values of `pickled` of Python's; what is shared stays shared."""

    def __init__(self, storages: StorageTable) -> None:
        self._storages = storages
        self._made: dict[int, tuple[Any, pickled.Value]] = {}

    def make(self, obj: Any) -> pickled.Value:
        if obj is None or isinstance(obj, bool | int | float | complex | str | bytes):
            return obj
        if isinstance(obj, DType):
            return pickled.DTypeRef(obj)
        if isinstance(obj, Device):
            return pickled.DeviceRef(str(obj))
        if isinstance(obj, Size):
            return pickled.SizeRef(tuple(obj))
        if isinstance(obj, tuple):
            return tuple(map(self.make, obj))
        if id(obj) not in self._made:
            self._made[id(obj)] = (obj, self._shared(obj))
        return self._made[id(obj)][1]

    def _shared(self, obj: Any) -> pickled.Value:
        if isinstance(obj, Tensor):
            ref = self._storages.ref_of(obj)
            if isinstance(obj, Parameter):
                return pickled.ParameterRef(ref, obj.requires_grad)
            return ref
        if isinstance(obj, list):
            return pickled.TaggedList([self.make(element) for element in obj])
        if isinstance(obj, dict):
            items = {self.make(k): self.make(v) for k, v in obj.items()}
            own = {k: self.make(v) for k, v in _attributes(obj).items()}
            return pickled.TaggedDict(items, "", isinstance(obj, OrderedDict), own)
        raise ArgumentError(
            f"save takes tensors, numbers, strings, lists, tuples and dicts, not "
            f"{type(obj).__name__}; of a module, save its state_dict()"
        )
