"""Equal constants become one, and all constants stand first in the function.

    %1 = aten::neg(%x)                         %2 = constant 3
    %2 = constant 3                   -->      %1 = aten::neg(%x)
    %3 = ts.if %c { %4 = constant 3 }          %3 = ts.if %c { (reads %2) }

As TorchScript's pooling: each constant that is met is put before all others. Constant tensors of
one number are merged where they are only read, others with themselves only, so that weights are
never compared; what else may be written is pooled like anything, since a list constant is a new
list wherever it is read.
"""

from __future__ import annotations

from xdsl.ir import Attribute, Block
from xdsl.rewriter import InsertPoint, Rewriter

from tensorscript.dialects.ts.constants import TensorLiteral
from tensorscript.dialects.ts.ops import ConstantOp, FuncOp
from tensorscript.dialects.walks import walk_ops

from .aliases import fate_of


def pool_constants(function: FuncOp) -> bool:
    """Pool the constants of a function; whether anything changed."""
    before = [op for op in walk_ops(function) if isinstance(op, ConstantOp)]
    _block(function, function.block, {})
    after = [op for op in function.block.ops if isinstance(op, ConstantOp)]
    return before != after


def _block(function: FuncOp, block: Block, known: dict[object, ConstantOp]) -> None:
    for op in list(block.ops):
        for region in op.regions:
            _block(function, region.block, known)
        if not isinstance(op, ConstantOp):
            continue
        first = known.setdefault(_key(op), op)
        if first is op:
            op.detach()
            Rewriter.insert_op(op, InsertPoint.at_start(function.block))
        else:
            op.result.replace_all_uses_with(first.result)
            Rewriter.erase_op(op)


def _key(op: ConstantOp) -> tuple[object, Attribute]:
    """What is equal for constants that may be merged."""
    held = op.value.data
    if not isinstance(held, TensorLiteral):
        return op.value, op.result.type
    if held.array.ndim or _is_shared(op):
        return id(held.array), op.result.type
    return (held.array.tobytes(), held.dtype, held.requires_grad), op.result.type


def _is_shared(op: ConstantOp) -> bool:
    """Whether somebody may write the tensor, or hold it after the function has returned."""
    fate = fate_of(op.result)
    return fate.written or fate.leaves
