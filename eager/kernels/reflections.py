"""Products of Householder reflections and symmetric indefinite (LDL) factorisations, in LAPACK's
packed forms (geqrf, orgqr, ormqr; sytrf and sytrs with Bunch and Kaufman's pivoting)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.dtypes import int32
from tensorscript.base.errors import LinearAlgebraError, OperatorError

from ..storage import Array, array, compute, wrap
from .matrices import matrix, square, stack_of

Kernel = Callable[..., Any]
_GROWTH = (1 + 17**0.5) / 8
"""Bunch and Kaufman's alpha: the share of a column's greatest element that a pivot must reach."""
_OUTSIDE = (
    "Pivots given to ldl_solve must all satisfy |pivot| <= LD.size(-2). Did you properly pass the"
    " result of ldl_factor?"
)


def geqrf(self: Any) -> Any:
    """The reflections of a QR factorisation: vectors below R, and their factors."""
    packed, tau = np.linalg.qr(matrix(self, "torch.geqrf"), "raw")
    return wrap(np.swapaxes(packed, -1, -2), self.dtype), wrap(tau, self.dtype)


def _vectors(packed: Array) -> Array:
    m, n = packed.shape[-2:]
    return np.asarray(np.tril(packed, -1) + np.eye(m, n, dtype=packed.dtype))


def _reflect(v: Array, tau: Array, target: Array) -> Array:
    """(I - tau v v^H) target, batched."""
    inner = (np.conj(v)[..., None, :] @ target) * tau[..., None, None]
    return np.asarray(target - v[..., :, None] * inner)


def _require_batches(name: str, x: Array, tau: Array, other: Array | None = None) -> None:
    """Vectors of factors, and matrices to multiply, stand in the same batch as `x`."""
    if tau.ndim != x.ndim - 1:
        raise OperatorError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to"
            f" {tau.ndim} and input.ndim is equal to {x.ndim}"
        )
    if other is not None and other.ndim != x.ndim:
        raise OperatorError(
            f"{name}: Expected other to have the same number of dimensions as input, but got "
            f"other.ndim equal to {other.ndim} and input.ndim is equal to {x.ndim}"
        )
    batches = {"tau": tau.shape[:-1], "other": x.shape[:-2] if other is None else other.shape[:-2]}
    for what, batch in batches.items():
        if batch != x.shape[:-2]:
            raise OperatorError(
                f"{name}: Expected batch dimensions of {what} to be equal to input.shape[:-2], but "
                f"got {list(batch)}"
            )


def householder_product(self: Any, tau: Any) -> Any:
    """The first n columns of H_1 H_2 ... H_k."""
    packed, factors = matrix(self, "torch.linalg.householder_product"), compute(tau)
    m, n = packed.shape[-2:]
    if m < n:
        raise OperatorError(
            "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to "
            "input.shape[-1]"
        )
    if factors.shape[-1] > n:
        raise OperatorError(
            "torch.linalg.householder_product: input.shape[-1] must be greater than or equal to "
            "tau.shape[-1]"
        )
    _require_batches("torch.linalg.householder_product", packed, tau=factors)
    vectors = _vectors(packed)
    out = np.broadcast_to(np.eye(m, n, dtype=packed.dtype), packed.shape)
    for k in range(factors.shape[-1] - 1, -1, -1):
        out = _reflect(vectors[..., :, k], factors[..., k], out)
    return wrap(out, self.dtype)


def ormqr(self: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    """Q C, Q^H C, C Q or C Q^H with the square Q of the reflections."""
    packed, factors, c = matrix(self, "torch.ormqr"), compute(tau), compute(other)
    if not left:
        turned = wrap(np.conj(np.swapaxes(c, -1, -2)), other.dtype)
        found = compute(ormqr(self, tau, turned, True, not transpose))
        return wrap(np.conj(np.swapaxes(found, -1, -2)), other.dtype)
    if packed.shape[-2] != c.shape[-2]:
        raise OperatorError("torch.ormqr: other.shape[-2] must be equal to input.shape[-2]")
    if factors.shape[-1] > min(c.shape[-2], packed.shape[-1]):
        raise OperatorError(
            "torch.ormqr: tau.shape[-1] must be equal to min(other.shape[-2], input.shape[-1])"
        )
    _require_batches("torch.ormqr", packed, factors, c)
    vectors = _vectors(packed)
    count = factors.shape[-1]
    for k in range(count) if transpose else range(count - 1, -1, -1):
        factor = np.conj(factors[..., k]) if transpose else factors[..., k]
        c = _reflect(vectors[..., :, k], factor, c)
    return wrap(c, other.dtype)


def _cabs(x: Array) -> Array:
    """LAPACK's cheap size of complex numbers."""
    return np.asarray(np.abs(x.real) + np.abs(x.imag))


def _pivot(a: Array, k: int) -> tuple[int, int]:
    """The row to exchange and the size (1 or 2) of the next diagonal block."""
    n = a.shape[0]
    here = float(_cabs(a[k, k]))
    if k == n - 1:
        return k, 1
    column = _cabs(a[k + 1 :, k])
    r = k + 1 + int(column.argmax())
    largest = float(column.max())
    if here >= _GROWTH * largest or largest == 0:
        return k, 1
    row = max(
        float(_cabs(a[r, k:r]).max(initial=0.0)), float(_cabs(a[r + 1 :, r]).max(initial=0.0))
    )
    if here >= _GROWTH * largest * (largest / row):
        return k, 1
    return (r, 1) if float(_cabs(a[r, r])) >= _GROWTH * row else (r, 2)


