"""Loops of host code that count: `while counter < limit`, whose last statement adds one."""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, var
from tensorscript.dialects.te.ops import AssignOp, WhileOp
from tensorscript.dialects.te.rewriting import loads
from tensorscript.dialects.walks import walk_ops


@dataclass(frozen=True)
class Counting:
    """A loop whose `counter` takes each number from its first value up to `limit`; the names in
    `limit` are the caller's to look at."""

    loop: WhileOp
    counter: str
    limit: Expr


def counter_of(loop: WhileOp) -> str:
    """The variable that the last statement, and no other one, adds one to; empty if none."""
    last = loop.block.last_op
    if not isinstance(last, AssignOp) or last.value is not var(last.var) + 1:
        return ""
    others = (op for op in assigned_in(loop) if op is not last)
    return "" if any(op.var == last.var for op in others) else last.var


def counting(loop: WhileOp) -> Counting | None:
    """The loop, if it counts up to a number that nothing in memory decides."""
    condition = loop.condition
    counter = counter_of(loop)
    if not counter or condition.op != "lt" or condition.args[0] is not var(counter):
        return None
    return None if loads(condition) else Counting(loop, counter, condition.args[1])


def assigned_in(op: Operation) -> list[AssignOp]:
    """The assignments inside a statement, itself included."""
    inside = [o for o in walk_ops(op) if isinstance(o, AssignOp)]
    return [op, *inside] if isinstance(op, AssignOp) else inside
