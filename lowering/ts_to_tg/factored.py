"""Rows that take factors which another operator has made: `lu_solve` and `lu_unpack`."""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.dtypes import float64, int32, int64
from tensorscript.dialects.te.expr import Expr, binary, const, select

from . import reflections
from .builder import Builder, Rows
from .complex_tensors import AnyTensor, converted
from .decomposition import permutation_matrix, triangles
from .elements import known
from .emission import Body
from .factors import Column, rows_in, substituted, trips
from .index import check_bounds
from .loops import loop
from .matrices import Stack, beside, matrix
from .matrix_elements import Number, adjoint, made, only
from .sizes import simplify
from .values import Tensor, Value


def _order(b: Builder, pivots: Tensor, count: Expr, rows: Expr, lead: Sequence[Expr]) -> Tensor:
    """Row i of what the factors multiply to is row order[i] of the matrix: LAPACK's exchanges,
    from 1, one after the other."""
    if pivots.dtype is not int32:
        b.error("LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.")
    steps = pivots.shape[-1]
    b.check(known(binary("le", steps, rows)), f"{steps} pivots exchange rows of a matrix of {rows}")
    wide = b.apply("aten::expand", pivots, [*lead, steps])
    chosen = b.apply("aten::reshape", b.cast(wide, int64), [count, steps])
    check_bounds(
        b,
        b.apply("aten::sub", chosen, 1),
        rows,
        "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
        "Did you properly pass the result of lu_factor?",
        low=False,
    )

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


def _back_in(b: Builder, x: AnyTensor, order: Tensor) -> AnyTensor:
    """Row order[i] is row i of `x`."""

    def place(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        here = body.read(order, [i[0], r[0]], int64).equals(i[1])
        return select(here, r[0], const(0, int64))

    count, rows = order.shape
    return rows_in(b, x, b.reduce([count, rows], [rows], int64, "add", place))


def _solved(b: Builder, lu: AnyTensor, pivots: Tensor, y: AnyTensor, turns: bool) -> AnyTensor:
    """X of A X = B, or of A^H X = B."""
    a, sides = beside(b, lu, y, "torch.linalg.lu_solve")
    b.require_same(
        pivots.shape[-1],
        a.rows,
        "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix",
    )
    order = _order(b, pivots, a.count, a.rows, a.lead)
    if not turns:
        half = substituted(b, a.data, rows_in(b, sides.data, order), lower=True, unit=True)
        return sides.back(b, substituted(b, a.data, half, lower=False))
    turned = adjoint(b, a.data)
    half = substituted(b, turned, sides.data, lower=True)
    whole = substituted(b, turned, half, lower=False, unit=True)
    return sides.back(b, _back_in(b, whole, order))


def _lu_solve(
    b: Builder, lu: AnyTensor, pivots: Tensor, y: AnyTensor, left: Value = True,
    turns: Value = False,
) -> Value:  # fmt: skip
    if left:
        return _solved(b, lu, pivots, y, bool(turns))
    return adjoint(b, _solved(b, lu, pivots, adjoint(b, y), not turns))


def _lu_unpack(
    b: Builder, lu: AnyTensor, pivots: Tensor, data: Value = True, places: Value = True
) -> Value:
    """P, L and U; empty tensors for what is not asked for."""
    a: Stack = matrix(b, lu, "torch.lu_unpack")
    none = converted(b, b.full([0], 0, float64), lu.dtype)
    order = _order(b, pivots, a.count, a.rows, a.lead) if places else None
    permutation = none if order is None else a.back(b, permutation_matrix(b, order), a.dtype)
    if not data:
        return permutation, none, none
    return permutation, *(a.back(b, t) for t in triangles(b, a.data))


# --- reflections ----------------------------------------------------------------------------------


def _product_of_reflections(b: Builder, x: AnyTensor, tau: AnyTensor, *_: Value) -> Value:
    """The first n columns of Q."""
    name = "torch.linalg.householder_product"
    a = matrix(b, x, name)
    for less, more, sizes in (
        (a.columns, a.rows, ("input.shape[-2]", "input.shape[-1]")),
        (tau.shape[-1], a.columns, ("input.shape[-1]", "tau.shape[-1]")),
    ):
        b.check(
            known(binary("le", less, more)),
            f"{name}: {sizes[0]} must be greater than or equal to {sizes[1]}",
        )

    def start(body: Body, i: list[Expr]) -> Number:
        return only(i[1].equals(i[2]), const(1.0, float64))

    first = made(b, a.data, a.data.shape, start)
    return a.back(b, reflections.applied(b, a.data, _factors(b, name, x, a, tau), first))


def _factors(b: Builder, name: str, x: AnyTensor, a: Stack, tau: AnyTensor) -> AnyTensor:
    """(B, k)"""
    if tau.rank != x.rank - 1:
        b.error(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to"
            f" {tau.rank} and input.ndim is equal to {x.rank}"
        )
    flat = b.apply("aten::reshape", tau, [a.count, tau.shape[-1]])
    return converted(b, flat, a.data.dtype)


def _times_reflections(
    b: Builder, x: AnyTensor, tau: AnyTensor, y: AnyTensor, left: Value = True,
    turned: Value = False, *_: Value,
) -> Value:  # fmt: skip
    """Q C, Q^H C, C Q or C Q^H with the square Q of the reflections."""
    if not left:
        return adjoint(b, _times_reflections(b, x, tau, adjoint(b, y), True, not turned))
    a, c = matrix(b, x, "torch.ormqr"), matrix(b, y, "torch.ormqr")
    b.require_same(a.rows, c.rows, "torch.ormqr: other.shape[-2] must be equal to input.shape[-2]")
    b.require_same(
        tau.shape[-1],
        simplify(binary("min", a.rows, a.columns)),
        "torch.ormqr: tau.shape[-1] must be equal to min(other.shape[-2], input.shape[-1])",
    )
    message = "torch.ormqr: batch dimensions of other should be equal to input.shape[:-2]"
    b.require_alike(c.lead, a.lead, message)
    factors = _factors(b, "torch.ormqr", x, a, tau)
    found = reflections.applied(b, a.data, factors, c.data, bool(turned))
    return c.back(b, found)


FACTORED: Rows = {
    **{
        f"aten::{name}": _product_of_reflections for name in ("linalg_householder_product", "orgqr")
    },
    "aten::ormqr": _times_reflections,
    "aten::linalg_lu_solve": _lu_solve,
    "aten::lu_solve": lambda b, y, lu, pivots: _lu_solve(b, lu, pivots, y),
    "aten::lu_unpack": _lu_unpack,
}
