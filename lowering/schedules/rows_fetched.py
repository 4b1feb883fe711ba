"""Rows that several passes go over, or one that computes: later ones are asked for meanwhile.

```
for i in 0 .. 8192 {                     for i in 0 .. 8192 {
  t[] = sum of x[i, ..]                    t[] = sum of x[i, ..]
  for j { y[i, j] = x[i, j] / t[] } } -->  for j { prefetch x[i + 4, j]; y[i, j] = x[i, j] / t[] } }
```

While a processor waits for a sum it reads nothing new, and what it fetches by itself ends with the
page. A single pass that only adds keeps it reading, one that computes powers does not. Where other
passes follow the powers (softmax), the next row's maximum is looked for beside them (`rows_ahead`),
which reads early enough; with the vectors that are too short for that, the last pass asks.

A single pass that adds up what lies beyond the second cache asks for lines a little ahead, too
(`fetch_sums`): how fast an AMD fetches by itself depends on where the pages lie.
"""

from __future__ import annotations

from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.ops import ForOp, PrefetchOp
from tensorscript.dialects.te.schedule import Step
from tensorscript.dialects.walks import walk_ops

from ..schedule import Scheduler
from ..te.affine import accesses, bytes_of, coefficient, flat_index, known
from .cpu_vectors import CPUParameters, is_innermost, loops_in
from .rows_ahead import LEAST_VECTOR_BYTES
from .work import calls

AHEAD = 8 << 10
"""Bytes: they take as long to read as memory takes to answer, and are a sixth of a first cache."""
SHORTEST = 512
"""Bytes of a row."""
BEYOND, NEAR = 2 << 20, 2 << 10
"""Bytes of what no second cache holds, and how far ahead a sum of it asks: 4 MB take an AMD (family
26) 33 us then, and 33 to 42 without."""
LEAST_VECTORS = 8
"""Iterations of a loop that is worth it."""


def fetch_rows(scheduler: Scheduler, row: ForOp, parameters: CPUParameters) -> None:
    """Have the last pass over a row ask for what later rows are, if that is worth it."""
    passes = [op for op in loops_in(row.block) if op.kind.data == "serial" and not is_innermost(op)]
    if not passes:
        return
    last = passes[-1]
    computes, several = any(calls(op) for op in passes), len(passes) > 1
    ahead = computes and several and parameters.vector_bytes >= LEAST_VECTOR_BYTES
    if ahead or not (computes or several) or last.extent is not passes[0].extent:
        return
    for read in scheduler.func.params:
        if isinstance(read, Buffer) and read.mode == "in":
            step, size = _row_of(row, passes, read), read.dtype.itemsize
            if step * size >= SHORTEST and bytes_of(read) >= 2 * parameters.first_cache:
                _fetch(scheduler, last, read, step)


def fetch_sums(scheduler: Scheduler) -> None:
    """Have reductions ask for what they read next of arguments that are read once."""
    loops = [op for op in walk_ops(scheduler.func) if isinstance(op, ForOp) and _is_sum(op)]
    for read in scheduler.func.params:
        if not isinstance(read, Buffer) or read.mode != "in" or bytes_of(read) < BEYOND:
            continue
        readers = [loop for loop in loops if any(name == read.name for name, _ in accesses(loop))]
        if len(readers) == 1:
            _ask_ahead(scheduler, readers[0], read, NEAR // read.dtype.itemsize)


def _is_sum(loop: ForOp) -> bool:
    """A loop over vectors that are added up."""
    inside = [op for op in loop.block.ops if not isinstance(op, PrefetchOp)]
    vectors = all(isinstance(op, ForOp) and op.kind.data == "vector" for op in inside)
    many = (known(loop.extent) or LEAST_VECTORS) >= LEAST_VECTORS
    return loop.kind.data == "serial" and loop.is_reduction and vectors and many


def _row_of(row: ForOp, passes: list[ForOp], read: Buffer) -> int:
    """Elements from one row to the next, 0 where all rows read the same."""
    steps = (
        coefficient(flat_index(read, indices), row.var)
        for op in passes
        for name, indices in accesses(op)
        if name == read.name
    )
    return max((known(step) or 0 for step in steps if step is not None), default=0)


def _fetch(scheduler: Scheduler, last: ForOp, read: Buffer, row: int) -> None:
    """A whole number of rows ahead where several are."""
    elements = AHEAD // read.dtype.itemsize
    distance = elements if row > elements else -(-elements // row) * row
    _ask_ahead(scheduler, last, read, distance)


def _ask_ahead(scheduler: Scheduler, loop: ForOp, read: Buffer, distance: int) -> None:
    """Prefetch so many elements ahead, where the loop may."""
    step = Step("prefetch", loop.var, (read.name, distance))
    if scheduler.why_not(step) is None:
        scheduler.apply(step)
