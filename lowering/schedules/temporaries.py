"""Numbers of one iteration that a kernel keeps in a buffer are named instead.

```
for i { alloc t[]; t[] = f(x[i]); y[i] = t[] * t[] }  -->  for i { let t = f(x[i]); y[i] = t * t }
```
A buffer of no dimensions would be one element for all lanes of a vector.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.dialects.te.expr import Expr, replace_loads, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, LetOp, StoreOp

from ..te.rebuild import copy_statement


def name_temporaries(loop: ForOp) -> None:
    """Replace the buffers of the body that are stored once, and first, by names, in place."""
    named: dict[str, Expr] = {}
    body = list(loop.block.ops)
    local = {op.buffer.name for op in body if isinstance(op, AllocOp) and not op.buffer.shape}
    if not local or any(not isinstance(op, AllocOp | StoreOp) for op in body):
        return
    stored = [op.buffer for op in body if isinstance(op, StoreOp)]
    once = {name for name in local if stored.count(name) == 1}

    def rewrite(e: Expr) -> Expr:
        return replace_loads(e, lambda n: named.get(str(n.value)))

    made: list[Operation] = []
    for op in body:
        op.detach()
        if isinstance(op, AllocOp) and op.buffer.name in once:
            continue
        fresh = copy_statement(op, rewrite)
        if isinstance(fresh, StoreOp) and fresh.buffer in once:
            let = LetOp(fresh.buffer, fresh.value)
            let.location = op.location
            named[fresh.buffer] = var(fresh.buffer, fresh.value.dtype)
            made.append(let)
        else:
            made.append(fresh)
    loop.block.add_ops(made)
