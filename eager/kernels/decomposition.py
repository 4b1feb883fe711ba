"""Matrix factorisations and norms, through LAPACK as NumPy reaches it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import int64
from tensorscript.base.errors import OperatorError

from ..storage import Array, cast, compute, real_dtype, wrap, wrap_like
from .reduction import vector_norm
from .shapes import normal_dims

Kernel = Callable[..., Any]


def _matrix(self: Any, name: str) -> Array:
    x = compute(self)
    if x.ndim < 2:
        raise OperatorError(f"{name}: The input tensor A must have at least 2 dimensions.")
    return x


def _square(self: Any, name: str) -> Array:
    x = _matrix(self, name)
    if x.shape[-1] != x.shape[-2]:
        raise OperatorError(
            f"{name}: A must be batches of square matrices, but they are {x.shape[-2]} by "
            f"{x.shape[-1]} matrices"
        )
    return x


def _turned(x: Array) -> Array:
    return np.asarray(np.conj(np.swapaxes(x, -1, -2)))


def linalg_svd(self: Any, full_matrices: bool = True, driver: str | None = None) -> Any:
    parts = np.linalg.svd(_matrix(self, "linalg.svd"), full_matrices)
    return tuple(wrap_like(part) for part in parts)


def svd(self: Any, some: bool = True, compute_uv: bool = True) -> Any:
    """The older form: V and not its transpose; without vectors, zeros."""
    x = _matrix(self, "svd")
    if not compute_uv:
        m, n = x.shape[-2:]
        zeros = [np.zeros((*x.shape[:-2], k, k), x.dtype) for k in (m, n)]
        values = np.linalg.svd(x, compute_uv=False)
        return wrap_like(zeros[0]), wrap_like(values), wrap_like(zeros[1])
    u, s, vh = np.linalg.svd(x, not some)
    return wrap_like(u), wrap_like(s), wrap_like(_turned(vh))


def qr(self: Any, mode: str = "reduced") -> Any:
    x = _matrix(self, "linalg.qr")
    if mode == "r":
        return wrap_like(np.zeros(0, x.dtype)), wrap_like(np.linalg.qr(x, "r"))
    if mode not in ("reduced", "complete"):
        raise OperatorError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' "
                            "(default), 'r', or 'complete'")  # fmt: skip
    q, r = np.linalg.qr(x, "complete" if mode == "complete" else "reduced")
    return wrap_like(q), wrap_like(r)


def cholesky(self: Any, upper: bool = False) -> Any:
    try:
        found = np.linalg.cholesky(_square(self, "linalg.cholesky"))
    except np.linalg.LinAlgError as error:
        raise OperatorError("linalg.cholesky: The factorization could not be completed because the "
                            "input is not positive-definite.") from error  # fmt: skip
    return wrap_like(_turned(found) if upper else found)


def matrix_exp(self: Any) -> Any:
    """Scaling and squaring of the Taylor series, to the precision of float64."""
    x = _square(self, "linalg.matrix_exp")
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    if not np.isfinite(wide).all():
        return wrap(np.full(x.shape, np.nan), self.dtype)
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
    return wrap(out, self.dtype)


def least_squares(self: Any, b: Any, rcond: float | None = None, driver: str | None = None) -> Any:
    """Solution, residuals, rank and singular values of each matrix of a batch."""
    x, y = _matrix(self, "linalg.lstsq"), compute(b)
    vector = y.ndim == x.ndim - 1
    solution = np.linalg.pinv(x) @ (y[..., None] if vector else y)
    solution = solution[..., 0] if vector else solution
    m, n = x.shape[-2:]
    rank = np.linalg.matrix_rank(x)
    residuals = np.zeros(0, x.dtype)
    if driver not in (None, "gelsy") and m > n and not vector and bool((rank == n).all()):
        residuals = np.square(np.abs(y - x @ solution)).sum(-2)
    if driver == "gels":
        rank = np.zeros(0, np.int64)
    by_values = driver in ("gelss", "gelsd")
    spectrum = np.linalg.svd(x, compute_uv=False) if by_values else np.zeros(0, x.real.dtype)
    parts = wrap(solution, self.dtype), wrap_like(residuals)
    return (*parts, wrap(np.asarray(rank), int64), wrap_like(spectrum))


def matrix_norm(
    self: Any, order: Any, dim: Sequence[int] = (-2, -1), keepdim: bool = False, dtype: Any = None
) -> Any:
    """fro, nuc, 1, -1, 2, -2, inf, -inf of the matrices that two dimensions span."""
    source = dtype or self.dtype
    x = cast(self, source)
    rows, columns = normal_dims(dim, x.ndim)
    word: Any = (
        {"inf": np.inf, "-inf": -np.inf}.get(order, order) if isinstance(order, str) else order
    )
    try:
        found = np.linalg.norm(x, word, (rows, columns), keepdim)
    except ValueError as error:
        raise OperatorError(f"linalg.matrix_norm: Order {order} not supported.") from error
    return wrap(found, real_dtype(source))


def norm(
    self: Any, order: Any = None, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    """The 2-norm of everything, or a vector or matrix norm by the number of dimensions."""
    ndim = compute(self).ndim
    dims = None if dim is None else list(dim)
    if order is None:
        return vector_norm(self, 2, dims, keepdim, dtype)
    over = list(range(ndim)) if dims is None else dims
    if len(over) == 2:
        return matrix_norm(self, order, over, keepdim, dtype)
    if len(over) != 1 or (isinstance(order, str) and order in ("fro", "nuc")):
        raise OperatorError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{ndim}D."
        )
    return vector_norm(self, order, over, keepdim, dtype)


def solve(self: Any, other: Any, left: bool = True) -> Any:
    """`self` X = other; vectors where `other` has one dimension less."""
    a, b = _square(self, "linalg.solve"), compute(other)
    vector = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1])
    right = b[..., None] if vector else b
    try:
        if left:
            out = np.linalg.solve(a, right)
        else:
            out = np.swapaxes(
                np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(right, -1, -2)), -1, -2
            )
    except np.linalg.LinAlgError as error:
        raise OperatorError("linalg.solve: The solver failed because the input matrix is "
                            "singular.") from error  # fmt: skip
    return wrap(out[..., 0] if vector else out, self.dtype)


def triangular_solve(
    self: Any, other: Any, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    a, b = _square(self, "linalg.solve_triangular"), compute(other)
    kept = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        eye = np.eye(a.shape[-1], dtype=a.dtype)
        kept = kept * (1 - eye) + eye
    return solve(wrap(kept, self.dtype), wrap(b, other.dtype), left)


def pinv(self: Any, rcond: float = 1e-15, hermitian: bool = False) -> Any:
    return wrap(np.linalg.pinv(_matrix(self, "linalg.pinv"), rcond, hermitian), self.dtype)


def logdet(self: Any) -> Any:
    sign, log = np.linalg.slogdet(_square(self, "logdet"))
    return wrap(np.where(sign > 0, log, np.where(sign < 0, np.nan, -np.inf)), self.dtype)


def slogdet(self: Any) -> Any:
    return tuple(wrap_like(part) for part in np.linalg.slogdet(_square(self, "linalg.slogdet")))


KERNELS: dict[str, Kernel] = {
    "aten::linalg_svd": linalg_svd,
    "aten::linalg_svdvals": lambda self, driver=None: wrap_like(
        np.linalg.svd(_matrix(self, "linalg.svdvals"), compute_uv=False)
    ),
    "aten::svd": svd,
    "aten::linalg_qr": qr,
    "aten::qr": lambda self, some=True: qr(self, "reduced" if some else "complete"),
    "aten::linalg_cholesky": cholesky,
    "aten::cholesky": cholesky,
    "aten::linalg_eigvalsh": lambda self, uplo="L": wrap_like(
        np.linalg.eigvalsh(_square(self, "linalg.eigvalsh"), "U" if uplo in "Uu" else "L")
    ),
    "aten::matrix_exp": matrix_exp,
    "aten::linalg_matrix_exp": matrix_exp,
    "aten::linalg_lstsq": least_squares,
    "aten::linalg_matrix_norm": matrix_norm,
    "aten::linalg_matrix_norm.str_ord": lambda self, order="fro", *rest: matrix_norm(
        self, order, *rest
    ),
    "aten::linalg_norm": norm,
    "aten::linalg_norm.ord_str": norm,
    "aten::linalg_solve": solve,
    "aten::linalg_solve_triangular": triangular_solve,
    "aten::linalg_pinv": pinv,
    "aten::pinverse": pinv,
    "aten::logdet": logdet,
    "aten::linalg_slogdet": slogdet,
}
