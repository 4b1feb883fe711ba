"""Small counted loops are repeated, as TorchScript's `UnrollLoops` repeats them.

    for i in range(n):         -->      for _ in range(n // 8):
        body(i)                             body(i); i += 1; ... (8 times)
                                        for _ in range(n - n // 8 * 8):
                                            body(i); i += 1

A loop of fewer than 64 turns that are known becomes its turns.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts.types import INT

from .fold_constants import is_constant

FACTOR = 8
LARGEST_BODY = 32
"""Operations of a body that is repeated."""
MOST_TURNS = 64
"""Turns from which on a loop stays one."""


def unroll_loops(function: ts.FuncOp, only_constant: bool = False) -> bool:
    """Unroll loops, inner ones first; whether there were any.

    Args:
        only_constant: those whose number of turns is known, of whatever size.
    """
    return _unroll_in(function.block, only_constant)


def _unroll_in(block: Block, only_constant: bool) -> bool:
    changed = False
    for op in list(block.ops):
        for region in op.regions:
            changed |= _unroll_in(region.block, only_constant)
        if isinstance(op, ts.LoopOp) and _is_counted(op):
            fits = _turns(op) is not None if only_constant else _size(op.body.block) <= LARGEST_BODY
            if fits:
                _unroll(op)
                changed = True
    return changed


def _is_counted(op: ts.LoopOp) -> bool:
    return is_constant(op.condition, True) and is_constant(_last(op.body.block).values[0], True)


def _turns(op: ts.LoopOp) -> int | None:
    held = op.max_trip.owner.value.data if isinstance(op.max_trip.owner, ts.ConstantOp) else None
    return held if isinstance(held, int) else None


def _size(block: Block) -> int:
    inner = sum(_size(region.block) for op in block.ops for region in op.regions)
    return inner + sum(not isinstance(op, ts.ConstantOp | ts.YieldOp) for op in block.ops)


def _last(block: Block) -> ts.YieldOp:
    last = block.last_op
    assert isinstance(last, ts.YieldOp)
    return last


def _unroll(op: ts.LoopOp) -> None:
    if op.body.block.args[0].first_use is not None:
        op = _with_own_counter(op)
    turns = _turns(op)
    if turns is not None and turns < MOST_TURNS:
        _become_turns(op, turns)
        return
    rest = op.clone()
    Rewriter.insert_op(rest, InsertPoint.after(op))
    for old, made in zip(op.outputs, rest.outputs, strict=True):
        made.name_hint = old.name_hint
        old.replace_all_uses_with(made)
    count = op.max_trip
    factor = _before(op, ts.ConstantOp(FACTOR, INT))
    times = _before(op, _int("__round_to_zero_floordiv", count, factor))
    done = _before(op, _int("mul", times, factor))
    left = _before(op, _int("sub", count, done))
    rest.operands = [left, rest.condition, *op.outputs]
    op.operands = [times, op.condition, *op.carried]
    body, last = op.body.block, _last(op.body.block)
    _repeat(body, list(body.args[1:]), FACTOR - 1, last)


def _int(name: str, first: SSAValue, second: SSAValue) -> ts.OperatorOp:
    return ts.OperatorOp(f"aten::{name}.int", [first, second], [INT])


def _before(place: Operation, made: ts.ConstantOp | ts.OperatorOp) -> SSAValue:
    Rewriter.insert_op(made, InsertPoint.before(place))
    return made.results[0]


def _with_own_counter(op: ts.LoopOp) -> ts.LoopOp:
    """The loop with its counter as a carried value, which goes on behind the loop."""
    zero = _before(op, ts.ConstantOp(0, INT))
    block, last = op.body.block, _last(op.body.block)
    counter = block.insert_arg(INT, 1)
    block.args[0].replace_all_uses_with(counter)
    one = _before(last, ts.ConstantOp(1, INT))
    following = _before(last, _int("add", counter, one))
    last.operands = [last.values[0], following, *last.values[1:]]
    made = ts.LoopOp(op.max_trip, op.condition, [zero, *op.carried], op.detach_region(op.body))
    made.location = op.location
    Rewriter.insert_op(made, InsertPoint.before(op))
    for old, output in zip(op.outputs, made.outputs[1:], strict=True):
        output.name_hint = old.name_hint
        old.replace_all_uses_with(output)
    Rewriter.erase_op(op)
    return made


def _repeat(body: Block, formals: list[SSAValue], times: int, last: ts.YieldOp) -> None:
    """Run a body `times` more times before its end, each time on what the turn before gave."""
    turn = [op for op in body.ops if op is not last]
    given = list(last.values)
    for _ in range(times):
        mapped: dict[SSAValue, SSAValue] = dict(zip(formals, last.values[1:], strict=True))
        for op in turn:
            body.insert_op_before(op.clone(mapped), last)
        last.operands = [mapped.get(value, value) for value in given]


def _become_turns(op: ts.LoopOp, turns: int) -> None:
    body, last = op.body.block, _last(op.body.block)
    values: list[SSAValue] = list(op.carried)
    for _ in range(turns):
        mapped: dict[SSAValue, SSAValue] = dict(zip(body.args[1:], values, strict=True))
        for inner in body.ops:
            if inner is not last:
                Rewriter.insert_op(inner.clone(mapped), InsertPoint.before(op))
        values = [mapped.get(value, value) for value in last.values[1:]]
    for output, value in zip(op.outputs, values, strict=True):
        output.replace_all_uses_with(value)
    Rewriter.erase_op(op)
