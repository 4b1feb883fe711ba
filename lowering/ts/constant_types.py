"""What the types of tensors say in a frozen function: all of a new constant, nothing of others.

    %w : Tensor = ts.get_attr %self "w"   -->   %w : Float(4, 3) = constant <tensor>
    %y : Float(5, 4) = aten::relu(%x)           %y : Tensor = aten::relu(%x)

A trace notes the sizes of its example; its graph is for all. What is put together from tensors (a
tuple, a list) keeps what was noted, as in TorchScript.
"""

from __future__ import annotations

from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter

from tensorscript.dialects.ts.constants import TensorLiteral
from tensorscript.dialects.ts.ops import FuncOp
from tensorscript.dialects.ts.types import TENSOR, TensorInfo, TensorType
from tensorscript.dialects.walks import walk_ops


def forget_shapes(function: FuncOp) -> None:
    """Let every tensor be just a tensor."""
    values: list[SSAValue] = [*function.block.args]
    for op in walk_ops(function):
        values += op.results
        values += (value for region in op.regions for value in region.block.args)
    for value in values:
        if isinstance(value.type, TensorType) and value.type != TENSOR:
            Rewriter.replace_value_with_new_type(value, TENSOR)


def constant_type(value: object, declared: Attribute) -> Attribute:
    """The type of a constant in the place of a value: of a tensor its dtype, sizes and strides."""
    if not isinstance(value, TensorLiteral) or not isinstance(declared, TensorType):
        return declared
    array = value.array
    strides = tuple(step // array.itemsize for step in array.strides) if array.ndim else None
    return TensorType(TensorInfo(value.dtype, array.shape, strides, False, "cpu"))
