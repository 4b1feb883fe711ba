"""Compute at compile time what is small and made of constants alone.

```
%s = tg.constant : f64[512]                              %q = tg.constant : f32[512]
%t = tg.scalar %n <"f64(a0.f32[()])">            -->
%q = tg.pointwise %s, %t <"f32(a0.f64[i0]) * f32(a1.f64)">
```
Numbers go into the bodies that read them: scalars made of constants, tensors that one number fills,
and small integers that are all the same (the zero points of symmetric weights). Floats stay, as a
layer without a bias would be scheduled otherwise than with one that is trained. Left to the
machine code are functions whose last bit depends on who computes them, and what takes more
memory than what it is made of: weights in bytes stay bytes.
"""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from tensorscript.dialects.te.buffers import ExprAttr
from tensorscript.dialects.te.data import DataAttr
from tensorscript.dialects.te.expr import Expr, const
from tensorscript.dialects.te.rewriting import transform, walk
from tensorscript.dialects.tg.names import operand_of
from tensorscript.dialects.tg.ops import (
    ComputeOp,
    ConstantOp,
    ContractOp,
    FuncOp,
    ReductionOp,
    ScalarOp,
)
from tensorscript.dialects.tg.types import TensorType

from ..te.affine import known
from .bodies import compact_operands
from .each import each
from .evaluate import evaluate_op
from .evaluate_points import to_wide

MOST_ELEMENTS = 1 << 16
"""Of what is computed or looked at here; what is larger is cheaper to compute than to keep."""
EXACT_CALLS = frozenset({"abs", "ceil", "floor", "isinf", "isnan", "round", "sqrt", "trunc"})
"""Functions of which every implementation gives the same number."""

_Body = ComputeOp | ReductionOp | ScalarOp


def constant_array(value: SSAValue) -> np.ndarray | None:
    """The elements of a constant, None where they are not at hand."""
    owner = value.owner
    return owner.data.data.array if isinstance(owner, ConstantOp) else None


def _number(value: SSAValue) -> Expr | None:
    """The one number that every read of a value gives, if that is known."""
    owner = value.owner
    if isinstance(owner, ScalarOp | ComputeOp):
        return owner.expr if owner.expr.is_const else None
    array = constant_array(value)
    if array is None or not 0 < array.size <= MOST_ELEMENTS:
        return None
    assert isinstance(value.type, TensorType)
    dtype = value.type.dtype
    if array.size > 1 and dtype.is_floating_point:
        return None
    flat = array.reshape(-1)
    if dtype.is_complex or flat.tobytes() != flat[:1].tobytes() * flat.size:
        return None
    return const(to_wide(flat[0], dtype).item(), dtype)


def _write_numbers(op: _Body) -> bool:
    """Put known numbers into the body of an op, in place."""
    numbers = {k: e for k, v in enumerate(op.inputs) if (e := _number(v)) is not None}
    if not numbers:
        return False

    def visit(n: Expr) -> Expr | None:
        number = operand_of(n)
        return None if number is None else numbers.get(number)

    inputs, body = compact_operands(op.inputs, transform(op.expr, visit))
    op.operands = inputs
    op.properties["body"] = ExprAttr(body)
    return True


def _points(op: ComputeOp | ReductionOp) -> int | None:
    """How often the body of an op is computed, None if that is not known."""
    extents = op.extents.data if isinstance(op, ReductionOp) else ()
    sizes = [known(size) for size in (*op.type.shape, *extents)]
    return None if None in sizes else prod(size or 0 for size in sizes)


def _computed(op: ComputeOp | ReductionOp) -> np.ndarray | None:
    """The result of an op on constants, None where it is left to machine code."""
    arrays = [constant_array(value) for value in op.inputs]
    points = _points(op)
    if not arrays or points is None or not 0 < points <= MOST_ELEMENTS:
        return None
    if not _is_computed_with(op) or _reads_sizes(op):
        return None
    if isinstance(op, ReductionOp) and op.type.dtype.is_floating_point:
        return None  # the order of a sum is the schedule's
    if any(n.dtype.is_complex or _is_inexact(n) for n in walk(op.expr)):
        return None
    given = [array for array in arrays if array is not None]
    if len(given) < len(arrays) or _bytes(op) > sum(array.nbytes for array in given):
        return None
    return evaluate_op(op, given)


def _reads_sizes(op: ComputeOp | ReductionOp) -> bool:
    """Whether the body takes a named size into account, as one that counts from the end does."""
    extents = op.extents.data if isinstance(op, ReductionOp) else ()
    own = {f"i{d}" for d in range(len(op.type.shape))}
    own |= {f"r{d}" for d in range(len(extents))} | {f"a{k}" for k in range(len(op.inputs))}
    return any(n.op == "var" and n.value not in own for n in walk(op.expr))


def _bytes(op: ComputeOp | ReductionOp) -> int:
    """Of the result, whose sizes are known."""
    return op.type.dtype.itemsize * prod(known(size) or 0 for size in op.type.shape)


def _is_inexact(n: Expr) -> bool:
    """What is not the same everywhere: functions, and what has no result for some numbers."""
    if n.op == "cast":
        return n.args[0].dtype.is_floating_point and not n.dtype.is_floating_point
    if n.op in ("floordiv", "mod", "truncdiv", "truncmod"):
        return not n.args[1].is_const or n.args[1].value == 0
    return n.op in ("pow", "shl", "shr") or (n.op == "call" and n.value not in EXACT_CALLS)


def _is_computed_with(op: ComputeOp | ReductionOp) -> bool:
    """Nothing returns or yields the result, which has to be of a kernel's making there."""
    return all(isinstance(use.operation, _Body) for use in op.result.uses)


def _fold(block: Block, op: Operation) -> bool:
    if not isinstance(op, _Body):
        return False
    # A contraction has two factors, whatever they are.
    changed = not isinstance(op, ContractOp) and _write_numbers(op)
    if isinstance(op, ScalarOp) or (array := _computed(op)) is None:
        return changed
    made = ConstantOp(DataAttr.of(array), op.type)
    block.insert_op_before(made, op)
    op.result.replace_all_uses_with(made.result)
    block.erase_op(op)
    return True


def fold_constants(func: FuncOp) -> bool:
    """Run on a function and the regions in it; True if anything changed."""
    return each(func.block, _fold)
