"""`detach` is removed, which does nothing where no gradients are recorded.

%2 = aten::detach(%1)      -->      %1

Not in functions that ask whether two tensors are the same object, since those could tell; nor where
the result is written to, which a tensor that requires a gradient would refuse.
"""

from __future__ import annotations

from xdsl.rewriter import Rewriter

from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts.types import TensorType
from tensorscript.dialects.walks import walk_ops

from .aliases import fate_of

_SAME = frozenset({"aten::__is__", "aten::__isnot__"})


def remove_detach(function: ts.FuncOp) -> bool:
    """Remove `detach` of tensors; whether there was any."""
    operators = [op for op in walk_ops(function) if isinstance(op, ts.OperatorOp)]
    if any(_compares_tensors(op) for op in operators):
        return False
    detached = [op for op in operators if op.schema.data == "aten::detach"]
    found = [op for op in detached if not fate_of(op.outputs[0]).written]
    for op in found:
        op.outputs[0].replace_all_uses_with(op.arguments[0])
        Rewriter.erase_op(op)
    return bool(found)


def _compares_tensors(op: ts.OperatorOp) -> bool:
    is_comparison = op.node_kind in _SAME
    return is_comparison and all(isinstance(each.type, TensorType) for each in op.arguments)
