"""Which host functions loop over single elements, and so gain from LLVM's scalar passes.

Loops that do nothing but call kernels gain nothing, and the passes take a tenth to a third of the
time that the rest of code generation takes.
"""

from __future__ import annotations

from collections.abc import Collection

from xdsl.ir import Operation

from tensorscript.dialects.te.ops import AllocOp, AssignOp, CallOp, FuncOp, IfOp, WhileOp
from tensorscript.dialects.te.structure import statements
from tensorscript.dialects.walks import walk_ops


def has_element_loop(function: FuncOp, inlined: Collection[str]) -> bool:
    """
    Args:
        function: of a program.
        inlined: names of kernels so short that a call of one is work of the loop's own.
    """
    loops = (op for op in walk_ops(function) if isinstance(op, WhileOp))
    return not all(_only_calls(loop, inlined) for loop in loops)


def _only_calls(block: Operation, inlined: Collection[str]) -> bool:
    """Nothing but calls of kernels, a counter, and the same under a condition."""
    return all(
        _only_calls(op, inlined)
        if isinstance(op, IfOp)
        else op.callee not in inlined
        if isinstance(op, CallOp)
        else isinstance(op, AllocOp | AssignOp)
        for op in statements(block)
    )
