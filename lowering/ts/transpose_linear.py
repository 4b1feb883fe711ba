"""Linear layers with constant weights multiply by the transposed weights, stored row by row.

%y = aten::linear(%x, %w, %b)
  -->
%p = aten::matmul(%x, %w_transposed)
%y = aten::add(%p, %b, %one)
"""

from __future__ import annotations

import numpy as np
from xdsl.rewriter import InsertPoint, Rewriter

from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts.constants import TensorLiteral
from tensorscript.dialects.ts.types import INT, TENSOR
from tensorscript.dialects.walks import walk_ops

from .constant_types import constant_type
from .fold_constants import is_constant


def transpose_linear(function: ts.FuncOp) -> bool:
    """Rewrite linear layers of constant weights; whether there were any."""
    found = [
        op
        for op in walk_ops(function)
        if isinstance(op, ts.OperatorOp)
        and op.schema.data == "aten::linear"
        and isinstance(op.arguments[1].owner, ts.ConstantOp)
    ]
    for op in found:
        _rewrite(op)
    return bool(found)


def _rewrite(op: ts.OperatorOp) -> None:
    x, weight, bias = op.arguments
    assert isinstance(weight.owner, ts.ConstantOp)
    held = weight.owner.value.data
    assert isinstance(held, TensorLiteral)
    rows = TensorLiteral(np.ascontiguousarray(held.array.T), held.dtype)
    turned = ts.ConstantOp(rows, constant_type(rows, TENSOR))
    product = ts.OperatorOp("aten::matmul", [x, turned.result], [TENSOR])
    made: list[ts.TSOp] = [turned, product]
    result = product.outputs[0]
    if not is_constant(bias, None):
        one = ts.ConstantOp(1, INT)
        total = ts.OperatorOp("aten::add.Tensor", [result, bias, one.result], [TENSOR])
        made += [one, total]
        result = total.outputs[0]
    result.name_hint = op.outputs[0].name_hint
    for new in made:
        new.location = op.location
    Rewriter.insert_op(made, InsertPoint.before(op))
    op.outputs[0].replace_all_uses_with(result)
    Rewriter.erase_op(op)
