"""Rows that are shorter than vectors: each lane takes a row, which squares bring in and out.

```
for i in 0 .. n {                          for i_o in 0 .. n / 16 {
  t[] = sum of exp(x[i, 0 .. 10])            x_c[0:10, 0:16] = x[i_o*16 .. +16, 0:10], transposed
  for j { y[i, j] = x[i, j] - log(t[]) } -->  t[0:16] = sums of exp(x_c[0 .. 10, 0:16])
}                                            for j { y_c[j, 0:16] = x_c[j, 0:16] - log(t[0:16]) }
                                             y[i_o*16 .. +16, 0:10] = y_c, transposed
                                           }   (and the rows that are left over, one by one)
```

A vector along a row of 10 leaves 6 of 16 lanes empty, needs all steps of a sum within itself, and
what there is one of in a row (its logarithm, its root) is computed alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeGuard

from xdsl.ir import Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.ops import ForOp, StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import loads
from tensorscript.dialects.walks import walk_ops

from ..schedule import Scheduler
from ..te import vectorize_outer
from ..te.affine import accesses, coefficient, flat_index, known
from ..te.dependence import private
from .cpu_vectors import is_innermost
from .work import calls

VECTORS_OF_CALLS = 3
"""A row of so many vectors is not too long, where a math function is called for each element."""
WRITTEN_OUT = 16
"""Elements of a row whose loops are written out: what they store for one another then stays in
registers."""
MANY_BLOCKS = 8
"""Blocks of rows beside which one block's rows that are left over do not count."""
MOST_BUFFERS = 4
"""That are read or written by rows: each is kept aside in the first cache."""


@dataclass(frozen=True)
class Rows:
    """What a loop over rows touches.

    Attributes:
        dimensions: by buffer whose rows are neighbours, the dimension that counts rows.
        itemsize: of its elements.
        length: of the longest row.
        written: some of them are.
    """

    dimensions: dict[str, int]
    itemsize: int
    length: int
    written: bool


def short_rows(loop: ForOp, buffers: dict[str, Buffer]) -> Rows | None:
    """How a loop around loops over short rows touches memory; None where it is another."""
    inside = [op for op in walk_ops(loop) if isinstance(op, ForOp)]
    if not any(r.is_reduction for r in inside) or vectorize_outer.unfit(loop) is not None:
        return None
    if not loop.start.is_int(0) or not all(_is_row(r) for r in inside):
        return None
    rows = {r.var: known(r.extent) or 0 for r in inside}
    own = private(list(loop.block.ops))
    found: dict[str, tuple[int, int]] = {}
    around: dict[str, tuple[Expr, ...]] = {}
    otherwise: set[str] = set()
    for name, indices in accesses(loop):
        if name in own:
            continue
        if not any(loop.var in i.free for i in indices):
            otherwise.add(name)
            continue
        if (buffer := buffers.get(name)) is None:
            return None
        if _is_along(buffer, indices, loop.var, rows):
            otherwise.add(name)
            continue
        place = row_dimension(buffer, indices, loop, rows)
        if place is None or found.setdefault(name, place) != place:
            return None
        others = tuple(i for i in indices if not i.free.intersection((loop.var, *rows)))
        if around.setdefault(name, others) != others:  # rows of two places, as halves of a `cat`
            return None
    sizes = {buffers[name].dtype.itemsize for name in found}
    if len(sizes) != 1 or len(found) > MOST_BUFFERS:
        return None
    if otherwise & found.keys():  # a copy of the rows would not hold what else is read
        return None
    stored = {op.buffer for op in walk_ops(loop) if isinstance(op, StoreOp | UpdateOp)}
    dimensions = {name: dimension for name, (dimension, _) in found.items()}
    return Rows(dimensions, sizes.pop(), max(rows.values()), bool(stored & found.keys()))


def _is_row(loop: ForOp) -> bool:
    return is_innermost(loop) and loop.start.is_int(0) and known(loop.extent) is not None


def _is_along(buffer: Buffer, indices: tuple[Expr, ...], loop: str, rows: Iterable[str]) -> bool:
    """One element for each row, which are neighbours: a vector as it is."""
    step = coefficient(flat_index(buffer, indices), loop)
    return (
        step is not None and step.is_int(1) and not any(i.free.intersection(rows) for i in indices)
    )


