"""slice_head, slice_tail, normalize: cut a loop in two, or start it at zero.

```
slice_head("i", 2):  for i in 0 .. N { s }   -->   for i_h in 0 .. min(2, N) { s }
                                                   for i in min(2, N) .. N - min(2, N) { s }
slice_tail("i", 2):  for i in 0 .. N { s }   -->   for i in 0 .. N - min(2, N) { s }
                                                   for i_t in N - min(2, N) .. min(2, N) { s }
normalize("i"):      for i in a .. n { s(i) }   -->   for i in 0 .. n { s(a + i) }
```

(`start .. extent`.) The order is kept, so all of them are legal on serial loops.
"""

from __future__ import annotations

from tensorscript.dialects.te.buffers import ExprAttr
from tensorscript.dialects.te.expr import Expr, add, binary, const, sub, var
from tensorscript.dialects.te.ops import ForOp
from tensorscript.dialects.te.simplify import simplify

from .nest import Nest, copy_fresh, insert_after, insert_before, loop_like, substitute_in


def check(nest: Nest, target: str, count: int) -> str | None:
    if count < 1:
        return "the count is a positive integer"
    return check_normalize(nest, target)


def check_normalize(nest: Nest, target: str) -> str | None:
    kind = nest.loops[target].kind.data
    return None if kind == "serial" else f"loop {target} is {kind} already"


def _part(nest: Nest, loop: ForOp, count: int) -> tuple[Expr, Expr]:
    """The number of iterations cut off, and of those left."""
    ranges = nest.ranges(loop)
    cut = simplify(binary("min", const(count), loop.extent), ranges)
    return cut, simplify(sub(loop.extent, cut), ranges)


def _piece(nest: Nest, loop: ForOp, suffix: str, start: Expr, extent: Expr) -> ForOp:
    name = nest.fresh(loop.var + suffix)
    body = copy_fresh(nest, list(loop.block.ops), suffix)
    substitute_in(body, {loop.var: var(name)})
    made = loop_like(loop, name, extent, body)
    made.properties["start_attr"] = ExprAttr(start)
    return made


def apply_head(nest: Nest, target: str, count: int) -> None:
    loop = nest.loops[target]
    cut, left = _part(nest, loop, count)
    insert_before(loop, [_piece(nest, loop, "_h", loop.start, cut)])
    loop.properties["start_attr"] = ExprAttr(add(loop.start, cut))
    loop.properties["extent_attr"] = ExprAttr(left)


def apply_tail(nest: Nest, target: str, count: int) -> None:
    loop = nest.loops[target]
    cut, left = _part(nest, loop, count)
    insert_after(loop, [_piece(nest, loop, "_t", add(loop.start, left), cut)])
    loop.properties["extent_attr"] = ExprAttr(left)


def apply_normalize(nest: Nest, target: str) -> None:
    loop = nest.loops[target]
    start = loop.start
    if start.is_int(0):
        return
    loop.properties["start_attr"] = ExprAttr(const(0))
    substitute_in(list(loop.block.ops), {target: add(start, var(target))})
