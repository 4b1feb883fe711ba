"""squares: maps that read across the direction they write in, by squares transposed in registers.

```
squares("i", "j", 16):
for i in 0 .. n {                              for i_o in 0 .. n // 16 { for j_o in 0 .. m // 16 {
  for j in 0 .. m { y[i, j] = f(x[j, i]) }  -->  for i_u vector { for j_v vector {
}                                                  t[i_u, j_v] = x[j_o*16 + j_v, i_o*16 + i_u] } }
                                                 for i_t { for j_t vector {
                                                   y[..] = f(t[i_t, j_t]) } }
                                               } }   (and parts of squares for what is left over)
```

A lane per j would gather one element from each of 16 cache lines, and again for the next i. The
loops are of one perfect nest of independent iterations, j the innermost; loops between and around
them go outside. Each operand that is read across takes a square in the first cache; where all are,
and little is computed, it is the results that are transposed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from xdsl.ir import Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, const, load, mul, select, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, IfOp, StoreOp
from tensorscript.dialects.te.rewriting import loads, replace_loads, walk

from .affine import coefficient, flat_index, known
from .dependence import carried
from .lanes import vectorize_map
from .nest import Nest, detach, insert_before, only_child
from .reached import condition_of
from .rebuild import copy_all, substituting

MOST_NODES = 24
"""Of a body that is written out for each row of a square."""
MOST_TILES = 4
"""Operands read across at once; each takes a square in the first cache."""
SAME_SET = 4096
"""Lines at this distance, or a multiple of it, go to one set of a first cache of 64 sets."""
MOST_SIDE = 16
"""Of a square, whose rows are in as many registers."""
LEAST_SIDE = 2
"""Rows and columns of a part of a square; less is a line."""


def check(nest: Nest, target: str, column: str, side: int) -> str | None:
    if column not in nest.loops:
        return f"there is no loop {column}"
    if side < 2:
        return "the side is at least 2"
    top = _top(nest, nest.loops[target])
    loops, stores = _perfect(top)
    row = nest.loops[target]
    if row not in loops[:-1] or loops[-1].var != column or not stores:
        return f"{target} and {column} are not the loops of a perfect nest of stores"
    for loop in loops:
        if loop.kind.data != "serial" or loop.is_reduction:
            return f"loop {loop.var} is {'a reduction' if loop.is_reduction else loop.kind.data}"
    across = _read_across(stores, column, nest.buffers)
    if not across or not _is_along(across, target, nest.buffers):
        return f"nothing is read across {column} and along {target}"
    if len(across) > MOST_TILES:
        return f"{len(across)} operands are read across, more than {MOST_TILES}"
    if _copied(row, stores, across, nest.buffers) is None:
        return "what is read across is read under several conditions"
    for loop in (row, loops[-1]):
        if (known(loop.extent) or side) < side or not loop.start.is_int(0):
            return f"loop {loop.var} does not run from 0 over {side} iterations at least"
    for loop in loops:
        if reason := carried(nest, loop, reductions_commute=False):
            return reason
    return None


def _top(nest: Nest, loop: ForOp) -> ForOp:
    """The outermost loop of the perfect nest that `loop` is of."""
    while isinstance(above := loop.parent_op(), ForOp) and only_child(above.block) is loop:
        loop = above
    return loop


def apply(nest: Nest, target: str, column: str, side: int) -> None:
    top = _top(nest, nest.loops[target])
    loops, stores = _perfect(top)
    across = _read_across(stores, column, nest.buffers)
    made = _around(loops, nest.loops[target], stores, across, side, nest.buffers)
    for op in made:
        op.location = top.location
    insert_before(top, made)
    detach(top)


def _around(
    loops: list[ForOp], row: ForOp, stores: list[StoreOp], across: list[Expr], side: int,
    buffers: Mapping[str, Buffer],
) -> list[Operation]:  # fmt: skip
    copied = _copied(row, stores, across, buffers)
    assert copied is not None  # as `check` and `crossing` have seen
    made = _Squares(row, loops[-1], stores, copied, side).build()
    for loop in reversed([f for f in loops[:-1] if f is not row]):
        made = [ForOp(loop.var, loop.extent, made, start=loop.start)]
    return made


def _copied(
    row: ForOp, stores: list[StoreOp], across: list[Expr],
    buffers: Mapping[str, Buffer],
) -> dict[Expr, Expr] | None:  # fmt: skip
    """What the squares are filled with, by the reads: these, where they are read at all. Nothing
    where it is results that are transposed; None if a read has no one condition."""
    if len(stores) == 1 and _lies_along(stores[0].value, row.var, across, buffers):
        return {}
    found: dict[Expr, Expr] = {}
    for read in across:
        conditions = {condition_of(s.value, read) for s in stores if read in loads(s.value)}
        if len(conditions) != 1 or (condition := conditions.pop()) is None:
            return None
        found[read] = select(condition, read, const(0, read.dtype))
    return found


@dataclass(frozen=True)
class Crossing:
    """A perfect nest that reads across: its loops, and the one along which the reads go."""

    loops: list[ForOp]
    row: ForOp
    stores: list[StoreOp]
    across: list[Expr]
    side: int


def crossing(
    nest: ForOp, buffers: Mapping[str, Buffer], vector_bytes: int, least: int = MOST_SIDE
) -> Crossing | None:
    """How a nest would go by squares, whose rows are vectors; None where nothing is read across, or
    there are fewer rows or columns than `least` and than a square has."""
    loops, stores = _perfect(nest)
    if len(loops) < 2 or not stores:
        return None
    across = _read_across(stores, loops[-1].var, buffers)
    row = next((f for f in loops[:-1] if across and _is_along(across, f.var, buffers)), None)
    if row is None or len(across) > MOST_TILES:
        return None
    side = min(MOST_SIDE, vector_bytes // max(n.dtype.itemsize for n in across))
    fewest = min(side, least)
    if any((known(f.extent) or side) < fewest or not f.start.is_int(0) for f in (row, loops[-1])):
        return None
    if side < LEAST_SIDE or _copied(row, stores, across, buffers) is None:
        return None
    return Crossing(loops, row, stores, across, side)


def transpose_tiles(
    nest: ForOp, buffers: Mapping[str, Buffer], vector_bytes: int
) -> list[Operation] | None:
    """What a perfect nest of independent loops becomes; None where nothing is read across."""
    if (found := crossing(nest, buffers, vector_bytes, LEAST_SIDE)) is None:
        return None
    return _around(found.loops, found.row, found.stores, found.across, found.side, buffers)


def _perfect(nest: ForOp) -> tuple[list[ForOp], list[StoreOp]]:
    """The loops of a perfect nest, and its innermost statements if all are stores."""
    loops = [nest]
    while True:
        body = list(loops[-1].block.ops)
        if len(body) == 1 and isinstance(body[0], ForOp):
            loops.append(body[0])
            continue
        stores = [op for op in body if isinstance(op, StoreOp)]
        return loops, stores if len(stores) == len(body) else []


def _read_across(stores: list[StoreOp], name: str, buffers: Mapping[str, Buffer]) -> list[Expr]:
    """Loads whose places neither stay nor follow one another along the loop `name`."""
    found: dict[Expr, None] = {}
    for store in stores:
        for n in loads(store.value):
            step = coefficient(flat_index(buffers[str(n.value)], n.args), name)
            if step is None or not (step.is_int(0) or step.is_int(1)):
                found[n] = None
    return list(found)


def _is_along(reads: list[Expr], name: str, buffers: Mapping[str, Buffer]) -> bool:
    steps = [coefficient(flat_index(buffers[str(n.value)], n.args), name) for n in reads]
    return all(step is not None and (step.is_int(1) or step.is_int(-1)) for step in steps)


def _lies_along(value: Expr, row: str, across: list[Expr], buffers: Mapping[str, Buffer]) -> bool:
    """All that a short body reads lies along the rows, so that its results may be transposed."""
    nodes = list(walk(value))
    if len(nodes) > MOST_NODES or any(n.is_costly for n in nodes):
        return False
    steps = {n: coefficient(flat_index(buffers[str(n.value)], n.args), row) for n in loads(value)}
    ways = {steps[n] for n in across}
    return len(ways) == 1 and all(
        s in ways or (s is not None and s.is_int(0)) for s in steps.values()
    )


@dataclass(frozen=True)
class _Part:
    """Iterations of a loop from `start` on, in `count` runs of `size` (None: it is not known).

    `name` is that of the loop over runs; there is none where it is empty.
    """

    name: str
    start: Expr
    count: Expr
    size: int | None

    @property
    def extent(self) -> Expr:
        """How many iterations these are."""
        return self.count if self.size is None else mul(self.count, const(self.size))

    @property
    def at(self) -> Expr:
        """Where the run begins that the loop stands at."""
        return self.start + var(self.name) * (self.size or 1) if self.name else self.start


def _whole(loop: ForOp, side: int) -> _Part:
    return _Part(f"{loop.var}_o", const(0), loop.extent // side, side)


def _rest(loop: ForOp, side: int) -> _Part | None:
    """What squares leave of a loop; None where that is nothing."""
    size, start = known(loop.extent), loop.extent // side * side
    if size is None:
        return _Part("", start, loop.extent - start, None)
    return _Part("", start, const(1), size % side) if size % side else None


class _Squares:
    """Writes the loops over squares and over what they leave."""

    def __init__(
        self, row: ForOp, column: ForOp, stores: list[StoreOp], copied: dict[Expr, Expr], side: int
    ) -> None:
        self.row, self.column = row, column
        self.stores, self.copied, self.side = stores, copied, side

    def build(self) -> list[Operation]:
        """Whole squares, then what they leave of the columns, then of the rows."""
        i, j = self.row.var, self.column.var
        rows, columns = _whole(self.row, self.side), _whole(self.column, self.side)
        below, right = _rest(self.row, self.side), _rest(self.column, self.side)
        out = self._part(rows, columns, "")
        if right is not None:
            out += self._part(replace(rows, name=f"{i}_r"), right, "_r")
        if below is not None:
            out += self._part(below, replace(columns, name=f"{j}_b"), "_b")
        if below is not None and right is not None:
            out += self._part(below, right, "_c")
        return out

    def _part(self, rows: _Part, columns: _Part, suffix: str) -> list[Operation]:
        """Some rows and columns: by squares or parts of such, by vectors where these are lines."""
        if rows.count.is_int(0) or columns.count.is_int(0):
            return []
        if min(rows.size or 0, columns.size or 0) < LEAST_SIDE:
            return self._lines(rows, columns, suffix)
        body = self._square(rows, columns, suffix)
        for part in (columns, rows):
            body = [ForOp(part.name, part.count, body)] if part.name else body
        return body

    def _lines(self, rows: _Part, columns: _Part, suffix: str) -> list[Operation]:
        """A single column along it, others along the rows."""
        i, j = f"{self.row.var}_l{suffix}", f"{self.column.var}_l{suffix}"
        body = self._body(rows.start + var(i), columns.start + var(j))
        sides = [(i, rows.extent), (j, columns.extent)]
        if columns.size == 1:
            sides.reverse()
        (outer, turns), (inner, extent) = sides
        return [ForOp(outer, turns, vectorize_map(ForOp(inner, extent, body), self.side))]

    def _at(self, i: Expr, j: Expr) -> Callable[[Expr], Expr]:
        return substituting({self.row.var: i, self.column.var: j})

    def _body(self, i: Expr, j: Expr) -> list[Operation]:
        return copy_all(self.stores, self._at(i, j))

    def _square(self, rows: _Part, columns: _Part, suffix: str) -> list[Operation]:
        """A square at the loops over runs, or a part of one."""
        i, j = self.row.var, self.column.var
        height, width = rows.size or self.side, columns.size or self.side

        def lanes(stage: str) -> tuple[Expr, Expr]:
            return var(f"{i}_{stage}{suffix}"), var(f"{j}_{stage}{suffix}")

        def place(stage: str) -> tuple[Expr, Expr]:
            row, column = lanes(stage)
            return rows.at + row, columns.at + column

        def over(stage: str, body: list[Operation], kind: str) -> Operation:
            inner = ForOp(f"{j}_{stage}{suffix}", width, body, "vector")
            return ForOp(f"{i}_{stage}{suffix}", height, [inner], kind)

        if not self.copied:
            return [over("u0", self._body(*place("u0")), "vector")]
        out: list[Operation] = []
        tiles: dict[Expr, Expr] = {}
        for number, (read, value) in enumerate(self.copied.items()):
            name, stage = f"{i}_square{number}{suffix}", f"u{number}"
            out.append(AllocOp(Buffer(name, read.dtype, (const(self.side),) * 2), "stack"))
            copy = StoreOp(name, lanes(stage), self._at(*place(stage))(value))
            out.append(over(stage, [copy], "vector"))
            tiles[read] = load(name, lanes("t"), read.dtype)
        rewrite = self._at(*place("t"))
        stores: list[Operation] = []
        for s in self.stores:
            value = rewrite(replace_loads(s.value, tiles.get))
            stores.append(StoreOp(s.buffer, [rewrite(k) for k in s.indices], value))
        if width == self.side:
            return [*out, over("t", stores, "serial")]
        row, column = lanes("t")
        masked = ForOp(str(column.value), self.side, [IfOp(column < width, stores)], "vector")
        return [*out, ForOp(str(row.value), height, [masked])]
