"""Branches whose condition is not known: both are evaluated on copies of the heap, then joined.

```
ts.if with a condition known now   -->  the taken branch, in place
ts.if, one branch raises           -->  tg.assert, then the other branch in place
ts.if, else                        -->  tg.if over what the branches change
```
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.ir import Block, Operation, SSAValue

from tensorscript.base.errors import OperatorError
from tensorscript.dialects.te.expr import Expr, unary
from tensorscript.dialects.tg import ops as tg
from tensorscript.dialects.tg.lists import ListOp
from tensorscript.dialects.walks import walk_ops

from .apart import is_lasting
from .builder import Builder
from .join import Join
from .merge import changed_refs, default_of, leaf_ssa, same_value
from .trials import Evaluate, Raised, Trial, adopt, attempt, within
from .values import UNINITIALIZED, Value


def branch(b: Builder, condition: Expr, yes: Evaluate, no: Evaluate) -> list[Value]:
    """The values of an if whose condition is not known.

    Raises:
        NotCompilable: the branches' values or effects have no common type.
    """

    def guarded(evaluate: Evaluate) -> list[Value]:
        try:
            return evaluate([])
        except OperatorError as error:
            raise Raised(error.message) from error

    known_scalars = len(b.scalars)
    trials = [attempt(b, Block(), lambda e=e: guarded(e)) for e in (yes, no)]  # type: ignore[misc]
    left, right = trials
    if left.raised is not None and right.raised is not None:
        raise Raised(left.raised)
    if left.raised is not None or right.raised is not None:
        bad, good = (left, right) if left.raised is not None else (right, left)
        must = unary("not", condition) if bad is left else condition
        b.emit(tg.AssertOp(b.scalar_operand(must), bad.raised or ""))
        return adopt(b, good)
    join = Join(b, condition, b.heap, known_scalars, left.heap, right.heap)
    plans = [join.value(t, f) for t, f in zip(left.results, right.results, strict=True)]
    refs = changed_refs(b.heap, left.heap, right.heap)
    contents = [join.content(r, left.heap[r], right.heap[r]) for r in refs]
    outputs = _emit_if(b, condition, left, right, join.leaves)
    it, before = iter(outputs), b.heap.branched()
    lasting = partial(is_lasting, b, before)
    values = [p(it) for p in plans]
    for t, f, made in zip(left.results, right.results, values, strict=True):
        if not same_value(t, f):
            b.may_alias.unite((left.heap, t), (right.heap, f), (b.heap, made), lasting=lasting)
    for ref, plan in zip(refs, contents, strict=True):
        b.heap[ref] = plan(it)
        b.may_alias.unite((left.heap, ref), (right.heap, ref), (b.heap, ref), lasting=lasting)
    b.heap.stale |= left.heap.stale | right.heap.stale
    return values


def _emit_if(
    b: Builder,
    condition: Expr,
    left: Trial,
    right: Trial,
    leaves: list[tuple[Value, Value]],
) -> Sequence[SSAValue]:
    """The tg.if that yields `leaves`, none if nothing is left to do."""
    if not leaves and not any(_has_effect(t.block) for t in (left, right)):
        return ()
    lefts = within(b, left, lambda: [_operand(b, t, f) for t, f in leaves])
    rights = within(b, right, lambda: [_operand(b, f, t) for t, f in leaves])
    left.block.add_op(tg.YieldOp(lefts))
    right.block.add_op(tg.YieldOp(rights))
    sides = zip(leaves, lefts, rights, strict=True)
    types = [(f if pair[0] is UNINITIALIZED else t).type for pair, t, f in sides]
    op = tg.IfOp(b.scalar_operand(condition), types, left.block, right.block)
    return b.emit(op).outputs


def _operand(b: Builder, value: Value, other: Value) -> SSAValue:
    """What one side yields; where it has nothing, a default like what the other side has."""
    if isinstance(value, SSAValue):
        return value
    return leaf_ssa(b, default_of(b, other) if value is UNINITIALIZED else value)


def _has_effect(block: Block) -> bool:
    return any(isinstance(op, tg.AssertOp) or _writes(op) for op in walk_ops(block))


def _writes(op: Operation) -> bool:
    return isinstance(op, ListOp) and op.writes
