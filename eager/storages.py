"""The memory that tensors view: as bytes (`x.untyped_storage()`) and as elements (`x.storage()`).

Two tensors share memory exactly if their storages have one address: programs that look for tied
weights compare `x.untyped_storage().data_ptr()`. Memory that tensors view keeps its size.
"""

from __future__ import annotations

import mmap
import os
import warnings
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any, Literal
from weakref import WeakValueDictionary

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tensorscript.base.array_memory import owner
from tensorscript.base.dtypes import BY_NAME, BY_WORD, DType
from tensorscript.base.errors import ArgumentError, DimensionError, OperatorError

from .device import CPU, device
from .modes import MODES
from .placement import array_on, beside, gpu_of, place_of
from .storage import Array, TensorBase, make, to_storage, value, wrap

_DEPRECATED = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the "
    "only storage class. This should only matter to you if you are using storages directly.  To "
    "access UntypedStorage directly, use tensor.untyped_storage() instead of tensor.storage()"
)
_FIXED = "Trying to resize storage that is not resizable"


class _Storage:
    """What both kinds of storage answer in the same way."""

    _memory: Array
    is_sparse = is_hpu = False

    def data_ptr(self) -> int:
        """The address of the first element."""
        return int(self._memory.__array_interface__["data"][0])

    _cdata = property(data_ptr)

    def nbytes(self) -> int:
        return self._memory.nbytes

    @property
    def device(self) -> device:
        return place_of(self._memory)

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
        there = array_on(self._memory, gpu_of(device))
        return self if there is self._memory else self._over(there)

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
            and isinstance(other, _Storage)
            and self.data_ptr() == other.data_ptr()
            and self.nbytes() == other.nbytes()
        )

    def __hash__(self) -> int:
        return hash(self.data_ptr())