def row_dimension(
    buffer: Buffer, indices: tuple[Expr, ...], loop: ForOp, rows: Mapping[str, int]
) -> tuple[int, int] | None:
    """The dimension that is the number of the row, and the length of the part of the row; None
    unless a later one, of neighbours, is the place in it, the others stay, and both are within the
    buffer's shape, so that rows may be copied."""
    rest = [d for d, i in enumerate(indices) if i.free.intersection((loop.var, *rows))]
    by_row = [d for d in rest if loop.var in indices[d].free]
    if len(rest) != 2 or len(by_row) != 1 or str(indices[by_row[0]]) != loop.var:
        return None
    if any(map(loads, indices)):  # what lies where elements tell has no known bounds
        return None
    (place,) = (d for d in rest if d not in by_row)
    length = rows.get(str(indices[place]))
    if length is None or not buffer.effective_strides[place].is_int(1) or place < by_row[0]:
        return None
    if buffer.shape[by_row[0]] is not loop.extent or (known(buffer.shape[place]) or 0) < length:
        return None
    return by_row[0], length


def worth_turning(loops: list[ForOp], rows: Rows, vector_bytes: int) -> bool:
    """Squares cost less than vectors along rows, which are added up within themselves; `loops` are
    those around the rows, where what is left over of the last one must not count."""
    lanes, loop = vector_bytes // rows.itemsize, loops[-1]
    count = known(loop.extent)
    if rows.itemsize < 4 or rows.length < 2 or (count is not None and count < lanes):
        return False
    if len(loops) > 1 and (count is None or (count % lanes and count < MANY_BLOCKS * lanes)):
        return False
    inside = [op for op in walk_ops(loop) if isinstance(op, ForOp)]
    if any(calls(r) for r in inside):
        return rows.length <= VECTORS_OF_CALLS * lanes
    sums = sum(1 for r in inside if r.is_reduction)
    return rows.length <= (lanes * (sums + 1) // 3 if rows.written else lanes * sums)


def rows_as_lanes(scheduler: Scheduler, loop: ForOp, rows: Rows, vector_bytes: int) -> list[ForOp]:
    """Schedule a loop over short rows with a row in each lane; the loop over what rows are left
    over, if any."""
    lanes = vector_bytes // rows.itemsize
    outer, inner, *rest = scheduler.do("split", loop.var, lanes, "loop")
    for name, dimension in rows.dimensions.items():
        _set_aside(scheduler, name, outer, dimension, lanes)
    scheduler.do("vectorize_outer", inner, lanes)
    if rows.length <= WRITTEN_OUT:
        for row in [op.var for op in walk_ops(scheduler.nest.loops[outer]) if _is_along_row(op)]:
            scheduler.do("full_unroll", row)
    return [scheduler.nest.loops[rest[0]]] if rest else []


def _is_along_row(op: Operation) -> TypeGuard[ForOp]:
    """Whether it is a serial loop around vectors of rows."""
    return (
        isinstance(op, ForOp)
        and op.kind.data == "serial"
        and all(inner.kind.data == "vector" for inner in op.block.ops if isinstance(inner, ForOp))
    )


def _set_aside(scheduler: Scheduler, name: str, at: str, dimension: int, lanes: int) -> None:
    """Keep the rows of `name` in a copy in which neighbouring rows lie side by side."""
    buffers = set(scheduler.nest.buffers)
    made = scheduler.do("cache", name, at, "stack")
    (local,) = scheduler.nest.buffers.keys() - buffers
    rank = len(scheduler.nest.buffers[local].shape)
    order = [d for d in range(rank) if d != dimension]
    scheduler.do("permute", local, *order, dimension)
    for row, column in zip(made[::2], made[1::2], strict=True):
        store = next(op for op in scheduler.nest.loops[row].walk() if isinstance(op, StoreOp))
        fills = store.buffer == local
        for part in _parts(scheduler, row, column, lanes):
            _across(scheduler, *part, fills)


def _parts(scheduler: Scheduler, row: str, column: str, lanes: int) -> list[tuple[str, str]]:
    """(row, column) of the squares that a copy consists of."""
    scheduler.do("reorder", column, row)
    length = known(scheduler.nest.loops[column].extent) or 0
    if length <= lanes:
        return [(row, column)]
    _, whole, *rest = scheduler.do("split", column, lanes, "loop")
    return [(row, whole)] + ([(rest[1], rest[0])] if rest else [])


def _across(scheduler: Scheduler, row: str, column: str, fills: bool) -> None:
    """Copy a square: the outer loop is the one along which is read what lies in a row."""
    if fills:
        scheduler.do("vectorize", column)
        scheduler.do("vectorize", row)
        return
    scheduler.do("reorder", row, column)
    scheduler.do("vectorize", row)
    scheduler.do("vectorize", column)
