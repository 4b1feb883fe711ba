"""A step of a symmetric indefinite factorisation: what it does to the rows, and the block of D that
it divides by (see `indefinite.py`)."""

from __future__ import annotations

from collections.abc import Callable

from tensorscript.base.dtypes import int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, binary, const, select

from .complex_tensors import AnyTensor
from .emission import Body
from .factors import Column
from .matrix_elements import (
    Number,
    chosen,
    conjugate,
    minus,
    only,
    or_one,
    over,
    read,
    times,
)
from .values import ComplexTensor, Tensor, Value

Turn = Callable[[Number], Number]
_Two = tuple[Number, Number]


def itself(x: Number) -> Number:
    return x


def both(p: Expr, q: Expr) -> Expr:
    return binary("and", p, q)


@dataclass(frozen=True)
class Exchange:
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
class Block:
    """The block of D in column k of each matrix of a stack, and what divides by it."""

    of: AnyTensor
    exchange: Exchange
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
        return self._quotients(body, matrix, (x, y), (self.turn(below), below), itself)

    def _quotients(self, body: Body, matrix: Expr, of: _Two, beside: _Two, divisor: Turn) -> _Two:
        (x, y), (top, end, _) = of, self.entries(body, matrix)
        det = divisor(minus(times(top, end), times(*beside)))
        pair = self.is_pair(body, matrix)
        first = over(minus(times(x, end), times(y, beside[0])), det)
        second = over(minus(times(y, top), times(x, beside[1])), det)
        return chosen(pair, first, over(x, divisor(top))), only(pair, second)


def turn_of(x: AnyTensor, hermitian: Value) -> Turn:
    return conjugate if hermitian and isinstance(x, ComplexTensor) else itself
