"""fuse_loops: two loops with equal bounds, one after the other, become one.

```
fuse_loops("i", "j"):
for i in 0 .. N { a(i) }  for j in 0 .. N { b(j) }   -->   for i in 0 .. N { a(i); b(i) }
```

Legal where b in one iteration never touches what a touches in a later one (in any other, where the
iterations have no order). Allocations and stores that stand between the loops move in front of the
first, if they may. A map fused with a reduction becomes part of the reduction.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation

from tensorscript.dialects.te.expr import var
from tensorscript.dialects.te.ops import AllocOp, ForOp, StoreOp
from tensorscript.dialects.te.polynomial import equal
from tensorscript.dialects.te.rewriting import substitute

from .dependence import (
    Access,
    body_accesses,
    carried,
    has_effects,
    ordered_conflict,
    private,
    relevant_pairs,
)
from .nest import Nest, detach, insert_before, move, substitute_in


def check(nest: Nest, target: str, second: str) -> str | None:
    first, other = nest.loops[target], nest.loops.get(second)
    if other is None:
        return f"there is no loop {second}"
    if (between := _between(first, other)) is None:
        return f"{second} does not follow {target} directly"
    if not (equal(first.start, other.start) and equal(first.extent, other.extent)):
        return "the bounds differ"
    if first.chunk is not None or other.chunk is not None:
        return "one takes iterations at once"
    if first.kind.data != other.kind.data:
        return "the loops are of different kinds"
    if reason := has_effects(first) or has_effects(other):
        return reason
    if between and (reason := _cannot_move(nest, between, first)):
        return reason
    if first.is_reduction != other.is_reduction:
        unordered = other if first.is_reduction else first
        if reason := carried(nest, unordered, reductions_commute=False):
            return reason
    return _out_of_order(nest, first, other)


def _between(first: ForOp, second: ForOp) -> list[Operation] | None:
    """The statements between two loops of one block; None if they are not in this order, or other
    statements than allocations and stores are between them."""
    found: list[Operation] = []
    op = first.next_op
    while op is not second:
        if not isinstance(op, (AllocOp, StoreOp)):
            return None
        found.append(op)
        op = op.next_op
    return found


def _cannot_move(nest: Nest, between: list[Operation], loop: ForOp) -> str | None:
    moved = body_accesses(nest, between)
    touched = body_accesses(nest, [loop])
    for a, _ in relevant_pairs(moved, touched, reductions_commute=False):
        return f"the store between the loops touches {a.buffer}, and so does {loop.var}"
    return None


def _out_of_order(nest: Nest, first: ForOp, second: ForOp) -> str | None:
    here = [_as_if(a, first, second) for a in body_accesses(nest, list(second.block.ops))]
    own = private(first.block.ops)
    there = [a for a in body_accesses(nest, list(first.block.ops)) if a.buffer not in own]
    reduces = first.is_reduction or second.is_reduction
    in_order = first.kind.data in ("serial", "unroll") and not reduces
    for relation in ("<",) if in_order else ("<", ">"):
        # the second loop's access at iteration x, the first's at a later one
        if reason := ordered_conflict(nest, here, there, first, relation):
            return reason
    return None


def _as_if(access: Access, first: ForOp, second: ForOp) -> Access:
    """An access of the second loop, seen as one of the first loop's iterations."""
    names = {second.var: var(first.var)}
    loops = tuple(first if loop is second else loop for loop in access.loops)
    if access.indices is None:
        return replace(access, loops=loops)
    indices = tuple(substitute(e, names) for e in access.indices)
    return replace(access, indices=indices, loops=loops)


def apply(nest: Nest, target: str, second: str) -> None:
    first, other = nest.loops[target], nest.loops[second]
    for op in _between(first, other) or ():
        detach(op)
        insert_before(first, [op])
    body = list(other.block.ops)
    move(body, first.block)
    substitute_in(body, {second: var(target)})
    if other.is_reduction:
        first.properties["reduction"] = UnitAttr()
    detach(other)
