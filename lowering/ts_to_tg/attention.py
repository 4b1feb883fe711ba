"""Rows of attention, decomposed: scores, mask, softmax, values."""

from __future__ import annotations

import math

from tensorscript.base.dtypes import bool_
from tensorscript.dialects.te.expr import Expr, binary, cast, const, select

from .builder import Body, Builder, Rows
from .elements import as_expr, compute_dtype
from .linalg import product_of
from .values import Tensor, Value
from .view import transpose


def attention(
    b: Builder,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    dropout: Value = 0.0,
    causal: bool = False,
    scale: Value = None,
    enable_gqa: bool = False,
    *_: Value,
) -> Tensor:
    """softmax(query @ key.T * scale + mask) @ value."""
    if dropout:
        b.cannot("random numbers")
    if enable_gqa:
        key, value = (_repeated(b, t, query) for t in (key, value))
    wide = compute_dtype(query.dtype)
    if scale is None:
        width = query.shape[-1]
        scale = (
            1 / math.sqrt(int(str(width.value)))
            if width.op == "const"
            else cast(const(1), wide) / binary("pow", cast(width, wide), const(0.5, wide))
        )
    scores = product_of(b, b.cast(query, wide), transpose(b, b.cast(key, wide), -2, -1))
    scores = _masked(b, scores, mask, causal, scale)
    weights = b.call("aten::softmax", scores, -1, None)
    # A row without any admissible key has no weight anywhere.
    if mask is not None and mask.dtype is bool_:
        weights = b.call("aten::nan_to_num", weights, 0.0)
    return b.cast(product_of(b, weights, b.cast(value, wide)), query.dtype)


def _repeated(b: Builder, x: Tensor, query: Tensor) -> Tensor:
    times = query.shape[-3] // x.shape[-3]
    count = as_expr(times)
    if count.op != "const":
        b.cannot("grouped attention with unknown group sizes")
    return b.apply("aten::repeat_interleave", x, int(str(count.value)), -3)


def _masked(b: Builder, scores: Tensor, mask: Tensor | None, causal: bool, scale: Value) -> Tensor:
    dtype = scores.dtype
    shape = scores.shape if mask is None else b.broadcast_shapes(scores.shape, mask.shape)

    def make(body: Body, i: list[Expr]) -> Expr:
        factor = scale if isinstance(scale, Expr) else const(scale, dtype)
        e = body.broadcast(scores, i, dtype) * factor
        low = const(-math.inf, dtype)
        if mask is not None and mask.dtype is bool_:
            e = select(body.broadcast(mask, i, bool_), e, low)
        elif mask is not None:
            e = e + body.broadcast(mask, i, dtype)
        return select(binary("le", i[-1], i[-2]), e, low) if causal else e

    return b.compute(shape, dtype, make)


ATTENTION: Rows = {"aten::scaled_dot_product_attention": attention}
