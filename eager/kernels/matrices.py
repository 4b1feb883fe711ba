"""What the matrix kernels ask of their operands, with PyTorch's refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tensorscript.base.errors import LinearAlgebraError, OperatorError, UnsupportedDtypeError

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


def singular(x: Array, full_matrices: bool = False) -> tuple[Array, Array, Array]:
    """U, the singular values and V^H.

    Raises:
        LinearAlgebraError: there is NaN among the elements.
    """
    return _iterated(lambda a: np.linalg.svd(a, full_matrices), x, *_SVD)  # type: ignore[return-value]  # of three


def singular_values(x: Array) -> Array:
    """As `singular`, without vectors."""
    return _iterated(lambda a: (np.linalg.svd(a, compute_uv=False),), x, *_SVD)[0]


def ranks(x: Array) -> Array:
    """How many singular values are more than rounding."""
    values = singular_values(x)
    limit = values.max(-1, initial=0) * max(x.shape[-2:]) * np.finfo(x.dtype).eps
    return np.asarray((values > limit[..., None]).sum(-1))


def symmetric(x: Array, uplo: Literal["L", "U"] = "L") -> tuple[Array, Array]:
    """Eigenvalues and vectors of the matrices that one triangle says.

    Raises:
        LinearAlgebraError: there is NaN among the elements.
    """
    return _iterated(lambda a: np.linalg.eigh(a, uplo), x, *_EIGH)  # type: ignore[return-value]  # of two


def symmetric_values(x: Array, uplo: Literal["L", "U"] = "L") -> Array:
    """As `symmetric`, without vectors."""
    return _iterated(lambda a: (np.linalg.eigvalsh(a, uplo),), x, *_EIGH)[0]


_NOT_CONVERGED = "The algorithm failed to converge because the input matrix "
_SVD = ("linalg.svd", _NOT_CONVERGED + "contained non-finite values.")
_EIGH = (
    "linalg.eigh",
    _NOT_CONVERGED + "is ill-conditioned or has too many repeated eigenvalues (error code: 1).",
)


def _iterated(
    run: Callable[[Array], tuple[Array, ...]], x: Array, name: str, refusal: str
) -> tuple[Array, ...]:
    """What an iteration of LAPACK finds, which may never end where elements are not finite: NaN is
    refused, and the results of matrices with infinities are NaN."""
    fine = np.asarray(np.isfinite(x).all((-2, -1)))
    if fine.all():
        return run(x)
    unknown = np.asarray(np.isnan(x).any((-2, -1)))
    if unknown.any():
        element = f"(Batch element {int(unknown.argmax())}): " if x.ndim > 2 else ""
        raise LinearAlgebraError(f"{name}: {element}{refusal}")
    parts = run(np.where(fine[..., None, None], x, 0))
    return tuple(np.where(fine.reshape(*fine.shape, *[1] * (p.ndim - fine.ndim)), p, np.nan)
                 .astype(p.dtype) for p in parts)  # fmt: skip


def turned(x: Array) -> Array:
    """The conjugate transpose."""
    return np.asarray(np.conj(np.swapaxes(x, -1, -2)))
