"""The memory that tensors view, as bytes (`x.untyped_storage()`).

Two tensors share memory exactly if their storages have one address: programs that look for tied
weights compare `x.untyped_storage().data_ptr()`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from tensorscript.base.array_memory import owner
from tensorscript.base.dtypes import BY_NAME, DType
from tensorscript.base.errors import DimensionError, OperatorError

from .device import CPU, device
from .growth import FIXED, Holder, address, as_bytes, keeps_size
from .growth import resize as resize_memory
from .mapped_files import mapped
from .placement import array_on, beside, gpu_of, place_of
from .storage import Array, TensorBase


class Storage:
    """What both kinds of storage answer in the same way."""

    _array: Array
    is_sparse = is_hpu = False

    def data_ptr(self) -> int:
        """The address of the first element."""
        return address(self._array)

    _cdata = property(data_ptr)

    def nbytes(self) -> int:
        return self._array.nbytes

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def resizable(self) -> bool:
        """Whether the memory is of our own, and nobody but tensors holds it."""
        return not keeps_size(self._array)

    @property
    def device(self) -> device:
        return place_of(self._array)

    @property
    def is_cuda(self) -> bool:
        return self.device is not CPU

    def cpu(self) -> Any:
        """The storage on the CPU: itself, or a copy."""
        return self.to(device=CPU)

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Any:
        """The storage on a GPU: itself, or a copy.

        Raises:
            NoDeviceError: there is no GPU.
        """
        return self.to(device="cuda" if device is None else device)

    def to(self, *, device: Any, non_blocking: bool = False) -> Any:
        """The storage on a device: itself, or a copy."""
        there = array_on(self._array, gpu_of(device))
        return self if there is self._array else self._over(there)

    def _over(self, memory: Array) -> Any:
        """A storage of the same kind over these bytes."""
        raise NotImplementedError

    def get_device(self) -> int:
        """The number of the GPU; -1 on the CPU."""
        found = self.device.index
        return -1 if found is None else found

    def is_shared(self) -> bool:
        """Whether other processes see the memory: never."""
        return False

    def share_memory_(self) -> Any:
        """The storage itself: programs run in one process."""
        return self

    def is_pinned(self, device: Any = "cuda") -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        """Whether both are the same memory."""
        return (
            type(self) is type(other)
            and isinstance(other, Storage)
            and self.data_ptr() == other.data_ptr()
            and self.nbytes() == other.nbytes()
        )

    def __hash__(self) -> int:
        return hash(self.data_ptr())


class UntypedStorage(Storage, Holder):
    """A piece of memory as bytes.

    `UntypedStorage(n)` has n bytes that are not initialised, `UntypedStorage([1, 2])` these bytes.
    """

    dtype = BY_NAME["uint8"]

    def __init__(self, content: int | Sequence[int] = 0, *, device: Any = None) -> None:
        plain = isinstance(content, int)
        made = np.empty(content, np.uint8) if plain else np.array(content, np.uint8)
        self._array = made if device is None else array_on(made, gpu_of(device))

    @classmethod
    def of(cls, memory: Array) -> UntypedStorage:
        """The storage of an array that owns its memory, or all that it reaches in another's."""
        made = cls.__new__(cls)
        made._array = as_bytes(memory)
        return made

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The bytes of a file, mapped (see `mapped_files`)."""
        return cls.of(mapped(filename, shared, nbytes))

    def size(self) -> int:
        return self._array.size

    __len__ = size

    def element_size(self) -> int:
        return 1

    def type(self) -> str:
        return "torch.storage.UntypedStorage"

    def untyped(self) -> UntypedStorage:
        return self

    def tolist(self) -> list[int]:
        """The bytes."""
        return self._array.tolist()  # type: ignore[no-any-return]  # of one dimension

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __getitem__(self, index: int | slice) -> Any:
        """A byte, or the storage of a part."""
        found = self._array[position(index, self._array.size)]
        return UntypedStorage.of(found) if isinstance(index, slice) else int(found)

    def __setitem__(self, index: int | slice, new: int) -> None:
        self._array[position(index, self._array.size)] = new

    def fill_(self, new: int) -> UntypedStorage:
        self._array[...] = new
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool = False) -> UntypedStorage:
        """Take over the bytes of `source`.

        Raises:
            OperatorError: it has another number of them.
        """
        if source.nbytes() != self.nbytes():
            raise OperatorError(
                f"size does not match, self was {self.nbytes()} bytes but src was "
                f"{source.nbytes()} bytes"
            )
        self._array[...] = source.untyped()._array
        return self

    def clone(self) -> UntypedStorage:
        return UntypedStorage.of(beside(self._array.copy(), self._array))

    def _over(self, memory: Array) -> UntypedStorage:
        return UntypedStorage.of(memory)

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, Any]) -> UntypedStorage:
        return self.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        """Bytes, and the device to put them on."""
        return _restored, (array_on(self._array, None), str(self.device))

    def byteswap(self, dtype: DType) -> None:
        """Turn the bytes of each number of `dtype` around, in place."""
        width = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
        turned = self._array.reshape(-1, width)
        turned[...] = turned[:, ::-1].copy()

    def resize_(self, size: int) -> UntypedStorage:
        """Make it that many bytes, for all tensors that view it.

        Raises:
            OperatorError: it is a part of another storage, or as `resize`.
        """
        if size == self._array.size:
            return self
        if self._array.size != as_bytes(owner(self._array)).size:
            raise OperatorError(FIXED)
        resize(self, size)
        return self

    def __repr__(self) -> str:
        return text(self, f"torch.storage.UntypedStorage(device={self.device}) of size {len(self)}")


def _restored(memory: Array, where: str) -> UntypedStorage:
    return UntypedStorage.of(array_on(memory, gpu_of(where)))


def position(index: int | slice, size: int) -> int | slice:
    if isinstance(index, int) and not -size <= index < size:
        raise DimensionError(f"index {index} out of range for storage of size {size}")
    return index


def text(storage: Any, last: str) -> str:
    """An element a line, then what the storage is."""
    lines = [f" {x}" for x in storage.tolist()]
    return "\n".join([*lines, f"[{last}]"])


_IN_USE: WeakValueDictionary[tuple[int, int], UntypedStorage] = WeakValueDictionary()
"""Storages that the program holds, by address and size: each keeps its memory, and so its place."""


def _place(memory: Array) -> tuple[int, int]:
    return address(memory), memory.nbytes


def storage_of(tensor: TensorBase) -> UntypedStorage:
    """All of the memory that `tensor` is a view of; one object as long as that is in use."""
    memory = owner(tensor._array)
    place = _place(memory)
    if (known := _IN_USE.get(place)) is None:
        known = _IN_USE[place] = UntypedStorage.of(memory)
    return known


def resize(holder: TensorBase | UntypedStorage, size: int) -> None:
    """Give the memory of `holder` that many bytes, for all tensors and storages over it.

    Raises:
        OperatorError: the memory keeps its size: NumPy or others share it, a tensor reaches past
            the new end, or `gc.freeze()` hides who shares it.
    """
    before = _place(owner(holder._array))
    resize_memory(holder, size)
    if (known := _IN_USE.pop(before, None)) is not None:
        _IN_USE[_place(owner(known._array))] = known


def make_room(tensor: TensorBase, count: int) -> int:
    """The byte of its memory where `tensor` starts, after which `count` elements fit now.

    Raises:
        OperatorError: as `resize`.
    """
    start, have = _start_and_size(tensor)
    need = start + count * tensor.dtype.itemsize
    if count and need > have:
        resize(tensor, need)
    return start


def _start_and_size(tensor: TensorBase) -> tuple[int, int]:
    memory = owner(tensor._array)
    return address(tensor._array) - address(memory), as_bytes(memory).size
