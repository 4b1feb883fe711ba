"""compute_at: a loop's body computes the part of a buffer that it reads, just before it reads it.

```
compute_at("t", "j_o"):
for i { t[i] = f(i) }
for j_o { for j_i in 0 .. 4 { y[j_o * 4 + j_i] = t[j_o * 4 + j_i] + t[j_o * 4 + j_i + 1] } }
    -->
for j_o {
  alloc stack t_a[5]
  for t_a_i in 0 .. 5 { t_a[t_a_i] = f(j_o * 4 + t_a_i) }
  for j_i in 0 .. 4 { y[j_o * 4 + j_i] = t_a[j_i] + t_a[j_i + 1] }
}
```

The target is the buffer; arguments are the loop and the scope of the new buffer (default stack).
What `inline` asks of the producer holds here too; the part that is read must have constant sizes.
The producer stays if something outside of the loop reads the buffer.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from tensorscript.dialects.te.buffers import SCOPES, Buffer
from tensorscript.dialects.te.expr import Expr, as_expr
from tensorscript.dialects.te.ops import AllocOp, StoreOp
from tensorscript.dialects.te.rewriting import substitute

from . import inline
from .bounds import touched_region
from .cache import over_region, redirect_tree
from .dependence import body_accesses, has_effects
from .nest import Nest, detach


def check(nest: Nest, target: str, at: str, scope: str = "stack") -> str | None:
    loop = nest.loops.get(at)
    if loop is None:
        return f"there is no loop {at}"
    if scope not in SCOPES or scope in ("param", "const"):
        return f"there is no local scope {scope}"
    if reason := inline.check(nest, target) or has_effects(loop):
        return reason
    if loop.kind.data == "vector":
        return f"loop {at} is a vector loop"
    touches = [a for a in body_accesses(nest, list(loop.block.ops)) if a.buffer == target]
    if not touches:
        return f"{at} does not read {target}"
    if any(a.writes for a in touches):
        return f"{at} computes {target} itself"
    region = touched_region(nest, touches, nest.buffers[target], loop)
    return region if isinstance(region, str) else None


def apply(nest: Nest, target: str, at: str, scope: str = "stack") -> None:
    loop, buffer = nest.loops[at], nest.buffers[target]
    body = list(loop.block.ops)
    touches = [a for a in body_accesses(nest, body) if a.buffer == target]
    region = touched_region(nest, touches, buffer, loop)
    store = inline.producer(nest, target)
    assert not isinstance(region, str) and not isinstance(store, str)  # check passed
    inside = {a.op for a in touches}
    others = [a for a in inline.everything(nest) if a.buffer == target and a.op not in inside]
    name = nest.fresh(f"{target}_a")
    local = Buffer(name, buffer.dtype, tuple(as_expr(n) for n in region.size))
    value, indices = store.value, store.indices

    def compute(here: Sequence[Expr], there: Sequence[Expr]) -> Operation:
        places = {str(i.value): e for i, e in zip(indices, there, strict=True) if i.op == "var"}
        return StoreOp(name, here, substitute(value, places))

    fill = over_region(nest, f"{name}_i", buffer, region, loop, compute)
    for op in body:
        redirect_tree(op, target, name, region)
    loop.block.insert_ops_before([AllocOp(local, scope), fill], body[0])
    if all(a.op is store for a in others):
        detach(nest.allocs[target])
        inline.remove_statement(store)
