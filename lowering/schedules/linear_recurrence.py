"""What a loop makes of an integer that it carries, where every iteration's result is wanted.

`x = min(c, x + s)` is linear over the minimum and the sum, a semiring. One such step after another
is one again, `min(d, min(c, x + s) + t) = min(min(d, c + t), x + (s + t))`, and composition is an
associative operator: a scan finds the results of all steps. Sums wrap around and are exact in any
order; minima and maxima are as long as no sum of a value and its steps does, which is the caller's
to see to.
"""

from __future__ import annotations

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, add, as_expr, binary, unary

_ORDERS = {"lt": ("min", "max"), "le": ("min", "max"), "gt": ("max", "min"), "ge": ("max", "min")}


@dataclass(frozen=True)
class LinearRecurrence:
    """`x = combiner(value, x + step)`; without a combiner, and a value, `x + step` alone."""

    combiner: str
    value: Expr | None
    step: Expr


def linear_recurrence(e: Expr, x: Expr) -> LinearRecurrence | None:
    """`e`, the next value of the integer `x`; None where it is not linear. Nothing of the result
    depends on `x`."""
    if e is x:
        return LinearRecurrence("", None, as_expr(0, x.dtype))
    if e.dtype is not x.dtype or not e.dtype.is_integral:
        return None
    if e.op == "select":
        e = _extreme(e)
    if len(e.args) != 2:
        return None
    carried, other = e.args if _in(x, e.args[0]) else e.args[::-1]
    inner = None if _in(x, other) else linear_recurrence(carried, x)
    if inner is None:
        return None
    if e.op in ("min", "max"):
        return _extended(inner, e.op, other)
    if e.op == "add" or (e.op == "sub" and carried is e.args[0]):
        return _moved(inner, other if e.op == "add" else unary("neg", other))
    return None


def _in(x: Expr, e: Expr) -> bool:
    return str(x.value) in e.free


def _extended(inner: LinearRecurrence, combiner: str, other: Expr) -> LinearRecurrence | None:
    if inner.value is None:
        return LinearRecurrence(combiner, other, inner.step)
    if inner.combiner != combiner:
        return None
    return LinearRecurrence(combiner, binary(combiner, inner.value, other), inner.step)


def _moved(inner: LinearRecurrence, by: Expr) -> LinearRecurrence | None:
    """A sum of an extreme is left alone: whether it is one of sums depends on their ranges."""
    return None if inner.combiner else LinearRecurrence("", None, add(inner.step, by))


def _extreme(e: Expr) -> Expr:
    """`select(a < b, a, b)` and its likenesses as what they are."""
    condition, yes, no = e.args
    if condition.op not in _ORDERS or {yes, no} != set(condition.args) or yes is no:
        return e
    return binary(_ORDERS[condition.op][yes is condition.args[1]], yes, no)
