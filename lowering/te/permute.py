"""permute: another order of a local buffer's dimensions in memory.

```
permute("b_c", 1, 0):   alloc stack b_c[4, 8]; ... b_c[k, j] ...
                        -->  alloc stack b_c[8, 4]; ... b_c[j, k] ...
```

After `cache` it packs a block of an operand: dimension d of the new buffer is dimension `order[d]`
of the old. Always legal for buffers that no call takes.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.dialects.te.buffers import Buffer, BufferAttr, ExprAttr, ExprsAttr
from tensorscript.dialects.te.expr import Expr, node
from tensorscript.dialects.te.ops import StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import replace_loads
from tensorscript.dialects.walks import walk_ops

from .bounds import uncertain
from .dependence import Access, body_accesses, loads_of
from .nest import Nest


def check(nest: Nest, target: str, *order: int) -> str | None:
    alloc = nest.allocs.get(target)
    if alloc is None:
        return f"{target} is a parameter"
    rank = len(alloc.buffer.shape)
    if len(order) != rank or set(order) != set(range(rank)):
        return f"the order is a permutation of 0 .. {rank}"
    touches = body_accesses(nest, nest.func.block.ops)
    if any(a.buffer == target and a.indices is None for a in touches):
        return f"{target} is passed to a function"
    for a in touches:
        if a.buffer == target and _leaves(nest, a, alloc.buffer):
            return f"an index of {target} may leave its dimension"
    return None


def _leaves(nest: Nest, access: Access, buffer: Buffer) -> bool:
    """Whether rows may be read as one line (`collapse`, `fold`), which has them in this order."""
    ranges = nest.ranges(access.op)
    at = zip(access.indices or (), buffer.shape, strict=True)
    given = nest.guards(access.op)
    return any((c := uncertain(i, n, ranges)) is not None and c not in given for i, n in at)


def apply(nest: Nest, target: str, *order: int) -> None:
    alloc = nest.allocs[target]
    b = alloc.buffer
    shape = tuple(b.shape[d] for d in order)
    for op in walk_ops(nest.func):
        _permute(op, target, order)
    wide = Buffer(b.name, b.dtype, shape, None, b.mode)
    alloc.properties["buffer_attr"] = BufferAttr(wide)


def _permute(op: Operation, target: str, order: tuple[int, ...]) -> None:
    def one(n: Expr) -> Expr | None:
        if n.value != target:
            return None
        return node("load", tuple(n.args[d] for d in order), target, n.dtype)

    for key, attribute in op.properties.items():
        if isinstance(attribute, ExprAttr) and loads_of(attribute.data):
            op.properties[key] = ExprAttr(replace_loads(attribute.data, one))
        elif isinstance(attribute, ExprsAttr) and any(map(loads_of, attribute.data)):
            op.properties[key] = ExprsAttr(tuple(replace_loads(e, one) for e in attribute.data))
    if isinstance(op, (StoreOp, UpdateOp)) and op.buffer == target:
        op.properties["indices_attr"] = ExprsAttr(tuple(op.indices[d] for d in order))
