"""interleave: a map whose last loop is short writes the vectors of its iterations as one.

```
interleave("i", "j", 16):
for i in 0 .. n {                        for i_o in 0 .. n // 16 {
  for j in 0 .. 3 { y[i, j] = f(x[j, i]) }  for i_v in 0 .. 16 vector { for j_v in 0 .. 3 vector {
}                                   -->       y[i_o*16 + i_v, j_v] = f(x[j_v, i_o*16 + i_v]) } } }
                                         for i_w in 0 .. n % 16 { for j .. }  (as before)
```
Memory is contiguous along i in what is read, along j and then i in what is written (channels that
are put last): a vector for each j is loaded, and shuffles put them together.
"""

from __future__ import annotations

from collections.abc import Mapping

from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, var
from tensorscript.dialects.te.ops import ForOp, StoreOp
from tensorscript.dialects.te.ranges import SIZE
from tensorscript.dialects.te.rewriting import loads
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
    if not interleaves(row, inner, nest.buffers):
        return f"{column} is no short loop in {target} along which neighbours are written"
    if (known(row.extent) or lanes) < lanes:
        return f"{target} has fewer than {lanes} iterations"
    for loop in (row, inner):
        if loop.kind.data != "serial":
            return f"loop {loop.var} is {loop.kind.data} already"
        if reason := carried(nest, loop, reductions_commute=False):
            return reason
    return None


def interleaves(row: ForOp, column: ForOp, buffers: Mapping[str, Buffer]) -> bool:
    """One store in two loops, to neighbours along both, of what lies apart along the inner one."""
    store, count = column.block.first_op, known(column.extent) or 0
    if only_child(row.block) is not column or not isinstance(store, StoreOp):
        return False
    zero = row.start.is_int(0) and column.start.is_int(0)
    if store.next_op is not None or not zero or not 2 <= count <= MOST_VECTORS:
        return False
    steps = _steps(store.indices, store.buffer, row, column, buffers)
    if steps[0] is None or steps[1] is None:
        return False
    if not (steps[0].is_int(count) and steps[1].is_int(1)):
        return False
    apart = False
    for read in loads(store.value):
        along, across = _steps(read.args, str(read.value), row, column, buffers)
        if along is None or across is None or not (along.is_int(0) or along.is_int(1)):
            return False
        apart |= along.is_int(1)
    return apart


def _steps(
    indices: tuple[Expr, ...], buffer: str, row: ForOp, column: ForOp,
    buffers: Mapping[str, Buffer],
) -> tuple[Expr | None, Expr | None]:  # fmt: skip
    """How far apart neighbours of both loops are."""
    # A reshaped tensor is read by quotient and remainder, which meet in its memory.
    ranges = {loop.var: SIZE for loop in (row, column)}
    position = simplify(flat_index(buffers[buffer], indices), ranges)
    return coefficient(position, row.var), coefficient(position, column.var)


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
