"""What a row of the table is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from aligned import aligned
from peers import lib

Arguments = tuple[Any, ...]
"""Arrays; numbers and lists too where the program is `plain`."""


@dataclass(frozen=True, eq=False)
class BFloat16:
    """An array of bfloat16, which NumPy has no dtype for: its bits as uint16."""

    bits: np.ndarray

    @classmethod
    def of(cls, numbers: np.ndarray) -> BFloat16:
        """float32 numbers, rounded to nearest even."""
        bits = numbers.view(np.uint32)
        return cls(((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16))

    @property
    def nbytes(self) -> int:
        return self.bits.nbytes

    @property
    def wide(self) -> np.ndarray:
        """The same numbers in float64."""
        return (self.bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)

    def tensor(self, library: Any) -> Any:
        """As a tensor of PyTorch or TensorScript."""
        return library.from_numpy(self.bits).view(library.bfloat16)


@dataclass(frozen=True)
class Workload:
    """One row of the table: a program, its arguments, and peers written by hand where these have
    users who would write them.

    The programs are plain PyTorch (or TensorScript where PyTorch is not installed); the same
    function goes to every framework.

    Attributes:
        build: gives the program; a model makes its weights here, the same ones in every process.
        make: arguments from a random generator.
        flops: operations of one call where they bound it, for the roofline; 0 where memory does.
        plain: a program over numbers, lists and single elements, which Python runs as it stands.
        archive: the program is one of `torch.jit`, which we read from its archive.
        unit: the rounding unit of the result where that is coarser than float32's.
    """

    name: str
    build: Callable[[], Any]
    make: Callable[[np.random.Generator], Arguments]
    jax: Callable[..., Any] | None = None
    numba: Callable[[], Callable[..., Any]] | None = None
    numpy: Callable[..., Any] | None = None
    flops: float = 0.0
    plain: bool = False
    unit: float = 0.0
    archive: bool = False

    def arguments(self) -> Arguments:
        """The same numbers for every library, each array at the beginning of a cache line."""
        return tuple(_aligned(a) for a in self.make(np.random.default_rng(0)))


def _aligned(value: Any) -> Any:
    """What is an array begins at a cache line."""
    if isinstance(value, BFloat16):
        return BFloat16(aligned(value.bits))
    return aligned(value) if isinstance(value, np.ndarray) else value


def workload(name: str, program: Callable[..., Any], make: Any, *peers: Any) -> Workload:
    """A row of a function: its name, the function, its arguments, then the peers' versions (JAX,
    Numba, NumPy) and the operations."""
    return Workload(name, lambda: program, make, *peers)


def model(name: str, build: Callable[[], Any], make: Any, flops: float) -> Workload:
    """A row of a model with random weights; `kernels.py` counts the operations of a call."""

    def seeded() -> Any:
        lib.manual_seed(0)
        return build().eval()

    return Workload(name, seeded, make, flops=flops)


def normal(*shapes: tuple[int, ...], dtype: str = "f4") -> Callable[[np.random.Generator], Any]:
    return lambda random: tuple(random.standard_normal(s).astype(dtype) for s in shapes)


def square(n: int) -> Callable[[np.random.Generator], Any]:
    """Two matrices of n by n."""
    return normal((n, n), (n, n))


MATRIX = normal((1024, 1024))
