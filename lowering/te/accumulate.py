"""accumulate: a reduction adds into as many accumulators as lanes, and those together at the end.

```
accumulate("r", 16):
for r in 0 .. n reduce { t[] add= f(r) }
    -->
alloc reg acc0_r[16]
for r_s0 in 0 .. 16 vector { acc0_r[r_s0] = 0 }
for r_o in 0 .. n // 16 reduce {
    for r_v in 0 .. 16 vector { acc0_r[r_v] add= f(r_o * 16 + r_v) }
}
for r_w in 0 .. 16 vector { if n // 16 * 16 + r_w < n { acc0_r[r_w] add= f(n // 16 * 16 + r_w) } }
for r_z0 in 0 .. 16 vector reduce { t[] add= acc0_r[r_z0] }
```

The loop is an innermost one; what it stores beside its updates must not depend on the order. Sums
in several accumulators are reassociated, which te allows, and closer than one running sum.
"""

from __future__ import annotations

from tensorscript.dialects.te.ops import ForOp, LetOp, StoreOp, UpdateOp

from .dependence import body_accesses, carried
from .lanes import vectorize_reduction
from .nest import Nest, detach, insert_before


def check(nest: Nest, target: str, lanes: int) -> str | None:
    loop = nest.loops[target]
    if lanes < 2:
        return "the number of lanes is at least 2"
    if loop.kind.data != "serial":
        return f"loop {target} is {loop.kind.data} already"
    body = list(loop.block.ops)
    for op in body:
        if not isinstance(op, (StoreOp, UpdateOp, LetOp)):
            return f"{op.name} inside"
    updates = _updates(loop)
    if not updates:
        return f"there is no te.update in {target}"
    for update in updates:
        if any(target in e.free for e in update.indices):
            return f"{update.buffer} is indexed by {target}"
        if sum(a.buffer == update.buffer for a in body_accesses(nest, body)) > 1:
            return f"{update.buffer} has other accesses inside"
    return carried(nest, loop, reductions_commute=True)


def _updates(loop: ForOp) -> list[UpdateOp]:
    return [op for op in loop.block.ops if isinstance(op, UpdateOp)]


def apply(nest: Nest, target: str, lanes: int) -> None:
    loop = nest.loops[target]
    made = vectorize_reduction(loop, lanes)
    for op in made:
        op.location = loop.location
    insert_before(loop, made)
    detach(loop)