class UntypedStorage(_Storage):
    """A piece of memory as bytes.

    `UntypedStorage(n)` has n bytes that are not initialised, `UntypedStorage([1, 2])` these bytes.
    """

    dtype = BY_NAME["uint8"]

    def __init__(self, content: int | Sequence[int] = 0, *, device: Any = None) -> None:
        plain = isinstance(content, int)
        made = np.empty(content, np.uint8) if plain else np.array(content, np.uint8)
        self._memory = made if device is None else array_on(made, gpu_of(device))

    @classmethod
    def of(cls, memory: Array) -> UntypedStorage:
        """The storage of an array that owns its memory, or all that it reaches in another's."""
        made = cls.__new__(cls)
        reach = sum((n - 1) * s for n, s in zip(memory.shape, memory.strides, strict=True))
        flat = as_strided(memory, (reach // memory.itemsize + 1 if memory.size else 0,),
                          (memory.itemsize,))  # fmt: skip
        made._memory = flat.view(np.uint8)
        return made

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The bytes of a file, mapped; what is written to `shared` ones is written to the file,
        which is made as long as asked.

        Raises:
            OperatorError: the file is shorter, and not `shared`.
        """
        with open(filename, "a+b" if shared else "rb") as file:
            have = file.seek(0, os.SEEK_END)
            if have < nbytes:
                if not shared:
                    raise OperatorError(
                        f"unable to mmap {nbytes} bytes from file <{filename}>: the file has {have}"
                    )
                file.truncate(nbytes)
        with open(filename, "r+b" if shared else "rb") as file:
            access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
            mapped = mmap.mmap(file.fileno(), nbytes or have, access=access)
        return cls.of(np.frombuffer(mapped, np.uint8))

    def size(self) -> int:
        return self._memory.size

    __len__ = size

    def element_size(self) -> int:
        return 1

    def type(self) -> str:
        return "torch.storage.UntypedStorage"

    def untyped(self) -> UntypedStorage:
        return self

    def tolist(self) -> list[int]:
        """The bytes."""
        return self._memory.tolist()  # type: ignore[no-any-return]  # of one dimension

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __getitem__(self, index: int | slice) -> Any:
        """A byte, or the storage of a part."""
        found = self._memory[_position(index, self._memory.size)]
        return UntypedStorage.of(found) if isinstance(index, slice) else int(found)

    def __setitem__(self, index: int | slice, new: int) -> None:
        self._memory[_position(index, self._memory.size)] = new

    def fill_(self, new: int) -> UntypedStorage:
        self._memory[...] = new
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
        self._memory[...] = source.untyped()._memory
        return self

    def clone(self) -> UntypedStorage:
        return UntypedStorage.of(beside(self._memory.copy(), self._memory))

    def _over(self, memory: Array) -> UntypedStorage:
        return UntypedStorage.of(memory)

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, Any]) -> UntypedStorage:
        return self.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        """Bytes, and the device to put them on."""
        return _restored, (array_on(self._memory, None), str(self.device))

    def byteswap(self, dtype: DType) -> None:
        """Turn the bytes of each number of `dtype` around, in place."""
        width = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
        turned = self._memory.reshape(-1, width)
        turned[...] = turned[:, ::-1].copy()

    def resize_(self, size: int) -> UntypedStorage:
        """The storage itself, if it has that many bytes.

        Raises:
            OperatorError: another number of bytes: tensors may view the memory.
        """
        if size != self._memory.size:
            raise OperatorError(_FIXED)
        return self

    def __repr__(self) -> str:
        return _text(
            self, f"torch.storage.UntypedStorage(device={self.device}) of size {len(self)}"
        )


def _restored(memory: Array, where: str) -> UntypedStorage:
    return UntypedStorage.of(array_on(memory, gpu_of(where)))


class TypedStorage(_Storage):
    """A piece of memory as elements of one dtype; deprecated, as in PyTorch.

    `TypedStorage(n, dtype=...)` has n elements that are not initialised, `TypedStorage([1., 2.])`
    these, `TypedStorage(wrap_storage=storage, dtype=...)` shares the memory of another.
    """

    def __init__(
        self, content: int | Sequence[Any] = 0, *, dtype: DType | None = None, device: Any = None,
        wrap_storage: UntypedStorage | None = None,
    ) -> None:  # fmt: skip
        self.dtype = dtype or MODES.default_dtype
        if wrap_storage is not None:
            self._bytes = wrap_storage
        elif isinstance(content, int):
            self._bytes = UntypedStorage(content * self.dtype.itemsize, device=device)
        else:
            elements = np.array(to_storage(np.asarray(content), self.dtype))
            self._bytes = UntypedStorage.of(elements.view(np.uint8))
            self._bytes = self._bytes if device is None else self._bytes.to(device=device)
        self._memory = self._bytes._memory

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes, one object for all that share it."""
        return self._bytes

    _untyped_storage = property(untyped)

    def _elements(self) -> Array:
        whole = self._memory.size // self.dtype.itemsize * self.dtype.itemsize
        return self._memory[:whole].view(self.dtype.numpy)

    def _numbers(self) -> Array:
        return value(make(self._elements(), self.dtype))

    def size(self) -> int:
        return self._memory.size // self.dtype.itemsize

    __len__ = size

    def element_size(self) -> int:
        return self.dtype.itemsize

    def type(self, dtype: DType | None = None) -> Any:
        """The name of the type, or the elements in another dtype."""
        if dtype is None:
            return f"torch.{self.dtype.word}Storage"
        made = wrap(self._numbers(), dtype)._array
        return TypedStorage(wrap_storage=UntypedStorage.of(made), dtype=dtype)

    def pickle_storage_type(self) -> str:
        return f"{self.dtype.word}Storage"

    def tolist(self) -> list[Any]:
        return self._numbers().tolist()  # type: ignore[no-any-return]  # of one dimension

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: int) -> Any:
        """One element.

        Raises:
            OperatorError: a slice.
            DimensionError: out of range.
        """
        if isinstance(index, slice):
            raise OperatorError("slices are only supported in UntypedStorage.__getitem__")
        return self._numbers()[_position(index, self.size())].item()

    def __setitem__(self, index: int | slice, new: Any) -> None:
        self._elements()[_position(index, self.size())] = to_storage(np.asarray(new), self.dtype)

    def fill_(self, new: Any) -> TypedStorage:
        self._elements()[...] = to_storage(np.asarray(new), self.dtype)
        return self

    def copy_(self, source: TypedStorage, non_blocking: bool = False) -> TypedStorage:
        self._elements()[...] = to_storage(source._numbers(), self.dtype)
        return self

    def _over(self, memory: Array) -> TypedStorage:
        return TypedStorage(wrap_storage=UntypedStorage.of(memory), dtype=self.dtype)

    def clone(self) -> TypedStorage:
        return TypedStorage(wrap_storage=self.untyped().clone(), dtype=self.dtype)

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, Any]) -> TypedStorage:
        return TypedStorage(wrap_storage=deepcopy(self._bytes, memo), dtype=self.dtype)

    def resize_(self, size: int) -> TypedStorage:
        """As `UntypedStorage.resize_`, in elements."""
        self.untyped().resize_(size * self.dtype.itemsize)
        return self

    def __getattr__(self, name: str) -> Any:
        """`storage.half()`: the elements in the dtype of that name."""
        word = name.title().replace("_", "")
        if name.startswith("_") or (dtype := BY_NAME.get(name) or BY_WORD.get(word)) is None:
            raise AttributeError(f"'TypedStorage' object has no attribute '{name}'")
        return lambda: self.type(dtype)

    def __repr__(self) -> str:
        return _text(
            self,
            f"torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size "
            f"{len(self)}",
        )


