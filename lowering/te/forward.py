"""forward: what a loop's body stores and reads again at once stays in a register.

```
forward("a"):
for a { t[a] = exp(x[a]); s[] add= t[a] }  -->  for a { let t_value = exp(x[a])
                                                        t[a] = t_value; s[] add= t_value }
```

The body is flat; an element is forwarded where a later statement reads it at the same indices.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.dialects.te.expr import Expr, var
from tensorscript.dialects.te.ops import ForOp, LetOp, StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import loads, replace_loads

from .affine import expressions
from .nest import Nest, detach
from .rebuild import copy_statement

Element = tuple[str, tuple[Expr, ...]]


def check(nest: Nest, target: str) -> str | None:
    loop = nest.loops[target]
    if not is_flat(loop):
        return f"{target} holds more than stores, updates and names"
    places: dict[str, set[tuple[Expr, ...]]] = {}
    for op in loop.block.ops:
        if isinstance(op, StoreOp | UpdateOp):
            places.setdefault(op.buffer, set()).add(op.indices)
        if isinstance(op, UpdateOp) and any(
            isinstance(other, StoreOp) and other.buffer == op.buffer for other in loop.block.ops
        ):
            return f"{op.buffer} is stored and updated"
    for buffer, found in places.items():
        if len(found) > 1:
            return f"{buffer} is stored at several places, which may be one"
    return None


def is_flat(loop: ForOp) -> bool:
    """The body is statements on elements and names alone."""
    return all(isinstance(op, StoreOp | UpdateOp | LetOp) for op in loop.block.ops)


def apply(nest: Nest, target: str) -> None:
    """Reads of an element stored earlier in the body become the stored value, named once."""
    loop = nest.loops[target]
    body = list(loop.block.ops)
    stored: dict[Element, Expr] = {}
    read = {(str(n.value), n.args) for op in body for e in expressions(op) for n in loads(e)}
    for op in body:
        detach(op)
        made = copy_statement(
            op, lambda e: replace_loads(e, lambda n: stored.get((str(n.value), n.args)))
        )
        if isinstance(made, StoreOp) and (made.buffer, made.indices) in read:
            made = _named(nest, loop, made)
            stored[made.buffer, made.indices] = made.value
        loop.block.add_op(made)


def _named(nest: Nest, loop: ForOp, op: StoreOp) -> StoreOp:
    """The store of a name for its value, after the name."""
    if op.value.op in ("var", "const"):
        return op
    name = nest.fresh(f"{op.buffer}_value")
    let: Operation = LetOp(name, op.value)
    let.location = op.location
    loop.block.add_op(let)
    made = StoreOp(op.buffer, op.indices, var(name, op.value.dtype))
    made.location = op.location
    return made
