"""Maps most of whose work is the same along one of their outer loops: that loop runs inside.

```
for c { for i { y[c, i] = x[c, floor(p[i])] } } -->  for i_o { for i_v vector {
                                                       let n = floor(p[i])
                                                       for c { y[c, i] = x[c, n] } } }
```
Where pixels are sampled, places and weights are those of all channels.
"""

from __future__ import annotations

from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.ops import ForOp, IfOp, LetOp, StoreOp
from tensorscript.dialects.te.rewriting import loads, walk

from ..schedule import Scheduler
from ..te.affine import expressions, known
from ..te.invariant import invariants
from ..te.nest import only_child
from .cpu_vectors import CPUParameters, shrunk, writes_contiguous
from .work import MATH_WEIGHT

LEAST_WORK = 24
"""Operations that are worth naming: what they give takes registers."""
LEAST_TIMES = 4


def run_steady(scheduler: Scheduler, loop: ForOp, parameters: CPUParameters) -> bool:
    """Schedule a perfect nest so, if it is worth while; False where it is not."""
    loops = [loop]
    while isinstance(below := only_child(loops[-1].block), ForOp):
        loops.append(below)
    inner = loops[-1]
    if len(loops) < 2 or not all(isinstance(op, StoreOp) for op in inner.block.ops):
        return False
    buffers = scheduler.nest.buffers
    size = known(inner.extent)
    if not writes_contiguous(inner, buffers) or (size is not None and size < LEAST_TIMES):
        return False
    if (outer := _steady(loops)) is None:
        return False
    read = (n for op in inner.block.ops for e in expressions(op) for n in loads(e))
    widest = max((4, *(n.dtype.itemsize for n in read)))  # a map may read nothing
    lanes = shrunk(parameters.vector_bytes // widest, inner.extent)
    names = [each.var for each in loops[loops.index(outer) + 1 :]]
    along, times = inner.var, outer.var
    scheduler.do("reorder", *names, times)
    scheduler.do("invariant", times)
    for made in scheduler.do("split", along, lanes, "rest"):
        if _is_around(scheduler.nest.loops[made]):
            scheduler.do("vectorize", made)
    return True


def _is_around(loop: ForOp) -> bool:
    """Whether what was named stands in the loop, perhaps under the condition of a rest."""
    body = only_child(loop.block)
    block = body.then_body.block if isinstance(body, IfOp) else loop.block
    return any(isinstance(op, LetOp) for op in block.ops)


def _steady(loops: list[ForOp]) -> ForOp | None:
    """The outer loop along which most stays the same, if that is most of all."""
    inner = loops[-1]
    total = _work({n for op in inner.block.ops for e in expressions(op) for n in walk(e)})
    best, most = None, LEAST_WORK
    for outer in loops[:-1]:
        if (known(outer.extent) or 0) < LEAST_TIMES:
            continue
        probe = ForOp(outer.var, outer.extent, [op.clone() for op in inner.block.ops])
        work = _work({n for e in invariants(probe) for n in walk(e)})
        if work >= most and 2 * work > total:
            best, most = outer, work
    return best


def _work(nodes: set[Expr]) -> int:
    """Operations but for those on places."""
    return sum(
        MATH_WEIGHT if n.is_costly or n.op == "div" else 1
        for n in nodes
        if n.args and n.op != "load" and _is_data(n)
    )


def _is_data(e: Expr) -> bool:
    return any(n.op == "load" or n.dtype.is_floating_point for n in walk(e))
