"""dead_stores: what nobody reads is not computed.

```
te.alloc arena t: f32[N]
te.for i in 0 .. N { te.store t[i] = exp(x.f32[i]) }
te.for j in 0 .. N { te.store y[j] = x.f32[j] }
    -->
te.for j in 0 .. N { te.store y[j] = x.f32[j] }
```

A buffer that the function allocates, that no live statement reads and no call takes, loses its
stores, its allocation, and the loops and conditions that they leave empty. A value used only by
dead stores is dead too. Reads of a call's arguments count for buffers and scalars alike.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.dialects.te.ops import (
    AllocOp,
    AssignOp,
    ForOp,
    FuncOp,
    IfOp,
    LetOp,
    StoreOp,
    UpdateOp,
    VarOp,
)
from tensorscript.dialects.walks import walk_ops

from .dependence import loads_of
from .nest import detach, expressions


def _reads(op: Operation) -> set[str]:
    """Buffers and scalars that a statement needs."""
    found: set[str] = set()
    for e in expressions(op):
        found |= {str(n.value) for n in loads_of(e)} | e.free
    return found


def _result(op: Operation) -> str | None:
    """The name a statement gives a value to, if that is all it does."""
    if isinstance(op, (StoreOp, UpdateOp)):
        return op.buffer
    return op.var if isinstance(op, (LetOp, VarOp, AssignOp)) else None


def _needed(func: FuncOp, ops: list[Operation]) -> set[str]:
    """Names whose values reach a parameter, a call or control flow."""
    needed = {p.name for p in func.params}
    makers: dict[str, list[Operation]] = {}
    for op in ops:
        name = _result(op)
        if name is not None:
            makers.setdefault(name, []).append(op)
        elif not isinstance(op, AllocOp):
            needed |= _reads(op)
    work = list(needed)
    while work:
        for op in makers.get(work.pop(), ()):
            fresh = _reads(op) - needed
            needed |= fresh
            work.extend(fresh)
    return needed


def remove_dead_stores(func: FuncOp) -> FuncOp:
    """Remove statements whose results nothing needs, in place."""
    ops = list(walk_ops(func))
    needed = _needed(func, ops)
    for op in reversed(ops):
        name = op.buffer.name if isinstance(op, AllocOp) else _result(op)
        empty = isinstance(op, (ForOp, IfOp)) and all(r.block.first_op is None for r in op.regions)
        if empty or (name is not None and name not in needed):
            detach(op)
    return func
