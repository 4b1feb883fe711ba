"""Householder's reflections of stacks of matrices, packed as LAPACK packs them, and what QR is.

Reflection k is I - tau v v^H, where v is 0 above row k, 1 in it, and below it stands in column k
of the packed matrix, whose upper triangle is R (geqr2, org2r and orm2r; Golub and Van Loan, Matrix
Computations, 5.1 and 5.2). Of complex numbers the diagonal of R is real.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.dtypes import float64, int64
from tensorscript.base.records import dataclass
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


@dataclass(frozen=True)
class Reflector:
    """I - tau v v^H of each matrix, whose adjoint takes a vector to one with one entry, `beta`.

    Attributes:
        entries: v, (B, m), with a 1 where the vector's first entry stood.
        tau: (B); 0 where nothing is to be done.
        beta: (B), real numbers.
    """

    entries: AnyTensor
    tau: AnyTensor
    beta: Tensor


def reflector(b: Builder, x: AnyTensor, first: Tensor | Column) -> Reflector:
    """The one of each vector of a stack (B, m), whose first entries stand at `first`: the entries
    before those must be 0 (LAPACK's larfg, which makes beta's sign that of no cancellation)."""
    count, m = x.shape

    def place(body: Body, i: Sequence[Expr]) -> Expr:
        return first.at(body) if isinstance(first, Column) else body.read(first, i[:1], int64)

    def behind(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        e = square(read(body, x, [i[0], r[0]]))
        return select(r[0].equals(place(body, i)), _ZERO, e)

    rest = b.reduce([count], [m], float64, "add", behind)

    def ends(body: Body, i: Sequence[Expr]) -> tuple[Number, Expr, Expr]:
        """The first entry, what becomes of it, and whether nothing is to be done."""
        alpha = read(body, x, [i[0], place(body, i)])
        below = body.read(rest, i[:1], float64)
        length = call("sqrt", square(alpha) + below)
        is_done = below.equals(0)
        if isinstance(alpha, Pair):  # numbers whose squares vanish are as good as 0
            alone = binary("or", alpha.imag.equals(0), length.equals(0))
            is_done = binary("and", is_done, alone)
        beta = -call("copysign", length, real_part(alpha))
        return alpha, select(is_done, real_part(alpha), beta), is_done

    def factor(body: Body, i: list[Expr]) -> Number:
        alpha, beta, is_done = ends(body, i)
        return chosen(is_done, _ZERO, over(minus(beta, alpha), select(is_done, _ONE, beta)))

    def entry(body: Body, i: list[Expr]) -> Number:
        alpha, beta, is_done = ends(body, i)
        scaled = over(read(body, x, i), chosen(is_done, _ONE, minus(alpha, beta)))
        return chosen(i[1].equals(place(body, i)), _ONE, chosen(is_done, _ZERO, scaled))

    beta = b.compute([count], float64, lambda body, i: ends(body, i)[1])
    return Reflector(made(b, x, [count, m], entry), made(b, x, [count], factor), beta)


def reflected(b: Builder, a: AnyTensor) -> tuple[AnyTensor, AnyTensor]:
    """The packed factorisation of a stack (B, m, n), and tau (B, min(m, n))."""
    count, m, n = a.shape
    steps = simplify(binary("min", m, n))

    def step(arguments: Sequence[Value]) -> list[Value]:
        number, packed, taus = arguments
        k = Column(number)

        def lower(body: Body, i: list[Expr]) -> Number:
            e = read(body, packed, [i[0], i[1], k.at(body)])
            return only(binary("ge", i[1], k.at(body)), e)

        found = reflector(b, made(b, a, [count, m], lower), k)
        less = reflection(b, found.entries, found.tau, packed, turned=True)

        def column(body: Body, i: list[Expr]) -> Number:
            """Of the packed matrix: as it was above the diagonal, below it the vector."""
            here, old = k.at(body), read(body, packed, i)
            below = chosen(i[1] > here, read(body, found.entries, i[:2]), old)
            return chosen(i[1].equals(here), body.read(found.beta, i[:1], float64), below)

        def after(body: Body, i: list[Expr]) -> Number:
            here = k.at(body)
            kept = chosen(i[2].equals(here), column(body, i), read(body, packed, i))
            return chosen(i[2] > here, read(body, less, i), kept)

        def noted(body: Body, i: list[Expr]) -> Number:
            here = i[1].equals(k.at(body))
            return chosen(here, read(body, found.tau, i[:1]), read(body, taus, i))

        return [True, made(b, a, [count, m, n], after), made(b, a, [count, steps], noted)]

    zeros = made(b, a, [count, steps], lambda body, i: _ZERO)
    packed, taus = loop(b, trips(steps), True, [a, zeros], step, 64)
    return packed, taus


def _entry(e: Number, row: Expr, k: Column, body: Body) -> Number:
    """The entry in `row` of vector k, of that of the packed matrix."""
    here = k.at(body)
    return chosen(row.equals(here), _ONE, only(row > here, e))


def reflection(
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


def from_right(b: Builder, c: AnyTensor, vector: AnyTensor, tau: AnyTensor) -> AnyTensor:
    """C (I - tau v v^H) of stacks (B, m, n)."""
    count, m, n = c.shape

    def inner(body: Body, i: list[Expr], r: list[Expr]) -> Number:
        return times(read(body, c, [i[0], i[1], r[0]]), read(body, vector, [i[0], r[0]]))

    sums = summed(b, c, [count, m], [n], inner)

    def less(body: Body, i: list[Expr]) -> Number:
        weight = times(read(body, tau, i[:1]), conjugate(read(body, vector, [i[0], i[2]])))
        return minus(read(body, c, i), times(read(body, sums, i[:2]), weight))

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
        return [True, reflection(b, vector, tau, now, turned)]

    found: AnyTensor = loop(b, trips(steps), True, [c], step, 64)[0]
    return found


def qr(b: Builder, a: AnyTensor) -> tuple[AnyTensor, AnyTensor]:
    """Q (B, m, m) and R (B, m, n) of a stack, with LAPACK's signs."""
    packed, taus = reflected(b, a)
    q = applied(b, packed, taus, identity_like(b, a, a.shape[1]))

    def upper(body: Body, i: list[Expr]) -> Number:
        return only(binary("ge", i[2], i[1]), read(body, packed, i))

    return q, made(b, a, a.shape, upper)
