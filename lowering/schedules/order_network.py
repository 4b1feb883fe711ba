"""Sorting networks for the CPU: blocks of a line are sorted by compare-exchanges of whole vectors.

A block of L*L elements (L lanes) is held in two layouts, as rows of L and transposed. A step of a
network at distance d exchanges vectors with vectors as they are: among rows where d >= L, among
columns where d < L; between the two lies a transposition in registers.

```
columns of every square sorted (Batcher's network, in registers)      runs of L
while width < size {                                                  runs of 2 width
  element k of a run against element k from the end of the next       mirrored: both ascend
  distances width / 2 ... L by rows;  transpose;  L / 2 ... 1 by columns;  transpose
}
```
Padding comes last in the order. Networks are not stable: where results show an element's place, its
index breaks ties and moves with the key. Without it nothing tells equal keys apart but the sign of
zero.

Sources: Batcher, "Sorting networks and their applications", 1968 (Knuth, volume 3, 5.2.2 and
5.3.4); the mirrored first step of a merge is Dowd, Perl, Rudolph and Saks, "The periodic balanced
sorting network", 1989.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from xdsl.ir import Operation

from tensorscript.base.dtypes import DType, bool_
from tensorscript.dialects.te.expr import Expr, const, load, select, var
from tensorscript.dialects.te.ops import (
    AssignOp,
    ForOp,
    IfOp,
    LetOp,
    StoreOp,
    VarOp,
    WhileOp,
)

from .order_line import Line

Exchange = tuple[int, int]
"""Two vectors; afterwards what comes first is in the first of them."""
Places = Callable[[Expr], list[Expr]]
"""Where some vectors lie, by the lane."""


def sorting_exchanges(size: int) -> list[Exchange]:
    """Batcher's odd-even merge sort of a power of two."""
    found: list[Exchange] = []
    run = 1
    while run < size:
        distance = run
        while distance:
            found += [
                (i + j, i + j + distance)
                for j in range(distance % run, size - distance, 2 * distance)
                for i in range(min(distance, size - j - distance))
                if (i + j) // (2 * run) == (i + j + distance) // (2 * run)
            ]
            distance //= 2
        run *= 2
    return found


def halving_exchanges(size: int, first: int) -> list[Exchange]:
    """Distances `first`, first / 2, ... 1 among `size` vectors."""
    found: list[Exchange] = []
    while first:
        found += [(i, i + first) for i in range(size) if not i & first]
        first //= 2
    return found


@dataclass(frozen=True)
class Keys:
    """Buffers of one layout: keys, and the elements' indices."""

    keys: str
    indices: str


