"""allot: rows of a result are made and then changed by one thread, which has a run of them.

```
allot("i", "d", 128):                        for i_o in 0 .. 1024 parallel grain 128 chunk i_n {
for i in 0 .. 1024 {                           for i in 0 .. i_n {
  for j in 0 .. n { y[i, j] = x[i, j] }          for j in 0 .. n { y[i_o + i, j] = x[i_o + i, j] }
}                                              }
for d in 0 .. 512 {                      -->   for d in 0 .. 512 {
  for k in 0 .. n {                              let d_row = p[d]
    y[p[d], k] += z[d, k]                        if i_o <= d_row and d_row < i_o + i_n {
  }                                                for k in 0 .. n { y[d_row, k] += z[d, k] }
}                                            } } }
```

Every thread walks all places and takes those that are its own: what it changes is what it made, and
in its cache. Rows keep the order in which they are changed. The last argument is the least number
of rows worth giving to a thread.

Legal where the first loop writes a row of one buffer an iteration, all of its rows are made, and
the second one, which follows, changes this buffer alone, in one row at a time, and reads nothing of
it. So no row is touched by two threads, whatever the places are.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import ExprAttr, ExprsAttr
from tensorscript.dialects.te.expr import Expr, add, binary, var
from tensorscript.dialects.te.ops import (
    AllocOp,
    ForOp,
    IfOp,
    LetOp,
    StoreOp,
    UpdateOp,
)
from tensorscript.dialects.te.polynomial import equal
from tensorscript.dialects.walks import walk_ops

from .dependence import body_accesses, carried, private
from .nest import Nest, insert_before, move, only_child, substitute_in, take_body

_PURE = (ForOp, IfOp, LetOp, AllocOp, StoreOp, UpdateOp)
"""What an iteration may do and leave no trace but in buffers."""


@dataclass(frozen=True)
class Allotment:
    """Rows that one loop makes and the next one changes.

    Attributes:
        buffer: whose rows they are.
        dim: the dimension of its indices that tells the row.
        row: what is changed, by the loops around `place`.
        place: the outermost loop whose iterations each change one row.
    """

    buffer: str
    dim: int
    row: Expr
    place: ForOp


def check(nest: Nest, target: str, second: str, grain: int) -> str | None:
    first, other = nest.loops[target], nest.loops.get(second)
    if other is None:
        return f"there is no loop {second}"
    if grain < 1:
        return "the grain is a positive integer"
    if any(outer.kind.data in ("parallel", "vector") for outer in nest.enclosing(first)):
        return f"a loop around {target} is parallel or a vector"
    for loop in (first, other):
        if loop.kind.data != "serial":
            return f"loop {loop.var} is {loop.kind.data} already"
        for op in walk_ops(loop):
            if not isinstance(op, _PURE):
                return f"{op.name} inside"
            if isinstance(op, ForOp) and op.kind.data == "parallel":
                return f"a loop in {loop.var} is parallel"
    found = allotment(nest, first, other)
    return found if isinstance(found, str) else None


def allotment(nest: Nest, first: ForOp, second: ForOp) -> Allotment | str:
    """The rows that `first` makes and `second` changes, or why they are not such loops."""
    if first.next_op is not second:
        return f"{second.var} does not follow {first.var} directly"
    made = _written(nest, first)
    if len(names := {op.buffer for op in made}) != 1:
        return f"{first.var} does not write one buffer"
    (name,) = names
    changed = _written(nest, second)
    if not changed or any(op.buffer != name for op in changed):
        return f"{second.var} does not change {name} alone"
    if any(a.buffer == name and a.mode == "read" for a in body_accesses(nest, [first, second])):
        return f"{name} is read"
    if (dim := _row_dimension(made, first.var)) is None:
        return f"an iteration of {first.var} does not write one row of {name}"
    if name not in nest.buffers or not _covers(nest, first, name, dim):
        return f"{first.var} does not make all rows of {name}"
    if reason := carried(nest, first, reductions_commute=False):
        return reason
    row = changed[0].indices[dim]
    if any(op.indices[dim] is not row for op in changed) or row.free & nest.mutable:
        return f"an iteration of {second.var} does not change one row of {name}"
    if (place := _deepest(second, row)) is None:
        return f"{second.var} does other things than to change rows of {name}"
    return Allotment(name, dim, row, place)


def _written(nest: Nest, loop: ForOp) -> list[StoreOp | UpdateOp]:
    """What a loop writes that outlives an iteration."""
    own = private(loop.block.ops)
    found = [op for op in walk_ops(loop) if isinstance(op, StoreOp | UpdateOp)]
    return [op for op in found if op.buffer not in own]


def _row_dimension(made: list[StoreOp | UpdateOp], name: str) -> int | None:
    """The dimension that the loop's variable is the index of, wherever it writes."""
    for dim, index in enumerate(made[0].indices):
        if index.op == "var" and index.value == name:
            return dim if all(op.indices[dim] is index for op in made) else None
    return None


def _covers(nest: Nest, loop: ForOp, name: str, dim: int) -> bool:
    return loop.start.is_int(0) and equal(loop.extent, nest.buffers[name].shape[dim])


def _deepest(loop: ForOp, row: Expr) -> ForOp | None:
    """The outermost loop in whose body all is known that tells the row."""
    inside = {op.var for op in (loop, *walk_ops(loop)) if isinstance(op, ForOp | LetOp)}
    missing = row.free & inside - {loop.var}
    while missing:
        inner = only_child(loop.block)
        if not isinstance(inner, ForOp):
            return None
        loop = inner
        missing -= {loop.var}
    return loop


def apply(nest: Nest, target: str, second: str, grain: int) -> None:
    first, other = nest.loops[target], nest.loops[second]
    found = allotment(nest, first, other)
    assert isinstance(found, Allotment)  # check passed
    start, count = nest.fresh(f"{target}_o"), nest.fresh(f"{target}_n")
    loop = ForOp(start, first.extent, (), "parallel", grain=grain, chunk=count)
    loop.location = first.location
    insert_before(first, [loop])
    move([first, other], loop.block)
    substitute_in(list(first.block.ops), {target: add(var(start), var(target))})
    first.properties["extent_attr"] = ExprAttr(var(count))
    _guard(nest, found, var(start), add(var(start), var(count)))


def _guard(nest: Nest, found: Allotment, start: Expr, end: Expr) -> None:
    """Change rows from `start` to `end` alone."""
    block, name = found.place.block, nest.fresh(f"{found.place.var}_row")
    row = var(name)
    for op in _changes(block, found.buffer):
        indices = list(op.indices)
        indices[found.dim] = row
        op.properties["indices_attr"] = ExprsAttr(tuple(indices))
    here = binary("and", binary("le", start, row), binary("lt", row, end))
    body = take_body(found.place)
    for made in (LetOp(name, found.row), IfOp(here, body)):
        made.location = found.place.location
        block.add_op(made)


def _changes(block: Block, name: str) -> Iterator[StoreOp | UpdateOp]:
    for op in walk_ops(block):
        if isinstance(op, StoreOp | UpdateOp) and op.buffer == name:
            yield op
