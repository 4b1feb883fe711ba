"""Sorts of keys of 64 bits with their places: one integer holds what fits of a key above the place.

```
key    f64 x or i64 x     -> an integer in their order, less the least one of the line
held   (integer >> shift) above the place: i64
```
The shift is the least one at which the differences of a line's keys fit, which is seen when it is
sorted; it is mostly 0 for integers. Where it is not, elements that differ in what was cut off are
neighbours afterwards and change places, compared as the kernel states it; where that would take too
long, runs of them are merged.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.base.dtypes import bool_, int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, binary, const, load, select, var
from tensorscript.dialects.te.ops import (
    AllocOp,
    AssignOp,
    ForOp,
    IfOp,
    LetOp,
    StoreOp,
    UpdateOp,
    VarOp,
    WhileOp,
)
from tensorscript.dialects.tg.ops import identity

from ..te.affine import known
from ..te.lanes import vectorize_reduction
from .order_keys import Column, Integers, Let, Parts, direction_of
from .order_line import Line
from .order_tile import at

LEAST_LINE, MOST_LINE = 32, 1 << 20
"""Elements of lines that are worth it, and whose places leave enough bits for keys."""
MOST_EXCHANGES = 4
"""Exchanges of neighbours for each element, before runs are merged."""
LANES = 8

_LEAST, _MOST = "key_least", "key_most"
_SHIFT, _FIRST = var("key_shift"), var("key_first")
_PLACE, _DONE, _EXCHANGED = var("settled_at"), var("settled"), var("exchanged")


def shortened(line: Line) -> Shortened | None:
    """How to hold a line's elements as integers of a part of their keys; None if not."""
    size, descending = known(line.size), direction_of(line)
    if not line.needs_index or line.dtype.bits != 64 or descending is None or size is None:
        return None
    if not LEAST_LINE <= size <= MOST_LINE:
        return None
    return Shortened(line, Integers(line.dtype, int64, descending, True), (size - 1).bit_length())


@dataclass(frozen=True)
class Shortened:
    """Each element is an integer: a part of its key, and its place in the low `bits`."""

    line: Line
    keys: Integers
    bits: int

    @property
    def columns(self) -> tuple[Column, ...]:
        return (Column("key", int64),)

    def packed(self, key: Expr, place: Expr) -> Parts:
        short = binary("shr", self.keys.ordered(key), _SHIFT) - _FIRST
        return (binary("or", binary("shl", short, const(self.bits)), place),)

    def key(self, parts: Parts) -> Expr:
        return self.line.key_at(self.place(parts))

    def place(self, parts: Parts) -> Expr:
        return binary("and", parts[0], const((1 << self.bits) - 1))

    def last(self, place: Expr) -> Parts:
        return (identity("min", int64),)

    def precedes(self, a: Parts, b: Parts) -> Expr:
        known_by_whole = self.line.precedes(self.key(a), self.key(b), const(False, bool_))
        return select(self._alike(a[0], b[0]), known_by_whole, a[0] < b[0])

    def exchanged(self, a: Parts, b: Parts, let: Let) -> tuple[Parts, Parts]:
        low, high = (let("key", binary(op, a[0], b[0])) for op in ("min", "max"))
        return (low,), (high,)

    def _alike(self, a: Expr, b: Expr) -> Expr:
        """Whether two elements differ in no more than what was cut off and the place."""
        return binary("shr", binary("xor", a, b), const(self.bits)).equals(0)

    def prepare(self) -> list[Operation]:
        """Find the shift, before elements are packed."""
        key = self.keys.ordered(self.line.key_at(var("seen")))
        ends = {_LEAST: "min", _MOST: "max"}
        updates: list[Operation] = [UpdateOp(n, (), c, key) for n, c in ends.items()]
        made: list[Operation] = []
        for name, combiner in ends.items():
            made.append(AllocOp(Buffer(name, int64, ()), "reg"))
            made.append(StoreOp(name, (), identity(combiner, int64)))
        made += vectorize_reduction(ForOp("seen", self.line.size, updates, reduction=True), LANES)
        least, most = (load(name, (), int64) for name in ends)
        # Halves of numbers, whose difference always fits.
        half = _SHIFT + 1
        spread = binary("shr", most, half) - binary("shr", least, half)
        wider = binary("ge", spread, const(1 << (62 - self.bits)))
        return [
            *made,
            VarOp(str(_SHIFT.value), const(0)),
            WhileOp(wider, [AssignOp(str(_SHIFT.value), half)]),
            LetOp(str(_FIRST.value), binary("shr", least, _SHIFT)),
        ]

    def settle(self, buffer: str, merges: list[Operation]) -> list[Operation]:
        """Bring those in order that differ in what was cut off; `merges` sort all of them."""
        limit = self.line.size * MOST_EXCHANGES
        done, exchanged = str(_DONE.value), str(_EXCHANGED.value)
        unsettled = binary("and", self.line.size > _DONE, limit > _EXCHANGED)
        one: list[Operation] = [*self._moved_up(buffer), AssignOp(done, _DONE + 1)]
        return [
            IfOp(
                _SHIFT > 0,
                [
                    VarOp(exchanged, const(0)),
                    VarOp(done, const(1)),
                    WhileOp(unsettled, one),
                    IfOp(binary("ge", _EXCHANGED, limit), merges),
                ],
            )
        ]

    def _moved_up(self, buffer: str) -> list[Operation]:
        """The element that is looked at changes places with those before it that it precedes."""
        name, (column,) = str(_PLACE.value), self.columns
        held = at(buffer, column)
        before, here = (load(held, [e], int64) for e in (_PLACE - 1, _PLACE))
        whole = self.line.precedes(self.key((here,)), self.key((before,)), const(False, bool_))
        no = const(False, bool_)
        wrong = select(_PLACE > 0, select(self._alike(before, here), whole, no), no)
        near, far = var("exchanged_near"), var("exchanged_far")
        exchange: list[Operation] = [
            LetOp(str(near.value), before),
            LetOp(str(far.value), here),
            StoreOp(held, [_PLACE - 1], far),
            StoreOp(held, [_PLACE], near),
            AssignOp(name, _PLACE - 1),
            AssignOp(str(_EXCHANGED.value), _EXCHANGED + 1),
        ]
        return [VarOp(name, _DONE), WhileOp(wrong, exchange)]