def _position(index: int | slice, size: int) -> int | slice:
    if isinstance(index, int) and not -size <= index < size:
        raise DimensionError(f"index {index} out of range for storage of size {size}")
    return index


def _text(storage: UntypedStorage | TypedStorage, last: str) -> str:
    """An element a line, then what the storage is."""
    lines = [f" {x}" for x in storage.tolist()]
    return "\n".join([*lines, f"[{last}]"])


_IN_USE: WeakValueDictionary[tuple[int, int], UntypedStorage] = WeakValueDictionary()
"""Storages that the program holds, by address and size: each keeps its memory, and so its place."""


def storage_of(tensor: TensorBase) -> UntypedStorage:
    """All of the memory that `tensor` is a view of; one object as long as that is in use."""
    memory = owner(tensor._array)
    place = memory.__array_interface__["data"][0], memory.nbytes
    if (known := _IN_USE.get(place)) is None:
        known = _IN_USE[place] = UntypedStorage.of(memory)
    return known


def typed_storage_of(tensor: TensorBase) -> TypedStorage:
    """The same as elements of the tensor's dtype, with PyTorch's warning."""
    warnings.warn(_DEPRECATED, UserWarning, stacklevel=3)
    return TypedStorage(wrap_storage=storage_of(tensor), dtype=tensor.dtype)


def is_storage(obj: object) -> bool:
    return isinstance(obj, (UntypedStorage, TypedStorage))


def elements_of(storage: UntypedStorage | TypedStorage, dtype: DType) -> Array:
    """The memory of `storage` as elements for a tensor of `dtype`.

    Raises:
        OperatorError: a storage of elements of another dtype.
    """
    if isinstance(storage, TypedStorage) and storage.dtype is not dtype:
        raise OperatorError(
            f"Expected a Storage of type {dtype.word} or an UntypedStorage, but got type "
            f"{storage.dtype.word} for argument 1 'storage'"
        )
    memory = storage._memory
    return memory[: memory.size // dtype.itemsize * dtype.itemsize].view(dtype.numpy)


class _OfDType(type):
    """`FloatStorage`: a class whose instances are the typed storages of one dtype."""

    dtype: DType

    def __instancecheck__(cls, found: object) -> bool:
        return isinstance(found, TypedStorage) and found.dtype is cls.dtype

    def __call__(cls, content: int | Sequence[Any] = 0) -> TypedStorage:
        """Elements that are not initialised, or those of a sequence.

        Raises:
            ArgumentError: neither a number nor a sequence.
        """
        if not isinstance(content, (int, Sequence)):
            raise ArgumentError(f"{cls.__name__}() takes a size or a sequence")
        return TypedStorage(content, dtype=cls.dtype)

    def from_buffer(
        cls, buffer: Any, byte_order: str = "native", count: int = -1, offset: int = 0
    ) -> TypedStorage:
        """A copy of `count` elements from `offset` bytes on (-1: of all) of a buffer.

        Raises:
            ValueError: the buffer has fewer, or `byte_order` is not native, little or big.
        """
        if byte_order not in _BYTE_ORDERS:
            raise ValueError(
                f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')"
            )
        stored = cls.dtype.numpy.newbyteorder(_BYTE_ORDERS[byte_order])
        have = (len(memoryview(buffer).cast("B")) - offset) // stored.itemsize
        if count > have:
            raise ValueError(
                f"buffer has only {have} elements after offset {offset}, but specified a size of "
                f"{count}"
            )
        found = np.frombuffer(buffer, stored, have if count < 0 else count, offset)
        memory = found.astype(cls.dtype.numpy).view(np.uint8)
        return TypedStorage(wrap_storage=UntypedStorage.of(memory), dtype=cls.dtype)

    def from_file(cls, filename: str, shared: bool = False, size: int = 0) -> TypedStorage:
        """As `UntypedStorage.from_file`, of that many elements."""
        mapped = UntypedStorage.from_file(filename, shared, size * cls.dtype.itemsize)
        return TypedStorage(wrap_storage=mapped, dtype=cls.dtype)


_BYTE_ORDERS: dict[str, Literal["=", "<", ">"]] = {"native": "=", "little": "<", "big": ">"}

STORAGE_WORDS = (
    "BFloat16", "Bool", "Byte", "Char", "ComplexDouble", "ComplexFloat", "Double", "Float", "Half",
    "Int", "Long", "Short",
)  # fmt: skip
CLASSES: dict[str, Any] = {
    f"{word}Storage": _OfDType(
        f"{word}Storage", (), {"dtype": BY_WORD[word], "__module__": "torch"}
    )
    for word in STORAGE_WORDS
}


def __getattr__(name: str) -> Any:
    if (found := CLASSES.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found
