"""What a row of the table is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from peers import lib

Arguments = tuple[Any, ...]
"""Arrays; numbers and lists too where the program is `plain`."""


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
    """

    name: str
    build: Callable[[], Any]
    make: Callable[[np.random.Generator], Arguments]
    jax: Callable[..., Any] | None = None
    numba: Callable[[], Callable[..., Any]] | None = None
    numpy: Callable[..., Any] | None = None
    flops: float = 0.0
    plain: bool = False

    def arguments(self) -> Arguments:
        return self.make(np.random.default_rng(0))


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
