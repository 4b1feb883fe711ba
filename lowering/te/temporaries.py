"""name_temporaries: numbers of one iteration that a loop keeps in a buffer are named instead.

```
name_temporaries("i"):
for i { alloc t[]; t[] = f(x[i]); y[i] = t[] * t[] }  -->  for i { let t = f(x[i]); y[i] = t * t }
```

A buffer of no dimensions would be one element for all lanes of a vector. It must be stored once, in
the loop's own body, before it is read.
"""

from __future__ import annotations

from tensorscript.dialects.te.expr import Expr, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, LetOp, StoreOp
from tensorscript.dialects.te.rewriting import replace_loads

from .nest import Nest, detach
from .rebuild import copy_statement


def check(nest: Nest, target: str) -> str | None:
    return None if temporaries(nest.loops[target]) else f"{target} has no such temporary"


def temporaries(loop: ForOp) -> set[str]:
    """The buffers of the body that can be names: stored once; the body is stores alone."""
    body = list(loop.block.ops)
    local = {op.buffer.name for op in body if isinstance(op, AllocOp) and not op.buffer.shape}
    if not local or any(not isinstance(op, AllocOp | StoreOp) for op in body):
        return set()
    stored = [op.buffer for op in body if isinstance(op, StoreOp)]
    return {name for name in local if stored.count(name) == 1}


def apply(nest: Nest, target: str) -> None:
    loop = nest.loops[target]
    once = temporaries(loop)
    named: dict[str, Expr] = {}

    def rewrite(e: Expr) -> Expr:
        return replace_loads(e, lambda n: named.get(str(n.value)))

    for op in list(loop.block.ops):
        detach(op)
        if isinstance(op, AllocOp) and op.buffer.name in once:
            continue
        fresh = copy_statement(op, rewrite)
        if isinstance(fresh, StoreOp) and fresh.buffer in once:
            let = LetOp(fresh.buffer, fresh.value)
            let.location = op.location
            named[fresh.buffer] = var(fresh.buffer, fresh.value.dtype)
            loop.block.add_op(let)
        else:
            loop.block.add_op(fresh)
