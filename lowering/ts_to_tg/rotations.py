"""Eigenvalues and singular values of stacks of matrices by Jacobi's rotations.

A step rotates n / 2 disjoint pairs of rows or columns at once; n - 1 steps meet every pair, as a
round-robin tournament does (Brent and Luk, 1985). Symmetric matrices are rotated from both sides,
others from the right until their columns are orthogonal (Hestenes, 1958). Complex numbers are made
real first, by the phase of the entry of a pair (Forsythe and Henrici, 1960).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tensorscript.base.dtypes import bool_, float64, int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, binary, call, const, select

from .builder import Builder
from .complex_tensors import AnyTensor
from .elements import as_expr, known
from .emission import Body
from .factors import trips
from .loops import loop
from .matrices import identity_like
from .matrix_elements import (
    Number,
    chosen,
    conjugate,
    made,
    negative,
    over,
    plus,
    read,
    real_part,
    square,
    summed,
    times,
)
from .reflections import qr
from .sizes import simplify
from .values import Tensor, Value

SWEEPS = 20
"""So often every pair is rotated at most; convergence is quadratic after a few."""
_PRECISE = 1e-28
"""The square of what is left off the diagonal, or of a cosine of two columns, that counts as 0."""
_ZERO = const(0.0, float64)
_ONE = const(1.0, float64)


def _partners(b: Builder, n: Expr, step: Value) -> Tensor:
    """Whom each of n meets in a step: itself where it has no partner.

    Among an even number of players the last keeps its place and i meets j where i + j is `step`
    modulo the number of the others.
    """
    others = _others(n)
    turn = simplify((others + 1) // 2)

    def make(body: Body, i: list[Expr]) -> Expr:
        s = body.scalar(step, int64) % others
        met = (s - i[0]) % others
        alone = s * turn % others
        partner = select(i[0].equals(others), alone, select(met.equals(i[0]), others, met))
        return select(binary("lt", partner, n), partner, i[0])

    return b.compute([n], int64, make)


def _others(n: Expr) -> Expr:
    """How many players each of n meets, n made even; that many steps are a sweep."""
    return simplify((n + n % 2) - 1)


@dataclass(frozen=True)
class _Turn:
    """Of each row: cosine, sine with the sign (or phase) that it takes its partner with, and the
    partner."""

    cosine: Tensor
    sine: AnyTensor
    partner: Tensor

    def of(self, body: Body, k: Expr, i: Expr) -> tuple[Expr, Number, Expr]:
        c, s = body.read(self.cosine, [k, i], float64), read(body, self.sine, [k, i])
        return c, s, body.read(self.partner, [i], int64)


def _turn(
    b: Builder,
    like: AnyTensor,
    n: Expr,
    partner: Tensor,
    entries: Callable[[Body, Expr, Expr, Expr], tuple[Expr, Expr, Number]],
) -> _Turn:
    """The rotations that make the entry of each pair 0.

    Args:
        like: the stack of matrices, (B, ..).
        entries: (body, matrix, p, q) -> the diagonal entries of p and q, and the one between.
    """
    count = like.shape[0]

    def parts(body: Body, i: list[Expr]) -> tuple[Expr, Number]:
        other = body.read(partner, [i[1]], int64)
        p, q = binary("min", i[1], other), binary("max", i[1], other)
        first, last, between = entries(body, i[0], p, q)
        length, phase = _polar(between)
        done = binary("or", length.equals(0), p.equals(q))
        slope = (last - first) / (2 * select(done, _ONE, length))
        size = call("abs", slope) + call("sqrt", 1 + slope * slope)
        tangent = call("copysign", _ONE / size, slope)
        cosine = _ONE / call("sqrt", 1 + tangent * tangent)
        forward = times(phase, tangent)
        sine = times(chosen(i[1].equals(p), negative(conjugate(forward)), forward), cosine)
        return select(done, _ONE, cosine), chosen(done, _ZERO, sine)

    cosine = b.compute([count, n], float64, lambda body, i: parts(body, i)[0])
    sine = made(b, like, [count, n], lambda body, i: parts(body, i)[1])
    return _Turn(cosine, sine, partner)


def _polar(x: Number) -> tuple[Expr, Number]:
    """A real number of the size of `x`, and what it is to be multiplied with."""
    if isinstance(x, Expr):
        return x, _ONE
    length = call("sqrt", square(x))
    return length, over(x, select(length.equals(0), _ONE, length))


def _columns_turned(b: Builder, x: AnyTensor, turn: _Turn) -> AnyTensor:
    def make(body: Body, i: list[Expr]) -> Number:
        c, s, other = turn.of(body, i[0], i[2])
        return plus(times(read(body, x, i), c), times(s, read(body, x, [i[0], i[1], other])))

    return made(b, x, x.shape, make)


def _rows_turned(b: Builder, x: AnyTensor, turn: _Turn) -> AnyTensor:
    """With the adjoint of what turns columns."""

    def make(body: Body, i: list[Expr]) -> Number:
        c, s, other = turn.of(body, i[0], i[1])
        there = read(body, x, [i[0], other, i[2]])
        return plus(times(read(body, x, i), c), times(conjugate(s), there))

    return made(b, x, x.shape, make)


def _loop(b: Builder, n: Expr, start: list[Value], step: Callable[..., list[Value]]) -> list[Value]:
    """Steps while they say so; none of a single row."""
    most = trips(simplify(_others(n) * SWEEPS))
    return loop(b, most, known(n > 1), start, step, 512)


def symmetric(b: Builder, a: AnyTensor) -> tuple[Tensor, AnyTensor]:
    """Eigenvalues (B, n), ascending, and eigenvectors (B, n, n), in columns, of symmetric or
    Hermitian matrices; NaN where a matrix is not finite."""
    count, n, _ = a.shape

    def step(arguments: Sequence[Value]) -> list[Value]:
        number, now, vectors = arguments
        partner = _partners(b, n, number)

        def entries(body: Body, k: Expr, p: Expr, q: Expr) -> tuple[Expr, Expr, Number]:
            first, last = (real_part(read(body, now, [k, at, at])) for at in (p, q))
            return first, last, read(body, now, [k, p, q])

        turn = _turn(b, a, n, partner, entries)
        after = _rows_turned(b, _columns_turned(b, now, turn), turn)

        def off(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
            e = square(read(body, after, [i[0], r[0], r[1]]))
            return select(r[0].equals(r[1]), _ZERO, e)

        rest = b.reduce([count], [n, n], float64, "add", off)
        return [_goes_on(b, rest, whole), after, _columns_turned(b, vectors, turn)]

    whole = _sum_of_squares(b, a)
    now, vectors = _loop(b, n, [a, identity_like(b, a, n)], step)

    def value(body: Body, i: list[Expr]) -> Expr:
        size = body.read(whole, i[:1], float64)
        found = real_part(read(body, now, [i[0], i[1], i[1]]))
        return select((size - size).equals(0), found, const(math.nan, float64))

    values = b.compute([count, n], float64, value)
    return _sorted(b, values, vectors, descending=False)


def _sum_of_squares(b: Builder, a: AnyTensor) -> Tensor:
    count, m, n = a.shape

    def make(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        return square(read(body, a, [i[0], r[0], r[1]]))

    return b.reduce([count], [m, n], float64, "add", make)


def _goes_on(b: Builder, rest: Tensor, whole: Tensor) -> Value:
    """Whether some matrix has more left than rounding."""
    large = b.pointwise(
        lambda r, w: binary("gt", r, w * _PRECISE), rest, whole, dtype=bool_, compute=float64
    )
    return b.item(b.apply("aten::any", large))


def _sorted(
    b: Builder, values: Tensor, vectors: AnyTensor, descending: bool
) -> tuple[Tensor, AnyTensor]:
    """Values in order along the last dimension, and their columns."""
    ordered, order = b.call("aten::sort.stable", values, True, -1, descending)

    def make(body: Body, i: list[Expr]) -> Number:
        return read(body, vectors, [i[0], i[1], body.read(order, [i[0], i[2]], int64)])

    return ordered, made(b, vectors, vectors.shape, make)


def singular(b: Builder, a: AnyTensor) -> tuple[AnyTensor, Tensor, AnyTensor]:
    """U (B, m, m), singular values (B, n), descending, and V (B, n, n) of stacks with m >= n."""
    count, m, n = a.shape

    def step(arguments: Sequence[Value]) -> list[Value]:
        number, now, right, quiet = arguments
        partner = _partners(b, n, number)
        squares = _lengths(b, now)

        def product(body: Body, i: list[Expr], r: list[Expr]) -> Number:
            other = body.read(partner, [i[1]], int64)
            e = read(body, now, [i[0], r[0], i[1]])
            return times(conjugate(e), read(body, now, [i[0], r[0], other]))

        products = summed(b, a, [count, n], [m], product)

        def entries(body: Body, k: Expr, p: Expr, q: Expr) -> tuple[Expr, Expr, Number]:
            first, last = (body.read(squares, [k, at], float64) for at in (p, q))
            return first, last, read(body, products, [k, p])

        turn = _turn(b, a, n, partner, entries)

        def angle(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
            other = body.read(partner, [r[0]], int64)
            sizes = body.read(squares, [i[0], r[0]], float64) * body.read(
                squares, [i[0], other], float64
            )
            e = square(read(body, products, [i[0], r[0]]))
            apart = binary("ne", other, r[0])
            return select(binary("and", apart, sizes > 0), e / sizes, _ZERO)

        worst = b.reduce([count], [n], float64, "max", angle)
        left = b.item(b.apply("aten::any", b.apply("aten::gt", worst, _PRECISE)))
        # A step looks at some pairs only: a whole sweep of them must have nothing left.
        rested = b.shortened(known(select(as_expr(left), const(0), as_expr(quiet) + 1)))
        goes_on = known(binary("lt", as_expr(rested), _others(n)))
        turned = [_columns_turned(b, x, turn) for x in (now, right)]
        return [goes_on, *turned, rested]

    now, right, _ = _loop(b, n, [a, identity_like(b, a, n), 0], step)
    values = b.apply("aten::sqrt", _lengths(b, now))
    ordered, scaled = _sorted(b, values, now, descending=True)
    _, vectors = _sorted(b, values, right, descending=True)
    return _completed(b, scaled, ordered), ordered, vectors


def _lengths(b: Builder, x: AnyTensor) -> Tensor:
    """The squares of the columns' lengths, (B, n)."""
    count, m, n = x.shape

    def make(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        return square(read(body, x, [i[0], r[0], i[1]]))

    return b.reduce([count, n], [m], float64, "add", make)


def _completed(b: Builder, scaled: AnyTensor, values: Tensor) -> AnyTensor:
    """Orthonormal columns (B, m, m) that begin with those of `scaled` over their lengths; where a
    length is 0, and behind the last one, any that fit."""
    _, m, n = scaled.shape
    q, r = qr(b, scaled)

    def make(body: Body, i: list[Expr]) -> Number:
        e = read(body, q, i)
        inside = binary("min", i[2], n - 1)
        corner = real_part(read(body, r, [i[0], inside, inside]))
        flips = binary("and", binary("lt", i[2], n), corner < 0)
        return chosen(flips, negative(e), e)

    return made(b, scaled, [scaled.shape[0], m, m], make)
