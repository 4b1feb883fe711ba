"""fuse: two perfectly nested loops become one over the product of their extents.

```
fuse("i", "j"):
for i in 0 .. N { for j in 0 .. M { s(i, j) } }
    -->
for i_f in 0 .. N * M { s(i_f // M, i_f % M) }
```

Order is kept. The inner bounds may not depend on the outer loop.
"""

from __future__ import annotations

from tensorscript.dialects.te.expr import add, binary, mul, var
from tensorscript.dialects.te.ops import ForOp

from .nest import Nest, detach, insert_before, loop_like, only_child, substitute_in, take_body


def check(nest: Nest, target: str, inner_name: str) -> str | None:
    outer, inner = nest.loops[target], nest.loops.get(inner_name)
    if inner is None:
        return f"there is no loop {inner_name}"
    if only_child(outer.block) is not inner:
        return f"{inner_name} is not the only statement of {target}"
    if target in inner.start.free | inner.extent.free:
        return f"the bounds of {inner_name} depend on {target}"
    if outer.is_reduction != inner.is_reduction:
        return "only one of the loops is a reduction"
    if outer.kind.data != "serial" or inner.kind.data != "serial":
        return "both loops must be serial"
    return None


def apply(nest: Nest, target: str, inner_name: str) -> None:
    outer, inner = nest.loops[target], nest.loops[inner_name]
    name = nest.fresh(f"{target}_f")
    body = take_body(inner)
    at = var(name)
    high = add(outer.start, binary("floordiv", at, inner.extent))
    low = add(inner.start, binary("mod", at, inner.extent))
    substitute_in(body, {target: high, inner_name: low})
    fused: ForOp = loop_like(outer, name, mul(outer.extent, inner.extent), body)
    insert_before(outer, [fused])
    detach(outer)
