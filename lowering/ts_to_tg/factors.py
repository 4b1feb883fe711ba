"""Factorisations of stacks of matrices, column by column: LU, Cholesky, QR; and substitution.

Each is one loop over columns that changes all of a matrix at once (right-looking, as LAPACK's
unblocked getf2, potf2 and geqr2 in Golub and Van Loan, Matrix Computations, 3.4, 4.2 and 5.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tensorscript.base.dtypes import bool_, float64, int64
from tensorscript.dialects.te.expr import Expr, binary, call, const, select, unary

from .builder import Builder
from .control import loop
from .elements import as_expr
from .emission import Body
from .matrices import identity
from .sizes import simplify
from .values import Tensor, Value

_ZERO = const(0.0, float64)
_ONE = const(1.0, float64)


def trips(size: Expr) -> Value:
    """How often a loop over a size runs."""
    return int(str(size.value)) if size.op == "const" else size


def _both(p: Expr, q: Expr) -> Expr:
    return binary("and", p, q)


class Column:
    """The number of the column under way, as bodies read it."""

    def __init__(self, number: Value) -> None:
        self.number = number

    def at(self, body: Body) -> Expr:
        return body.scalar(self.number, int64)


@dataclass(frozen=True)
class LU:
    """`packed` holds U, and L below its diagonal of ones; row i of what they multiply to is row
    order[i] of the matrix. `pivots` are LAPACK's, from 1; `info` is the first zero pivot, from 1,
    or 0; `sign` is that of the order."""

    packed: Tensor
    order: Tensor
    pivots: Tensor
    info: Tensor
    sign: Tensor


@dataclass(frozen=True)
class _Elimination:
    """Step k of LU on a stack (B, m, n): the row of the greatest element comes to row k, and
    multiples of it are taken from the rows below.

    Attributes:
        packed: the stack before it.
        best: the row that comes to row k, (B).
    """

    packed: Tensor
    best: Tensor
    k: Column

    def source(self, body: Body, i: list[Expr]) -> Expr:
        """The row that comes to row i[1]."""
        other, here = body.read(self.best, [i[0]], int64), self.k.at(body)
        return select(i[1].equals(here), other, select(i[1].equals(other), here, i[1]))

    def rows(self, body: Body, i: list[Expr]) -> Expr:
        """The stack with its rows in the new order."""
        return body.read(self.packed, [i[0], self.source(body, i), i[2]], float64)

    def pivot(self, body: Body, swapped: Tensor, i: list[Expr]) -> Expr:
        return body.read(swapped, [i[0], self.k.at(body), self.k.at(body)], float64)

    def factor(self, body: Body, swapped: Tensor, i: list[Expr]) -> Expr:
        """The multiple of row k that is taken from row i[1]."""
        top = self.pivot(body, swapped, i)
        below = body.read(swapped, [i[0], i[1], self.k.at(body)], float64)
        ratio = below / select(top.equals(0), _ONE, top)
        return select(i[1] > self.k.at(body), ratio, _ZERO)

    def eliminated(self, body: Body, swapped: Tensor, factors: Tensor, i: list[Expr]) -> Expr:
        """The stack after the step; the multiples stand where they made zeros."""
        here = self.k.at(body)
        old = body.read(swapped, i, float64)
        ratio = body.read(factors, i[:2], float64)
        less = old - ratio * body.read(swapped, [i[0], here, i[2]], float64)
        inside = select(i[2].equals(here), ratio, less)
        return select(_both(i[1] > here, binary("ge", i[2], here)), inside, old)


def _largest_below(b: Builder, packed: Tensor, k: Column) -> Tensor:
    """The row of the greatest element of column k on or below the diagonal, (B)."""

    def size(body: Body, i: list[Expr]) -> Expr:
        here = body.read(packed, [i[0], i[1], k.at(body)], float64)
        return select(binary("ge", i[1], k.at(body)), call("abs", here), const(-1.0, float64))

    found: Tensor = b.apply("aten::argmax", b.compute(packed.shape[:2], float64, size), 1)
    return found


def lu(b: Builder, a: Tensor) -> LU:
    """Of a stack (B, m, n), with partial pivoting."""
    count, m, n = a.shape
    steps = simplify(binary("min", m, n))

    def step(arguments: Sequence[Value]) -> list[Value]:
        number, packed, order, pivots, info, sign = arguments
        k = Column(number)
        at = _Elimination(packed, _largest_below(b, packed, k), k)
        swapped = b.compute([count, m, n], float64, at.rows)
        factors = b.compute([count, m], float64, lambda body, i: at.factor(body, swapped, i))

        def moved(body: Body, i: list[Expr]) -> Expr:
            return body.read(order, [i[0], at.source(body, i)], int64)

        def chosen(body: Body, i: list[Expr]) -> Expr:
            here = i[1].equals(k.at(body))
            return select(here, body.read(at.best, i[:1], int64) + 1, body.read(pivots, i, int64))

        def noted(body: Body, i: list[Expr]) -> Expr:
            old = body.read(info, i, int64)
            new = _both(at.pivot(body, swapped, i).equals(0), old.equals(0))
            return select(new, k.at(body) + 1, old)

        def turned(body: Body, i: list[Expr]) -> Expr:
            old = body.read(sign, i, float64)
            return select(body.read(at.best, i, int64).equals(k.at(body)), old, -old)

        return [
            True,
            b.compute(
                [count, m, n], float64, lambda body, i: at.eliminated(body, swapped, factors, i)
            ),
            b.compute([count, m], int64, moved),
            b.compute([count, steps], int64, chosen),
            b.compute([count], int64, noted),
            b.compute([count], float64, turned),
        ]

    start: list[Value] = [
        a,
        b.compute([count, m], int64, lambda body, i: i[1]),
        b.full([count, steps], 0, int64),
        b.full([count], 0, int64),
        b.full([count], 1, float64),
    ]
    return LU(*loop(b, trips(steps), True, start, step, 64))


def substituted(b: Builder, a: Tensor, x: Tensor, lower: bool, unit: bool = False) -> Tensor:
    """The solution of a triangular system a y = x; the other triangle of `a` is not read."""
    count, n, width = x.shape

    def step(arguments: Sequence[Value]) -> list[Value]:
        number, right = arguments
        k = Column(number if lower else simplify(n - 1 - as_expr(number)))

        def solved(body: Body, i: list[Expr]) -> Expr:
            e = body.read(right, [i[0], k.at(body), i[1]], float64)
            return e if unit else e / body.read(a, [i[0], k.at(body), k.at(body)], float64)

        row = b.compute([count, width], float64, solved)

        def rest(body: Body, i: list[Expr]) -> Expr:
            old, found = body.read(right, i, float64), body.read(row, [i[0], i[2]], float64)
            less = old - body.read(a, [i[0], i[1], k.at(body)], float64) * found
            later = i[1] > k.at(body) if lower else i[1] < k.at(body)
            return select(i[1].equals(k.at(body)), found, select(later, less, old))

        return [True, b.compute([count, n, width], float64, rest)]

    found: Tensor = loop(b, trips(n), True, [x], step, 64)[0]
    return found


def rows_in(b: Builder, x: Tensor, order: Tensor) -> Tensor:
    """Row i is row order[i]."""
    return b.compute(
        x.shape,
        float64,
        lambda body, i: body.read(x, [i[0], body.read(order, i[:2], int64), i[2]], float64),
    )


def lu_solved(b: Builder, of: LU, x: Tensor) -> Tensor:
    """The solution of the factored system."""
    half = substituted(b, of.packed, rows_in(b, x, of.order), lower=True, unit=True)
    return substituted(b, of.packed, half, lower=False)


def cholesky(b: Builder, a: Tensor) -> tuple[Tensor, Tensor]:
    """The lower factor of the lower triangles of a stack, and the order of the first leading minor
    that is not positive, or 0. From that order on rows are those of `a`."""
    count, n, _ = a.shape

    def step(arguments: Sequence[Value]) -> list[Value]:
        number, factor, info = arguments
        k = Column(number)

        def top(body: Body, i: list[Expr]) -> Expr:
            return body.read(factor, [i[0], k.at(body), k.at(body)], float64)

        def noted(body: Body, i: list[Expr]) -> Expr:
            old = body.read(info, i, int64)
            bad = _both(unary("not", top(body, i) > 0), old.equals(0))
            return select(bad, k.at(body) + 1, old)

        after_info = b.compute([count], int64, noted)

        def column(body: Body, i: list[Expr]) -> Expr:
            root = call("sqrt", top(body, i))
            below = body.read(factor, [i[0], i[1], k.at(body)], float64) / root
            return select(i[1].equals(k.at(body)), root, below)

        found = b.compute([count, n], float64, column)

        def update(body: Body, i: list[Expr]) -> Expr:
            old = body.read(factor, i, float64)
            left, right = (body.read(found, [i[0], i[d]], float64) for d in (1, 2))
            inside = select(i[2].equals(k.at(body)), left, old - left * right)
            touched = _both(binary("ge", i[1], k.at(body)), binary("ge", i[2], k.at(body)))
            fine = body.read(after_info, i[:1], int64).equals(0)
            return select(_both(touched, fine), inside, old)

        return [True, b.compute([count, n, n], float64, update), after_info]

    start: list[Value] = [a, b.full([count], 0, int64)]
    factor, info = loop(b, trips(n), True, start, step, 64)

    def lower(body: Body, i: list[Expr]) -> Expr:
        first_bad = body.read(info, i[:1], int64)
        whole = _both(binary("ne", first_bad, 0), binary("ge", i[1] + 1, first_bad))
        e = select(whole, body.read(a, i, float64), body.read(factor, i, float64))
        return select(i[2] > i[1], _ZERO, e)

    return b.compute([count, n, n], float64, lower), info


def qr(b: Builder, a: Tensor) -> tuple[Tensor, Tensor]:
    """Q (B, m, m) and R (B, m, n) of a stack, by Householder's reflections with LAPACK's signs."""
    count, m, n = a.shape

    def step(arguments: Sequence[Value]) -> list[Value]:
        number, q, r = arguments
        k = Column(number)

        def tail(body: Body, i: list[Expr], rr: list[Expr]) -> Expr:
            e = body.read(r, [i[0], rr[0], k.at(body)], float64)
            return select(rr[0] > k.at(body), e * e, _ZERO)

        below = b.reduce([count], [m], float64, "add", tail)

        def parts(body: Body, i: list[Expr]) -> tuple[Expr, Expr, Expr]:
            """The diagonal element, what it becomes, and whether there is nothing below it."""
            alpha = body.read(r, [i[0], k.at(body), k.at(body)], float64)
            rest = body.read(below, i[:1], float64)
            beta = -call("copysign", call("sqrt", alpha * alpha + rest), alpha)
            return alpha, beta, rest.equals(0)

        def reflector(body: Body, i: list[Expr]) -> Expr:
            alpha, beta, is_done = parts(body, i)
            e = body.read(r, [i[0], i[1], k.at(body)], float64)
            scaled = e / select(is_done, _ONE, alpha - beta)
            inside = select(i[1].equals(k.at(body)), _ONE, scaled)
            return select(binary("ge", i[1], k.at(body)), inside, _ZERO)

        v = b.compute([count, m], float64, reflector)

        def factor(body: Body, i: list[Expr]) -> Expr:
            alpha, beta, is_done = parts(body, i)
            return select(is_done, _ZERO, (beta - alpha) / select(is_done, _ONE, beta))

        tau = b.compute([count], float64, factor)

        def against_rows(body: Body, i: list[Expr], rr: list[Expr]) -> Expr:
            e = body.read(r, [i[0], rr[0], i[1]], float64)
            return body.read(v, [i[0], rr[0]], float64) * e

        def against_columns(body: Body, i: list[Expr], rr: list[Expr]) -> Expr:
            e = body.read(q, [i[0], i[1], rr[0]], float64)
            return e * body.read(v, [i[0], rr[0]], float64)

        w = b.reduce([count, n], [m], float64, "add", against_rows)
        u = b.reduce([count, m], [m], float64, "add", against_columns)

        def less(body: Body, old: Tensor, i: list[Expr], p: Tensor, s: Tensor) -> Expr:
            sides = body.read(p, [i[0], i[1]], float64) * body.read(s, [i[0], i[2]], float64)
            return body.read(old, i, float64) - body.read(tau, i[:1], float64) * sides

        after_r = b.compute([count, m, n], float64, lambda body, i: less(body, r, i, v, w))
        after_q = b.compute([count, m, m], float64, lambda body, i: less(body, q, i, u, v))
        return [True, after_q, after_r]

    steps = simplify(binary("min", m, n))
    q, r = loop(b, trips(steps), True, [identity(b, count, m), a], step, 64)
    upper = b.compute(
        [count, m, n],
        float64,
        lambda body, i: select(i[1] > i[2], _ZERO, body.read(r, i, float64)),
    )
    return q, upper


def is_zero(b: Builder, info: Tensor) -> Tensor:
    """Which matrices of a stack went through, as bool (B,)."""
    return b.pointwise(lambda e: e.equals(0), info, dtype=bool_, compute=int64)
