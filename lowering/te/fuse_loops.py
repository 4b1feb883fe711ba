"""fuse_loops: two adjacent loops with equal bounds become one.

```
fuse_loops("i", "j"):
for i in 0 .. N { a(i) }  for j in 0 .. N { b(j) }   -->   for i in 0 .. N { a(i); b(i) }
```

Legal where b in one iteration never touches what a touches in a later one.
"""

from __future__ import annotations

from dataclasses import replace

from tensorscript.dialects.te.expr import substitute, var
from tensorscript.dialects.te.ops import ForOp
from tensorscript.dialects.te.polynomial import equal

from .dependence import Access, body_accesses, has_effects, ordered_conflict, private
from .nest import Nest, detach, move, substitute_in


def check(nest: Nest, target: str, second_name: str) -> str | None:
    first, second = nest.loops[target], nest.loops.get(second_name)
    if second is None:
        return f"there is no loop {second_name}"
    if first.next_op is not second:
        return f"{second_name} does not follow {target} directly"
    if not (equal(first.start, second.start) and equal(first.extent, second.extent)):
        return "the bounds differ"
    if first.kind.data != second.kind.data or first.is_reduction != second.is_reduction:
        return "the loops are of different kinds"
    if reason := has_effects(first) or has_effects(second):
        return reason
    here = [_as_if(a, first, second) for a in body_accesses(nest, list(second.block.ops))]
    own = private(first.block.ops)
    there = [a for a in body_accesses(nest, list(first.block.ops)) if a.buffer not in own]
    relations = ("<",) if first.kind.data in ("serial", "unroll") else ("<", ">")
    for relation in relations:
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


def apply(nest: Nest, target: str, second_name: str) -> None:
    first, second = nest.loops[target], nest.loops[second_name]
    body = list(second.block.ops)
    move(body, first.block)
    substitute_in(body, {second_name: var(target)})
    detach(second)
