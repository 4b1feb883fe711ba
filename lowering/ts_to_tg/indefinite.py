"""Rows of symmetric or Hermitian matrices that need not be positive: `ldl_factor`, `ldl_solve`.

A = P L D L^T P^T with blocks of order 1 and 2 in D, by the pivoting of Bunch and Kaufman ("Some
stable methods for calculating inertia and solving symmetric linear systems", 1977), packed as
LAPACK's sytrf packs it: D and L in one triangle; a pivot r > 0 says that its row was exchanged with
row r (from 1), and a pair of -r that its second row was.

A step takes one column of all matrices of a stack. Where a block of order 2 began the column
before, the step of that matrix is idle.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tensorscript.base.dtypes import float64, int32, int64
from tensorscript.dialects.te.expr import Expr, binary, call, const, select, unary

from .builder import Builder, Rows
from .complex_tensors import AnyTensor
from .elements import as_expr
from .emission import Body
from .factors import Column, trips
from .index import check_bounds
from .loops import loop
from .matrices import Stack, beside, refuse, square
from .matrix_elements import (
    Number,
    chosen,
    conjugate,
    made,
    minus,
    only,
    or_one,
    over,
    plus,
    read,
    real_part,
    size,
    summed,
    times,
)
from .sizes import simplify
from .values import ComplexTensor, Tensor, Value

_OUTSIDE = (
    "Pivots given to ldl_solve must all satisfy |pivot| <= LD.size(-2). Did you properly pass the"
    " result of ldl_factor?"
)
_GROWTH = (1 + math.sqrt(17)) / 8
"""How small a diagonal element may be beside its column: what bounds the growth of elements."""
Turn = Callable[[Number], Number]
_Two = tuple[Number, Number]


def _itself(x: Number) -> Number:
    return x


def _both(p: Expr, q: Expr) -> Expr:
    return binary("and", p, q)


@dataclass(frozen=True)
class _Exchange:
    """What a step does to the rows: row `at` is exchanged with row `other`.

    Attributes:
        orders: of the blocks of D that begin in column k, (B): 0 where the step is idle.
        others: (B).
    """

    orders: Tensor
    others: Tensor
    k: Column
    back: bool = False

    def order(self, body: Body, matrix: Expr) -> Expr:
        return body.read(self.orders, [matrix], int64)

    def at(self, body: Body, matrix: Expr) -> Expr:
        """The last row of the block (the first column of a walk back)."""
        if self.back:
            return self.k.at(body)
        return self.k.at(body) + binary("max", self.order(body, matrix) - 1, const(0))

    def source(self, body: Body, matrix: Expr, row: Expr) -> Expr:
        """The row that comes to `row`."""
        at, other = self.at(body, matrix), body.read(self.others, [matrix], int64)
        return select(row.equals(at), other, select(row.equals(other), at, row))


@dataclass(frozen=True)
class _Block:
    """The block of D in column k of each matrix of a stack, and what divides by it."""

    of: AnyTensor
    exchange: _Exchange
    turn: Turn

    def is_pair(self, body: Body, matrix: Expr) -> Expr:
        return self.exchange.order(body, matrix).equals(2)

    def places(self, body: Body) -> tuple[Expr, Expr]:
        """Both columns; of the last column itself."""
        here, last = self.exchange.k.at(body), self.of.shape[-1] - 1
        return here, binary("min", here + 1, last)

    def entries(self, body: Body, matrix: Expr) -> tuple[Number, Number, Number]:
        """Both on the diagonal, and the one below."""
        here, after = self.places(body)
        rows = ((here, here), (after, after), (after, here))
        top, end, below = (read(body, self.of, [matrix, *at]) for at in rows)
        return top, end, below

    def divided(self, body: Body, matrix: Expr, x: Number, y: Number) -> _Two:
        """The row (x, y) times the inverse of the block; (x / d, 0) where that is one number d.
        Nothing is divided by 0: then there is nothing to eliminate."""
        below = self.entries(body, matrix)[2]
        return self._quotients(body, matrix, (x, y), (below, self.turn(below)), or_one)

    def solved(self, body: Body, matrix: Expr, x: Number, y: Number) -> _Two:
        """The inverse of the block times the column (x, y)."""
        below = self.entries(body, matrix)[2]
        return self._quotients(body, matrix, (x, y), (self.turn(below), below), _itself)

    def _quotients(self, body: Body, matrix: Expr, of: _Two, beside: _Two, divisor: Turn) -> _Two:
        (x, y), (top, end, _) = of, self.entries(body, matrix)
        det = divisor(minus(times(top, end), times(*beside)))
        pair = self.is_pair(body, matrix)
        first = over(minus(times(x, end), times(y, beside[0])), det)
        second = over(minus(times(y, top), times(x, beside[1])), det)
        return chosen(pair, first, over(x, divisor(top))), only(pair, second)


def _pivoted(b: Builder, whole: AnyTensor, idle: Tensor, k: Column) -> _Exchange:
    """The exchange that keeps the elements of L small."""
    count, n, _ = whole.shape

    def length(body: Body, i: list[Expr]) -> Expr:
        below = size(read(body, whole, [i[0], i[1], k.at(body)]))
        return select(i[1] > k.at(body), below, const(-1.0, float64))

    lengths = b.compute([count, n], float64, length)
    largest = b.apply("aten::argmax", lengths, 1)

    def along(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        row = body.read(largest, i, int64)
        counts = _both(binary("ge", r[0], k.at(body)), binary("ne", r[0], row))
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

    return _Exchange(b.compute([count], int64, order), b.compute([count], int64, other), k)


def _eliminated(b: Builder, whole: AnyTensor, exchange: _Exchange, turn: Turn) -> AnyTensor:
    """The stack after a step: symmetric behind the block, packed up to it."""
    count, n, _ = whole.shape
    k = exchange.k

    def moved(body: Body, i: list[Expr]) -> Number:
        inside = _both(binary("ge", i[1], k.at(body)), binary("ge", i[2], k.at(body)))
        places = [select(inside, exchange.source(body, i[0], e), e) for e in i[1:]]
        return read(body, whole, [i[0], *places])

    now = made(b, whole, [count, n, n], moved)
    block = _Block(now, exchange, turn)

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
        below = _both(i[1] > at, binary("ge", i[2], here))
        works = binary("ne", exchange.order(body, i[0]), 0)
        return chosen(_both(below, works), inside, old)

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
    is_turned = turn is not _itself

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
            second = _both(order.equals(2), i[1].equals(here + 1))
            own = binary("or", _both(i[1].equals(here), binary("ne", order, 0)), second)
            return select(own, select(order.equals(1), row, -row), body.read(pivots, i, int64))

        def began(body: Body, i: list[Expr]) -> Expr:
            return select(exchange.order(body, i[0]).equals(2), const(1), const(0))

        after = _eliminated(b, whole, exchange, turn)

        def failed(body: Body, i: list[Expr]) -> Expr:
            old = body.read(info, i, int64)
            pivot = size(read(body, after, [i[0], k.at(body), k.at(body)]))
            is_number = exchange.order(body, i[0]).equals(1)
            bad = _both(is_number, unary("not", pivot > 0))
            return select(_both(bad, old.equals(0)), k.at(body) + 1, old)

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


def _turn(x: AnyTensor, hermitian: Value) -> Turn:
    return conjugate if hermitian and isinstance(x, ComplexTensor) else _itself


def _ldl_factor_ex(
    b: Builder, x: AnyTensor, hermitian: Value = False, check: Value = False
) -> Value:
    name = "torch.linalg.ldl_factor_ex"
    a = square(b, x, name)
    found = _factored(b, a, _turn(x, hermitian))
    if check:
        refuse(b, found.info, a.rows, f"{name}: Unknown error code: {{at}}.", False)
    return tuple(
        a.back(b, t, kind)
        for t, kind in ((found.packed, None), (found.pivots, int32), (found.info, int32))
    )


def _ldl_factor(b: Builder, x: AnyTensor, hermitian: Value = False, *_: Value) -> Value:
    return _ldl_factor_ex(b, x, hermitian, True)[:2]


# --- solutions ------------------------------------------------------------------------------------


def _by_pivots(b: Builder, pivots: Tensor, idle: Tensor, k: Column, back: bool) -> _Exchange:
    """The exchange of a step of the walk down the columns, or back."""

    def order(body: Body, i: list[Expr]) -> Expr:
        alone = body.read(pivots, [i[0], k.at(body)], int64) > 0
        found = select(alone, const(1), const(2))
        return select(body.read(idle, i, int64).equals(0), found, const(0))

    def other(body: Body, i: list[Expr]) -> Expr:
        row = call("abs", body.read(pivots, [i[0], k.at(body)], int64)) - 1
        return select(body.read(idle, i, int64).equals(0), row, k.at(body))

    orders, others = (b.compute(idle.shape, int64, make) for make in (order, other))
    return _Exchange(orders, others, k, back)


def _rows_moved(b: Builder, x: AnyTensor, exchange: _Exchange) -> AnyTensor:
    return made(
        b,
        x,
        x.shape,
        lambda body, i: read(body, x, [i[0], exchange.source(body, i[0], i[1]), i[2]]),
    )


def _down(b: Builder, block: _Block, x: AnyTensor) -> AnyTensor:
    """The right sides after a step with P, L and D."""
    exchange = block.exchange
    now = _rows_moved(b, x, exchange)

    def make(body: Body, i: list[Expr]) -> Number:
        places, pair = block.places(body), block.is_pair(body, i[0])
        rows = [read(body, now, [i[0], row, i[2]]) for row in places]
        ratios = [read(body, block.of, [i[0], i[1], column]) for column in places]
        less = plus(times(ratios[0], rows[0]), only(pair, times(ratios[1], rows[1])))
        old = read(body, now, i)
        rest = chosen(i[1] > exchange.at(body, i[0]), minus(old, less), old)
        first, second = block.solved(body, i[0], *rows)
        rest = chosen(_both(pair, i[1].equals(places[1])), second, rest)
        found = chosen(i[1].equals(places[0]), first, rest)
        return chosen(exchange.order(body, i[0]).equals(0), old, found)

    return made(b, x, x.shape, make)


def _back(b: Builder, block: _Block, x: AnyTensor) -> AnyTensor:
    """The right sides after a step with the transposed L, and P."""
    count, n, width = x.shape
    exchange = block.exchange
    k = exchange.k

    def product(body: Body, i: list[Expr], r: list[Expr]) -> Number:
        column = binary("max", k.at(body) - i[1], const(0))
        ratio = block.turn(read(body, block.of, [i[0], r[0], column]))
        return only(r[0] > k.at(body), times(ratio, read(body, x, [i[0], r[0], i[2]])))

    sums = summed(b, x, [count, const(2), width], [n], product)

    def make(body: Body, i: list[Expr]) -> Number:
        old, before = read(body, x, i), k.at(body) - i[1]
        order = exchange.order(body, i[0])
        own = _both(binary("ge", before, const(0)), before < order)
        place = select(own, before, const(0))
        return chosen(own, minus(old, read(body, sums, [i[0], place, i[2]])), old)

    return _rows_moved(b, made(b, x, x.shape, make), exchange)


def _ldl_solve(
    b: Builder, data: AnyTensor, pivots: Tensor, y: AnyTensor, hermitian: Value = False, *_: Value
) -> Value:
    a, sides = beside(b, data, y, "torch.linalg.ldl_solve")
    n, turn = a.rows, _turn(data, hermitian)
    wide = b.apply("aten::expand", pivots, [*a.lead, n])
    rows = b.cast(b.apply("aten::reshape", wide, [a.count, n]), int64)
    check_bounds(b, b.call("aten::abs", rows), n + 1, _OUTSIDE, low=False)

    def walk(back: bool) -> Callable[[Sequence[Value]], list[Value]]:
        def step(arguments: Sequence[Value]) -> list[Value]:
            number, x, idle = arguments
            k = Column(simplify(n - 1 - as_expr(number)) if back else number)
            exchange = _by_pivots(b, rows, idle, k, back)
            found = (_back if back else _down)(b, _Block(a.data, exchange, turn), x)
            return [True, found, b.cast(b.apply("aten::eq", exchange.orders, 2), int64)]

        return step

    found: AnyTensor = sides.data
    for back in (False, True):
        start: list[Value] = [found, b.full([a.count], 0, int64)]
        found = loop(b, trips(n), True, start, walk(back), 64)[0]
    return sides.back(b, found)


INDEFINITE: Rows = {
    "aten::linalg_ldl_factor": _ldl_factor,
    "aten::linalg_ldl_factor_ex": _ldl_factor_ex,
    "aten::linalg_ldl_solve": _ldl_solve,
}
