"""interleave: a map whose last loop is short writes the vectors of its iterations as one.

```
interleave("i", "j", 16):
for i in 0 .. n {                        for i_o in 0 .. n // 16 {
  for j in 0 .. 3 { y[i, j] = f(x[j, i]) }  for i_v in 0 .. 16 vector { for j_v in 0 .. 3 vector {
}                                   -->       y[i_o*16 + i_v, j_v] = f(x[j_v, i_o*16 + i_v]) } } }
                                         for i_w in 0 .. n % 16 { for j .. }  (as before)
```
What is written is contiguous along j and then i; neighbours along i in what is read are neighbours
in memory (channels that are put last), or a few elements apart (rows of coordinates). For each j a
vector is loaded or picked out of several, and shuffles put them together.
"""

from __future__ import annotations

from collections.abc import Mapping

from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, const, var
from tensorscript.dialects.te.ops import ForOp, StoreOp
from tensorscript.dialects.te.ranges import SIZE
from tensorscript.dialects.te.rewriting import loads, substitute
from tensorscript.dialects.te.simplify import simplify

from .affine import coefficient, flat_index, known
from .dependence import carried
from .nest import Nest, detach, insert_before, only_child
from .rebuild import copy_all, substituting

MOST_VECTORS = 8
"""Vectors that are put together; of more a square is transposed."""


def check(nest: Nest, target: str, column: str, lanes: int) -> str | None:
    if column not in nest.loops:
        return f"there is no loop {column}"
    if lanes < 4 or lanes & lanes - 1:
        return "the number of lanes is a power of 2, at least 4"
    row, inner = nest.loops[target], nest.loops[column]
    if not reach(row, inner, nest.buffers):
        return f"{column} is no short loop in {target} along which neighbours are written"
    if (known(row.extent) or lanes) < lanes:
        return f"{target} has fewer than {lanes} iterations"
    for loop in (row, inner):
        if loop.kind.data != "serial":
            return f"loop {loop.var} is {loop.kind.data} already"
        if reason := carried(nest, loop, reductions_commute=False):
            return reason
    return None


def reach(row: ForOp, column: ForOp, buffers: Mapping[str, Buffer]) -> int:
    """The largest distance between what neighbours along `row` read in a loop that may be
    interleaved: one store in two loops, to neighbours along both. 0 where it is another."""
    store, count = column.block.first_op, known(column.extent) or 0
    if only_child(row.block) is not column or not isinstance(store, StoreOp):
        return 0
    zero = row.start.is_int(0) and column.start.is_int(0)
    if store.next_op is not None or not zero or not 2 <= count <= MOST_VECTORS:
        return 0
    written = _position(store.indices, store.buffer, row, column, buffers)
    steps = coefficient(written, row.var), coefficient(written, column.var)
    if steps[0] is None or steps[1] is None:
        return 0
    if not (steps[0].is_int(count) and steps[1].is_int(1)):
        return 0
    most = 0
    for place in range(count):  # which column it is may tell what is read
        for read in loads(substitute(store.value, {column.var: const(place)})):
            position = _position(read.args, str(read.value), row, column, buffers)
            step = coefficient(position, row.var)
            distance = None if step is None else known(step)
            if distance is None or not 0 <= distance <= MOST_VECTORS:
                return 0
            most = max(most, distance)
    return most


def _position(
    indices: tuple[Expr, ...], buffer: str, row: ForOp, column: ForOp,
    buffers: Mapping[str, Buffer],
) -> Expr:  # fmt: skip
    # A reshaped tensor is read by quotient and remainder, which meet in its memory.
    ranges = {loop.var: SIZE for loop in (row, column)}
    return simplify(flat_index(buffers[buffer], indices), ranges)


def apply(nest: Nest, target: str, column: str, lanes: int) -> None:
    row, inner = nest.loops[target], nest.loops[column]
    outer, lane, rest = (nest.fresh(f"{target}_{s}") for s in "ovw")
    short = nest.fresh(f"{column}_v")

    def body(position: Expr, place: str) -> ForOp:
        names = substituting({row.var: position, inner.var: var(place)})
        kind = "vector" if place == short else "serial"
        return ForOp(place, inner.extent, copy_all(inner.block.ops, names), kind)

    whole = ForOp(lane, lanes, [body(var(outer) * lanes + var(lane), short)], "vector")
    made = [ForOp(outer, row.extent // lanes, [whole])]
    size = known(row.extent)
    if size is None or size % lanes:
        done = row.extent // lanes * lanes
        made.append(ForOp(rest, row.extent - done, [body(done + var(rest), column)]))
    for op in made:
        op.location = row.location
    insert_before(row, made)
    detach(row)
