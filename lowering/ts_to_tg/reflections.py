"""Householder's reflections of stacks of matrices, packed as LAPACK packs them, and what QR is.

Reflection k is I - tau v v^H, where v is 0 above row k, 1 in it, and below it stands in column k
of the packed matrix, whose upper triangle is R (geqr2, org2r and orm2r; Golub and Van Loan, Matrix
Computations, 5.1 and 5.2). Of complex numbers the diagonal of R is real.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.dtypes import float64
from tensorscript.dialects.te.expr import Expr, binary, call, const, select

from .builder import Builder
from .complex_numbers import Pair
from .complex_tensors import AnyTensor
from .elements import as_expr
from .emission import Body
from .factors import Column, trips
from .loops import loop
from .matrices import identity_like
from .matrix_elements import (
    Number,
    chosen,
    conjugate,
    made,
    minus,
    only,
    over,
    read,
    real_part,
    square,
    summed,
    times,
)
from .sizes import simplify
from .values import Tensor, Value

_ZERO, _ONE = const(0.0, float64), const(1.0, float64)


def reflected(b: Builder, a: AnyTensor) -> tuple[AnyTensor, AnyTensor]:
    """The packed factorisation of a stack (B, m, n), and tau (B, min(m, n))."""
    count, m, n = a.shape
    steps = simplify(binary("min", m, n))

    def step(arguments: Sequence[Value]) -> list[Value]:
        number, packed, taus = arguments
        k = Column(number)
        at = _Step(packed, _below(b, packed, k), k)
        column = made(b, a, [count, m], at.column)
        tau = made(b, a, [count], at.factor)
        vector = made(
            b, a, [count, m], lambda body, i: _entry(read(body, column, i), i[1], k, body)
        )
        less = _reflection(b, vector, tau, packed, turned=True)

        def after(body: Body, i: list[Expr]) -> Number:
            here = k.at(body)
            kept = chosen(i[2].equals(here), read(body, column, i[:2]), read(body, packed, i))
            return chosen(i[2] > here, read(body, less, i), kept)

        def noted(body: Body, i: list[Expr]) -> Number:
            here = i[1].equals(k.at(body))
            return chosen(here, read(body, tau, i[:1]), read(body, taus, i))

        return [True, made(b, a, [count, m, n], after), made(b, a, [count, steps], noted)]

    zeros = made(b, a, [count, steps], lambda body, i: _ZERO)
    packed, taus = loop(b, trips(steps), True, [a, zeros], step, 64)
    return packed, taus


def _below(b: Builder, packed: AnyTensor, k: Column) -> Tensor:
    """The sum of squares of column k below the diagonal, (B)."""
    count, m, _ = packed.shape

    def tail(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        e = square(read(body, packed, [i[0], r[0], k.at(body)]))
        return select(r[0] > k.at(body), e, _ZERO)

    return b.reduce([count], [m], float64, "add", tail)


class _Step:
    """Reflection k of a stack.

    Attributes:
        packed: the stack before it.
        below: the sum of squares of column k below the diagonal, (B).
    """

    def __init__(self, packed: AnyTensor, below: Tensor, k: Column) -> None:
        self.packed = packed
        self.below = below
        self.k = k

    def _ends(self, body: Body, i: list[Expr]) -> tuple[Number, Expr, Expr]:
        """The diagonal element, what it becomes, and whether it stays."""
        alpha = read(body, self.packed, [i[0], self.k.at(body), self.k.at(body)])
        rest = body.read(self.below, i[:1], float64)
        root = call("sqrt", square(alpha) + rest)
        is_done = rest.equals(0)
        if isinstance(alpha, Pair):  # numbers whose squares vanish are as good as 0
            alone = binary("or", alpha.imag.equals(0), root.equals(0))
            is_done = binary("and", is_done, alone)
        beta = -call("copysign", root, real_part(alpha))
        return alpha, select(is_done, real_part(alpha), beta), is_done

    def column(self, body: Body, i: list[Expr]) -> Number:
        """Column k after the step: as it was above the diagonal, below it the vector."""
        alpha, beta, is_done = self._ends(body, i)
        old = read(body, self.packed, [i[0], i[1], self.k.at(body)])
        scaled = over(old, chosen(is_done, _ONE, minus(alpha, beta)))
        lower = chosen(i[1] > self.k.at(body), scaled, old)
        return chosen(i[1].equals(self.k.at(body)), beta, lower)

    def factor(self, body: Body, i: list[Expr]) -> Number:
        """tau."""
        alpha, beta, is_done = self._ends(body, i)
        found = over(minus(beta, alpha), select(is_done, _ONE, beta))
        return chosen(is_done, _ZERO, found)


def _entry(e: Number, row: Expr, k: Column, body: Body) -> Number:
    """The entry in `row` of vector k, of that of the packed matrix."""
    here = k.at(body)
    return chosen(row.equals(here), _ONE, only(row > here, e))


def _reflection(
    b: Builder, vector: AnyTensor, tau: AnyTensor, c: AnyTensor, turned: bool
) -> AnyTensor:
    """(I - tau v v^H) C, with the conjugate of tau if `turned`."""
    count, m, n = c.shape

    def inner(body: Body, i: list[Expr], r: list[Expr]) -> Number:
        e = conjugate(read(body, vector, [i[0], r[0]]))
        return times(e, read(body, c, [i[0], r[0], i[1]]))

    sums = summed(b, c, [count, n], [m], inner)

    def less(body: Body, i: list[Expr]) -> Number:
        factor = read(body, tau, i[:1])
        weight = times(conjugate(factor) if turned else factor, read(body, vector, i[:2]))
        return minus(read(body, c, i), times(weight, read(body, sums, [i[0], i[2]])))

    return made(b, c, c.shape, less)


def applied(
    b: Builder, packed: AnyTensor, taus: AnyTensor, c: AnyTensor, turned: bool = False
) -> AnyTensor:
    """Q C of the packed reflections, or Q^H C if `turned`; C is (B, m, any)."""
    count, m, _ = packed.shape
    steps = taus.shape[1]

    def step(arguments: Sequence[Value]) -> list[Value]:
        number, now = arguments
        k = Column(number if turned else simplify(steps - 1 - as_expr(number)))

        def entry(body: Body, i: list[Expr]) -> Number:
            return _entry(read(body, packed, [i[0], i[1], k.at(body)]), i[1], k, body)

        vector = made(b, packed, [count, m], entry)
        tau = made(b, packed, [count], lambda body, i: read(body, taus, [i[0], k.at(body)]))
        return [True, _reflection(b, vector, tau, now, turned)]

    found: AnyTensor = loop(b, trips(steps), True, [c], step, 64)[0]
    return found


def qr(b: Builder, a: AnyTensor) -> tuple[AnyTensor, AnyTensor]:
    """Q (B, m, m) and R (B, m, n) of a stack, with LAPACK's signs."""
    packed, taus = reflected(b, a)
    q = applied(b, packed, taus, identity_like(b, a, a.shape[1]))

    def upper(body: Body, i: list[Expr]) -> Number:
        return only(binary("ge", i[2], i[1]), read(body, packed, i))

    return q, made(b, a, a.shape, upper)
