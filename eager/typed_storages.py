"""Memory as elements of one dtype (`x.storage()`): PyTorch's deprecated storages."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any, Literal

import numpy as np

from tensorscript.base.dtypes import BY_NAME, BY_WORD, DType
from tensorscript.base.errors import ArgumentError, OperatorError

from .modes import MODES
from .storage import Array, TensorBase, make, to_storage, value, wrap
from .storages import Storage, UntypedStorage, position, storage_of, text

_DEPRECATED = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the "
    "only storage class. This should only matter to you if you are using storages directly.  To "
    "access UntypedStorage directly, use tensor.untyped_storage() instead of tensor.storage()"
)


class TypedStorage(Storage):
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

    @property
    def _array(self) -> Array:  # type: ignore[override]  # that of the bytes, which may move
        return self._bytes._array

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes, one object for all that share it."""
        return self._bytes

    _untyped_storage = property(untyped)

    def _elements(self) -> Array:
        whole = self._array.size // self.dtype.itemsize * self.dtype.itemsize
        return self._array[:whole].view(self.dtype.numpy)

    def _numbers(self) -> Array:
        return value(make(self._elements(), self.dtype))

    def size(self) -> int:
        return self._array.size // self.dtype.itemsize

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
        return self._numbers()[position(index, self.size())].item()

    def __setitem__(self, index: int | slice, new: Any) -> None:
        self._elements()[position(index, self.size())] = to_storage(np.asarray(new), self.dtype)

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
        return text(
            self,
            f"torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size "
            f"{len(self)}",
        )


def typed_storage_of(tensor: TensorBase) -> TypedStorage:
    """The same as elements of the tensor's dtype, with PyTorch's warning."""
    warnings.warn(_DEPRECATED, UserWarning, stacklevel=3)
    return quiet_typed_storage_of(tensor)


def quiet_typed_storage_of(tensor: TensorBase) -> TypedStorage:
    """As `typed_storage_of`, without the warning: what libraries call."""
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
    memory = storage._array
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
