"""Small patterns that always mean something simpler.

%i = aten::Int(prim::NumToTensor(%n))            -->    %n
%b = aten::__is__(%x, None), %x not optional      -->    False (True for __isnot__)
%a, %b = unpack (tuple %x, %y)                    -->    %x, %y
%e = (tuple %x, %y)[1]                            -->    %y
%n = aten::len([%x, %y]), if nobody writes it     -->    2
%e = [%x, %y][1], if nobody writes it             -->    %y
%c = ts.unchecked_cast %x to the type it has      -->    %x
if %c -> (True) else -> (False)                   -->    %c
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts.types import BOOL, NONE, AnyType, NoneType, OptionalType, UnionType
from tensorscript.dialects.walks import walk_ops

from .aliases import fate_of
from .fold_constants import is_constant


def simplify_patterns(function: ts.FuncOp, tuples: bool = True) -> bool:
    """Rewrite what matches; whether anything did.

    Args:
        tuples: also what takes a tuple apart that was just made.
    """
    changed = False
    for op in list(walk_ops(function)):
        rewrite = _REWRITES.get(type(op))
        if not tuples and isinstance(op, ts.TupleUnpackOp | ts.TupleIndexOp):
            continue
        if op.parent is not None and rewrite is not None:
            changed |= rewrite(op)
    return changed


def forward_tuples(function: ts.FuncOp) -> bool:
    """Rewrite only what takes a tuple apart that was just made; whether anything did."""
    changed = False
    for op in list(walk_ops(function)):
        if isinstance(op, ts.TupleUnpackOp):
            changed |= _unpack(op)
        elif isinstance(op, ts.TupleIndexOp):
            changed |= _tuple_index(op)
    return changed


def _replaced(result: SSAValue, value: SSAValue) -> bool:
    if not result.uses.get_length():
        return False
    result.replace_all_uses_with(value)
    return True


def _constant(op: Operation, value: object) -> bool:
    result = op.results[0]
    if not result.uses.get_length():
        return False
    made = ts.ConstantOp(value, result.type)
    made.location = op.location
    Rewriter.insert_op(made, InsertPoint.before(op))
    return _replaced(result, made.result)


def _index_of(value: SSAValue, size: int) -> int | None:
    """The place that a constant index names in a sequence of `size`; None if there is none."""
    held = value.owner.value.data if isinstance(value.owner, ts.ConstantOp) else None
    if not isinstance(held, int) or not -size <= held < size:
        return None
    return held % size


def _number_of_tensor(op: ts.OperatorOp) -> bool:
    inner = op.arguments[0].owner
    if not isinstance(inner, ts.OperatorOp) or inner.node_kind != "prim::NumToTensor":
        return False
    number = inner.arguments[0]
    return number.type == op.outputs[0].type and _replaced(op.outputs[0], number)


def _compared_with_none(op: ts.OperatorOp) -> bool:
    one, other = op.arguments
    value, against = (one, other) if other.type == NONE else (other, one)
    if against.type != NONE:
        return False
    if isinstance(value.type, OptionalType | UnionType | AnyType) or is_constant(value, None):
        return False
    is_none = isinstance(value.type, NoneType)
    return _constant(op, is_none == (op.node_kind == "aten::__is__"))


def _listed(value: SSAValue) -> ts.ListConstructOp | None:
    """The list display that a value is, if nobody changes the list."""
    owner = value.owner
    if not isinstance(owner, ts.ListConstructOp) or fate_of(value).written:
        return None
    return owner


def _length(op: ts.OperatorOp) -> bool:
    found = _listed(op.arguments[0])
    return found is not None and _constant(op, len(found.arguments))


def _element(op: ts.OperatorOp) -> bool:
    found = _listed(op.arguments[0])
    if found is None:
        return False
    at = _index_of(op.arguments[1], len(found.arguments))
    return at is not None and _replaced(op.outputs[0], found.arguments[at])


_OPERATORS: dict[str, Callable[[ts.OperatorOp], bool]] = {
    "aten::Int": _number_of_tensor,
    "aten::IntImplicit": _number_of_tensor,
    "aten::ScalarImplicit": _number_of_tensor,
    "aten::__is__": _compared_with_none,
    "aten::__isnot__": _compared_with_none,
    "aten::len": _length,
    "aten::__getitem__": _element,
}


def _operator(op: Operation) -> bool:
    assert isinstance(op, ts.OperatorOp)
    rewrite = _OPERATORS.get(op.node_kind)
    return rewrite is not None and rewrite(op)


def _unpack(op: Operation) -> bool:
    assert isinstance(op, ts.TupleUnpackOp | ts.ListUnpackOp)
    owner = op.argument.owner
    made = owner if isinstance(owner, ts.TupleConstructOp) else _listed(op.argument)
    if made is None or len(made.arguments) != len(op.outputs):
        return False
    pairs = list(zip(op.outputs, made.arguments, strict=True))
    return any([_replaced(output, value) for output, value in pairs])


def _tuple_index(op: Operation) -> bool:
    assert isinstance(op, ts.TupleIndexOp)
    owner = op.argument.owner
    if not isinstance(owner, ts.TupleConstructOp):
        return False
    at = _index_of(op.index, len(owner.arguments))
    return at is not None and _replaced(op.result, owner.arguments[at])


def _cast(op: Operation) -> bool:
    assert isinstance(op, ts.UncheckedCastOp)
    return op.result.type == op.argument.type and _replaced(op.result, op.argument)


def _choice(op: Operation) -> bool:
    """An `if` that only repeats its condition."""
    assert isinstance(op, ts.IfOp)
    first, second = op.true_region.block.last_op, op.false_region.block.last_op
    assert isinstance(first, ts.YieldOp) and isinstance(second, ts.YieldOp)
    changed = False
    for output, one, other in zip(op.outputs, first.values, second.values, strict=True):
        if output.type == BOOL and is_constant(one, True) and is_constant(other, False):
            changed |= _replaced(output, op.condition)
    return changed


_REWRITES: dict[type[Operation], Callable[[Operation], bool]] = {
    ts.OperatorOp: _operator,
    ts.TupleUnpackOp: _unpack,
    ts.ListUnpackOp: _unpack,
    ts.TupleIndexOp: _tuple_index,
    ts.UncheckedCastOp: _cast,
    ts.IfOp: _choice,
}
