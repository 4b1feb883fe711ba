"""expand: a buffer of one iteration becomes a buffer of all iterations, outside of the loop.

```
expand("t", "j"):
for j in 0 .. 4 {                         alloc stack t[4]
  alloc stack t[]                         for j in 0 .. 4 {
  t[] = 0                                   t[j] = 0
  for k reduce { t[] add= a[k, j] }  -->    for k reduce { t[j] add= a[k, j] }
  y[j] = t[]                                y[j] = t[j]
}                                         }
```

The opposite of `compress_buffer`; it lets `distribute` cut the loop. The target is the buffer; the
argument is the loop whose body allocates it. Always legal for buffers that no call takes.
"""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from tensorscript.dialects.te.buffers import Buffer, BufferAttr, ExprAttr, ExprsAttr
from tensorscript.dialects.te.expr import Expr, node, sub, var
from tensorscript.dialects.te.ops import StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import replace_loads
from tensorscript.dialects.walks import walk_ops

from .dependence import accesses, fixed_names, loads_of
from .nest import Nest, detach, insert_before


def check(nest: Nest, target: str, at: str) -> str | None:
    alloc, loop = nest.allocs.get(target), nest.loops.get(at)
    if alloc is None:
        return f"{target} is a parameter"
    if loop is None:
        return f"there is no loop {at}"
    if alloc.parent_op() is not loop:
        return f"{target} is not allocated in the body of {at}"
    if loop.kind.data not in ("serial", "unroll"):
        return f"loop {at} is {loop.kind.data} already"
    if any(size.free - fixed_names(nest, loop) for size in alloc.buffer.shape):
        return f"the shape of {alloc.buffer} changes in the loop"
    if any(a.buffer == target and a.indices is None for a in accesses(nest, loop)):
        return f"{target} is passed to a function"
    return None


def apply(nest: Nest, target: str, at: str) -> None:
    alloc, loop = nest.allocs[target], nest.loops[at]
    b = alloc.buffer
    place = sub(var(at), loop.start)
    for op in walk_ops(loop):
        _prefix(op, target, place)
    detach(alloc)
    wide = Buffer(b.name, b.dtype, (loop.extent, *b.shape), None, b.mode)
    alloc.properties["buffer_attr"] = BufferAttr(wide)
    if not loop.extent.is_const:
        alloc.properties["scope"] = StringAttr("arena")
    alloc.properties.pop("offset_attr", None)
    insert_before(loop, [alloc])


def _prefix(op: Operation, target: str, place: Expr) -> None:
    """Put `place` in front of the indices of the accesses of `target`."""

    def one(n: Expr) -> Expr | None:
        return node("load", (place, *n.args), target, n.dtype) if n.value == target else None

    for key, attribute in op.properties.items():
        if isinstance(attribute, ExprAttr) and loads_of(attribute.data):
            op.properties[key] = ExprAttr(replace_loads(attribute.data, one))
        elif isinstance(attribute, ExprsAttr) and any(map(loads_of, attribute.data)):
            op.properties[key] = ExprsAttr(tuple(replace_loads(e, one) for e in attribute.data))
    if isinstance(op, (StoreOp, UpdateOp)) and op.buffer == target:
        op.properties["indices_attr"] = ExprsAttr((place, *op.indices))
