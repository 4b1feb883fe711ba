"""Polynomials of element expressions."""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.dialects.te.expr import Expr, const


def polynomial(x: Expr, coefficients: Sequence[float]) -> Expr:
    """Horner's scheme, lowest power first."""
    out = const(coefficients[-1], x.dtype)
    for c in reversed(coefficients[:-1]):
        out = out * x + c
    return out
