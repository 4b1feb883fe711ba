"""Values that are one of several cases, by the numbers of loops."""

from __future__ import annotations

from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.rewriting import loads

from .affine import known


def chooser(condition: Expr) -> tuple[str, int] | None:
    """The variable that is compared with a number, and what it is taken modulo, or 0."""
    if condition.op != "eq" or not condition.args[1].is_const:
        return None
    chosen, period = condition.args[0], 0
    if chosen.op == "mod" and (period := known(chosen.args[1]) or 0):
        chosen = chosen.args[0]
    return (str(chosen.value), period) if chosen.op == "var" else None


def cases_of(value: Expr) -> list[Expr]:
    """What a value may be, itself if there is nothing to choose."""
    cases, left = list[Expr](), [value]
    while left:
        e = left.pop()
        if e.op == "select" and chooser(e.args[0]) is not None:
            left += e.args[1:]
        else:
            cases.append(e)
    return cases


MANY = 8
"""Cases that are worth keeping side by side."""


def are_many(value: Expr) -> bool:
    """Whether it is one of many cases that share reads, which a kernel of its own does together."""
    return len(cases_of(value)) >= MANY and share_reads(value)


def share_reads(value: Expr) -> bool:
    """Whether what is read is read by two cases on the average."""
    return sum(len(loads(e)) for e in cases_of(value)) >= 2 * len(loads(value)) > 0
