"""Operations on constants become constants, and branches on them vanish.

    %3 = aten::add(%one, %two)          -->      %3 = constant 3
    %4 = ts.if %true {A} {B}            -->      the ops of A

A tensor is computed ahead only if nobody may write it or receive it as a fresh one, and a list
only if nobody writes it. Operators are evaluated by who calls the pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tensorscript.base.errors import TensorScriptError
from tensorscript.base.records import dataclass
from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts.constants import DictLiteral, ListLiteral, TensorLiteral
from tensorscript.dialects.ts.types import (
    DictType,
    ListType,
    NoneType,
    OptionalType,
    TensorType,
    TupleType,
)

from .aliases import fate_of, is_pure
from .constant_types import constant_type

Evaluate = Callable[[Operation], Sequence[object] | None]
"""The results of an op on constants as constants of the dialect; None where they are none."""

LARGEST_GROWTH = 1 << 16
"""Elements that a tensor computed ahead may have more than the tensors it is computed from."""


@dataclass(frozen=True)
class FoldConstants:
    """The pass; gives whether it changed anything."""

    evaluate: Evaluate

    def __call__(self, function: ts.FuncOp) -> bool:
        return self._block(function.block)

    def _block(self, block: Block) -> bool:
        changed = False
        for op in list(block.ops):
            for region in op.regions:
                changed |= self._block(region.block)
            changed |= self._op(op)
        return changed

    def _op(self, op: Operation) -> bool:
        match op:
            case ts.IfOp():
                return fold_if(op)
            case ts.LoopOp():
                return fold_loop(op)
            case ts.ConstantOp() | ts.ReturnOp() | ts.YieldOp():
                return False
        if not _may_fold(op):
            return False
        try:
            values = self.evaluate(op)
        except TensorScriptError:
            # It fails when the program runs, and only if it is reached.
            return False
        if values is None or not is_small(op, values):
            return False
        for result, value in zip(op.results, values, strict=True):
            replace_by_constant(op, result, value)
        Rewriter.erase_op(op)
        return True


def constant_of(value: SSAValue) -> object:
    """The constant that a value is.

    Raises:
        LookupError: it is none.
    """
    if isinstance(value.owner, ts.ConstantOp):
        return value.owner.value.data
    raise LookupError(value)


def is_constant(value: SSAValue, wanted: object) -> bool:
    """Whether a value is this very constant (True, False or None)."""
    return isinstance(value.owner, ts.ConstantOp) and value.owner.value.data is wanted


def _may_fold(op: Operation) -> bool:
    if not is_pure(op) or isinstance(op, ts.GetAttrOp) or not op.results:
        return False
    if not all(map(_is_given, op.operands)):
        return False
    return all(map(_may_be_constant, op.results))


def _is_given(operand: SSAValue) -> bool:
    """Whether an operand is a constant, and no None where dead code would read a value."""
    if not isinstance(operand.owner, ts.ConstantOp):
        return False
    is_nothing = operand.owner.value.data is None
    return not is_nothing or isinstance(operand.type, OptionalType | NoneType)


def _may_be_constant(result: SSAValue) -> bool:
    kind = result.type.element if isinstance(result.type, OptionalType) else result.type
    if isinstance(kind, TupleType) and kind.class_name.data:
        return False
    if not isinstance(kind, TensorType | ListType | DictType | TupleType):
        return True
    fate = fate_of(result)
    return not fate.written and not (fate.leaves and isinstance(kind, TensorType))


def _elements(value: object) -> int:
    match value:
        case TensorLiteral():
            return value.array.size
        case tuple() | ListLiteral():
            return sum(map(_elements, value if isinstance(value, tuple) else value.elements))
        case DictLiteral():
            return sum(_elements(item) for _, item in value.items)
    return 0


def is_small(op: Operation, values: Sequence[object]) -> bool:
    """Whether constants are not much larger than what an op on constants computes them from."""
    given = sum(_elements(constant_of(operand)) for operand in op.operands)
    return sum(map(_elements, values)) <= given + LARGEST_GROWTH


def replace_by_constant(
    op: Operation, result: SSAValue, value: object, type: Attribute | None = None
) -> None:
    """Let what reads a result of an op read a constant; by default of the type of the result."""
    made = ts.ConstantOp(value, constant_type(value, result.type if type is None else type))
    made.location = op.location
    made.result.name_hint = result.name_hint
    Rewriter.insert_op(made, InsertPoint.before(op))
    result.replace_all_uses_with(made.result)


def fold_if(op: ts.IfOp) -> bool:
    """Take the branch that a constant decides, or read what both branches give."""
    if is_constant(op.condition, True):
        _splice(op, op.true_region.block)
        return True
    if is_constant(op.condition, False):
        _splice(op, op.false_region.block)
        return True
    changed = False
    first, second = op.true_region.block.last_op, op.false_region.block.last_op
    assert isinstance(first, ts.YieldOp) and isinstance(second, ts.YieldOp)
    for output, one, other in zip(op.outputs, first.values, second.values, strict=True):
        if not output.uses.get_length():
            continue
        if one is other:
            output.replace_all_uses_with(one)
            changed = True
        elif _same_constant(one, other):
            replace_by_constant(op, output, constant_of(one))
            changed = True
    return changed


def _same_constant(one: SSAValue, other: SSAValue) -> bool:
    """Whether two values are the same constant; a list is a new one each time."""
    if not isinstance(one.owner, ts.ConstantOp) or not isinstance(other.owner, ts.ConstantOp):
        return False
    held = one.owner.value
    return held == other.owner.value and not isinstance(held.data, ListLiteral | DictLiteral)


def _splice(op: ts.IfOp, chosen: Block) -> None:
    """Put the ops of a branch in the place of the `if`."""
    last = chosen.last_op
    assert isinstance(last, ts.YieldOp)
    for output, value in zip(op.outputs, last.values, strict=True):
        output.replace_all_uses_with(value)
    Rewriter.erase_op(last)
    Rewriter.inline_block(chosen, InsertPoint.before(op))
    Rewriter.erase_op(op)


def fold_loop(op: ts.LoopOp) -> bool:
    """A loop that never starts."""
    owner = op.max_trip.owner
    trips = owner.value.data if isinstance(owner, ts.ConstantOp) else None
    never = is_constant(op.condition, False) or (isinstance(trips, int) and trips <= 0)
    if not never:
        return False
    for output, value in zip(op.outputs, op.carried, strict=True):
        output.replace_all_uses_with(value)
    Rewriter.erase_op(op)
    return True
