"""Operations without effect whose results nothing reads are removed.

    %1 = aten::add(%x, %x, %one)      -->      (nothing, if %1 is not used)

Operators that write, calls, raises, prints and stores into objects stay. So do operators that may
raise only in that they stay where something reads them, as in TorchScript.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation
from xdsl.rewriter import Rewriter

from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.walks import walk_ops

from .aliases import is_pure


def remove_dead_code(function: ts.FuncOp) -> bool:
    """Remove what has no effect; whether anything was removed."""
    before = sum(1 for _ in walk_ops(function))
    _sweep(function.block)
    return sum(1 for _ in walk_ops(function)) != before


def _sweep(block: Block) -> None:
    for op in reversed(list(block.ops)):
        if _is_dead(op):
            Rewriter.erase_op(op)
            continue
        for region in op.regions:
            _sweep(region.block)
        if _is_dead(op):
            Rewriter.erase_op(op)


def _is_dead(op: Operation) -> bool:
    if any(result.uses.get_length() for result in op.results):
        return False
    return _has_no_effect(op)


def _has_no_effect(op: Operation) -> bool:
    if isinstance(op, ts.IfOp | ts.LoopOp):
        inside = (inner for region in op.regions for inner in region.block.ops)
        return all(isinstance(inner, ts.YieldOp) or _has_no_effect(inner) for inner in inside)
    if isinstance(op, ts.UninitializedOp | ts.CreateObjectOp):
        return True
    return is_pure(op)
