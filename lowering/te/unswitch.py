"""Vectors that read one element for many where a size is 1 are made twice: for that, and without.

```
                                            if N == 1 {
for i in 0 .. 16 vector {                     for i ... { y[i] = x[select(N == 1, 0, i)] }
  y[i] = x[select(N == 1, 0, i)]    -->     } else {
}                                             for i_u ... { y[i_u] = x[i_u] } }
```

Tensors whose sizes the program finds are broadcast if a size is 1, which is the same for all of a
call (loop unswitching). Vectors that read at such places are gathers, of elements that nearly
always lie side by side. A copy of the outermost loops is for where nothing is broadcast.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation

from tensorscript.base.dtypes import bool_
from tensorscript.dialects.te.expr import Expr, binary, const
from tensorscript.dialects.te.ops import ForOp, FuncOp, IfOp
from tensorscript.dialects.te.rewriting import loads, transform, walk
from tensorscript.dialects.walks import walk_ops

from .nest import Nest, copy_fresh, detach, expressions, insert_before
from .rebuild import copy_all
from .simplify import simplify_function


def unswitch(func: FuncOp) -> FuncOp:
    """Cut the outermost loops of a scheduled kernel, in place."""
    sizes = {scalar.name for scalar in func.scalars}
    changed = False
    for op in list(func.block.ops) if sizes else []:
        if not isinstance(op, ForOp) or not (conditions := _conditions(op, sizes)):
            continue
        never = dict.fromkeys(conditions, const(False, bool_))
        plain = copy_all([op], lambda e, never=never: transform(e, never.get))  # type: ignore[misc]
        broadcast = conditions[0]
        for condition in conditions[1:]:
            broadcast = binary("or", broadcast, condition)
        choice = IfOp(broadcast, [], copy_fresh(Nest(func), plain, "_u"))
        choice.location = op.location
        insert_before(op, [choice])
        detach(op)
        choice.then_body.block.add_op(op)
        changed = True
    return simplify_function(func) if changed else func


def _conditions(loop: ForOp, sizes: set[str]) -> list[Expr]:
    """What is asked of sizes alone to find the elements of a vector."""
    found: dict[Expr, None] = {}
    inside = [loop, *walk_ops(loop)]
    lanes = {op.var for op in inside if isinstance(op, ForOp) and op.kind.data == "vector"}
    for op in inside:
        for place in _places(op):
            for n in walk(place):
                is_choice = n.op == "select" and n.args[0].free <= sizes
                if is_choice and not lanes.isdisjoint(n.free) and not loads(n.args[0]):
                    found[n.args[0]] = None
    return list(found)


def _places(op: Operation) -> Iterator[Expr]:
    """The indices of what a statement reads."""
    for e in expressions(op):
        for load in loads(e):
            yield from load.args
