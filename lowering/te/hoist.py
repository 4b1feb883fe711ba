"""hoist: what all iterations of a loop would compute from numbers of a row is computed before it.

```
hoist("j"):
for j { y[j] = x[j] - log(t[0]) }  -->  alloc j_h[];  j_h[] = log(t[0])
                                        for j { y[j] = x[j] - j_h[] }
```

The loop is an innermost one of stores and updates; what is hoisted calls a math function, and reads
only numbers that are allocated around the loop and not written in it, so that it may run where the
loop does not.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, load
from tensorscript.dialects.te.ops import AllocOp, ForOp, StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import loads, walk

from .nest import Nest
from .rebuild import move_before


def check(nest: Nest, target: str) -> str | None:
    loop = nest.loops[target]
    if loop.kind.data != "serial":
        return f"loop {target} is {loop.kind.data} already"
    if not _is_flat(loop):
        return f"{target} is not a loop of stores and updates"
    return None if hoisted(nest, loop) else f"nothing can be hoisted out of {target}"


def _is_flat(loop: ForOp) -> bool:
    return all(isinstance(op, StoreOp | UpdateOp) for op in loop.block.ops)


def hoisted(nest: Nest, loop: ForOp) -> list[Expr]:
    """The largest expressions that can be computed before the loop."""
    if not _is_flat(loop):
        return []
    written = {op.buffer for op in loop.block.ops if isinstance(op, StoreOp | UpdateOp)}
    numbers = {name for name in nest.allocs if name not in written}
    found: dict[Expr, None] = {}
    stack = [op.value for op in loop.block.ops if isinstance(op, StoreOp | UpdateOp)]
    seen: set[Expr] = set()
    while stack:
        e = stack.pop()
        if e in seen:
            continue
        seen.add(e)
        if _is_number(e, numbers) and any(n.is_costly for n in walk(e)):
            found[e] = None
        else:
            stack.extend(e.args)
    return list(found)


def _is_number(e: Expr, numbers: set[str]) -> bool:
    return not e.free and all(
        str(n.value) in numbers and all(i.is_const for i in n.args) for n in loads(e)
    )


def apply(nest: Nest, target: str) -> None:
    loop = nest.loops[target]
    made: dict[Expr, Expr] = {}
    before: list[Operation] = []
    for e in hoisted(nest, loop):
        number = Buffer(nest.fresh(f"{target}_h"), e.dtype, ())
        before += [AllocOp(number, "stack"), StoreOp(number.name, (), e)]
        made[e] = load(number.name, (), e.dtype)
    move_before(loop, before, made)
