"""Systems with a symmetric or Hermitian matrix that is factored (see `indefinite.py`):
`ldl_solve`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorscript.base.dtypes import int64
from tensorscript.dialects.te.expr import Expr, binary, call, const, select

from .builder import Builder, Rows
from .complex_tensors import AnyTensor
from .elements import as_expr
from .emission import Body
from .factors import Column, trips
from .indefinite_blocks import Block, Exchange, both, turn_of
from .index import check_bounds
from .loops import loop
from .matrices import beside
from .matrix_elements import (
    Number,
    chosen,
    made,
    minus,
    only,
    plus,
    read,
    summed,
    times,
)
from .sizes import simplify
from .values import Tensor, Value

_OUTSIDE = (
    "Pivots given to ldl_solve must all satisfy |pivot| <= LD.size(-2). Did you properly pass the"
    " result of ldl_factor?"
)


def _by_pivots(b: Builder, pivots: Tensor, idle: Tensor, k: Column, back: bool) -> Exchange:
    """The exchange of a step of the walk down the columns, or back."""

    def order(body: Body, i: list[Expr]) -> Expr:
        alone = body.read(pivots, [i[0], k.at(body)], int64) > 0
        found = select(alone, const(1), const(2))
        return select(body.read(idle, i, int64).equals(0), found, const(0))

    def other(body: Body, i: list[Expr]) -> Expr:
        row = call("abs", body.read(pivots, [i[0], k.at(body)], int64)) - 1
        return select(body.read(idle, i, int64).equals(0), row, k.at(body))

    orders, others = (b.compute(idle.shape, int64, make) for make in (order, other))
    return Exchange(orders, others, k, back)


def _rows_moved(b: Builder, x: AnyTensor, exchange: Exchange) -> AnyTensor:
    return made(
        b,
        x,
        x.shape,
        lambda body, i: read(body, x, [i[0], exchange.source(body, i[0], i[1]), i[2]]),
    )


def _down(b: Builder, block: Block, x: AnyTensor) -> AnyTensor:
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
        rest = chosen(both(pair, i[1].equals(places[1])), second, rest)
        found = chosen(i[1].equals(places[0]), first, rest)
        return chosen(exchange.order(body, i[0]).equals(0), old, found)

    return made(b, x, x.shape, make)


def _back(b: Builder, block: Block, x: AnyTensor) -> AnyTensor:
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
        own = both(binary("ge", before, const(0)), before < order)
        place = select(own, before, const(0))
        return chosen(own, minus(old, read(body, sums, [i[0], place, i[2]])), old)

    return _rows_moved(b, made(b, x, x.shape, make), exchange)


def _ldl_solve(
    b: Builder, data: AnyTensor, pivots: Tensor, y: AnyTensor, hermitian: Value = False, *_: Value
) -> Value:
    a, sides = beside(b, data, y, "torch.linalg.ldl_solve")
    n, turn = a.rows, turn_of(data, hermitian)
    wide = b.apply("aten::expand", pivots, [*a.lead, n])
    rows = b.cast(b.apply("aten::reshape", wide, [a.count, n]), int64)
    check_bounds(b, b.call("aten::abs", rows), n + 1, _OUTSIDE, low=False)

    def walk(back: bool) -> Callable[[Sequence[Value]], list[Value]]:
        def step(arguments: Sequence[Value]) -> list[Value]:
            number, x, idle = arguments
            k = Column(simplify(n - 1 - as_expr(number)) if back else number)
            exchange = _by_pivots(b, rows, idle, k, back)
            found = (_back if back else _down)(b, Block(a.data, exchange, turn), x)
            return [True, found, b.cast(b.apply("aten::eq", exchange.orders, 2), int64)]

        return step

    found: AnyTensor = sides.data
    for back in (False, True):
        start: list[Value] = [found, b.full([a.count], 0, int64)]
        found = loop(b, trips(n), True, start, walk(back), 64)[0]
    return sides.back(b, found)


INDEFINITE_SYSTEMS: Rows = {
    "aten::linalg_ldl_solve": _ldl_solve,
}
