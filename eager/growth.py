"""Memory that changes its size: everyone who holds it moves to other memory together.

Tensors and storages hold NumPy arrays, which cannot move. Where memory grows, those over it are
found among the objects that Python's garbage collector knows, and each is put at its place in new
memory: a search of some milliseconds, but no tensor has to be registered when it is made, and
memory that one tensor holds alone grows without it. Memory that came from others, or was handed to
them (NumPy arrays, DLPack, mapped files), keeps its size, as in PyTorch.
"""

from __future__ import annotations

import gc
from sys import getrefcount
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tensorscript.base.array_memory import owner
from tensorscript.base.dtypes import uint8
from tensorscript.base.errors import OperatorError

from .placement import beside
from .storage import Array, TensorBase

FIXED = "Trying to resize storage that is not resizable"
_FROZEN = (
    "Trying to resize storage that other tensors may share, which gc.freeze() hides: call "
    "gc.unfreeze() first"
)


class Holder:
    """An object beside tensors whose `_array` is memory, or a view of it."""

    _array: Array


_FIXED_SIZE: WeakValueDictionary[int, Array] = WeakValueDictionary()
"""Memory that others hold, too, by the identity of the array that owns it."""


def keep_size(a: Array) -> Array:
    """`a`, whose memory keeps its size from now on."""
    memory = a if a.base is None else owner(a)
    _FIXED_SIZE[id(memory)] = memory
    return a


def keeps_size(a: Array) -> bool:
    """Whether the memory under `a` keeps its size."""
    return id(owner(a)) in _FIXED_SIZE


def as_bytes(memory: Array) -> Array:
    """All bytes that an array reaches, in one dimension."""
    if memory.dtype == np.uint8 and memory.ndim == 1 and memory.strides == (1,):
        return memory
    reach = sum((n - 1) * s for n, s in zip(memory.shape, memory.strides, strict=True))
    count = reach // memory.itemsize + 1 if memory.size else 0
    return as_strided(memory, (count,), (memory.itemsize,)).view(np.uint8)


def resize(holder: TensorBase | Holder, size: int) -> list[TensorBase | Holder]:
    """Give the memory of `holder` that many bytes, and say who holds it.

    Raises:
        OperatorError: the memory keeps its size, one of the holders reaches past it, or they
            cannot be found.
    """
    if keeps_size(holder._array):
        raise OperatorError(FIXED)
    found = [holder] if _is_alone(holder) else _holders(owner(holder._array))
    old = as_bytes(owner(holder._array))
    new = beside(np.empty(size, np.uint8), old)
    kept = min(size, old.size)
    new[:kept] = old[:kept]
    moved = [_moved(each, old, new) for each in found]
    for each, array in zip(found, moved, strict=True):
        each._array = array
    return found


def address(a: Array) -> int:
    return int(a.__array_interface__["data"][0])


class _Empty:
    """An array without elements, whose steps may lead out of the memory where it starts."""

    def __init__(
        self, base: Array, start: int, dtype: np.dtype[Any], shape: tuple[int, ...],
        steps: tuple[int, ...],
    ) -> None:  # fmt: skip
        self.base = base
        self.__array_interface__ = {
            "data": (address(base) + start, False), "shape": shape, "strides": steps,
            "typestr": dtype.str, "version": 3,
        }  # fmt: skip


def placed_at(
    memory: Array, start: int, like: Array, shape: tuple[int, ...], steps: tuple[int, ...]
) -> Array:
    """Elements such as those of `like` from a byte of `memory` on, in steps in bytes."""
    if 0 in shape:
        return np.asarray(_Empty(memory, start, like.dtype, shape, steps))
    made = np.ndarray(shape, like.dtype, memory, start, steps)
    made.flags.writeable = like.flags.writeable
    return made


def _moved(holder: TensorBase | Holder, old: Array, new: Array) -> Array:
    """What `holder` shows of `old`, in `new`."""
    a = holder._array
    if isinstance(holder, Holder) and a.size == old.size:
        return new
    start = address(a) - address(old)
    reach = sum((n - 1) * s for n, s in zip(a.shape, a.strides, strict=True)) + a.itemsize
    if a.size and start + reach > new.size:
        raise OperatorError(
            f"Trying to resize storage to {new.size} bytes, where a tensor of sizes "
            f"{list(a.shape)} reaches up to byte {start + reach}"
        )
    return placed_at(new, start if a.size else min(start, new.size), a, a.shape, a.strides)


def _holders(memory: Array) -> list[TensorBase | Holder]:
    """Tensors and storages over the memory that an array owns.

    Raises:
        OperatorError: the garbage collector hides objects.
    """
    if gc.get_freeze_count():
        raise OperatorError(_FROZEN)
    return [
        each for each in gc.get_objects()
        if issubclass(type(each), (TensorBase, Holder)) and _is_over(each, memory)
    ]  # fmt: skip


def _is_over(holder: Any, memory: Array) -> bool:
    """Whether it shows that memory; what is still being made shows none."""
    a = getattr(holder, "_array", None)
    return isinstance(a, np.ndarray) and owner(a) is memory


def _is_alone(holder: TensorBase | Holder) -> bool:
    """Whether nobody else holds the array of `holder`, nor what that is a view of."""
    if getrefcount(holder._array) > _ONE:
        return False
    link: Any = holder._array
    while (below := getattr(link, "base", None)) is not None:
        if getrefcount(below) > _ONE + 1:  # `link` holds it, and the variable
            return False
        link = below
    return True


_SAMPLE = TensorBase(np.empty(1, np.uint8), uint8)
_ONE = getrefcount(_SAMPLE._array)
"""What `getrefcount` says of an array that one tensor holds."""
