"""search: a reduction to the first position that fits stops at the block where one does.

```
search("r", 64):
for r in 0 .. n reduce { t[] min= select(fits(r), r, n - 1) }
    -->
var r_at = 0
var r_none = True
while r_none & (r_at + 64 < n) {
  alloc reg r_any; r_any[] = False
  for r_v in 0 .. 64 vector reduce { r_any[] or= fits(r_at + r_v) }
  r_none = ~r_any[]
  r_at = r_at + 64
}
let r_last = select(r_none, r_at, r_at - 64)
alloc reg r_place; r_place[] = 64
for r_w in 0 .. 64 vector reduce {
  if r_last + r_w < n { r_place[] min= select(fits(r_last + r_w), i32(r_w), 64) }
}
if 0 < n { t[] min= min(r_last + r_place, n - 1) }
```

The last block is never skipped, so that a line without a position that fits gives n - 1 as before.
Lanes number the places in a block, which are narrower than positions.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.base.dtypes import bool_, int32, int64
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, binary, cast, const, load, select, unary, var
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
from tensorscript.dialects.te.simplify import simplify

from .affine import known
from .dependence import loads_of
from .nest import Nest, detach, insert_before
from .rebuild import substituting


def check(nest: Nest, target: str, lanes: int) -> str | None:
    loop = nest.loops[target]
    if lanes < 2:
        return "the number of lanes is at least 2"
    if loop.kind.data != "serial":
        return f"loop {target} is {loop.kind.data} already"
    if first_place(loop) is None:
        return f"{target} is not a reduction to the first position that fits"
    return None


def first_place(loop: ForOp) -> tuple[UpdateOp, Expr] | None:
    """The only update of a loop that looks for its first position, and whether one fits."""
    update = loop.block.first_op
    if not loop.is_reduction or not loop.start.is_int(0):
        return None
    if not isinstance(update, UpdateOp) or update.next_op is not None or update.combiner != "min":
        return None
    if update.value.op != "select":
        return None
    fits, place, otherwise = update.value.args
    if otherwise is var(loop.var):
        fits, place, otherwise = unary("not", fits), otherwise, place
    if place is not var(loop.var):
        return None
    if not simplify(loop.extent - 1 - otherwise, {}).is_int(0):
        return None
    reads_itself = any(n.value == update.buffer for n in loads_of(fits))
    indexed = any(loop.var in e.free for e in update.indices)
    return None if reads_itself or indexed else (update, fits)


def apply(nest: Nest, target: str, lanes: int) -> None:
    loop = nest.loops[target]
    found = first_place(loop)
    assert found is not None  # check passed
    made = _search(nest, loop, *found, lanes)
    for op in made:
        op.location = loop.location
    insert_before(loop, made)
    detach(loop)


def _search(nest: Nest, loop: ForOp, update: UpdateOp, fits: Expr, lanes: int) -> list[Operation]:
    def fresh(suffix: str) -> str:
        return nest.fresh(f"{loop.var}_{suffix}")

    def here(e: Expr, position: Expr) -> Expr:
        return substituting({loop.var: position})(e)

    at, last, any_, first = var(fresh("at")), var(fresh("last")), fresh("any"), fresh("place")
    none = var(fresh("none"), bool_)
    lane, lane_last = var(fresh("v")), var(fresh("w"))
    some = UpdateOp(any_, (), "or", here(fits, at + lane))
    block: list[Operation] = [
        AllocOp(Buffer(any_, bool_, ()), "reg"),
        StoreOp(any_, (), const(False, bool_)),
        ForOp(str(lane.value), lanes, [some], "vector", reduction=True),
        AssignOp(str(none.value), unary("not", load(any_, (), bool_))),
        AssignOp(str(at.value), at + lanes),
    ]
    place, none_here = last + lane_last, const(lanes, int32)
    number = select(here(fits, place), cast(lane_last, int32), none_here)
    least: list[Operation] = [UpdateOp(first, (), "min", number)]
    if (known(loop.extent) or 1) % lanes:
        least = [IfOp(place < loop.extent, least)]
    found = binary("min", last + cast(load(first, (), int32), int64), loop.extent - 1)
    result: Operation = UpdateOp(update.buffer, update.indices, "min", found)
    if known(loop.extent) is None:
        result = IfOp(const(0) < loop.extent, [result])
    return [
        VarOp(str(at.value), const(0, int64)),
        VarOp(str(none.value), const(True, bool_)),
        WhileOp(binary("and", none, at + lanes < loop.extent), block),
        LetOp(str(last.value), select(none, at, at - lanes)),
        AllocOp(Buffer(first, int32, ()), "reg"),
        StoreOp(first, (), none_here),
        ForOp(str(lane_last.value), lanes, least, "vector", reduction=True),
        result,
    ]
