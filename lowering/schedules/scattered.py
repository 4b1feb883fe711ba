"""Steps for elements that lie anywhere in a large table: loaded one by one, where that is faster.

A gather waits for all of its elements, whose lines and pages are looked up one after the other.
Loads of single elements, of which the processor has more on the way, are as fast out of its own
caches, if not slower, and faster behind them (`docs/performance.md`, "Near a peer").
"""

from __future__ import annotations

import math

from tensorscript.dialects.te.buffers import LINE, Buffer
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.ops import ForOp, StoreOp
from tensorscript.dialects.te.rewriting import loads

from ..schedule import Scheduler
from ..te.affine import known
from ..te.nest import only_child

AT_ONCE = 8
"""Elements of an iteration."""


def load_apart(scheduler: Scheduler, loop: ForOp, far: int | None) -> bool:
    """Unroll a loop that moves elements from where its places say, if more than `far` bytes of
    lines are touched. False if it is no such loop."""
    op = only_child(loop.block)
    if far is None or not isinstance(op, StoreOp) or op.value.op != "load":
        return False
    buffers = scheduler.nest.buffers
    table, result = buffers.get(str(op.value.value)), buffers[op.buffer]
    if table is None or not any(_is_told(index, loop.var) for index in op.value.args):
        return False
    size, count = _elements(table), _elements(result)
    if size is None or count is None or min(size * table.dtype.itemsize, count * LINE) <= far:
        return False
    if (known(loop.extent) or AT_ONCE) < AT_ONCE:
        return False
    for made in scheduler.do("split", loop.var, AT_ONCE, "rest"):
        if scheduler.nest.loops[made].extent.is_int(AT_ONCE):
            scheduler.do("unroll", made)
    return True


def _is_told(index: Expr, name: str) -> bool:
    """What is read in each iteration of the loop tells the index."""
    return any(name in place.free for read in loads(index) for place in read.args)


def _elements(buffer: Buffer) -> int | None:
    """How many a buffer has, None where only a call knows."""
    sizes = [known(size) for size in buffer.shape]
    return math.prod(sizes) if None not in sizes else None  # type: ignore[arg-type]  # no None