@dataclass
class Network:
    """Writes the network that sorts blocks of a line in place.

    Attributes:
        rows: the elements in order; columns: the same, each square transposed.
        lanes: elements of a vector, the side of a square.
        index_dtype: of the elements' indices; None where they are not wanted.
    """

    line: Line
    rows: Keys
    columns: Keys
    lanes: int
    index_dtype: DType | None
    _numbers: Iterator[int] = field(default_factory=count)

    def sort_block(self, base: Expr, size: Expr) -> list[Operation]:
        """The block of `size` elements at `base` (a power of two, a square at least), which is in
        `columns` in any order, sorted into `rows`."""
        width = var("net_width")

        def sorted_columns(at: Expr) -> list[Operation]:
            sort = self._along(self.columns, at, sorting_exchanges(self.lanes))
            return [sort, *self._transpose(self.columns, self.rows, at)]

        def halved_columns(at: Expr) -> list[Operation]:
            halve = self._along(self.columns, at, halving_exchanges(self.lanes, self.lanes // 2))
            there, back = (self.rows, self.columns), (self.columns, self.rows)
            return [*self._transpose(*there, at), halve, *self._transpose(*back, at)]

        merge = [
            *self._by_rows(base, size, width),
            self._for_squares(base, size, halved_columns),
            AssignOp(str(width.value), width * 2),
        ]
        return [
            self._for_squares(base, size, sorted_columns),
            VarOp(str(width.value), const(self.lanes)),
            WhileOp(width < size, merge),
        ]

    def _by_rows(self, base: Expr, size: Expr, width: Expr) -> list[Operation]:
        """The steps of a merge of runs of `width` at distances of whole rows."""
        far = [
            *self._mirrored(base, size, width),
            *self._halved(base, size, width),
            self._for_squares(base, size, self._halved_rows),
        ]
        steps: list[Operation] = [IfOp(width >= self.lanes * self.lanes, far)]
        run = 1
        while run < self.lanes:
            near = self._for_squares(base, size, partial(self._merged_rows, run))
            steps.append(IfOp(width.equals(run * self.lanes), [near]))
            run *= 2
        return steps

    def _halved_rows(self, at: Expr) -> list[Operation]:
        return [self._along(self.rows, at, halving_exchanges(self.lanes, self.lanes // 2))]

    def _merged_rows(self, run: int, at: Expr) -> list[Operation]:
        """Runs of `run` rows merged within a square: the second of two is read backwards."""
        backwards = [r for r in range(self.lanes) if r & run]
        mirror = [(r, r ^ (2 * run - 1)) for r in range(self.lanes) if not r & run]
        exchanges = mirror + halving_exchanges(self.lanes, run // 2)
        return [self._along(self.rows, at, exchanges, backwards)]

    def _mirrored(self, base: Expr, size: Expr, width: Expr) -> list[Operation]:
        pair, row = self._fresh("pair"), self._fresh("row")
        first = base + var(pair) * (width * 2)

        def places(lane: Expr) -> list[Expr]:
            near = var(row) * self.lanes + lane
            return [first + near, first + (width * 2 - 1) - near]

        inner = ForOp(row, width // self.lanes, [self._exchange(self.rows, places, [(0, 1)])])
        return [ForOp(pair, size // (width * 2), [inner])]

    def _halved(self, base: Expr, size: Expr, width: Expr) -> list[Operation]:
        name, pair, row = (self._fresh(s) for s in ("distance", "pair", "row"))
        distance = var(name)
        first = base + var(pair) * (distance * 2) + var(row) * self.lanes

        def places(lane: Expr) -> list[Expr]:
            return [first + lane, first + distance + lane]

        inner = ForOp(row, distance // self.lanes, [self._exchange(self.rows, places, [(0, 1)])])
        body: list[Operation] = [
            ForOp(pair, size // (distance * 2), [inner]),
            AssignOp(name, distance // 2),
        ]
        return [
            VarOp(name, width // 2),
            WhileOp(distance >= self.lanes * self.lanes, body),
        ]

    def _along(
        self,
        keys: Keys,
        at: Expr,
        exchanges: Sequence[Exchange],
        backwards: Iterable[int] = (),
    ) -> Operation:
        """Exchanges among the vectors of a square, all of them in registers."""
        reverse = set(backwards)

        def places(lane: Expr) -> list[Expr]:
            return [
                at + k * self.lanes + ((self.lanes - 1) - lane if k in reverse else lane)
                for k in range(self.lanes)
            ]

        return self._exchange(keys, places, exchanges)

    def _exchange(self, keys: Keys, places: Places, exchanges: Sequence[Exchange]) -> Operation:
        """The vectors at `places` read, exchanged and stored where they were."""
        lane = self._fresh("lane")
        at = places(var(lane))
        body: list[Operation] = []
        values = [self._let(body, "key", load(keys.keys, [p], self.line.dtype)) for p in at]
        owners = []
        if self.index_dtype is not None:
            dtype = self.index_dtype
            owners = [self._let(body, "owner", load(keys.indices, [p], dtype)) for p in at]
        for a, b in exchanges:
            earlier = owners[b] < owners[a] if owners else const(False, bool_)
            takes = self._let(body, "takes", self.line.precedes(values[b], values[a], earlier))
            for moved, stem in ((values, "key"), (owners, "owner"))[: 2 if owners else 1]:
                first, second = select(takes, moved[b], moved[a]), select(takes, moved[a], moved[b])
                moved[a], moved[b] = (self._let(body, stem, e) for e in (first, second))
        body += [StoreOp(keys.keys, [p], v) for p, v in zip(at, values, strict=True)]
        if self.index_dtype is not None:
            body += [StoreOp(keys.indices, [p], v) for p, v in zip(at, owners, strict=True)]
        return ForOp(lane, self.lanes, body, "vector")

    def _let(self, body: list[Operation], stem: str, value: Expr) -> Expr:
        name = self._fresh(stem)
        body.append(LetOp(name, value))
        return var(name, value.dtype)

    def _transpose(self, source: Keys, target: Keys, at: Expr) -> list[Operation]:
        made = [self._square(source.keys, target.keys, at, self.line.dtype)]
        if self.index_dtype is not None:
            made.append(self._square(source.indices, target.indices, at, self.index_dtype))
        return made

    def _square(self, source: str, target: str, at: Expr, dtype: DType) -> Operation:
        u, v = self._fresh("u"), self._fresh("v")
        read = load(source, [at + var(v) * self.lanes + var(u)], dtype)
        store = StoreOp(target, [at + var(u) * self.lanes + var(v)], read)
        return ForOp(u, self.lanes, [ForOp(v, self.lanes, [store], "vector")], "vector")

    def _for_squares(
        self, base: Expr, size: Expr, body: Callable[[Expr], list[Operation]]
    ) -> Operation:
        name, square = self._fresh("square"), self.lanes * self.lanes
        return ForOp(name, size // square, body(base + var(name) * square))

    def _fresh(self, stem: str) -> str:
        return f"net_{stem}{next(self._numbers)}"
