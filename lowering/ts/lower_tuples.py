"""Tuples become their elements, as TorchScript's `LowerAllTuples` takes them apart.

    %t = (%a, %b)                         if %c -> (%a, %b)
    %r = if %c -> (%t) else -> (%u)  -->  else -> (%d, %e)
    return %r                             return %r0, %r1

What a branch, a loop or the function hands on as a tuple it hands on element by element. Arguments
of the function are taken apart by who calls the pass.
"""

from __future__ import annotations

from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tensorscript.base.errors import GuardError
from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts.types import TupleType
from tensorscript.dialects.walks import walk_ops

from .peephole import forward_tuples

_FORWARDING = (ts.TupleConstructOp, ts.TupleUnpackOp, ts.TupleIndexOp, ts.TupleSliceOp)
_READING = frozenset({"aten::format", "aten::percentFormat"})


def lower_tuples(function: ts.FuncOp) -> None:
    """Take the tuples of a function apart, in place.

    Raises:
        GuardError: an op takes or gives one that is none of its elements.
    """
    changed = True
    while changed:
        changed = any([_spread(op) for op in list(walk_ops(function)) if op.parent is not None])
    while forward_tuples(function):
        pass
    _drop_unread(function)
    for op in walk_ops(function):
        _require_lowered(op)


def elements_of(value: SSAValue) -> tuple[Attribute, ...] | None:
    """The types of the elements of a tuple; None of another value."""
    return tuple(value.type.elements) if isinstance(value.type, TupleType) else None


def _drop_unread(function: ts.FuncOp) -> None:
    for op in reversed(list(walk_ops(function))):
        is_read = any(result.first_use is not None for result in op.results)
        if isinstance(op, (*_FORWARDING, ts.ConstantOp)) and not is_read:
            Rewriter.erase_op(op)


def _require_lowered(op: Operation) -> None:
    kind = op.node_kind if isinstance(op, ts.TSOp) else op.name
    if kind in _READING or isinstance(op, _FORWARDING):
        return
    if any(elements_of(value) is not None for value in op.operands):
        raise GuardError(
            f"tuple appears in op inputs, but this op does not forward tuples, unsupported kind: "
            f"{kind}"
        )
    if any(elements_of(value) is not None for value in op.results):
        raise GuardError(
            f"tuple appears in op outputs, but this op does not forward tuples, unsupported kind: "
            f"{kind}"
        )


def _spread(op: Operation) -> bool:
    match op:
        case ts.ConstantOp():
            return _spread_constant(op)
        case ts.TupleSliceOp():
            return _spread_slice(op)
        case ts.IfOp():
            return _spread_if(op)
        case ts.LoopOp():
            return _spread_loop(op)
        case ts.ReturnOp():
            return _spread_operands(op, 0)
    return False


def _spread_constant(op: ts.ConstantOp) -> bool:
    held = op.value.data
    types = elements_of(op.result)
    if types is None or not isinstance(held, tuple) or op.result.first_use is None:
        return False
    parts = [ts.ConstantOp(value, type) for value, type in zip(held, types, strict=True)]
    made = ts.TupleConstructOp([part.result for part in parts], op.result.type)
    for each in (*parts, made):
        each.location = op.location
    Rewriter.insert_op([*parts, made], InsertPoint.before(op))
    op.result.replace_all_uses_with(made.result)
    return True


def _spread_slice(op: ts.TupleSliceOp) -> bool:
    parts = _unpacked(op.argument, op)
    begin, end = op.begin.data, op.end.data
    assert isinstance(begin, int) and isinstance(end, int)
    made = ts.TupleConstructOp(parts[begin:end], op.result.type)
    Rewriter.insert_op(made, InsertPoint.before(op))
    op.result.replace_all_uses_with(made.result)
    Rewriter.erase_op(op)
    return True


def _unpacked(value: SSAValue, place: Operation) -> list[SSAValue]:
    """The elements of a tuple, or the value itself; taken apart before an op."""
    types = elements_of(value)
    if types is None:
        return [value]
    made = ts.TupleUnpackOp(value, types)
    Rewriter.insert_op(made, InsertPoint.before(place))
    return list(made.outputs)


def _spread_operands(op: Operation, first: int) -> bool:
    """Let a terminator hand on elements."""
    values = list(op.operands)
    if all(elements_of(value) is None for value in values[first:]):
        return False
    spread = [part for value in values[first:] for part in _unpacked(value, op)]
    op.operands = [*values[:first], *spread]
    return True


def _gathered(old: SSAValue, new: list[SSAValue], place: Operation) -> None:
    """Read the elements, as a tuple again, for the value that they are of."""
    if elements_of(old) is None:
        new[0].name_hint = old.name_hint
        old.replace_all_uses_with(new[0])
        return
    made = ts.TupleConstructOp(new, old.type)
    Rewriter.insert_op(made, InsertPoint.before(place))
    old.replace_all_uses_with(made.result)


def _spread_if(op: ts.IfOp) -> bool:
    if all(elements_of(output) is None for output in op.outputs):
        return False
    branches = [op.detach_region(region) for region in (op.true_region, op.false_region)]
    for branch in branches:
        _spread_yield(branch, 0)
    types = [type for output in op.outputs for type in elements_of(output) or (output.type,)]
    _replace(op, ts.IfOp(op.condition, types, *branches))
    return True


def _spread_yield(region: Region, first: int) -> None:
    last = region.block.last_op
    assert isinstance(last, ts.YieldOp)
    _spread_operands(last, first)


def _spread_loop(op: ts.LoopOp) -> bool:
    if all(elements_of(value) is None for value in op.carried):
        return False
    carried = [part for value in op.carried for part in _unpacked(value, op)]
    body = op.detach_region(op.body)
    _spread_yield(body, 1)
    block = body.block
    first = block.first_op
    assert first is not None
    for formal in list(block.args[1:]):
        types = elements_of(formal) or (formal.type,)
        made: list[SSAValue] = [block.insert_arg(type, len(block.args)) for type in types]
        _gathered(formal, made, first)
        block.erase_arg(formal)
    _replace(op, ts.LoopOp(op.max_trip, op.condition, carried, body))
    return True


def _replace(op: ts.IfOp | ts.LoopOp, made: ts.IfOp | ts.LoopOp) -> None:
    made.location = op.location
    Rewriter.insert_op(made, InsertPoint.before(op))
    outputs: list[SSAValue] = list(made.outputs)
    for old in op.outputs:
        count = len(elements_of(old) or (old,))
        parts, outputs = outputs[:count], outputs[count:]
        _gathered(old, parts, op)
    Rewriter.erase_op(op)
