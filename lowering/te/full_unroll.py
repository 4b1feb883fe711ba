"""full_unroll: a loop's iterations are written out.

```
full_unroll("r"):
for r in 0 .. 3 { for v vector {              for v_0 vector { t[v_0] max= 2 v_0 > 0
  t[v] max= 2v + r > 0 ? x[2v + r - 1]  -->                               ? x[2 v_0 - 1] : -inf }
                       : -inf } }             for v_1 vector { t[v_1] max= x[2 v_1] }
                                              for v_2 vector { t[v_2] max= x[2 v_2 + 1] }
```

(here with what the simplifier makes of it: each iteration's conditions are then its own.) The
argument says whether serial reductions inside are written out with it. `unroll` leaves the loop to
code generation; this one lets later steps treat each iteration by itself. The order is kept.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.dialects.te.ops import ForOp
from tensorscript.dialects.walks import walk_ops

from .affine import known
from .nest import Nest, copy_fresh, detach, insert_before, substitute_in

MOST_COPIES = 1024
"""Statements that a loop may become: straight-line code costs more than it gives beyond."""


def check(nest: Nest, target: str, nested: bool = False) -> str | None:
    loop = nest.loops[target]
    if loop.kind.data not in ("serial", "unroll"):
        return f"loop {target} is {loop.kind.data} already"
    if known(loop.extent) is None:
        return f"the extent {loop.extent} is not constant"
    if nested and any(known(r.extent) is None for r in _reductions(loop)):
        return f"the extent of a reduction inside of {target} is not constant"
    count = copies(loop, nested) * sum(1 for _ in walk_ops(loop))
    if count > MOST_COPIES:
        return f"it would become {count} statements, more than {MOST_COPIES}"
    return None


def _reductions(loop: ForOp) -> list[ForOp]:
    """The serial reductions inside."""
    return [op for op in walk_ops(loop) if isinstance(op, ForOp) and is_serial_reduction(op)]


def is_serial_reduction(op: Operation) -> bool:
    return isinstance(op, ForOp) and op.is_reduction and op.kind.data == "serial"


def copies(loop: ForOp, nested: bool) -> int:
    """Iterations of a loop and, if `nested`, of the reductions directly inside it; 0 if unknown."""
    inner = [op for op in loop.block.ops if isinstance(op, ForOp) and op.is_reduction]
    inside = max((copies(op, nested) for op in inner), default=1) if nested else 1
    return (known(loop.extent) or 0) * inside


def apply(nest: Nest, target: str, nested: bool = False) -> None:
    loop = nest.loops[target]
    insert_before(loop, _written_out(nest, loop, nested))
    detach(loop)


def _written_out(nest: Nest, loop: ForOp, nested: bool) -> list[Operation]:
    out: list[Operation] = []
    body = list(loop.block.ops)
    for k in range(known(loop.extent) or 0):
        made = copy_fresh(nest, body, f"_{k}")
        substitute_in(made, {loop.var: loop.start + k})
        for op in made:
            if nested and isinstance(op, ForOp) and is_serial_reduction(op):
                out += _written_out(nest, op, nested)
            else:
                out.append(op)
    return out
