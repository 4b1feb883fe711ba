"""Dropout that is switched off is removed.

%2 = aten::dropout(%1, %p, %false)      -->      %1
"""

from __future__ import annotations

from xdsl.rewriter import Rewriter

from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.walks import walk_ops

from .fold_constants import is_constant

_DROPOUTS = frozenset({
    "aten::dropout", "aten::dropout_", "aten::feature_dropout", "aten::feature_dropout_",
    "aten::alpha_dropout", "aten::alpha_dropout_", "aten::feature_alpha_dropout",
    "aten::feature_alpha_dropout_",
})  # fmt: skip


def remove_dropout(function: ts.FuncOp) -> bool:
    """Remove dropout whose `train` is the constant False; whether there was any."""
    found = [
        op
        for op in walk_ops(function)
        if isinstance(op, ts.OperatorOp)
        and op.schema.data in _DROPOUTS
        and is_constant(op.arguments[2], False)
    ]
    for op in found:
        op.outputs[0].replace_all_uses_with(op.arguments[0])
        Rewriter.erase_op(op)
    return bool(found)
