"""What a search for the place of an extreme element compares with."""

from __future__ import annotations

import math

from .expr import Expr, call, const, select


def next_best(op: str, best: Expr) -> Expr:
    """A number that all elements but the extreme ones are at or within, so that one comparison
    finds these: infinity where the extreme is NaN, NaN where every element is the worst there is.
    """
    infinity = math.inf if op == "max" else -math.inf
    within = call("nextafter", best, const(-infinity, best.dtype))
    other = select(best.equals(-infinity), const(math.nan, best.dtype), within)
    return select(call("isnan", best), const(infinity, best.dtype), other)
