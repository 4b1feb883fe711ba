"""Tensors of an archive: one writable memory a storage, shared by all its tensors.

A storage that lies in the file as it is used is mapped copy-on-write: its pages are the file's
until a buffer is updated in place, and the file never changes.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from typing import IO

import numpy as np

from tensorscript.base.errors import ArchiveError, NoDeviceError, OperatorError
from tensorscript.eager.kernels.sparse import coo, csr
from tensorscript.eager.placement import array_on, gpu_of
from tensorscript.eager.storage import Quantizer, Sign
from tensorscript.eager.tensor import Tensor

from .archive import Array, Records, Source, load_storage, load_tensor
from .pickled import QuantizerRef, SparseRef, StorageRef, TensorRef


def open_private(source: Source) -> memoryview | bytearray | Source:
    """A source whose bytes are ours to change: a private mapping of a file, or a copy in memory.

    A path that cannot be mapped (missing, a directory, empty) is given back, for the reader to
    refuse.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        return source
    if not isinstance(source, str | os.PathLike):
        return _read_all(source)
    path = os.fspath(source)
    if not os.path.isfile(path) or os.path.getsize(path) == 0:
        return source
    with open(path, "rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))


def _read_all(file: IO[bytes]) -> bytearray:
    """The rest of a file object in memory of our own, read in place where its size is known."""
    if not (hasattr(file, "readinto") and hasattr(file, "seekable") and file.seekable()):
        return _as_bytes(file.read())  # a pipe, or an object that can only read
    start = file.tell()
    data = bytearray(file.seek(0, os.SEEK_END) - start)
    file.seek(start)
    rest = memoryview(data)
    while rest and (count := file.readinto(rest)):
        rest = rest[count:]
    if rest:
        raise ArchiveError("the file object ended before its size")
    return data


def _as_bytes(data: object) -> bytearray:
    if not isinstance(data, bytes | bytearray | memoryview):
        raise ArchiveError("the file object must be opened in binary mode")
    return bytearray(data)


_NO_GPU = (
    "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If "
    "you are running on a CPU-only machine, please use torch.load with "
    "map_location=torch.device('cpu') to map your storages to the CPU."
)

Place = Callable[[Array, str], Array]
"""Puts the memory of a storage where it is to be, given the location that the file names."""


def on_device(memory: Array, location: str) -> Array:
    """The memory of a storage on a device: itself, or a copy.

    Raises:
        ArchiveError: the device is not there.
    """
    try:
        return array_on(memory, gpu_of(location))
    except NoDeviceError as error:
        raise ArchiveError(_NO_GPU) from error
    except OperatorError as error:
        raise ArchiveError(
            f"Attempting to deserialize object on {location}: {error.message}. "
            "Use map_location='cpu' to map the storages to the CPU."
        ) from error


def placed_on(device: str | None) -> Place:
    """Everything goes to one device; for None it goes where the file says."""
    return lambda memory, location: on_device(memory, device or location)


class TensorStore:
    """Makes the tensors of one archive.

    Args:
        archive: where the storages are.
        memory: the bytes that the archive was read from, if they may be written.
        place: puts the memory of a storage where it is to be.
    """

    def __init__(
        self, archive: Records, memory: memoryview | bytearray | None, place: Place
    ) -> None:
        self._archive = archive
        self._memory = None if memory is None else memoryview(memory)
        self._address = 0 if memory is None else np.frombuffer(memory, np.uint8).ctypes.data
        self._place = place
        self._storages: dict[str, tuple[StorageRef, Array]] = {}
        self._tensors: dict[int, tuple[TensorRef, Tensor]] = {}
        self._sparse: dict[int, tuple[SparseRef, Tensor]] = {}

    def tensor(self, ref: TensorRef) -> Tensor:
        """The tensor of `ref`; the same object for the same reference.

        Raises:
            ArchiveError: damaged data, another element type than the storage's other tensors
                have, or a device that is not there.
        """
        if (known := self._tensors.get(id(ref))) is not None:
            return known[1]
        made = Tensor(load_tensor(ref, self._storage(ref.storage)), ref.storage.dtype)
        if ref.quantizer is not None:
            made._quantizer = self._quantizer(ref.quantizer)
        if ref.sign:
            made._sign = Sign("conj" in ref.sign, "neg" in ref.sign)
        made.requires_grad = ref.requires_grad
        self._tensors[id(ref)] = (ref, made)
        return made

    def sparse(self, ref: SparseRef) -> Tensor:
        """The sparse tensor of `ref`; the same object for the same reference.

        Raises:
            ArchiveError: as `tensor`, or parts that do not fit each other.
        """
        if (known := self._sparse.get(id(ref))) is not None:
            return known[1]
        first, *between, values = map(self.tensor, ref.parts)
        try:
            made: Tensor = (
                csr(first._array, between[0]._array, values, ref.size)
                if ref.is_by_rows
                else coo(first._array, values, ref.size)
            )
        except NoDeviceError as error:
            raise ArchiveError(_NO_GPU) from error
        except OperatorError as error:
            raise ArchiveError(f"the archive holds a malformed sparse tensor: {error}") from error
        made.requires_grad = ref.requires_grad
        self._sparse[id(ref)] = (ref, made)
        return made

    def _quantizer(self, ref: QuantizerRef) -> Quantizer:
        scale, zero = ref.scale, ref.zero_point
        if isinstance(scale, TensorRef) and isinstance(zero, TensorRef):
            return Quantizer(self.tensor(scale)._array, self.tensor(zero)._array, ref.axis)
        return Quantizer(np.array(scale, np.float64), np.array(zero, np.int64))

    def _storage(self, ref: StorageRef) -> Array:
        if (known := self._storages.get(ref.record)) is not None:
            if known[0].dtype is not ref.dtype or known[0].numel != ref.numel:
                raise ArchiveError(f"storage {ref.record!r} has two element types or sizes")
            return known[1]
        # NumPy's own dtype object, not an equal one that names its byte order: compiled code knows
        # arrays by it.
        array = self._writable(load_storage(self._archive, ref)).view(ref.dtype.numpy)
        array = self._place(array, ref.location)
        self._storages[ref.record] = (ref, array)
        return array

    def _writable(self, array: Array) -> Array:
        """`array`, or the same elements in memory that may be written."""
        if array.base is None:
            array.flags.writeable = True
            return array
        memory = self._memory
        if memory is not None and not memory.readonly:
            offset = array.ctypes.data - self._address
            if offset >= 0 and offset + array.nbytes <= memory.nbytes:
                # Not a view of one array over the whole file: each storage is an array of its own.
                return np.frombuffer(memory, array.dtype, array.size, offset)
        return array.copy()
