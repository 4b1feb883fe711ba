"""What the matrix kernels ask of their operands, with PyTorch's refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorscript.base.errors import OperatorError, UnsupportedDtypeError

from ..storage import Array, compute

_HALF = ("f16", "bf16")


def require_floating(self: Any, name: str) -> None:
    """Raise unless `self` is floating point or complex, and wide enough for LAPACK."""
    if not (self.dtype.is_floating_point or self.dtype.is_complex):
        raise OperatorError(
            f"{name}: Expected a floating point or complex tensor as input. Got {self.dtype.word}"
        )
    if self.dtype.short in _HALF:
        raise UnsupportedDtypeError(f"\"{name}\" not implemented for '{self.dtype.word}'")


def matrix(self: Any, name: str) -> Array:
    """The array of a matrix or a batch of them."""
    if (x := compute(self)).ndim < 2:
        raise OperatorError(f"{name}: The input tensor A must have at least 2 dimensions.")
    require_floating(self, name)
    return x


def square(self: Any, name: str) -> Array:
    x = matrix(self, name)
    if x.shape[-1] != x.shape[-2]:
        raise OperatorError(
            f"{name}: A must be batches of square matrices, but they are {x.shape[-2]} by "
            f"{x.shape[-1]} matrices"
        )
    return x


def stack_of(x: Array, lead: tuple[int, ...], *shape: int) -> Array:
    """`x` broadcast to (*lead, *shape), its leading dimensions made one (even where empty)."""
    return np.broadcast_to(x, (*lead, *shape)).reshape(math.prod(lead), *shape)


def turned(x: Array) -> Array:
    """The conjugate transpose."""
    return np.asarray(np.conj(np.swapaxes(x, -1, -2)))
