"""The schedule of points that are iterated by themselves (`tg_to_te/iterated.py`) on a CPU.

```
for i in 0 .. n {                       for i_o in 0 .. n / 64 parallel {
  s[] = x[i]                              s[0:64] = x[i_o * 64 + v]            (registers)
  for k in 0 .. m { s[] = f(s[]) }  -->   for k in 0 .. m { s[v] = f(s[v]) }
  y[i] = s[] }                            y[i_o * 64 + v] = s[v] }
```
"""

from __future__ import annotations

from tensorscript.dialects.te.ops import AllocOp, ForOp
from tensorscript.dialects.walks import walk_ops

from ..schedule import Scheduler
from ..te.dependence import carried
from .cpu_vectors import CPUParameters, loops_in, make_parallel, map_lanes, shrunk
from .loops import collapse_all


def schedule_iterated(scheduler: Scheduler, parameters: CPUParameters) -> None:
    """Vectors of points, which threads share."""
    collapse_all(scheduler, scheduler.func.block)
    points = [op for op in walk_ops(scheduler.func) if isinstance(op, ForOp) and _is_point(op)]
    for loop in points:  # one, or none of an array without elements
        lanes = shrunk(map_lanes(loop, scheduler.nest.buffers, parameters), loop.extent)
        scheduler.do("vectorize_outer", loop.var, _kept(loop, lanes, parameters))
    for top in loops_in(scheduler.func.block):
        # Of a rest that is one vector the loop over the iterations is left.
        if top.kind.data == "serial" and carried(scheduler.nest, top, False) is None:
            make_parallel(scheduler, top, parameters)


def _kept(loop: ForOp, lanes: int, parameters: CPUParameters) -> int:
    """No more lanes than whose own numbers stay in registers."""
    own = sum(op.buffer.dtype.itemsize for op in loop.block.ops if isinstance(op, AllocOp))
    registers = 32 if parameters.vector_bytes >= 64 else 16
    while lanes > 4 and own * lanes > registers * parameters.vector_bytes:
        lanes //= 2
    return lanes


def _is_point(loop: ForOp) -> bool:
    return isinstance(loop.block.first_op, AllocOp)
