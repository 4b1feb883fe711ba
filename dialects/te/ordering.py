"""The order of sorts: what comes before what."""

from __future__ import annotations

from .expr import Expr, binary, call, unary


def comes_before(a: Expr, b: Expr, descending: bool) -> tuple[Expr, Expr]:
    """(a strictly before b, a not behind b) in sorted order, NaN greatest, as in PyTorch."""
    if descending:
        return comes_before(b, a, False)
    if not a.dtype.is_floating_point:
        return binary("lt", a, b), binary("le", a, b)
    before = unary("not", binary("or", binary("le", b, a), call("isnan", a)))
    return before, binary("or", binary("le", a, b), call("isnan", b))
