"""Factorisations of stacks of matrices, column by column: LU and Cholesky; and substitution.

Each is one loop over columns that changes all of a matrix at once (right-looking, as LAPACK's
unblocked getf2 and potf2; Golub and Van Loan, Matrix Computations, 3.4 and 4.2).
Matrices are real or complex, all alike in `matrix_elements.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.dtypes import float64, int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, binary, call, const, select, unary

from .builder import Builder
from .complex_tensors import AnyTensor
from .elements import as_expr
from .emission import Body
from .loops import loop
from .matrix_elements import (
    Number,
    chosen,
    conjugate,
    is_zero,
    made,
    minus,
    only,
    or_one,
    over,
    read,
    real_part,
    size,
    times,
)
from .sizes import simplify
from .values import Tensor, Value


def trips(count: Expr) -> Value:
    """How often a loop over a size runs."""
    return int(str(count.value)) if count.op == "const" else count


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

    packed: AnyTensor
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

    packed: AnyTensor
    best: Tensor
    k: Column

    def source(self, body: Body, i: list[Expr]) -> Expr:
        """The row that comes to row i[1]."""
        other, here = body.read(self.best, [i[0]], int64), self.k.at(body)
        return select(i[1].equals(here), other, select(i[1].equals(other), here, i[1]))

    def rows(self, body: Body, i: list[Expr]) -> Number:
        """The stack with its rows in the new order."""
        return read(body, self.packed, [i[0], self.source(body, i), i[2]])

    def pivot(self, body: Body, swapped: AnyTensor, i: list[Expr]) -> Number:
        return read(body, swapped, [i[0], self.k.at(body), self.k.at(body)])

    def factor(self, body: Body, swapped: AnyTensor, i: list[Expr]) -> Number:
        """The multiple of row k that is taken from row i[1]."""
        top = self.pivot(body, swapped, i)
        below = read(body, swapped, [i[0], i[1], self.k.at(body)])
        return only(i[1] > self.k.at(body), over(below, or_one(top)))

    def eliminated(
        self, body: Body, swapped: AnyTensor, factors: AnyTensor, i: list[Expr]
    ) -> Number:
        """The stack after the step; the multiples stand where they made zeros."""
        here = self.k.at(body)
        old = read(body, swapped, i)
        ratio = read(body, factors, i[:2])
        less = minus(old, times(ratio, read(body, swapped, [i[0], here, i[2]])))
        inside = chosen(i[2].equals(here), ratio, less)
        return chosen(_both(i[1] > here, binary("ge", i[2], here)), inside, old)


def _largest_below(b: Builder, packed: AnyTensor, k: Column) -> Tensor:
    """The row of the greatest element of column k on or below the diagonal, (B)."""

    def length(body: Body, i: list[Expr]) -> Expr:
        here = read(body, packed, [i[0], i[1], k.at(body)])
        return select(binary("ge", i[1], k.at(body)), size(here), const(-1.0, float64))

    return b.apply("aten::argmax", b.compute(packed.shape[:2], float64, length), 1)


def lu(b: Builder, a: AnyTensor) -> LU:
    """Of a stack (B, m, n), with partial pivoting."""
    count, m, n = a.shape
    steps = simplify(binary("min", m, n))

    def step(arguments: Sequence[Value]) -> list[Value]:
        number, packed, order, pivots, info, sign = arguments
        k = Column(number)
        at = _Elimination(packed, _largest_below(b, packed, k), k)
        swapped = made(b, a, [count, m, n], at.rows)
        factors = made(b, a, [count, m], lambda body, i: at.factor(body, swapped, i))

        def moved(body: Body, i: list[Expr]) -> Expr:
            return body.read(order, [i[0], at.source(body, i)], int64)

        def exchanged(body: Body, i: list[Expr]) -> Expr:
            here = i[1].equals(k.at(body))
            return select(here, body.read(at.best, i[:1], int64) + 1, body.read(pivots, i, int64))

        def noted(body: Body, i: list[Expr]) -> Expr:
            old = body.read(info, i, int64)
            new = _both(is_zero(at.pivot(body, swapped, i)), old.equals(0))
            return select(new, k.at(body) + 1, old)

        def turned(body: Body, i: list[Expr]) -> Expr:
            old = body.read(sign, i, float64)
            return select(body.read(at.best, i, int64).equals(k.at(body)), old, -old)

        return [
            True,
            made(b, a, [count, m, n], lambda body, i: at.eliminated(body, swapped, factors, i)),
            b.compute([count, m], int64, moved),
            b.compute([count, steps], int64, exchanged),
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


def substituted(
    b: Builder, a: AnyTensor, x: AnyTensor, lower: bool, unit: bool = False
) -> AnyTensor:
    """The solution of a triangular system a y = x; the other triangle of `a` is not read."""
    count, n, width = x.shape

    def step(arguments: Sequence[Value]) -> list[Value]:
        number, right = arguments
        k = Column(number if lower else simplify(n - 1 - as_expr(number)))

        def solved(body: Body, i: list[Expr]) -> Number:
            e = read(body, right, [i[0], k.at(body), i[1]])
            return e if unit else over(e, read(body, a, [i[0], k.at(body), k.at(body)]))

        row = made(b, x, [count, width], solved)

        def rest(body: Body, i: list[Expr]) -> Number:
            old, found = read(body, right, i), read(body, row, [i[0], i[2]])
            less = minus(old, times(read(body, a, [i[0], i[1], k.at(body)]), found))
            later = i[1] > k.at(body) if lower else i[1] < k.at(body)
            return chosen(i[1].equals(k.at(body)), found, chosen(later, less, old))

        return [True, made(b, x, [count, n, width], rest)]

    found: AnyTensor = loop(b, trips(n), True, [x], step, 64)[0]
    return found


def rows_in(b: Builder, x: AnyTensor, order: Tensor) -> AnyTensor:
    """Row i is row order[i]."""
    return made(
        b,
        x,
        x.shape,
        lambda body, i: read(body, x, [i[0], body.read(order, i[:2], int64), i[2]]),
    )


def lu_solved(b: Builder, of: LU, x: AnyTensor) -> AnyTensor:
    """The solution of the factored system."""
    half = substituted(b, of.packed, rows_in(b, x, of.order), lower=True, unit=True)
    return substituted(b, of.packed, half, lower=False)


def cholesky(b: Builder, a: AnyTensor) -> tuple[AnyTensor, Tensor]:
    """The lower factor of the lower triangles of a stack, and the order of the first leading minor
    that is not positive, or 0. From that order on rows are those of `a`."""
    count, n, _ = a.shape

    def step(arguments: Sequence[Value]) -> list[Value]:
        number, factor, info = arguments
        k = Column(number)

        def top(body: Body, i: list[Expr]) -> Expr:
            return real_part(read(body, factor, [i[0], k.at(body), k.at(body)]))

        def noted(body: Body, i: list[Expr]) -> Expr:
            old = body.read(info, i, int64)
            bad = _both(unary("not", top(body, i) > 0), old.equals(0))
            return select(bad, k.at(body) + 1, old)

        after_info = b.compute([count], int64, noted)

        def column(body: Body, i: list[Expr]) -> Number:
            root = call("sqrt", top(body, i))
            below = over(read(body, factor, [i[0], i[1], k.at(body)]), root)
            return chosen(i[1].equals(k.at(body)), root, below)

        found = made(b, a, [count, n], column)

        def update(body: Body, i: list[Expr]) -> Number:
            old = read(body, factor, i)
            left, right = (read(body, found, [i[0], i[d]]) for d in (1, 2))
            less = minus(old, times(left, conjugate(right)))
            inside = chosen(i[2].equals(k.at(body)), left, less)
            touched = _both(binary("ge", i[1], k.at(body)), binary("ge", i[2], k.at(body)))
            fine = body.read(after_info, i[:1], int64).equals(0)
            return chosen(_both(touched, fine), inside, old)

        return [True, made(b, a, [count, n, n], update), after_info]

    start: list[Value] = [a, b.full([count], 0, int64)]
    factor, info = loop(b, trips(n), True, start, step, 64)

    def lower(body: Body, i: list[Expr]) -> Number:
        first_bad = body.read(info, i[:1], int64)
        whole = _both(binary("ne", first_bad, 0), binary("ge", i[1] + 1, first_bad))
        e = chosen(whole, read(body, a, i), read(body, factor, i))
        return only(binary("ge", i[1], i[2]), e)

    return made(b, a, [count, n, n], lower), info
