"""LU factorisation with partial pivoting, and what is solved with it.

A factorisation is packed as LAPACK's getrf packs it: U on and above the diagonal, L (unit diagonal)
below, and `pivots`, where row k was exchanged with row pivots[k] (counted from 1, int32).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.dtypes import int32
from tensorscript.base.errors import LinearAlgebraError, OperatorError

from ..storage import Array, array, compute, wrap
from .matrices import matrix, require_floating, square, stack_of

Kernel = Callable[..., Any]


def factor(x: Array) -> tuple[Array, Array, Array]:
    """x (*, m, n) -> packed LU, pivots (*, min(m, n)), info (*): the first zero pivot, from 1."""
    lead, (m, n) = x.shape[:-2], x.shape[-2:]
    a = stack_of(x, lead, m, n).astype(np.result_type(x.dtype, np.float64))
    batch = np.arange(a.shape[0])
    pivots = np.zeros((a.shape[0], min(m, n)), np.int32)
    info = np.zeros(a.shape[0], np.int32)
    for k in range(min(m, n)):
        column = a[:, k:, k]
        best = (np.abs(column.real) + np.abs(column.imag)).argmax(-1) + k
        pivots[:, k] = best + 1
        a[batch, k], a[batch, best] = a[batch, best], a[batch, k]
        pivot = a[:, k, k]
        info = np.where((pivot == 0) & (info == 0), k + 1, info).astype(np.int32)
        scale = np.where(pivot == 0, 1, pivot)
        a[:, k + 1 :, k] /= scale[:, None]
        a[:, k + 1 :, k + 1 :] -= a[:, k + 1 :, k, None] * a[:, k, None, k + 1 :]
    return a.astype(x.dtype).reshape(x.shape), pivots.reshape(*lead, min(m, n)), info.reshape(lead)


def permutation(pivots: Array, m: int) -> Array:
    """Row exchanges (*, k) as an order of rows (*, m): row i of P^T A is row order[i] of A."""
    flat = stack_of(pivots, pivots.shape[:-1], pivots.shape[-1])
    order = np.tile(np.arange(m), (flat.shape[0], 1))
    batch = np.arange(flat.shape[0])
    for k in range(flat.shape[-1]):
        other = flat[:, k] - 1
        order[batch, k], order[batch, other] = order[batch, other], order[batch, k]
    return order.reshape(*pivots.shape[:-1], m)


def _triangles(lu: Array) -> tuple[Array, Array]:
    m, n = lu.shape[-2:]
    k = min(m, n)
    lower = np.tril(lu[..., :, :k], -1) + np.eye(m, k, dtype=lu.dtype)
    return lower, np.triu(lu[..., :k, :])


def _permutation_matrix(pivots: Array, m: int, dtype: Any) -> Array:
    return np.swapaxes(np.eye(m, dtype=dtype)[permutation(pivots, m)], -1, -2)


def _refuse_unpivoted(name: str, pivot: bool) -> None:
    if not pivot:
        raise OperatorError(f"{name}: LU without pivoting is not implemented on the CPU")


def lu_factor_ex(self: Any, pivot: bool = True, check_errors: bool = False) -> Any:
    _refuse_unpivoted("linalg.lu_factor", pivot)
    lu, pivots, info = factor(matrix(self, "linalg.lu_factor"))
    if check_errors and info.any():
        raise LinearAlgebraError(
            f"linalg.lu_factor: U[{info.max()},{info.max()}] is zero and using it on lu_solve "
            "would result in a division by zero."
        )
    return wrap(lu, self.dtype), wrap(pivots, int32), wrap(info, int32)


def lu_factor(self: Any, pivot: bool = True) -> Any:
    return lu_factor_ex(self, pivot)[:2]


def linalg_lu(self: Any, pivot: bool = True) -> Any:
    _refuse_unpivoted("linalg.lu", pivot)
    x = matrix(self, "linalg.lu")
    lu, pivots, _ = factor(x)
    parts = (_permutation_matrix(pivots, x.shape[-2], x.dtype), *_triangles(lu))
    return tuple(wrap(p, self.dtype) for p in parts)


def lu_unpack(data: Any, pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """P, L and U; empty tensors for what is not asked for."""
    lu = compute(data)
    rows = lu.shape[-2]
    if unpack_pivots and ((array(pivots) < 1) | (array(pivots) > rows)).any():
        raise OperatorError(
            "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
            "Did you properly pass the result of lu_factor?"
        )
    none = np.zeros(0, lu.dtype)
    p = _permutation_matrix(array(pivots), rows, lu.dtype) if unpack_pivots else none
    lower, upper = _triangles(lu) if unpack_data else (none, none)
    return tuple(wrap(part, data.dtype) for part in (p, lower, upper))


def _solve(lu: Array, pivots: Array, b: Array, adjoint: bool) -> Array:
    lower, upper = _triangles(lu)
    order = permutation(pivots, lu.shape[-1])
    lead = np.broadcast_shapes(lu.shape[:-2], b.shape[:-2])
    b = np.broadcast_to(b, (*lead, *b.shape[-2:]))
    order = np.broadcast_to(order, (*lead, order.shape[-1]))[..., None]
    if not adjoint:
        rows = np.take_along_axis(b, order, -2)
        return np.asarray(np.linalg.solve(upper, np.linalg.solve(lower, rows)))
    turned = [np.conj(np.swapaxes(t, -1, -2)) for t in (upper, lower)]
    rows = np.linalg.solve(turned[1], np.linalg.solve(turned[0], b))
    out = np.empty_like(rows)
    np.put_along_axis(out, order, rows, -2)
    return out


def lu_solve(data: Any, pivots: Any, other: Any, left: bool = True, adjoint: bool = False) -> Any:
    """X of A X = B (X A = B where not `left`), from the factorisation of A."""
    lu, b = square(data, "torch.linalg.lu_solve"), compute(other)
    if left:
        return wrap(_solve(lu, array(pivots), b, adjoint), other.dtype)
    turned = np.conj(np.swapaxes(b, -1, -2))
    out = _solve(lu, array(pivots), turned, not adjoint)
    return wrap(np.conj(np.swapaxes(out, -1, -2)), other.dtype)


def _lu_with_info(self: Any, pivot: bool = True, check_errors: bool = True) -> Any:
    require_floating(self, "linalg.lu_factor")
    return lu_factor_ex(self, pivot, check_errors)


KERNELS: dict[str, Kernel] = {
    "aten::linalg_lu": linalg_lu,
    "aten::linalg_lu_factor": lu_factor,
    "aten::linalg_lu_factor_ex": lu_factor_ex,
    "aten::linalg_lu_solve": lu_solve,
    "aten::lu_solve": lambda self, data, pivots: lu_solve(data, pivots, self),
    "aten::lu_unpack": lu_unpack,
    "aten::_lu_with_info": _lu_with_info,
}
