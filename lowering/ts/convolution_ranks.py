"""The rank of what a convolution gives is known.

    %y = aten::conv2d(...)             -->      %y = aten::conv2d(...)
    %n = aten::dim(%y)                          %n = 4

PyTorch's freezing takes it so, which decides the checks of the batch norms behind convolutions. It
leaves out images without a batch, whose check would fail: code that has to fail there is made
without this pass.
"""

from __future__ import annotations

from xdsl.rewriter import InsertPoint, Rewriter

from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.walks import walk_ops

_RANKS = {"aten::conv1d": 3, "aten::conv2d": 4, "aten::conv3d": 5}


def fold_convolution_ranks(function: ts.FuncOp) -> bool:
    """Replace `dim` of the results of convolutions by numbers; whether there was any."""
    changed = False
    for op in list(walk_ops(function)):
        if not isinstance(op, ts.OperatorOp) or op.node_kind != "aten::dim":
            continue
        made = op.arguments[0].owner
        rank = _RANKS.get(made.node_kind) if isinstance(made, ts.OperatorOp) else None
        if rank is None or not op.results[0].uses.get_length():
            continue
        number = ts.ConstantOp(rank, op.results[0].type)
        number.location = op.location
        Rewriter.insert_op(number, InsertPoint.before(op))
        op.results[0].replace_all_uses_with(number.result)
        changed = True
    return changed
