"""Systems of linear equations: solutions, inverses, determinants, least squares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import int32, int64
from tensorscript.base.errors import LinearAlgebraError, OperatorError

from ..storage import Array, compute, wrap, wrap_like
from .matrices import matrix, ranks, singular_values, square, stack_of, turned
from .matrix_norm import pinv

Kernel = Callable[..., Any]


def _first_zero_pivot(x: Array, name: str) -> Array:
    """Per matrix the first zero on the diagonal of its LU factor, from 1; 0 where regular."""
    n = x.shape[-1]
    flat = stack_of(x, x.shape[:-2], n, n)
    info = np.zeros(flat.shape[0], np.int32)
    for k, a in enumerate(flat):
        try:
            np.linalg.inv(a)
        except np.linalg.LinAlgError:
            info[k] = _rank_before(a) + 1
    return info.reshape(x.shape[:-2])


def _rank_before(a: Array) -> int:
    """How many leading columns of `a` are independent."""
    leading = (int(ranks(a[:, : k + 1])) for k in range(a.shape[1]))
    return next((k for k, rank in enumerate(leading) if rank <= k), a.shape[1] - 1)


def _regular(x: Array, name: str, why: str) -> None:
    info = _first_zero_pivot(x, name)
    if not info.any():
        return
    where = int(np.flatnonzero(info.reshape(-1))[0])
    element = f"(Batch element {where}): " if info.ndim else ""
    at = int(info.reshape(-1)[where])
    raise LinearAlgebraError(f"{name}: {element}{why.format(at=at)}")


_SINGULAR = ("The diagonal element {at} is zero, the inversion could not be completed because the "
             "input matrix is singular.")  # fmt: skip
_NO_SOLUTION = "The solver failed because the input matrix is singular."


def inverse(name: str) -> Kernel:
    def run(self: Any) -> Any:
        x = square(self, name)
        try:
            return wrap_like(np.linalg.inv(x))
        except np.linalg.LinAlgError:
            _regular(x, name, _SINGULAR)
            raise

    return run


def inv_ex(self: Any, check_errors: bool = False) -> Any:
    """The inverses and, per matrix, the first zero pivot; singular ones are all NaN."""
    x = square(self, "linalg.inv_ex")
    info = _first_zero_pivot(x, "linalg.inv_ex")
    if check_errors and info.any():
        _regular(x, "linalg.inv_ex", _SINGULAR)
    bad = (info > 0)[..., None, None]
    safe = np.where(bad, np.eye(x.shape[-1], dtype=x.dtype), x)
    return wrap_like(np.where(bad, x.dtype.type(np.nan), np.linalg.inv(safe))), wrap(info, int32)


def solve(self: Any, other: Any, left: bool = True) -> Any:
    """`self` X = other (X `self` = other where not `left`); vectors where `other` has one
    dimension less."""
    a, right, vector = _system(self, other, left)
    try:
        return wrap(_solved(a, right, left, vector), self.dtype)
    except np.linalg.LinAlgError:
        _regular(a, "torch.linalg.solve", _NO_SOLUTION)
        raise


def solve_ex(self: Any, other: Any, left: bool = True, check_errors: bool = False) -> Any:
    a, right, vector = _system(self, other, left)
    info = _first_zero_pivot(a, "torch.linalg.solve")
    if check_errors and info.any():
        _regular(a, "torch.linalg.solve", _NO_SOLUTION)
    bad = (info > 0)[..., None, None]
    safe = np.where(bad, np.eye(a.shape[-1], dtype=a.dtype), a)
    found = _solved(safe, np.where(bad, right.dtype.type(np.nan), right), left, vector)
    return wrap(found, self.dtype), wrap(info, int32)


def _system(self: Any, other: Any, left: bool) -> tuple[Array, Array, bool]:
    a, b = square(self, "linalg.solve"), compute(other)
    if self.dtype is not other.dtype:
        raise OperatorError(
            f"linalg.solve: Expected A and B to have the same dtype, but found A of type "
            f"{self.dtype.word} and B of type {other.dtype.word} instead"
        )
    vector = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1])
    right = b[..., None] if vector else b
    inner = right.shape[-2] if left else right.shape[-1]
    if inner != a.shape[-1]:
        equation = "AX = B" if left else "XA = B"
        raise OperatorError(
            f"linalg.solve: Incompatible shapes of A and B for the equation {equation} "
            f"({a.shape[-2]}x{a.shape[-1]} and {right.shape[-2]}x{right.shape[-1]})"
        )
    return a, right, vector


def _solved(a: Array, right: Array, left: bool, vector: bool) -> Array:
    if left:
        out = np.linalg.solve(a, right)
    else:
        swapped = np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(right, -1, -2))
        out = np.swapaxes(swapped, -1, -2)
    return np.asarray(out[..., 0] if vector else out)


def solve_triangular(
    self: Any, other: Any, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    kept = _triangle(square(self, "linalg.solve_triangular"), upper, unitriangular)
    return wrap(_substituted(kept, compute(other), upper, left), self.dtype)


def _substituted(a: Array, b: Array, upper: bool, left: bool) -> Array:
    """By substitution: a zero on the diagonal gives infinities, and only where it is met."""
    if not left:
        flipped = _substituted(_flipped(a), _flipped(b), not upper, left=True)
        return _flipped(flipped)
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    out = np.array(np.broadcast_to(b, (*lead, *b.shape[-2:])))
    n = a.shape[-1]
    for k in reversed(range(n)) if upper else range(n):
        out[..., k, :] /= a[..., k, k, None]
        rest = slice(k) if upper else slice(k + 1, n)
        out[..., rest, :] -= a[..., rest, k, None] * out[..., k, None, :]
    return out


def _flipped(a: Array) -> Array:
    return np.swapaxes(a, -1, -2)


def _triangle(a: Array, upper: bool, unitriangular: bool) -> Array:
    kept = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        eye = np.eye(a.shape[-1], dtype=a.dtype)
        kept = kept * (1 - eye) + eye
    return kept


def triangular_solve(
    self: Any, matrix_: Any, upper: bool = True, transpose: bool = False,
    unitriangular: bool = False,
) -> Any:  # fmt: skip
    """The older form: the right side first, and a copy of the matrix beside the solution."""
    a, b = square(matrix_, "triangular_solve"), matrix(self, "triangular_solve")
    kept = _triangle(a, upper, unitriangular)
    kept = np.swapaxes(kept, -1, -2) if transpose else kept
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    copied = np.array(np.broadcast_to(a, (*lead, *a.shape[-2:])))
    found = _substituted(kept, b, upper is not transpose, left=True)
    return wrap(found, self.dtype), wrap(copied, matrix_.dtype)


def _factored(factor: Any, upper: bool) -> Array:
    """A of its Cholesky factor."""
    lower = square(factor, "cholesky_solve")
    lower = turned(np.triu(lower)) if upper else np.tril(lower)
    return np.asarray(lower @ turned(lower))


def cholesky_solve(self: Any, factor: Any, upper: bool = False) -> Any:
    for name, x in (("b", self), ("u", factor)):
        if (ndim := compute(x).ndim) < 2:
            raise OperatorError(
                f"{name} should have at least 2 dimensions, but has {ndim} dimensions instead"
            )
    return wrap(np.linalg.solve(_factored(factor, upper), compute(self)), self.dtype)


def cholesky_inverse(self: Any, upper: bool = False) -> Any:
    return wrap(np.linalg.inv(_factored(self, upper)), self.dtype)


def det(name: str) -> Kernel:
    return lambda self: wrap_like(np.linalg.det(square(self, name)))


def slogdet(self: Any) -> Any:
    """Sign and logarithm of the size; the sign of NaN is 0, as `sign` has it."""
    sign, log = np.linalg.slogdet(square(self, "linalg.slogdet"))
    return wrap_like(np.where(np.isnan(log), sign.dtype.type(0), sign)), wrap_like(log)


def logdet(self: Any) -> Any:
    """log of the determinant: complex of complex matrices, else NaN where it is negative."""
    sign, log = np.linalg.slogdet(square(self, "logdet"))
    if sign.dtype.kind == "c":
        return wrap_like(log + np.log(sign))
    return wrap(np.where(sign > 0, log, np.where(sign < 0, np.nan, -np.inf)), self.dtype)


def least_squares(self: Any, b: Any, rcond: float | None = None, driver: str | None = None) -> Any:
    """Solution, residuals, rank and singular values of each matrix of a batch."""
    x, y = matrix(self, "torch.linalg.lstsq"), compute(b)
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise OperatorError(
            "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )
    if self.dtype is not b.dtype:
        raise OperatorError(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's "
            f"dtype {self.dtype.word} and other's dtype {b.dtype.word}"
        )
    vector = y.ndim == x.ndim - 1
    solution = compute(pinv(self)) @ (y[..., None] if vector else y)
    solution = solution[..., 0] if vector else solution
    m, n = x.shape[-2:]
    rank = ranks(x)
    real = x.real.dtype
    residuals = np.zeros(0, real)
    if driver not in (None, "gelsy") and m > n and not vector and bool((rank == n).all()):
        residuals = np.square(np.abs(y - x @ solution)).sum(-2)
    if driver == "gels":
        rank = np.zeros(0, np.int64)
    by_values = driver in ("gelss", "gelsd")
    spectrum = singular_values(x) if by_values else np.zeros(0, real)
    parts = wrap(solution, self.dtype), wrap_like(residuals)
    return (*parts, wrap(np.asarray(rank), int64), wrap_like(spectrum))


def tensorinv(self: Any, ind: int = 2) -> Any:
    x = compute(self)
    if ind <= 0:
        raise OperatorError("Expected a strictly positive integer for 'ind'")
    before, behind = int(np.prod(x.shape[:ind])), int(np.prod(x.shape[ind:]))
    if before != behind:
        raise OperatorError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {behind} != {before}"
        )
    shape = (*x.shape[ind:], *x.shape[:ind])
    found = compute(inverse("linalg.tensorinv")(wrap(x.reshape(before, behind), self.dtype)))
    return wrap(found.reshape(shape), self.dtype)


def tensorsolve(self: Any, other: Any, dims: Sequence[int] | None = None) -> Any:
    x, b = compute(self), compute(other)
    if dims:
        moved = [d % x.ndim for d in dims]
        x = np.moveaxis(x, moved, range(x.ndim - len(moved), x.ndim))
    shape = x.shape[b.ndim :]
    if int(np.prod(shape)) != int(np.prod(x.shape[: b.ndim])):
        raise OperatorError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {int(np.prod(shape))} != "
            f"{int(np.prod(x.shape[: b.ndim]))}"
        )
    found = np.linalg.solve(x.reshape(b.size, b.size), b.reshape(-1))
    return wrap(found.reshape(shape), self.dtype)


KERNELS: dict[str, Kernel] = {
    "aten::linalg_solve": solve,
    "aten::linalg_solve_ex": solve_ex,
    "aten::linalg_solve_triangular": solve_triangular,
    "aten::triangular_solve": triangular_solve,
    "aten::inverse": inverse("linalg.inv"),
    "aten::linalg_inv": inverse("linalg.inv"),
    "aten::linalg_inv_ex": inv_ex,
    "aten::cholesky_solve": cholesky_solve,
    "aten::cholesky_inverse": cholesky_inverse,
    "aten::det": det("linalg.det"),
    "aten::linalg_det": det("linalg.det"),
    "aten::slogdet": slogdet,
    "aten::linalg_slogdet": slogdet,
    "aten::logdet": logdet,
    "aten::linalg_lstsq": least_squares,
    "aten::linalg_tensorinv": tensorinv,
    "aten::linalg_tensorsolve": tensorsolve,
}
