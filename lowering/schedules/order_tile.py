"""Tiles of a sorting network: vectors that stay in registers while their elements change places.

Two elements are exchanged where they lie in different vectors at the same lane. An element's number
in a tile has bits: some number its vector, the others its lane. A step of a network at distance
2^k needs bit k among those of the vector; where it is one of the lane, it changes places with a bit
of the vector that is needed last, by one shuffle of two vectors for each vector.

```
elements 0 .. 256, 16 lanes: bits of the vector 7 6 5 4, of the lane 3 2 1 0
distances 128, 64, 32, 16    vector 7 6 5 4 | lane 3 2 1 0
distance 8                   vector 3 6 5 4 | lane 7 2 1 0    bits 7 and 3 have changed places
```
Between two such changes values lie in a buffer of registers, whose loads and stores are whole
vectors: LLVM makes shuffles of them.

Sources: Batcher, "Sorting networks and their applications", 1968 (Knuth, volume 3, 5.2.2 and
5.3.4); the mirrored first step of a merge is Dowd, Perl, Rudolph and Saks, "The periodic balanced
sorting network", 1989; what is needed last makes room as in Belady, "A study of replacement
algorithms for a virtual-storage computer", 1966.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from itertools import count

from xdsl.ir import Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, const, load, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, LetOp, StoreOp

from .order_keys import Column, Elements, Parts

Exchange = tuple[int, int]
"""Two vectors; afterwards what comes first is in the first of them."""
Places = Callable[[Expr], list[Expr]]
"""Where some vectors lie, by the lane."""
Step = tuple[int, bool]
"""A step at distance 2^k, as k; whether the second half of the elements is to be reversed first."""


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


def merging_steps(runs: int, size: int) -> list[Step]:
    """The steps that merge sorted runs of 2^runs elements into one of 2^size."""
    return [(k, k == top) for top in range(runs, size) for k in range(top, -1, -1)]


@dataclass
class Exchanges:
    """Writes vectors read, exchanged and stored.

    Attributes:
        elements: what is exchanged.
        lanes: elements of a vector.
    """

    elements: Elements
    lanes: int
    _numbers: Iterator[int] = field(default_factory=count)

    def fresh(self, stem: str) -> str:
        return f"net_{stem}{next(self._numbers)}"

    def between(
        self, source: str, places: Places, exchanges: Iterable[Exchange], target: str, ends: Places
    ) -> Operation:
        """The vectors at `places` of `source`, exchanged and stored at `ends` of `target`."""
        lane = self.fresh("lane")
        body: list[Operation] = []

        def let(stem: str, value: Expr) -> Expr:
            name = self.fresh(stem)
            body.append(LetOp(name, value))
            return var(name, value.dtype)

        columns = self.elements.columns
        values: list[Parts] = [
            tuple(let(c.name, load(at(source, c), [p], c.dtype)) for c in columns)
            for p in places(var(lane))
        ]
        for a, b in exchanges:
            values[a], values[b] = self.elements.exchanged(values[a], values[b], let)
        for number, c in enumerate(columns):
            body += [
                StoreOp(at(target, c), [p], v[number])
                for p, v in zip(ends(var(lane)), values, strict=True)
            ]
        return ForOp(lane, self.lanes, body, "vector")

    def within(self, source: str, places: Places, exchanges: Iterable[Exchange]) -> Operation:
        """The vectors at `places`, exchanged and stored where they were."""
        return self.between(source, places, exchanges, source, places)


def at(buffer: str, column: Column) -> str:
    """The name of a column's buffer."""
    return f"{column.name}_{buffer}"


REGISTERS = ("here", "there")
"""Between two changes of bits values lie in one of these."""


@dataclass(frozen=True)
class Tile:
    """Writes what is done to `rows` vectors (a power of two) at some place of `memory`."""

    network: Exchanges
    rows: int
    memory: str

    @property
    def lane_bits(self) -> int:
        return self.network.lanes.bit_length() - 1

    @property
    def bits(self) -> int:
        return self.lane_bits + self.rows.bit_length() - 1

    @property
    def size(self) -> int:
        return 1 << self.bits

    def registers(self) -> list[Operation]:
        """What has to be allocated before."""
        size = (const(self.size),)
        return [
            AllocOp(Buffer(at(r, c), c.dtype, size), "reg")
            for r in REGISTERS
            for c in self.network.elements.columns
        ]

    def sort(self, start: Expr) -> list[Operation]:
        """Elements in any order, sorted: each lane by itself, then runs of them merged."""
        run = self.bits - self.lane_bits
        layout = [*range(run, self.bits), *range(run)]
        steps = merging_steps(run, self.bits)
        return _Walk(self, start, layout, steps, sorting_exchanges(self.rows)).statements

    def halve(self, start: Expr) -> list[Operation]:
        """All distances from half of the tile on: what is bitonic becomes sorted."""
        steps = [(k, False) for k in range(self.bits - 1, -1, -1)]
        return _Walk(self, start, list(range(self.bits)), steps, []).statements


