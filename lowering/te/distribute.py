"""distribute: one loop over several statements becomes several loops (fission).

```
distribute("i", 1):
for i { a(i); b(i) }   -->   for i { a(i) }  for i_d { b(i_d) }
```

Arguments: positions in the body to cut at; none cuts between all statements. Legal where no later
part, in an earlier iteration, touches what an earlier part touches in a later one.
"""

from __future__ import annotations

from itertools import pairwise

from xdsl.ir import Operation

from tensorscript.dialects.te.expr import var
from tensorscript.dialects.te.ops import AllocOp, ForOp, LetOp, VarOp

from .dependence import body_accesses, has_effects, ordered_conflict
from .nest import Nest, insert_after, loop_like, move, substitute_in


def _parts(loop: ForOp, cuts: tuple[int, ...]) -> list[list[Operation]]:
    ops = list(loop.block.ops)
    edges = [0, *(cuts or range(1, len(ops))), len(ops)]
    return [ops[a:b] for a, b in pairwise(edges)]


def check(nest: Nest, target: str, *cuts: int) -> str | None:
    loop = nest.loops[target]
    if loop.kind.data != "serial":
        return f"loop {target} is {loop.kind.data} already"
    parts = _parts(loop, cuts)
    if list(cuts) != sorted(set(cuts)) or not all(parts) or len(parts) < 2:
        return "the cuts do not divide the body into parts"
    if reason := has_effects(loop):
        return reason
    for part in parts[:-1]:
        for op in part:
            if isinstance(op, (AllocOp, LetOp, VarOp)):
                return f"{op.name} would not be visible in the later loops"
    for later in range(1, len(parts)):
        second = body_accesses(nest, parts[later])
        first = [a for part in parts[:later] for a in body_accesses(nest, part)]
        # second at iteration x, first at a later iteration: distributing turns them round
        if reason := ordered_conflict(nest, second, first, loop, "<"):
            return reason
    return None


def apply(nest: Nest, target: str, *cuts: int) -> None:
    loop = nest.loops[target]
    place = loop
    for part in _parts(loop, cuts)[1:]:
        name = nest.fresh(f"{target}_d")
        made = loop_like(loop, name, loop.extent)
        made.properties["start_attr"] = loop.start_attr
        move(part, made.block)
        substitute_in(part, {target: var(name)})
        insert_after(place, [made])
        place = made
