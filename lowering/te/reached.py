"""Under which conditions an expression evaluates a part of itself."""

from __future__ import annotations

from tensorscript.dialects.te.expr import Expr, all_of, unary
from tensorscript.dialects.te.rewriting import loads

_Ways = frozenset[frozenset[Expr]]
ALWAYS: frozenset[Expr] = frozenset()


def condition_of(e: Expr, part: Expr) -> Expr | None:
    """What holds wherever `e` evaluates `part`; None if it is reached in several ways, or if a
    condition reads a buffer."""
    ways = _ways(e, part)
    if ALWAYS in ways:
        return all_of([])
    if len(ways) != 1:
        return None
    (conditions,) = ways
    if any(loads(c) for c in conditions):
        return None
    return all_of(sorted(conditions, key=str))


def _ways(e: Expr, part: Expr) -> _Ways:
    """The sets of conditions that lead to a part."""
    found: dict[Expr, _Ways] = {part: frozenset([ALWAYS])}
    stack = [e]
    while stack:
        n = stack[-1]
        if left := [a for a in n.args if a not in found and n not in found]:
            stack += left
            continue
        stack.pop()
        if n in found:
            continue
        ways = frozenset[frozenset[Expr]]().union(*(found[a] for a in n.args))
        if n.op == "select":
            condition, yes, no = n.args
            ways = found[condition] | _under(condition, found[yes])
            ways |= _under(unary("not", condition), found[no])
        found[n] = ways
    return found[e]


def _under(condition: Expr, ways: _Ways) -> _Ways:
    return frozenset(way | {condition} for way in ways)
