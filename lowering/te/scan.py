"""scan: the running value of a line is a scalar, and lanes see each other's.

```
scan("i", 8):
alloc stack t[]                        var i_c = 0
t[] = 0                                for i_o in 0 .. n // 8 {
for i in 0 .. n {                        for i_v in 0 .. 8 vector {
  t[] add= x[i]                    -->     scan i_s of i_c add= x[i_o * 8 + i_v]
  y[i] = t[]                               y[i_o * 8 + i_v] = i_s } }
}                                      for i_w in 0 .. 8 vector { if .. < n { the rest, masked } }
```
What a vector waits for is one step of a scalar instead of one for each lane; the lanes take log2(8)
steps (`te.scan`). Legal where the loop is all that uses the buffer, and regrouping is exact: of
minima, maxima and integers. Sums of floats are regrouped as those of reductions are, which is not
for a strict module.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.base.dtypes import bool_
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, load, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, ScanOp, StoreOp, UpdateOp, VarOp
from tensorscript.dialects.te.rewriting import loads, replaced
from tensorscript.dialects.te.statements import SCANS
from tensorscript.dialects.walks import walk_ops

from .affine import expressions
from .lanes import strips
from .nest import Nest, detach, insert_before
from .rebuild import copy_statement, substituting


@dataclass(frozen=True)
class Line:
    """A loop along a line, and what holds and begins its running value."""

    loop: ForOp
    alloc: AllocOp
    first: StoreOp
    update: UpdateOp

    @property
    def running(self) -> Expr:
        return load(self.alloc.buffer.name, (), self.alloc.buffer.dtype)


def check(nest: Nest, target: str, lanes: int) -> str | None:
    loop = nest.loops[target]
    if lanes < 2:
        return "the number of lanes is at least 2"
    line = line_of(loop)
    if line is None:
        return f"{target} does not run along a line with a running value"
    if line.update.combiner not in SCANS or line.running.dtype is bool_:
        return f"there are no scans of {line.running.dtype.short} with {line.update.combiner}"
    if _meets(line):
        return f"{target} reads what it stores"
    return None


def line_of(loop: ForOp) -> Line | None:
    """The parts of a loop that begins with the update of its running value, as
    `tg_to_te/sequential.py` writes it; None of any other."""
    update, *stores = loop.block.ops
    if loop.kind.data != "serial" or not isinstance(update, UpdateOp) or update.indices:
        return None
    first = loop.prev_op
    alloc = first.prev_op if first is not None else None
    if not isinstance(first, StoreOp) or not isinstance(alloc, AllocOp):
        return None
    name = alloc.buffer.name
    if alloc.buffer.shape or first.buffer != name or update.buffer != name or loop.next_op:
        return None
    if not all(isinstance(op, StoreOp) and op.buffer != name for op in stores):
        return None
    read = any(n.value == name for e in (update.value, first.value) for n in loads(e))
    return None if read else Line(loop, alloc, first, update)


def _meets(line: Line) -> bool:
    """Whether a lane may read what one before it stores."""
    stored = {op.buffer for op in walk_ops(line.loop) if isinstance(op, StoreOp)}
    reads = {str(n.value) for op in line.loop.block.ops for e in expressions(op) for n in loads(e)}
    return not stored.isdisjoint(reads)


def apply(nest: Nest, target: str, lanes: int) -> None:
    loop = nest.loops[target]
    line = line_of(loop)
    assert line is not None  # check passed
    carried = nest.fresh(f"{target}_c")

    def body(position: Expr, lane: str) -> list[Operation]:
        rewrite = substituting({target: position})
        result = nest.fresh(f"{target}_s")
        value = rewrite(line.update.value)
        made: list[Operation] = [ScanOp(result, carried, line.update.combiner, value)]
        for op in line.loop.block.ops:
            if isinstance(op, StoreOp):
                seen = replaced(op.value, line.running, var(result, value.dtype))
                made.append(copy_statement(StoreOp(op.buffer, op.indices, seen), rewrite))
        return made

    made = [VarOp(carried, line.first.value), *strips(loop, lanes, body)]
    for op in made:
        op.location = loop.location
    insert_before(line.alloc, made)
    for old in (line.alloc, line.first, loop):
        detach(old)
