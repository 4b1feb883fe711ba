"""Matrix factorisations, through LAPACK as NumPy reaches it, and the matrix exponential."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tensorscript.base.dtypes import complex_dtype, int32
from tensorscript.base.errors import LinearAlgebraError, OperatorError

from ..storage import Array, compute, wrap, wrap_like
from .matrices import (
    matrix,
    singular,
    singular_values,
    square,
    stack_of,
    symmetric,
    symmetric_values,
    turned,
)

Kernel = Callable[..., Any]


def linalg_svd(self: Any, full_matrices: bool = True, driver: str | None = None) -> Any:
    parts = singular(matrix(self, "linalg.svd"), full_matrices)
    return tuple(wrap_like(part) for part in parts)


def svd(self: Any, some: bool = True, compute_uv: bool = True) -> Any:
    """The older form: V and not its transpose; without vectors, zeros."""
    x = matrix(self, "svd")
    if not compute_uv:
        m, n = x.shape[-2:]
        zeros = [np.zeros((*x.shape[:-2], k, k), x.dtype) for k in (m, n)]
        values = singular_values(x)
        return wrap_like(zeros[0]), wrap_like(values), wrap_like(zeros[1])
    u, s, vh = singular(x, not some)
    return wrap_like(u), wrap_like(s), wrap_like(turned(vh))


def qr(self: Any, mode: str = "reduced") -> Any:
    x = matrix(self, "linalg.qr")
    if mode == "r":
        return wrap_like(np.zeros(0, x.dtype)), wrap_like(np.linalg.qr(x, "r"))
    if mode not in ("reduced", "complete"):
        raise OperatorError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' "
                            "(default), 'r', or 'complete'")  # fmt: skip
    q, r = np.linalg.qr(x, "complete" if mode == "complete" else "reduced")
    return wrap_like(q), wrap_like(r)


def cholesky_ex(self: Any, upper: bool = False, check_errors: bool = False) -> Any:
    """The factor and, per matrix, the order of the first minor that is not positive (or 0)."""
    x = square(self, "linalg.cholesky")
    kept = np.tril(x) if not upper else turned(np.triu(x))
    lead, n = x.shape[:-2], x.shape[-1]
    flat = stack_of(kept, lead, n, n)
    out, info = np.zeros_like(flat), np.zeros(flat.shape[0], np.int32)
    for k, a in enumerate(flat):
        info[k] = _first_bad_minor(a)
        good = info[k] - 1 if info[k] else n
        out[k, :good, :good] = np.linalg.cholesky(a[:good, :good])
        if info[k]:
            out[k, good:] = a[good:]
    if check_errors and info.any():
        element = f"(Batch element {int(info.argmax())}): " if lead else ""
        raise LinearAlgebraError(
            f"linalg.cholesky: {element}The factorization could not be completed because the input "
            f"is not positive-definite (the leading minor of order {int(info[info > 0][0])} is not "
            "positive-definite)."
        )
    found = out.reshape(x.shape)
    return wrap_like(turned(found) if upper else found), wrap(info.reshape(lead), int32)


def _first_bad_minor(a: Array) -> int:
    """0 where the lower triangle's matrix is positive-definite."""
    if _is_positive(a):
        return 0
    return next(k for k in range(1, a.shape[0] + 1) if not _is_positive(a[:k, :k]))


def _is_positive(a: Array) -> bool:
    try:
        factor = np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        return False
    return not np.isnan(factor.diagonal()).any()  # NaN is no positive pivot


def cholesky(self: Any, upper: bool = False) -> Any:
    return cholesky_ex(self, upper, check_errors=True)[0]


def eig(self: Any) -> Any:
    """Eigenvalues and eigenvectors, always complex."""
    values, vectors = np.linalg.eig(_finite(square(self, "linalg.eig")))
    out = complex_dtype(self.dtype)
    return wrap(values, out), wrap(vectors, out)


def eigvals(self: Any) -> Any:
    found = np.linalg.eigvals(_finite(square(self, "linalg.eigvals")))
    return wrap(found, complex_dtype(self.dtype))


def _finite(x: Array) -> Array:
    if not np.isfinite(x).all():
        raise OperatorError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    return x


def eigh(self: Any, uplo: str = "L") -> Any:
    found = symmetric(square(self, "linalg.eigh"), _triangle(uplo))
    return tuple(wrap_like(part) for part in found)


def eigvalsh(self: Any, uplo: str = "L") -> Any:
    x = square(self, "linalg.eigvalsh")
    return wrap_like(symmetric_values(x, _triangle(uplo)))


def _triangle(uplo: str) -> Literal["L", "U"]:
    if uplo.upper() not in ("L", "U"):
        raise OperatorError(f"Expected UPLO argument to be 'L' or 'U', but got {uplo}")
    return "U" if uplo in "Uu" else "L"


def matrix_exp(self: Any) -> Any:
    """Scaling and squaring of the Taylor series, to the precision of float64."""
    if (x := compute(self)).ndim < 2 or x.shape[-1] != x.shape[-2]:
        x = square(self, "linalg.matrix_exp")
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    fine = np.isfinite(wide).all((-2, -1), keepdims=True)
    wide = np.where(fine, wide, 0)
    size = float(np.abs(wide).sum(-1).max(initial=0.0))
    halvings = max(0, int(np.ceil(np.log2(size))) + 1) if size else 0
    scaled = wide / 2.0**halvings
    term = np.broadcast_to(np.eye(x.shape[-1], dtype=wide.dtype), wide.shape)
    out = term.copy()
    for k in range(1, 20):
        term = term @ scaled / k
        out = out + term
    for _ in range(halvings):
        out = out @ out
    return wrap(np.where(fine, out, np.nan), self.dtype)


KERNELS: dict[str, Kernel] = {
    "aten::linalg_svd": linalg_svd,
    "aten::linalg_svdvals": lambda self, driver=None: wrap_like(
        singular_values(matrix(self, "linalg.svdvals"))
    ),
    "aten::svd": svd,
    "aten::linalg_qr": qr,
    "aten::qr": lambda self, some=True: qr(self, "reduced" if some else "complete"),
    "aten::linalg_cholesky": cholesky,
    "aten::cholesky": cholesky,
    "aten::linalg_cholesky_ex": cholesky_ex,
    "aten::linalg_eig": eig,
    "aten::linalg_eigvals": eigvals,
    "aten::linalg_eigh": eigh,
    "aten::linalg_eigvalsh": eigvalsh,
    "aten::matrix_exp": matrix_exp,
    "aten::linalg_matrix_exp": matrix_exp,
}
