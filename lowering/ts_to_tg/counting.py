"""Rows that count numbers."""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.dtypes import float32, float64, int64
from tensorscript.dialects.te.expr import Expr, binary, const

from .builder import Builder, Rows
from .elements import as_expr, known
from .emission import Body
from .sizes import simplify
from .values import Tensor, Value


def _bincount(b: Builder, x: Tensor, weights: Tensor | None = None, minlength: Value = 0) -> Tensor:
    """How often each number stands in a vector; with weights, their sums."""
    message = "bincount only supports 1-d non-negative integral inputs."
    if x.rank != 1:
        b.error(message)
    if x.dtype.is_floating_point:
        b.unimplemented("bincount_cpu", x.dtype)
    b.check(known(binary("ge", as_expr(minlength), 0)), "minlength should be >= 0")
    if weights is not None:
        unlike = "weights should be 1-d and have the same length as input"
        b.require_alike(weights.shape, x.shape, unlike)

    def number(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        return body.read(x, r, int64)

    least = b.item(b.reduce((), x.shape, int64, "min", number))
    b.check(least >= 0, message)
    greatest = b.item(b.reduce((), x.shape, int64, "max", number))
    # The greatest of no numbers is the least int64.
    size = b.size(simplify(binary("max", greatest + 1, as_expr(minlength))))
    dtype = int64
    if weights is not None:
        dtype = float32 if weights.dtype is float32 else float64

    def one(body: Body, d: list[Expr]) -> tuple[Sequence[Expr], Expr]:
        value = const(1, dtype) if weights is None else body.read(weights, d, dtype)
        return [body.read(x, d, int64)], value

    return b.scatter(b.full((size,), 0, dtype), x.shape, one, "add")


COUNTING: Rows = {"aten::bincount": _bincount}
