"""The two devices a host program runs on: the emulator, and a GPU through the driver."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorscript.base.accelerator import block_of, empty_on_gpu
from tensorscript.base.dtypes import DType, bfloat16
from tensorscript.base.records import dataclass

from .driver import Device
from .emit import ALIGN
from .emulate import Emulator
from .host import Sizes
from .scalars import Number


def _element(raw: Any, dtype: DType) -> Number:
    """A stored element as a number."""
    if dtype is bfloat16:
        return float((np.uint32(raw) << np.uint32(16)).view(np.float32))
    number: Number = raw.item()
    return number


def _stored(value: Number, dtype: DType) -> np.ndarray:
    """A number, already rounded to `dtype`, as an array of one stored element."""
    if dtype is bfloat16:
        return (np.array([value], np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return np.array([value], dtype.numpy)


class EmulatorLauncher:
    """Memory is NumPy arrays; kernels run in the emulator, with all its checks.

    Attributes:
        launches: kernels started so far.
    """

    def __init__(self, ptx: str) -> None:
        self.emulator = Emulator(ptx)
        self.launches = 0

    def allocate(self, count: int, dtype: DType) -> np.ndarray:
        return np.zeros(count, dtype.numpy)

    def release(self, handle: np.ndarray) -> None:
        """The array goes when nobody holds it."""

    def upload(self, array: np.ndarray) -> np.ndarray:
        view = np.ascontiguousarray(array).reshape(-1)
        if not view.flags.aligned:
            view = view.copy()
        view = view.view()
        view.flags.writeable = False
        return view

    def download(self, handle: np.ndarray, shape: tuple[int, ...], dtype: DType) -> np.ndarray:
        return handle[: math.prod(shape)].reshape(shape)

    def read(self, handle: np.ndarray, index: int, dtype: DType) -> Number:
        return _element(handle[index], dtype)

    def write(self, handle: np.ndarray, index: int, value: Number, dtype: DType) -> None:
        handle[index] = _stored(value, dtype)[0]

    def launch(self, name: str, grid: Sizes, block: Sizes, arguments: Sequence[Any]) -> None:
        self.launches += 1
        self.emulator.launch(name, grid, block, arguments)

    def synchronize(self) -> None:
        """The emulator is always done."""


@dataclass(frozen=True)
class Pointer:
    """Room on the GPU: its address and how many bytes it was allocated with. Room that is `lent`
    belongs to an argument."""

    address: int
    size: int
    lent: bool = False


class DriverLauncher:
    """Memory and kernels of a GPU. Room given back is kept for the next call of that size.

    Args:
        gives_shared: results go into memory that the GPU and the host share, as those of tensors on
            the GPU; else into arrays of the host. Arguments in such memory are read where they are.
    """

    def __init__(self, ptx: str, device: Device, gives_shared: bool = False) -> None:
        self.ptx = ptx
        self.device = device
        self._gives_shared = gives_shared
        self._spare: dict[int, list[Pointer]] = {}

    def _room(self, size: int) -> Pointer:
        if spare := self._spare.get(size):
            return spare.pop()
        return Pointer(self.device.allocate(size), size)

    def allocate(self, count: int, dtype: DType) -> Pointer:
        return self._room(count * dtype.itemsize)

    def release(self, handle: Pointer) -> None:
        if not handle.lent:
            self._spare.setdefault(handle.size, []).append(handle)

    def upload(self, array: np.ndarray) -> Pointer:
        array = np.ascontiguousarray(array)
        here = (block := block_of(array)) is not None and block.ordinal == self.device.ordinal
        if here and array.ctypes.data % ALIGN == 0:
            return Pointer(array.ctypes.data, array.nbytes, lent=True)
        pointer = self._room(array.nbytes)
        if here:  # a view that begins where no vector does
            self.device.copy(pointer.address, array.ctypes.data, array.nbytes)
            return pointer
        self.device.copy_in(pointer.address, array)
        return pointer

    def download(self, handle: Pointer, shape: tuple[int, ...], dtype: DType) -> np.ndarray:
        if not self._gives_shared:
            array = np.empty(shape, dtype.numpy)
            self.device.copy_out(array, handle.address)
            return array
        shared = empty_on_gpu(shape, dtype.numpy, self.device.ordinal)
        self.device.copy(shared.ctypes.data, handle.address, shared.nbytes)
        self.device.synchronize()
        return shared

    def read(self, handle: Pointer, index: int, dtype: DType) -> Number:
        cell = np.empty(1, dtype.numpy)
        self.device.copy_out(cell, handle.address + index * dtype.itemsize)
        return _element(cell[0], dtype)

    def write(self, handle: Pointer, index: int, value: Number, dtype: DType) -> None:
        self.device.copy_in(handle.address + index * dtype.itemsize, _stored(value, dtype))

    def launch(self, name: str, grid: Sizes, block: Sizes, arguments: Sequence[Any]) -> None:
        plain = [a.address if isinstance(a, Pointer) else a for a in arguments]
        self.device.start(self.ptx, name, grid, block, plain)

    def synchronize(self) -> None:
        self.device.synchronize()

    def close(self) -> None:
        """Free the spare room."""
        for pointers in self._spare.values():
            for pointer in pointers:
                self.device.release(pointer.address)
        self._spare.clear()
