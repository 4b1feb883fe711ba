"""GPUs as the rest of the house sees them: what a driver offers, and memory that it shares.

Tensors of a GPU lie in memory that the GPU and the host both address, at one address (CUDA's
managed memory): the driver moves pages to the side that asks, and nobody else keeps two copies in
step. To NumPy such memory is an array like any other whose base is a `Block`, which is how a view,
however it was made, knows where it lives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from typing import Any, Protocol
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from .array_memory import owner
from .cuda_driver import CudaDriver, Properties, Sizes
from .records import dataclass

Array = NDArray[Any]


class Driver(Protocol):
    """The calls of a GPU's driver that are used; all raise InternalError where it fails."""

    def count(self) -> int:
        """How many GPUs there are; 0 without a driver."""

    def properties(self, ordinal: int) -> Properties:
        """What a GPU is."""

    def free_memory(self, ordinal: int) -> int:
        """Bytes that are not taken."""

    def allocate(self, ordinal: int, size: int, shared: bool) -> int:
        """The address of `size` bytes, aligned to 256; if `shared`, the host reaches them, too."""

    def release(self, ordinal: int, address: int) -> None:
        """Free what `allocate` gave."""

    def copy_in(self, ordinal: int, address: int, array: Array) -> None:
        """Copy a contiguous array to the GPU."""

    def copy_out(self, ordinal: int, array: Array, address: int) -> None:
        """Copy into a contiguous array, after all kernels before."""

    def copy(self, ordinal: int, target: int, source: int, size: int) -> None:
        """Copy on the GPU; like a kernel it may still be at work afterwards."""

    def synchronize(self, ordinal: int) -> None:
        """Wait for everything that was started; a kernel's fault is raised here."""

    def load(self, ordinal: int, ptx: str) -> Any:
        """A module of kernels."""

    def unload(self, ordinal: int, module: Any) -> None:
        """Let a module go."""

    def start(
        self, ordinal: int, module: Any, name: str, grid: Sizes, block: Sizes,
        arguments: Sequence[bytes], shared_bytes: int,
    ) -> None:  # fmt: skip
        """Start a kernel on the bytes of its arguments, without waiting for it."""


@dataclass
class Accelerator:
    """The process's GPUs.

    Attributes:
        driver: NVIDIA's; tests put one in its place whose memory is the host's.
        current: the GPU that "cuda" without a number is.
        allocated: bytes of tensors, by GPU.
        most: the highest that these have been.
        on_host: how many eager operators computed on the host with tensors of a GPU.
    """

    driver: Driver = field(default_factory=CudaDriver)
    current: int = 0
    allocated: dict[int, int] = field(default_factory=dict)
    most: dict[int, int] = field(default_factory=dict)
    on_host: int = 0

    def _takes(self, ordinal: int, size: int) -> None:
        taken = self.allocated[ordinal] = self.allocated.get(ordinal, 0) + size
        self.most[ordinal] = max(taken, self.most.get(ordinal, 0))

    def block(self, ordinal: int, size: int) -> Block:
        """Memory for `size` bytes that the GPU and the host share, freed with its last view."""
        driver = self.driver
        address = driver.allocate(ordinal, max(1, size), True)
        self._takes(ordinal, size)

        def free() -> None:
            driver.release(ordinal, address)
            self._takes(ordinal, -size)

        made = Block(ordinal, address, size)
        finalize(made, free).atexit = False  # a process that ends gives all back
        return made


ACCELERATOR = Accelerator()


class Block:
    """Memory of a GPU that the host shares; arrays over it have it as their base.

    Attributes:
        ordinal: of the GPU.
        address: of the first byte, the same for both.
        size: in bytes.
    """

    def __init__(self, ordinal: int, address: int, size: int) -> None:
        self.ordinal, self.address, self.size = ordinal, address, size
        self.__array_interface__ = {
            "shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3,
        }  # fmt: skip


def block_of(array: Array) -> Block | None:
    """The memory of a GPU that an array is a view of; None of the host's."""
    held: object = owner(array).base
    return held if isinstance(held, Block) else None


def empty_on_gpu(
    shape: Sequence[int], dtype: np.dtype[Any], ordinal: int, strides: Sequence[int] | None = None
) -> Array:
    """An array in memory of a GPU that is not initialised, in rows or in the given strides (bytes,
    none of them negative)."""
    size = math.prod(shape) * dtype.itemsize
    if size and strides is not None:
        size = dtype.itemsize + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    memory = np.asarray(ACCELERATOR.block(ordinal, size))
    return np.ndarray(tuple(shape), dtype, memory, 0, None if strides is None else tuple(strides))
