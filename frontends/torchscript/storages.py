"""Storages of the tensors that are saved: the memory they share is written once.

As in PyTorch, a view is saved with the whole storage it is a view of, so that what shared memory
still does when it is loaded.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import field, replace

import numpy as np
from numpy.lib.array_utils import byte_bounds

from tensorscript.base.array_memory import owner
from tensorscript.base.dtypes import DType
from tensorscript.base.errors import ArchiveError
from tensorscript.base.records import dataclass
from tensorscript.eager.growth import address
from tensorscript.eager.placement import place_of
from tensorscript.eager.storage import TensorBase

from .archive import Array
from .pickled import StorageRef, TensorRef


@dataclass
class _Storage:
    """A range of addresses that is one storage.

    Attributes:
        owners: the arrays in it that are views of no other array.
        key: its name in the archive, once a tensor in it was referred to.
    """

    start: int
    stop: int
    owners: list[Array] = field(default_factory=list)
    key: str = ""

    def contents(self) -> memoryview:
        """Its bytes: of the memory itself where one array is all of it."""
        whole = self.owners[0]
        if whole.nbytes == self.stop - self.start and whole.flags.c_contiguous:
            return whole.reshape(-1).view(np.uint8).data
        copied = np.zeros(self.stop - self.start, np.uint8)
        for whole in self.owners:
            start = byte_bounds(whole)[0] - self.start
            np.ndarray(whole.shape, whole.dtype, copied, start, whole.strides)[...] = whole
        return copied.data


class StorageTable:
    """Gives tensors their references, and the contents of the storages behind them.

    Args:
        prefix: the folder of the storages in the archive: `data` or `constants`.
        arrays: every array that will be asked for, with its dtype. Arrays that overlap, or are
            views of one array, share a storage; different dtypes never do.
    """

    def __init__(self, prefix: str, arrays: Iterable[tuple[Array, DType]]) -> None:
        self._prefix = prefix
        found: dict[DType, list[_Storage]] = {}
        for array, dtype in arrays:
            if (memory := owner(array)).size:
                found.setdefault(dtype, []).append(_Storage(*byte_bounds(memory), [memory]))
        self._storages = {dtype: _merged(storages) for dtype, storages in found.items()}
        self._used: list[_Storage] = []

    def ref_of(self, tensor: TensorBase) -> TensorRef:
        """The reference to a tensor.

        Raises:
            ArchiveError: its strides cannot be held.
        """
        made = self.ref(tensor._array, tensor.dtype, tensor.requires_grad)
        if (sign := tensor._sign) is None:
            return made
        bits = {"conj": sign.conjugated, "neg": sign.negated}
        return replace(made, sign=frozenset(bit for bit, is_set in bits.items() if is_set))

    def ref(self, array: Array, dtype: DType, requires_grad: bool = False) -> TensorRef:
        """The reference to an array; its storage gets the next key if it has none yet.

        Raises:
            ArchiveError: the array has strides that archives cannot hold.
        """
        if any(s < 0 or s % dtype.itemsize for s in array.strides):
            raise ArchiveError(f"a tensor with strides of {array.strides} bytes cannot be saved")
        steps = tuple(s // dtype.itemsize for s in array.strides)
        start = byte_bounds(array)[0] if array.size else address(array)
        storage = self._storage(array, dtype)
        if not storage.key:
            storage.key = str(len(self._used))
            self._used.append(storage)
        numel = (storage.stop - storage.start) // dtype.itemsize
        ref = StorageRef(self._prefix, storage.key, dtype, numel, str(place_of(array)))
        offset = (start - storage.start) // dtype.itemsize
        return TensorRef(ref, offset, array.shape, steps, requires_grad)

    def _storage(self, array: Array, dtype: DType) -> _Storage:
        """The storage of an array; one of its own without bytes where there is no memory."""
        memory = owner(array)
        start = byte_bounds(memory)[0] if memory.size else address(array)
        if not memory.size:
            return _Storage(start, start, [memory])
        storages = self._storages[dtype]
        return storages[bisect_right(storages, start, key=lambda s: s.start) - 1]

    def contents(self) -> Iterator[tuple[str, memoryview]]:
        """(record name, bytes) of every storage that was referred to, in order."""
        for storage in self._used:
            yield f"{self._prefix}/{storage.key}", storage.contents()


def _merged(storages: list[_Storage]) -> list[_Storage]:
    """Overlapping ranges made one, in order of address; the largest owner first."""
    out: list[_Storage] = []
    for storage in sorted(storages, key=lambda s: (s.start, -s.stop)):
        if out and storage.start < out[-1].stop:
            out[-1].stop = max(out[-1].stop, storage.stop)
            out[-1].owners += storage.owners
        else:
            out.append(storage)
    return out
