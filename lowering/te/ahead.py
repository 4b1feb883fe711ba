"""ahead: the numbers that a loop's iteration begins with are computed by the one before.

```
ahead("i"):                               alloc t_a[];  t_a[] = -inf
                                          for j reduce { t_a[] max= x[0, j] }
for i in 0 .. n {                         for i in 0 .. n {
  alloc t[];  t[] = -inf                    alloc t[];  t[] = t_a[]
  for j reduce { t[] max= x[i, j] }  -->    t_a[] = -inf
  rest(i, t)                                for j reduce { t_a[] max= x[min(i + 1, n - 1), j] }
}                                           rest(i, t)
                                          }
```

What an iteration begins with is allocations, stores and one flat loop, which write numbers that the
rest only reads, and read nothing that the loop writes. Then the next row's numbers can be found in
one loop with the rest of this one (`fuse_loops`): a pass that waits for memory beside one that
computes. There has to be an iteration.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from tensorscript.dialects.te.expr import binary, const, load, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, StoreOp
from tensorscript.dialects.te.ranges import Prover

from .affine import known
from .dependence import body_accesses, private
from .forward import is_flat
from .nest import Nest, copy_fresh, copy_op, detach, insert_before, substitute_in


def check(nest: Nest, target: str) -> str | None:
    loop = nest.loops[target]
    if loop.kind.data != "serial" or loop.is_reduction:
        return f"{target} is not a serial loop of independent iterations"
    if (found := head(loop)) is None:
        return f"an iteration of {target} does not begin with a flat loop that has a rest behind it"
    if (Prover(nest.ranges(loop)).bounds(loop.extent)[0] or 0) < 1:
        return f"{target} may have no iteration"
    return _dependent(nest, loop, found)


def head(loop: ForOp) -> list[Operation] | None:
    """The statements up to the first loop of the body, if others follow that it does not hold."""
    found: list[Operation] = []
    for op in loop.block.ops:
        found.append(op)
        if isinstance(op, ForOp):
            return found if is_flat(op) and op.next_op is not None else None
        if not isinstance(op, AllocOp | StoreOp):
            return None
    return None


def _dependent(nest: Nest, loop: ForOp, first: Sequence[Operation]) -> str | None:
    """Why the first statements cannot run an iteration early."""
    numbers = private(first)
    for op in first:
        if isinstance(op, AllocOp) and any(known(size) != 1 for size in op.buffer.shape):
            return f"{op.buffer.name} is more than a number"
    others = body_accesses(nest, list(loop.block.ops)[len(first) :])
    written = {a.buffer for a in others if a.writes}
    for access in body_accesses(nest, first):
        if access.writes and access.buffer not in numbers:
            return f"{access.buffer} is not of one iteration"
        if access.buffer in written:
            return f"the rest writes {access.buffer}"
    return None


def apply(nest: Nest, target: str) -> None:
    loop = nest.loops[target]
    first = head(loop) or []
    work = [op for op in first if not isinstance(op, AllocOp)]
    allocs = [op for op in first if isinstance(op, AllocOp)]
    early = {op.buffer.name: nest.fresh(f"{op.buffer.name}_a") for op in allocs}
    following = [copy_op(op, early) for op in work]
    before = [copy_op(op, early) for op in allocs] + copy_fresh(nest, following, "_a")
    substitute_in(before, {target: loop.start})
    last = loop.start + loop.extent - 1
    substitute_in(following, {target: binary("min", var(target) + 1, last)})
    taken = [_taken(op, early[op.buffer.name]) for op in allocs]
    insert_before(loop, before)
    for op in first:
        detach(op)
    front = loop.block.first_op
    assert front is not None  # the rest, without which the step is illegal
    insert_before(front, [*allocs, *taken, *following])


def _taken(op: AllocOp, early: str) -> Operation:
    """The store that takes over a number which was computed early."""
    number = op.buffer
    place = [const(0)] * len(number.shape)
    made = StoreOp(number.name, place, load(early, place, number.dtype))
    made.location = op.location
    return made
