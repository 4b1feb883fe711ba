"""Dissolve loops of one iteration, and temporaries of one element into scalars.

```
te.alloc stack t: f32[1]                      te.alloc stack t: f32[]
for j in 0 .. 1 {                             t[] = 0
  t[j] = 0                             -->    for r in 0 .. n reduce { t[] add= x[i, r] }
  for r in 0 .. n reduce { t[j] add= x[i, r] } }
```
Dimensions of size 1 (`keepdim`) make such code, and a schedule that looks for reductions to scalars
would not see them. A reduction loop stays, so that an update is always inside one.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation

from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, load
from tensorscript.dialects.te.ops import AllocOp, ForOp, FuncOp, StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import replace_loads
from tensorscript.dialects.walks import walk_ops

from ..te.affine import known
from ..te.rebuild import copy_all, copy_statement, substituting


def _dissolve(block: Block) -> None:
    for op in list(block.ops):
        for region in op.regions:
            _dissolve(region.block)
        if isinstance(op, ForOp) and op.extent.is_int(1) and not op.is_reduction:
            for made in copy_all(op.block.ops, substituting({op.var: op.start})):
                block.insert_op_before(made, op)
            _erase(op)


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()


def _is_unit(buffer: Buffer) -> bool:
    return bool(buffer.shape) and all(known(size) == 1 for size in buffer.shape)


def _scalar(op: Operation, units: set[str]) -> Operation:
    """A copy of a simple statement with unit temporaries as scalars."""

    def rewrite(e: Expr) -> Expr:
        return replace_loads(
            e, lambda n: load(str(n.value), (), n.dtype) if str(n.value) in units else None
        )

    made = copy_statement(op, rewrite)
    match made:
        case AllocOp() if made.buffer.name in units:
            buffer = Buffer(made.buffer.name, made.buffer.dtype, ())
            return AllocOp(buffer, made.scope.data)
        case StoreOp() if made.buffer in units:
            return StoreOp(made.buffer, (), made.value)
        case UpdateOp() if made.buffer in units:
            return UpdateOp(made.buffer, (), made.combiner, made.value)
    return made


def _rewrite(block: Block, units: set[str]) -> None:
    for op in list(block.ops):
        for region in op.regions:
            _rewrite(region.block, units)
        if op.regions:
            continue
        made = _scalar(op, units)
        made.location = op.location
        block.insert_op_before(made, op)
        _erase(op)


def dissolve_units(func: FuncOp) -> None:
    """Run on a kernel at level logical, in place."""
    _dissolve(func.block)
    units = {
        op.buffer.name for op in walk_ops(func) if isinstance(op, AllocOp) and _is_unit(op.buffer)
    }
    if units:
        _rewrite(func.block, units)
