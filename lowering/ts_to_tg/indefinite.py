"""Rows of symmetric or Hermitian matrices that need not be positive: `ldl_factor`.

A = P L D L^T P^T with blocks of order 1 and 2 in D, by the pivoting of Bunch and Kaufman ("Some
stable methods for calculating inertia and solving symmetric linear systems", 1977), packed as
LAPACK's sytrf packs it: D and L in one triangle; a pivot r > 0 says that its row was exchanged with
row r (from 1), and a pair of -r that its second row was.

A step takes one column of all matrices of a stack. Where a block of order 2 began the column
before, the step of that matrix is idle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tensorscript.base.dtypes import float64, int32, int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, binary, const, select, unary

from .builder import Builder, Rows
from .complex_tensors import AnyTensor
from .emission import Body
from .factors import Column, trips
from .indefinite_blocks import Block, Exchange, Turn, both, itself, turn_of
from .loops import loop
from .matrices import Stack, refuse, square
from .matrix_elements import (
    Number,
    chosen,
    made,
    minus,
    only,
    plus,
    read,
    real_part,
    size,
    times,
)
from .values import Tensor, Value

_GROWTH = (1 + math.sqrt(17)) / 8
"""How small a diagonal element may be beside its column: what bounds the growth of elements."""


def _pivoted(b: Builder, whole: AnyTensor, idle: Tensor, k: Column) -> Exchange:
    """The exchange that keeps the elements of L small."""
    count, n, _ = whole.shape

    def length(body: Body, i: list[Expr]) -> Expr:
        below = size(read(body, whole, [i[0], i[1], k.at(body)]))
        return select(i[1] > k.at(body), below, const(-1.0, float64))

    lengths = b.compute([count, n], float64, length)
    largest = b.apply("aten::argmax", lengths, 1)

    def along(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        row = body.read(largest, i, int64)
        counts = both(binary("ge", r[0], k.at(body)), binary("ne", r[0], row))
        return select(counts, size(read(body, whole, [i[0], row, r[0]])), const(0.0, float64))

    across = b.reduce([count], [n], float64, "max", along)

    def choice(body: Body, i: list[Expr]) -> tuple[Expr, Expr]:
        """Whether the diagonal element of column k is kept, or that of row `largest` comes."""
        row, here = body.read(largest, i, int64), k.at(body)
        column, most = body.read(lengths, [i[0], row], float64), body.read(across, i, float64)
        own, others = (size(read(body, whole, [i[0], at, at])) for at in (here, row))
        kept = binary("ge", own, _GROWTH * column)
        kept = binary("or", kept, binary("le", column, const(0.0, float64)))
        kept = binary("or", kept, binary("ge", own, _GROWTH * column * (column / most)))
        return kept, binary("ge", others, _GROWTH * most)

    def order(body: Body, i: list[Expr]) -> Expr:
        found = select(binary("or", *choice(body, i)), const(1), const(2))
        return select(body.read(idle, i, int64).equals(0), found, const(0))

    def other(body: Body, i: list[Expr]) -> Expr:
        stays = binary("or", choice(body, i)[0], binary("ne", body.read(idle, i, int64), 0))
        return select(stays, k.at(body), body.read(largest, i, int64))

    return Exchange(b.compute([count], int64, order), b.compute([count], int64, other), k)


def _eliminated(b: Builder, whole: AnyTensor, exchange: Exchange, turn: Turn) -> AnyTensor:
    """The stack after a step: symmetric behind the block, packed up to it."""
    count, n, _ = whole.shape
    k = exchange.k

    def moved(body: Body, i: list[Expr]) -> Number:
        inside = both(binary("ge", i[1], k.at(body)), binary("ge", i[2], k.at(body)))
        places = [select(inside, exchange.source(body, i[0], e), e) for e in i[1:]]
        return read(body, whole, [i[0], *places])

    now = made(b, whole, [count, n, n], moved)
    block = Block(now, exchange, turn)

    def ratio(second: bool) -> AnyTensor:
        def make(body: Body, i: list[Expr]) -> Number:
            x, y = (read(body, now, [i[0], i[1], at]) for at in block.places(body))
            return block.divided(body, i[0], x, y)[second]

        return made(b, whole, [count, n], make)

    first, second = ratio(False), ratio(True)

    def update(body: Body, i: list[Expr]) -> Number:
        here, after = block.places(body)
        at, old = exchange.at(body, i[0]), read(body, now, i)
        ratios = [read(body, t, i[:2]) for t in (first, second)]
        top, end = (read(body, now, [i[0], row, i[2]]) for row in (here, after))
        other = only(block.is_pair(body, i[0]), times(ratios[1], end))
        rest = minus(old, plus(times(ratios[0], top), other))
        inside = chosen(i[2].equals(here), ratios[0], chosen(i[2] > at, rest, ratios[1]))
        below = both(i[1] > at, binary("ge", i[2], here))
        works = binary("ne", exchange.order(body, i[0]), 0)
        return chosen(both(below, works), inside, old)

    return made(b, whole, [count, n, n], update)


@dataclass(frozen=True)
class _Factors:
    """Of the lower triangles of a stack: packed, the pivots, and the first column (from 1) whose
    block is the number 0 or NaN, or 0."""

    packed: AnyTensor
    pivots: Tensor
    info: Tensor


def _factored(b: Builder, a: Stack, turn: Turn) -> _Factors:
    count, n = a.count, a.rows
    is_turned = turn is not itself

    def symmetric(body: Body, i: list[Expr]) -> Number:
        own, mirror = (read(body, a.data, [i[0], *at]) for at in (i[1:], [i[2], i[1]]))
        found = chosen(binary("ge", i[1], i[2]), own, turn(mirror))
        return chosen(i[1].equals(i[2]), real_part(own), found) if is_turned else found

    def step(arguments: Sequence[Value]) -> list[Value]:
        number, whole, pivots, idle, info = arguments
        k = Column(number)
        exchange = _pivoted(b, whole, idle, k)

        def noted(body: Body, i: list[Expr]) -> Expr:
            order, here = exchange.order(body, i[0]), k.at(body)
            row = body.read(exchange.others, i[:1], int64) + 1
            second = both(order.equals(2), i[1].equals(here + 1))
            own = binary("or", both(i[1].equals(here), binary("ne", order, 0)), second)
            return select(own, select(order.equals(1), row, -row), body.read(pivots, i, int64))

        def began(body: Body, i: list[Expr]) -> Expr:
            return select(exchange.order(body, i[0]).equals(2), const(1), const(0))

        after = _eliminated(b, whole, exchange, turn)

        def failed(body: Body, i: list[Expr]) -> Expr:
            old = body.read(info, i, int64)
            pivot = size(read(body, after, [i[0], k.at(body), k.at(body)]))
            is_number = exchange.order(body, i[0]).equals(1)
            bad = both(is_number, unary("not", pivot > 0))
            return select(both(bad, old.equals(0)), k.at(body) + 1, old)

        return [
            True,
            after,
            b.compute([count, n], int64, noted),
            b.compute([count], int64, began),
            b.compute([count], int64, failed),
        ]

    start: list[Value] = [
        made(b, a.data, [count, n, n], symmetric),
        b.full([count, n], 0, int64),
        b.full([count], 0, int64),
        b.full([count], 0, int64),
    ]
    packed, pivots, _, info = loop(b, trips(n), True, start, step, 64)

    def lower(body: Body, i: list[Expr]) -> Number:
        e = read(body, packed, i)
        own = chosen(i[1].equals(i[2]), real_part(e), e) if is_turned else e
        return only(binary("ge", i[1], i[2]), own)

    return _Factors(made(b, a.data, [count, n, n], lower), pivots, info)


def _ldl_factor_ex(
    b: Builder, x: AnyTensor, hermitian: Value = False, check: Value = False
) -> Value:
    name = "torch.linalg.ldl_factor_ex"
    a = square(b, x, name)
    found = _factored(b, a, turn_of(x, hermitian))
    if check:
        refuse(b, found.info, a.rows, f"{name}: Unknown error code: {{at}}.", False)
    return tuple(
        a.back(b, t, kind)
        for t, kind in ((found.packed, None), (found.pivots, int32), (found.info, int32))
    )


def _ldl_factor(b: Builder, x: AnyTensor, hermitian: Value = False, *_: Value) -> Value:
    return _ldl_factor_ex(b, x, hermitian, True)[:2]


INDEFINITE: Rows = {
    "aten::linalg_ldl_factor": _ldl_factor,
    "aten::linalg_ldl_factor_ex": _ldl_factor_ex,
}
