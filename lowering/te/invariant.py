"""invariant: what does not change along a loop is named before it (loop-invariant code motion).

```
invariant("c"):
for c { y[c, i] = x[c, floor(p[i])] * w(p[i]) }  -->  let c_n = floor(p[i]);  let c_n_2 = w(p[i])
                                                      for c { y[c, i] = x[c, c_n] * c_n_2 }
```
The loop holds stores alone, and runs at least once. LLVM moves nothing that is read from memory
which the stores might change; here buffers are known to be apart. What stands under a condition may
move if it cannot fail: it divides no integers, and what it reads is read anyway.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.dialects.te.expr import Expr, var
from tensorscript.dialects.te.ops import ForOp, LetOp, StoreOp
from tensorscript.dialects.te.rewriting import loads, walk

from .affine import expressions, known
from .nest import Nest
from .rebuild import move_before

_DIVISIONS = ("floordiv", "mod", "truncdiv", "truncmod")


def check(nest: Nest, target: str) -> str | None:
    loop = nest.loops[target]
    if loop.kind.data != "serial":
        return f"loop {target} is {loop.kind.data} already"
    if not all(isinstance(op, StoreOp) for op in loop.block.ops):
        return f"{target} holds more than stores"
    if not known(loop.extent):
        return f"{target} may not run at all"
    return None if invariants(loop) else f"all changes along {target}"


def invariants(loop: ForOp) -> list[Expr]:
    """The largest parts of what the loop stores, and of places in it, that are computed from other
    numbers than places, and are the same in each iteration."""
    stores = [op for op in loop.block.ops if isinstance(op, StoreOp)]
    roots = [e for op in stores for e in expressions(op)]
    stored = {op.buffer for op in stores}
    always = _always(roots)
    found: dict[Expr, None] = {}
    stack, seen = [(e, True) for e in roots], set[tuple[Expr, bool]]()
    while stack:
        e, reached = stack.pop()
        if (e, reached) in seen:
            continue
        seen.add((e, reached))
        if _stays(e, loop.var, stored) and (reached or _cannot_fail(e, always)):
            if _is_work(e):
                found[e] = None
        else:
            stack += _parts(e, reached)
    return list(found)


def _parts(e: Expr, reached: bool) -> list[tuple[Expr, bool]]:
    """The operands, and whether each is evaluated wherever `e` is."""
    lazy = ("select", "and", "or")
    return [(a, reached and (k == 0 or e.op not in lazy)) for k, a in enumerate(e.args)]


def _always(roots: list[Expr]) -> set[Expr]:
    """What is evaluated in each iteration."""
    found: set[Expr] = set()
    stack = [(e, True) for e in roots]
    while stack:
        e, reached = stack.pop()
        if reached and e not in found:
            found.add(e)
            stack += _parts(e, True)
    return found


def _stays(e: Expr, name: str, stored: set[str]) -> bool:
    return name not in e.free and not any(str(n.value) in stored for n in loads(e))


def _cannot_fail(e: Expr, always: set[Expr]) -> bool:
    divisions = (n for n in walk(e) if n.op in _DIVISIONS and n.dtype.is_integral)
    return all(n in always for n in (*divisions, *loads(e)))


def _is_work(e: Expr) -> bool:
    """Whether it is read, or computed from more than places."""
    return any(n.op == "load" or (n.args and n.dtype.is_floating_point) for n in walk(e))


def apply(nest: Nest, target: str) -> None:
    loop = nest.loops[target]
    made: dict[Expr, Expr] = {}
    before: list[Operation] = []
    for e in invariants(loop):
        name = nest.fresh(f"{target}_n")
        before.append(LetOp(name, e))
        made[e] = var(name, e.dtype)
    move_before(loop, before, made)
