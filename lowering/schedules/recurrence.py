"""What a loop does to a scalar that it carries: a sum, a least, a greatest value, or else.

`v = select(hit, v + 1, v)` adds `select(hit, 1, 0)`; `v = select(n > v, n, v)` is the greatest n.
Only integers and truth values: their results do not depend on the order.
"""

from __future__ import annotations

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, binary, select, unary
from tensorscript.dialects.tg.ops import identity

_GREATEST = {"gt", "ge"}
_LEAST = {"lt", "le"}
_COMBINERS = {"add": "add", "sub": "add", "max": "max", "min": "min", "or": "or", "and": "and"}


@dataclass(frozen=True)
class Recurrence:
    """`v = combine(v, value)`; a `value` of None leaves v as it is, with any combiner."""

    combiner: str
    value: Expr | None


_KEPT = Recurrence("", None)


def recurrence(e: Expr, v: Expr) -> Recurrence | None:
    """`e`, the next value of the integer or bool `v`, as one step of a reduction; None if not so.

    The step's value is free of `v`.
    """
    if v.dtype.is_floating_point or v.dtype.is_complex:
        return None
    if e is v:
        return _KEPT
    if e.op == "select":
        return _chosen(e, v)
    if e.op in _COMBINERS:
        return _combined(e, v)
    return None


def _combined(e: Expr, v: Expr) -> Recurrence | None:
    combiner = _COMBINERS[e.op]
    left, right = e.args
    if _mentions(left, v) and not _mentions(right, v):
        carried, value = left, unary("neg", right) if e.op == "sub" else right
    elif _mentions(right, v) and not _mentions(left, v) and e.op != "sub":
        carried, value = right, left
    else:
        return None
    inner = recurrence(carried, v)
    if inner is None or inner.combiner not in ("", combiner):
        return None
    if inner.value is None:
        return Recurrence(combiner, value)
    return Recurrence(combiner, binary(combiner, inner.value, value))


def _chosen(e: Expr, v: Expr) -> Recurrence | None:
    condition, yes, no = e.args
    if _mentions(condition, v):
        return _extreme(condition, yes, no, v)
    left, right = recurrence(yes, v), recurrence(no, v)
    if left is None or right is None:
        return None
    combiner = left.combiner or right.combiner
    if {left.combiner, right.combiner} - {combiner, ""}:
        return None
    if not combiner:
        return _KEPT
    nothing = identity(combiner, v.dtype)
    values = [nothing if side.value is None else side.value for side in (left, right)]
    return Recurrence(combiner, select(condition, *values))


def _extreme(condition: Expr, yes: Expr, no: Expr, v: Expr) -> Recurrence | None:
    """`select(n > v, n, v)` and its likenesses."""
    if condition.op not in _GREATEST | _LEAST:
        return None
    left, right = condition.args
    greater, less = (left, right) if condition.op in _GREATEST else (right, left)
    if v not in (greater, less):
        return None
    value = less if greater is v else greater
    if _mentions(value, v) or {yes, no} != {value, v}:
        return None
    return Recurrence("max" if yes is greater else "min", value)


def _mentions(e: Expr, v: Expr) -> bool:
    return str(v.value) in e.free
