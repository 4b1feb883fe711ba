"""Rows that take factors which another operator has made: `lu_solve` and `lu_unpack`."""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.dtypes import int32, int64
from tensorscript.dialects.te.expr import Expr, const, select

from .builder import Builder, Rows
from .control import loop
from .decomposition import permutation_matrix, triangles
from .emission import Body
from .factors import Column, rows_in, substituted, trips
from .matrices import Stack, beside, matrix, transposed
from .values import Tensor, Value


def _order(b: Builder, pivots: Tensor, count: Expr, rows: Expr, lead: Sequence[Expr]) -> Tensor:
    """Row i of what the factors multiply to is row order[i] of the matrix: LAPACK's exchanges,
    from 1, one after the other."""
    if pivots.dtype is not int32:
        b.error("LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.")
    steps = pivots.shape[-1]
    wide = b.apply("aten::expand", pivots, [*lead, steps])
    chosen = b.apply("aten::reshape", b.cast(wide, int64), [count, steps])

    def step(arguments: Sequence[Value]) -> list[Value]:
        number, order = arguments
        k = Column(number)

        def moved(body: Body, i: list[Expr]) -> Expr:
            other = body.read(chosen, [i[0], k.at(body)], int64) - 1
            swapped = select(i[1].equals(other), k.at(body), i[1])
            return body.read(order, [i[0], select(i[1].equals(k.at(body)), other, swapped)], int64)

        return [True, b.compute([count, rows], int64, moved)]

    start = b.compute([count, rows], int64, lambda body, i: i[1])
    found: Tensor = loop(b, trips(steps), True, [start], step, 64)[0]
    return found


def _back_in(b: Builder, x: Tensor, order: Tensor) -> Tensor:
    """Row order[i] is row i of `x`."""

    def place(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        here = body.read(order, [i[0], r[0]], int64).equals(i[1])
        return select(here, r[0], const(0, int64))

    count, rows = order.shape
    return rows_in(b, x, b.reduce([count, rows], [rows], int64, "add", place))


def _solved(b: Builder, lu: Tensor, pivots: Tensor, y: Tensor, adjoint: bool) -> Tensor:
    """X of A X = B, or of A^T X = B."""
    a, sides = beside(b, lu, y, "torch.linalg.lu_solve")
    order = _order(b, pivots, a.count, a.rows, a.lead)
    if not adjoint:
        half = substituted(b, a.data, rows_in(b, sides.data, order), lower=True, unit=True)
        return sides.back(b, substituted(b, a.data, half, lower=False))
    turned = transposed(b, a.data)
    half = substituted(b, turned, sides.data, lower=True)
    whole = substituted(b, turned, half, lower=False, unit=True)
    return sides.back(b, _back_in(b, whole, order))


def _lu_solve(
    b: Builder, lu: Tensor, pivots: Tensor, y: Tensor, left: Value = True, adjoint: Value = False
) -> Tensor:
    if left:
        return _solved(b, lu, pivots, y, bool(adjoint))
    return transposed(b, _solved(b, lu, pivots, transposed(b, y), not adjoint))


def _lu_unpack(
    b: Builder, lu: Tensor, pivots: Tensor, data: Value = True, places: Value = True
) -> Value:
    """P, L and U; empty tensors for what is not asked for."""
    a: Stack = matrix(b, lu, "torch.lu_unpack")
    none = b.full([0], 0, lu.dtype)
    order = _order(b, pivots, a.count, a.rows, a.lead) if places else None
    permutation = none if order is None else a.back(b, permutation_matrix(b, order))
    if not data:
        return permutation, none, none
    return permutation, *(a.back(b, t) for t in triangles(b, a.data))


FACTORED: Rows = {
    "aten::linalg_lu_solve": _lu_solve,
    "aten::lu_solve": lambda b, y, lu, pivots: _lu_solve(b, lu, pivots, y),
    "aten::lu_unpack": _lu_unpack,
}
