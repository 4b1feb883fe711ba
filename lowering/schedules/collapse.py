"""Collapse perfectly nested loops that together walk memory in one stride.

```
for i in 0 .. 64 {                                for j in 0 .. 4096 {
  for j in 0 .. 64 { y[i, j] = x[i, j] }   -->      y[0, j] = x[0, j]
}                                                 }
```
Loops i, j (extent J) collapse if in every access the flat position moves J times as far per step of
i as per step of j; then position(i, j) = position(0, i*J + j). Buffers keep their shapes: an index
may leave its dimension as long as the position stays inside the buffer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Block, Operation

from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, const, mul
from tensorscript.dialects.te.ops import ForOp, FuncOp, StoreOp, UpdateOp

from ..te.affine import accesses, coefficient, expressions, flat_index
from ..te.rebuild import copy_statement, substituting


def _used_as_value(op: Operation, names: Sequence[str]) -> bool:
    """A loop variable stands in a value or condition outside of a buffer index."""

    def outside(e: Expr) -> bool:
        if e.op == "var":
            return str(e.value) in names
        return e.op != "load" and any(outside(a) for a in e.args if not a.free.isdisjoint(names))

    for inner in op.walk():
        own = expressions(inner)
        values = own[:1] if isinstance(inner, StoreOp | UpdateOp) else own
        if any(outside(e) for e in values):
            return True
    return False


def _in_step(outer: ForOp, inner: ForOp, buffers: Mapping[str, Buffer]) -> bool:
    for name, indices in accesses(inner):
        position = flat_index(buffers[name], indices)
        slow, fast = coefficient(position, outer.var), coefficient(position, inner.var)
        if slow is None or fast is None or slow is not mul(fast, inner.extent):
            return False
    return True


def _collapsible(outer: ForOp, buffers: Mapping[str, Buffer]) -> ForOp | None:
    only = list(outer.block.ops)
    if len(only) != 1 or not isinstance(inner := only[0], ForOp):
        return None
    same = inner.is_reduction == outer.is_reduction
    fresh = outer.start.is_int(0) and inner.start.is_int(0)
    if not same or not fresh or _used_as_value(inner, (outer.var, inner.var)):
        return None
    return inner if _in_step(outer, inner, buffers) else None


def collapse(block: Block, buffers: Mapping[str, Buffer]) -> None:
    """Collapse all loops that can be, in a block and what is inside it (innermost first)."""
    for op in list(block.ops):
        for region in op.regions:
            collapse(region.block, buffers)
        if not isinstance(op, ForOp) or (inner := _collapsible(op, buffers)) is None:
            continue
        rewrite = substituting({op.var: const(0)})
        body = [copy_statement(s, rewrite) for s in inner.block.ops]
        total = mul(op.extent, inner.extent)
        merged = ForOp(inner.var, total, body, reduction=op.is_reduction)
        merged.location = op.location
        block.insert_op_before(merged, op)
        op.detach()
        op.erase()


def outer_loops(func: FuncOp) -> tuple[list[ForOp], Block]:
    """The loops around all of a function's work, outermost first, and the inner one's block."""
    loops: list[ForOp] = []
    block = func.block
    while True:
        only = list(block.ops)
        if len(only) != 1 or not isinstance(only[0], ForOp) or only[0].is_reduction:
            return loops, block
        loops.append(only[0])
        block = only[0].block
