"""unfuse: a loop whose variable is divided by a size that the program finds becomes two loops.

```
unfuse("i"):                                   for i_d in 0 .. H {
for i in 0 .. H * W {                            for i_m in 0 .. W {
  y[i] = x[i // W, i % W]                 -->      y[i_d * W + i_m] = x[i_d, i_m]
}                                              } }
```

Order is kept, so it is always legal. Of several divisors the largest counts that the number of
iterations is a multiple of; the next step takes the others. Division by a number is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation

from tensorscript.dialects.te.expr import Expr, mul, var
from tensorscript.dialects.te.ops import ForOp
from tensorscript.dialects.te.polynomial import as_constant, divided, expression, polynomial
from tensorscript.dialects.te.rewriting import loads, walk
from tensorscript.dialects.walks import walk_ops

from .nest import Nest, detach, expressions, insert_before, loop_like, substitute_in
from .simplify import simplify_function


def check(nest: Nest, target: str) -> str | None:
    loop = nest.loops[target]
    if loop.kind.data != "serial":
        return f"loop {target} is {loop.kind.data} already"
    if not loop.start.is_int(0):
        return f"loop {target} does not start at 0"
    return None if parts(nest, loop) else f"{target} is not divided by a part of its iterations"


def parts(nest: Nest, loop: ForOp) -> tuple[Expr, Expr] | None:
    """Iterations of the two loops; None where one is as good."""
    if loop.extent.is_const:
        return None
    found = {n for op in [loop, *walk_ops(loop)] for n in _divisors(op, loop.var)}
    visible = {s.name for s in nest.func.scalars} | {o.var for o in nest.enclosing(loop)}
    for n in sorted(found, key=lambda e: (-max(map(len, polynomial(e)), default=0), str(e))):
        if not n.free <= visible:
            continue
        times, rest = divided(polynomial(loop.extent), polynomial(n))
        if not rest and as_constant(times) != 1:  # else the second loop would be the first
            return expression(times), n
    return None


def _divisors(op: Operation, name: str) -> Iterator[Expr]:
    """The sizes that a loop variable is divided by."""
    for e in expressions(op):
        for n in walk(e):
            is_divided = n.op in ("floordiv", "mod") and n.args[0] is var(name)
            if is_divided and not n.args[1].is_const and not loads(n.args[1]):
                yield n.args[1]


def apply(nest: Nest, target: str) -> None:
    loop = nest.loops[target]
    found = parts(nest, loop)
    assert found is not None  # as checked
    times, n = found
    outer, inner = nest.fresh(f"{target}_d"), nest.fresh(f"{target}_m")
    body = list(loop.block.ops)
    for op in body:
        detach(op)
    substitute_in(body, {target: mul(var(outer), n) + var(inner)})
    insert_before(loop, [loop_like(loop, outer, times, [loop_like(loop, inner, n, body)])])
    detach(loop)
    simplify_function(nest.func)