class _Walk:
    """Writes the steps of a tile one after the other.

    `layout` has the bit of an element's number for each bit of its place in registers, those of the
    lane first. `_origins` has the place, in what was stored last, of what each vector begins with:
    a number, and what each bit of the lane adds to it.
    """

    def __init__(
        self,
        tile: Tile,
        start: Expr,
        layout: list[int],
        steps: Sequence[Step],
        exchanges: Iterable[Exchange],
    ) -> None:
        self.tile, self.layout = tile, layout
        self._begin = self._start = start
        self.statements: list[Operation] = []
        self._exchanges = list(exchanges)
        self._source, self._turn = tile.memory, 0
        weights = tuple(1 << j for j in range(tile.lane_bits))
        self._origins = [(v * tile.network.lanes, weights) for v in range(tile.rows)]
        for number, (bit, mirrored) in enumerate(steps):
            self._step(bit, mirrored, [k for k, _ in steps[number + 1 :]])
        self._in_order()
        self._store_in_order()

    def _step(self, bit: int, mirrored: bool, later: Sequence[int]) -> None:
        lane_bits = self.tile.lane_bits
        position = self.layout.index(bit)
        if position < lane_bits:
            leaves = max(
                range(lane_bits, self.tile.bits),
                key=lambda p: later.index(b) if (b := self.layout[p]) in later else len(later),
            )
            self._rearrange((position, leaves), bit if mirrored else None)
            position = leaves
        elif mirrored:
            self._rearrange(None, bit)
        distance = 1 << position - lane_bits
        self._exchanges += [(v, v | distance) for v in range(self.tile.rows) if not v & distance]

    def _in_order(self) -> None:
        """Bring back to the lanes the bits that numbered them."""
        lane_bits = self.tile.lane_bits
        for bit in range(lane_bits):
            position = self.layout.index(bit)
            if position == bit:
                continue
            if position < lane_bits:
                free = next(p for p in range(lane_bits, self.tile.bits)
                            if self.layout[p] >= lane_bits)  # fmt: skip
                self._rearrange((position, free), None)
                position = free
            self._rearrange((bit, position), None)

    def _rearrange(self, swapped: tuple[int, int] | None, mirrored: int | None) -> None:
        """Two bits of places change theirs; elements that have the bit `mirrored` are reversed."""
        lanes = self.tile.network.lanes
        target = REGISTERS[self._turn]
        self._finish(target, lambda lane: [const(v * lanes) + lane for v in range(self.tile.rows)])
        self._source, self._turn = target, 1 - self._turn
        self._start = const(0)
        homes = list(range(self.tile.bits))
        if swapped is not None:
            a, b = swapped
            homes[a], homes[b] = b, a
            self.layout[a], self.layout[b] = self.layout[b], self.layout[a]
        self._origins = [self._origin(v, homes, mirrored) for v in range(self.tile.rows)]

    def _origin(
        self, vector: int, homes: Sequence[int], mirrored: int | None
    ) -> tuple[int, tuple[int, ...]]:
        lane_bits = self.tile.lane_bits
        turned: set[int] = set()
        if mirrored is not None and vector >> self.layout.index(mirrored) - lane_bits & 1:
            turned = {p for p, bit in enumerate(self.layout) if bit < mirrored}
        place, weights = 0, []
        for position, home in enumerate(homes):
            if position < lane_bits:
                weights.append(-(1 << home) if position in turned else 1 << home)
                place += (position in turned) << home
            else:
                place += (vector >> position - lane_bits & 1 ^ (position in turned)) << home
        return place, tuple(weights)

    def _store_in_order(self) -> None:
        """Store the vectors where their elements' numbers say."""
        tile, bits = self.tile, self.layout[self.tile.lane_bits :]
        numbers = [sum((v >> k & 1) << bit for k, bit in enumerate(bits)) for v in range(tile.rows)]
        self._finish(tile.memory, lambda lane: [self._begin + n + lane for n in numbers])

    def _finish(self, target: str, ends: Places) -> None:
        """Write what has been collected."""
        start, origins = self._start, self._origins

        def places(lane: Expr) -> list[Expr]:
            return [start + _spread(place, weights, lane) for place, weights in origins]

        network = self.tile.network
        self.statements.append(network.between(self._source, places, self._exchanges, target, ends))
        self._exchanges = []


def _spread(place: int, weights: Sequence[int], lane: Expr) -> Expr:
    """`place` and what each bit of the lane adds to it."""
    if all(w == -(1 << j) for j, w in enumerate(weights)):
        return const(place) - lane
    found = const(place) + lane
    for j, weight in enumerate(weights):
        if weight != 1 << j:
            found = found + lane // (1 << j) % 2 * (weight - (1 << j))
    return found
