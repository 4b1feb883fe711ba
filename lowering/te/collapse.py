"""collapse: two perfectly nested loops that together walk memory in one stride become one.

```
collapse("i", "j"):
for i in 0 .. 64 {                                for j in 0 .. 4096 {
  for j in 0 .. 64 { y[i, j] = x[i, j] }   -->      y[0, j] = x[0, j]
}                                                 }
```

The loops i, j (extent J) collapse if in every access the flat position moves J times as far per
step of i as per step of j; then position(i, j) = position(0, i*J + j). Buffers keep their shapes:
an index may leave its dimension as long as the position stays inside the buffer. Unlike `fuse` it
leaves no division behind.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from tensorscript.dialects.te.buffers import ExprAttr
from tensorscript.dialects.te.expr import Expr, const, mul
from tensorscript.dialects.te.ops import StoreOp, UpdateOp
from tensorscript.dialects.te.polynomial import equal

from .affine import accesses, coefficient, expressions, flat_index
from .nest import Nest, detach, insert_before, only_child, substitute_in


def check(nest: Nest, target: str, inner: str) -> str | None:
    outer, loop = nest.loops[target], nest.loops.get(inner)
    if loop is None:
        return f"there is no loop {inner}"
    if only_child(outer.block) is not loop:
        return f"{inner} is not the only statement of {target}"
    if outer.kind.data != "serial" or loop.kind.data != "serial":
        return "both loops must be serial"
    if outer.is_reduction != loop.is_reduction:
        return "only one of the loops is a reduction"
    if not outer.start.is_int(0) or not loop.start.is_int(0):
        return "both loops must start at 0"
    if target in loop.extent.free:
        return f"the extent of {inner} depends on {target}"
    if used_as_value(loop, (target, inner)):
        return f"{target} or {inner} is used outside of an index"
    for name, indices in accesses(loop):
        if name not in nest.buffers:
            return f"{name} is a constant of the module"
        position = flat_index(nest.buffers[name], indices)
        slow, fast = coefficient(position, target), coefficient(position, inner)
        if slow is None or fast is None or not equal(slow, mul(fast, loop.extent)):
            return f"{target} and {inner} do not walk {name} in one stride"
    return None


def used_as_value(op: Operation, names: Sequence[str]) -> bool:
    """A loop variable stands in a value or condition outside of a buffer index."""
    seen: set[Expr] = set()
    for inner in op.walk():
        own = expressions(inner)
        left = list(own[:1] if isinstance(inner, StoreOp | UpdateOp) else own)
        while left:
            e = left.pop()
            if e in seen or e.op == "load" or e.free.isdisjoint(names):
                continue
            if e.op == "var":
                return True
            seen.add(e)
            left.extend(e.args)
    return False


def apply(nest: Nest, target: str, inner: str) -> None:
    outer, loop = nest.loops[target], nest.loops[inner]
    detach(loop)
    insert_before(outer, [loop])
    detach(outer)
    loop.properties["extent_attr"] = ExprAttr(mul(outer.extent, loop.extent))
    loop.location = outer.location
    substitute_in(list(loop.block.ops), {target: const(0)})
