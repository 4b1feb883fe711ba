"""A product with a sum becomes the two, as TorchScript's `DecomposeOps` writes them.

%r = aten::addmm(%a, %x, %y, 1, 1)    -->    %p = aten::mm(%x, %y)
                                             %r = aten::add(%a, %p, 1)
"""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts.types import INT, TENSOR
from tensorscript.dialects.walks import walk_ops


def decompose_addmm(function: ts.FuncOp) -> bool:
    """Take apart the products whose factors are constants of 1; whether there were any."""
    found = [op for op in walk_ops(function) if isinstance(op, ts.OperatorOp) and _is_plain(op)]
    for op in found:
        _decompose(op)
    return bool(found)


def _is_plain(op: ts.OperatorOp) -> bool:
    return op.schema.data == "aten::addmm" and all(map(_is_one, op.arguments[3:]))


def _is_one(value: SSAValue) -> bool:
    return isinstance(value.owner, ts.ConstantOp) and value.owner.value.data == 1


def _decompose(op: ts.OperatorOp) -> None:
    summand, first, second, *_ = op.arguments
    one = ts.ConstantOp(1, INT)
    product = ts.OperatorOp("aten::mm", [first, second], [TENSOR])
    total = ts.OperatorOp(
        "aten::add.Tensor", [summand, product.results[0], one.result], [op.outputs[0].type]
    )
    parts = (one, product, total)
    for made in parts:
        made.location = op.location
    Rewriter.insert_op(parts, InsertPoint.before(op))
    total.results[0].name_hint = op.outputs[0].name_hint
    op.outputs[0].replace_all_uses_with(total.results[0])
    Rewriter.erase_op(op)
