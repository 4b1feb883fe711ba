"""Sorting networks for the CPU: blocks of a line are sorted by compare-exchanges of whole vectors.

```
sort every tile (`order_tile.py`)                                     runs of a tile
while width < size {                                                  runs of 2 width
  element k of a run against element k from the end of the next       mirrored: both ascend
  distances width / 2 ... tile, of some vectors at equal distances at a time
  distances tile / 2 ... 1 in every tile
}
```
A pass over memory takes as many distances as there are bits in the number of vectors that registers
hold. What is behind the line comes last in the order and stays there: spans and tiles without an
element of the line are left out.

Sources: see `order_tile.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, const, var
from tensorscript.dialects.te.ops import AssignOp, ForOp, IfOp, VarOp, WhileOp

from .order_tile import Exchange, Exchanges, Tile

WIDTH, LEVELS, DISTANCE = "net_width", "net_levels", "net_distance"
"""The length of the runs that are merged, how many distances their mirrored pass has, and the one
that comes next."""


def halving_exchanges(size: int, first: int) -> list[Exchange]:
    """Distances `first`, first / 2, ... 1 among `size` vectors."""
    found: list[Exchange] = []
    while first:
        found += [(i, i + first) for i in range(size) if not i & first]
        first //= 2
    return found


@dataclass(frozen=True)
class Network:
    """Writes the network that sorts blocks of a line in place."""

    tile: Tile

    @property
    def _exchanges(self) -> Exchanges:
        return self.tile.network

    @property
    def _levels(self) -> int:
        """Distances of a pass."""
        return self.tile.bits - self.tile.lane_bits

    def sort_block(self, base: Expr, size: Expr, filled: Expr) -> list[Operation]:
        """The block of `size` elements at `base` (a power of two, a tile at least), sorted; those
        from `filled` on come last already."""
        width = var(WIDTH)
        merge: list[Operation] = [
            VarOp(DISTANCE, const(0)),
            *(
                IfOp(var(LEVELS).equals(k), self._mirrored(base, filled, k))
                for k in range(1, self._levels + 1)
            ),
            *self._halved(base, filled),
            self._for_tiles(base, filled, self.tile.halve),
            AssignOp(WIDTH, width * 2),
            AssignOp(LEVELS, var(LEVELS) % self._levels + 1),
        ]
        made = [self._for_tiles(base, filled, self.tile.sort)]
        if size.is_const and int(size) <= self.tile.size:
            return made
        return [
            *made,
            VarOp(WIDTH, const(self.tile.size)),
            VarOp(LEVELS, const(1)),
            WhileOp(width < size, merge),
        ]

    def _mirrored(self, base: Expr, filled: Expr, levels: int) -> list[Operation]:
        """The first `levels` distances of a merge; vectors of second runs are read backwards."""
        count, span, lanes = 1 << levels, var(WIDTH) * 2, self._exchanges.lanes
        step = span // count
        row = self._exchanges.fresh("row")

        def places(first: Expr, lane: Expr) -> list[Expr]:
            near = var(row) * lanes + lane
            ahead = [first + step * k + near for k in range(count // 2)]
            return ahead + [first + step * (count - k) - 1 - near for k in range(count // 2)]

        # A vector of a second run is counted from the run's end.
        half = count // 2
        true = [*range(half), *reversed(range(half, count))]
        exchanges = [(k, k + half) for k in range(half)]
        held = {number: vector for vector, number in enumerate(true)}
        exchanges += [(held[a], held[b]) for a, b in halving_exchanges(count, half // 2)]
        return [
            self._for_spans(base, filled, span, row, step, places, exchanges),
            AssignOp(DISTANCE, step // 2),
        ]

    def _halved(self, base: Expr, filled: Expr) -> list[Operation]:
        """The distances that are left, down to that of a tile."""
        count, lanes = 1 << self._levels, self._exchanges.lanes
        distance, row = var(DISTANCE), self._exchanges.fresh("row")
        span = distance * 2
        step = span // count

        def places(first: Expr, lane: Expr) -> list[Expr]:
            return [first + step * k + var(row) * lanes + lane for k in range(count)]

        exchanges = halving_exchanges(count, count // 2)
        return [
            WhileOp(
                distance >= self.tile.size,
                [
                    self._for_spans(base, filled, span, row, step, places, exchanges),
                    AssignOp(DISTANCE, distance // count),
                ],
            )
        ]

    def _for_spans(
        self,
        base: Expr,
        filled: Expr,
        span: Expr,
        row: str,
        step: Expr,
        places: Callable[[Expr, Expr], list[Expr]],
        exchanges: list[Exchange],
    ) -> Operation:
        """One pass over the spans that hold elements of the line."""
        number = self._exchanges.fresh("span")
        first = base + var(number) * span
        vectors = self._exchanges.within(
            self.tile.memory, lambda lane: places(first, lane), exchanges
        )
        inner = ForOp(row, step // self._exchanges.lanes, [vectors])
        return ForOp(number, (filled + (span - 1)) // span, [inner])

    def _for_tiles(
        self, base: Expr, filled: Expr, body: Callable[[Expr], list[Operation]]
    ) -> Operation:
        name, size = self._exchanges.fresh("tile"), self.tile.size
        made = body(base + var(name) * size)
        return ForOp(name, (filled + (size - 1)) // size, made)
