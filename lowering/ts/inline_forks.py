"""Tasks become calls that are inlined, and waiting for them is reading their result.

    %1 = ts.fork @f(%x)                        the ops of @f with %x for its argument
    %2 = aten::wait(%1)               -->      (nothing; what @f returns is read for %2)

A future that something else than `aten::wait` reads keeps its task.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.rewriter import InsertPoint, Rewriter

from tensorscript.dialects.ts.ops import CallOp, ForkOp, FuncOp, OperatorOp
from tensorscript.dialects.walks import walk_ops

from .inline import inline_call


def inline_forks(function: FuncOp, functions: Mapping[str, FuncOp]) -> bool:
    """Inline the tasks of a function in place; whether there were any.

    Args:
        functions: the functions of its module by name.
    """
    changed = False
    todo = [op for op in walk_ops(function) if isinstance(op, ForkOp)]
    while todo:
        fork = todo.pop()
        waits = [use.operation for use in fork.result.uses]
        if not all(isinstance(op, OperatorOp) and op.node_kind == "aten::wait" for op in waits):
            continue
        callee = functions[fork.callee.data]
        call = CallOp(fork.callee.data, list(fork.arguments), callee.return_type)
        call.location = fork.location
        Rewriter.insert_op(call, InsertPoint.before(fork))
        for wait in waits:
            wait.results[0].replace_all_uses_with(call.result)
            Rewriter.erase_op(wait)
        Rewriter.erase_op(fork)
        todo += [op for op in inline_call(call, callee) if isinstance(op, ForkOp)]
        changed = True
    return changed
