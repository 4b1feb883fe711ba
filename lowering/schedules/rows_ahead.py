"""Rows whose first pass waits for memory and whose second one computes: passes of two rows at once.

```
for i in 0 .. 1024 {                      for i_o in 0 .. 64 {
  t[] = max of x[i, ..]                     t_a[] = max of x[i_o * 16, ..]
  for j { e[j] = exp(x[i, j] - t[])         for i_i in 0 .. 16 {
          s[] += e[j] }              -->      t[] = t_a[]
  for j { y[i, j] = e[j] / s[] } }            for j { t_a[] max= x[the next row, j]
                                                      e[j] = exp(x[i, j] - t[]);  s[] += e[j] }
                                              for j { y[i, j] = e[j] / s[] } } }
```

The last row of a block is looked at twice, which is why blocks are not shorter.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.dialects.te.ops import ForOp, UpdateOp

from ..schedule import Scheduler
from ..te.affine import known
from .cpu_vectors import CPUParameters, is_innermost, vectorize_inside
from .rows import fuse_rows
from .work import calls, weight_of

SHORTEST = 64
"""Elements of a row, a few vectors: chains of shuffles end shorter ones, too."""
BLOCK = 16
"""Rows of a block, as many as divide their number evenly."""
LEAST_BLOCK = 4
MANY_BLOCKS = 16
"""Blocks that threads share well; fewer have to be too little work to be shared."""
FOUND_LENGTH = 1 << 10
"""Elements that a row is taken to have where the program finds how many."""
LEAST_VECTOR_BYTES = 64
"""The 16 registers of narrower vectors do not hold what two passes keep."""


def look_ahead(scheduler: Scheduler, loop: ForOp, parameters: CPUParameters) -> ForOp:
    """Have each row's first numbers found beside the powers of the row before, if that is worth
    it; the loop around one row."""
    fuse_rows(scheduler, loop.block)
    size = _block_of(loop, parameters.grain)
    if size is None or parameters.vector_bytes < LEAST_VECTOR_BYTES:
        return loop
    tail = "exact" if known(loop.extent) else "short"
    inner = scheduler.do("split", loop.var, size, tail)[1]
    before = scheduler.do("ahead", inner)[0]
    vectorize_inside(scheduler, scheduler.nest.loops[before], parameters)
    around = scheduler.nest.loops[inner]
    first, second = [op for op in around.block.ops if isinstance(op, ForOp)][:2]
    scheduler.do("fuse_loops", first.var, second.var)
    return around


def _block_of(loop: ForOp, grain: int) -> int | None:
    """Rows of a block; None where passes of two rows had better not be put together."""
    inside = [op for op in loop.block.ops if isinstance(op, ForOp)]
    if len(inside) < 2 or not all(map(is_innermost, inside)):
        return None
    first, second = inside[:2]
    rows, length = known(loop.extent), known(first.extent)
    if (length or SHORTEST) < SHORTEST or first.extent is not second.extent:
        return None
    if calls(first) or not calls(second) or not _only_updates(first):
        return None
    work = (length or FOUND_LENGTH) * weight_of(loop)
    if rows is None:  # it may be few
        return max(LEAST_BLOCK, min(BLOCK, grain // work))
    for n in range(BLOCK, LEAST_BLOCK - 1, -1):
        if rows % n == 0 and (rows >= n * MANY_BLOCKS or n * work <= grain):
            return n
    return None


def _only_updates(loop: ForOp) -> bool:
    body: list[Operation] = list(loop.block.ops)
    return loop.is_reduction and all(isinstance(op, UpdateOp) for op in body)