def _exchange(a: Array, i: int, j: int, hermitian: bool) -> None:
    """Swap rows and columns i < j of the symmetric matrix whose lower triangle `a` holds."""
    turn: Any = np.conj if hermitian else np.asarray
    a[j + 1 :, [i, j]] = a[j + 1 :, [j, i]]
    middle = turn(a[i + 1 : j, i].copy())
    a[i + 1 : j, i] = turn(a[j, i + 1 : j])
    a[j, i + 1 : j] = middle
    a[j, i] = turn(a[j, i])
    a[i, i], a[j, j] = a[j, j], a[i, i]


def _ldl(a: Array, hermitian: bool) -> tuple[Array, int]:
    """Factor one lower triangle in place; pivots as sytrf writes them (negative pairs: 2 x 2), and
    the first column, from 1, whose block is the number 0 or NaN."""
    n, info = a.shape[0], 0
    pivots = np.zeros(n, np.int32)
    turn: Any = np.conj if hermitian else np.asarray
    k = 0
    while k < n:
        r, size = _pivot(a, k)
        at = k + size - 1
        if r != at:
            _exchange(a, at, r, hermitian)
            if size == 2:
                a[at, k], a[r, k] = a[r, k], a[at, k]
        rest = slice(k + size, n)
        block = a[k : k + size, k : k + size]
        if hermitian:
            block[np.diag_indices(size)] = block.diagonal().real
        pivots[k : k + size] = r + 1 if size == 1 else -(r + 1)
        if size == 1 and not _cabs(block[0, 0]) > 0:
            info = info or k + 1
        full = block if size == 1 else np.array([[block[0, 0], turn(block[1, 0])], block[1]])
        columns = a[rest, k : k + size].copy()
        if full.any():
            scaled = columns @ np.linalg.inv(full)
            a[rest, rest] -= np.tril(scaled @ turn(columns).T)
            a[rest, k : k + size] = scaled
        k += size
    return pivots, info


def ldl_factor_ex(self: Any, hermitian: bool = False, check_errors: bool = False) -> Any:
    name = "torch.linalg.ldl_factor_ex"
    x = square(self, name)
    n = x.shape[-1]
    flat = stack_of(np.tril(x), x.shape[:-2], n, n).astype(np.result_type(x.dtype, np.float64))
    conjugated = hermitian and x.dtype.kind == "c"
    found = [_ldl(a, conjugated) for a in flat]
    pivots = np.array([p for p, _ in found], np.int32).reshape(x.shape[:-1])
    info = np.array([at for _, at in found], np.int32).reshape(x.shape[:-2])
    if check_errors and info.any():
        raise LinearAlgebraError(f"{name}: Unknown error code: {info[info != 0].flat[0]}.")
    return wrap(flat.reshape(x.shape), self.dtype), wrap(pivots, int32), wrap(info, int32)


def _ldl_matrix(packed: Array, pivots: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    """(L, D, order): L D L^T (or L^H) is the matrix with rows and columns in `order`."""
    n = packed.shape[0]
    lower, middle = np.eye(n, dtype=packed.dtype), np.zeros_like(packed)
    order = np.arange(n)
    k = 0
    while k < n:
        size = 1 if pivots[k] > 0 else 2
        at, r = k + size - 1, abs(int(pivots[k])) - 1
        order[[at, r]] = order[[r, at]]
        lower[[at, r], :k] = lower[[r, at], :k]
        lower[k + size :, k : k + size] = packed[k + size :, k : k + size]
        middle[at, at], middle[k, k] = packed[at, at], packed[k, k]
        if size == 2:
            middle[at, k] = packed[at, k]
            middle[k, at] = np.conj(packed[at, k]) if hermitian else packed[at, k]
        k += size
    return lower, middle, order


def _divided(middle: Array, rows: Array) -> Array:
    """The inverse of D, which has blocks of order 1 and 2, times `rows`."""
    out = rows / middle.diagonal()[:, None]
    for k in np.flatnonzero(middle.diagonal(-1)):
        (top, across), (below, end) = middle[k : k + 2, k : k + 2]
        det = top * end - across * below
        out[k] = (end * rows[k] - across * rows[k + 1]) / det
        out[k + 1] = (top * rows[k + 1] - below * rows[k]) / det
    return np.asarray(out)


def ldl_solve(data: Any, pivots: Any, other: Any, hermitian: bool = False) -> Any:
    packed, b = square(data, "torch.linalg.ldl_solve"), compute(other)
    n = packed.shape[-1]
    lead = np.broadcast_shapes(packed.shape[:-2], b.shape[:-2])
    all_pivots = stack_of(array(pivots), lead, n)
    if (np.abs(all_pivots) > n).any():
        raise OperatorError(_OUTSIDE)
    flat = stack_of(packed, lead, n, n)
    right = stack_of(b, lead, *b.shape[-2:])
    out = np.empty_like(right)
    conjugated = hermitian and packed.dtype.kind == "c"
    for a, own, rows, place in zip(flat, all_pivots, right, out, strict=True):
        lower, middle, order = _ldl_matrix(a, own, conjugated)
        turned = np.conj(lower.T) if conjugated else lower.T
        half = _divided(middle, np.linalg.solve(lower, rows[order]))
        place[order] = np.linalg.solve(turned, half)
    return wrap(out.reshape(*lead, *b.shape[-2:]), other.dtype)


KERNELS: dict[str, Kernel] = {
    "aten::geqrf": geqrf,
    "aten::linalg_householder_product": householder_product,
    "aten::orgqr": householder_product,
    "aten::ormqr": ormqr,
    "aten::linalg_ldl_factor": lambda self, turns=False: ldl_factor_ex(self, turns, True)[:2],
    "aten::linalg_ldl_factor_ex": ldl_factor_ex,
    "aten::linalg_ldl_solve": ldl_solve,
}
