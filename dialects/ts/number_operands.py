"""Constants that stand for numbers.

A trace holds the number of `x * 2.5` as a 0-dim float64 tensor, and an archive no longer says that
it was a number. PyTorch's executor takes such a constant as one wherever it is the second operand
of a sum, difference, product or quotient, so that it does not raise the dtype of a 0-dim `x`.
"""

from __future__ import annotations

from tensorscript.base.dtypes import float64

from .constants import TensorLiteral
from .ops import ConstantOp, OperatorOp

_OF_NUMBERS = {
    f"aten::{name}.Tensor": f"aten::{name}.Scalar" for name in ("add", "sub", "mul", "div")
}


def number_operand(op: OperatorOp) -> tuple[str, float] | None:
    """The overload of an operator that takes its second operand as a number, and that number."""
    if (name := _OF_NUMBERS.get(op.schema.data)) is None:
        return None
    owner = op.arguments[1].owner
    held = owner.value.data if isinstance(owner, ConstantOp) else None
    if not isinstance(held, TensorLiteral) or held.dtype is not float64 or held.array.ndim:
        return None
    return name, float(held.array)
