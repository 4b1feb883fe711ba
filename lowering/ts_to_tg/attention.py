"""Rows of attention, decomposed: scores, mask, softmax, values."""

from __future__ import annotations

import math

from tensorscript.base.dtypes import bool_
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, binary, cast, const, select, unary

from .builder import Builder, Rows
from .elements import as_expr, compute_dtype
from .emission import Body
from .linalg import product_of
from .sizes import simplify
from .values import Tensor, Value
from .view import transpose


def attention(
    b: Builder,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    dropout: Value = 0.0,
    causal: Value = False,
    scale: Value = None,
    enable_gqa: bool = False,
    *_: Value,
) -> Tensor:
    """softmax(query @ key.T * scale + mask) @ value."""
    by_tiles = {query.rank, key.rank, value.rank} == {4} and value.shape[-1] is query.shape[-1]
    if mask is not None and isinstance(causal, Expr) and not by_tiles:
        b.check(
            unary("not", causal),
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
            "is_causal=True",
        )
    if enable_gqa:
        key, value = (_repeated(b, t, query) for t in (key, value))
    # Under a mask, a row without any admissible key has no weight anywhere.
    weights = _weights(b, query, key, mask, causal, scale, safe=mask is not None)
    if dropout:
        weights = b.apply("aten::dropout", weights, dropout, True)
    return _weighted(b, weights, value)


def _weighted(b: Builder, weights: Tensor, value: Tensor) -> Tensor:
    """The values under the weights, in the dtype of the values."""
    return b.cast(product_of(b, weights, b.cast(value, weights.dtype)), value.dtype)


def _weights(
    b: Builder,
    query: Tensor,
    key: Tensor,
    mask: Tensor | None,
    causal: Value = False,
    scale: Value = None,
    safe: bool = False,
) -> Tensor:
    """softmax(query @ key.T * scale + mask); half types are calculated in float32."""
    wide = compute_dtype(query.dtype)
    if scale is None:
        width = simplify(binary("max", query.shape[-1], const(1)))  # of no features, any will do
        scale = (
            1 / math.sqrt(int(str(width.value)))
            if width.op == "const"
            else cast(const(1), wide) / binary("pow", cast(width, wide), const(0.5, wide))
        )
    scores = product_of(b, b.cast(query, wide), transpose(b, b.cast(key, wide), -2, -1))
    scores = _masked(b, scores, mask, causal, scale)
    kind = "aten::_safe_softmax" if safe else "aten::softmax"
    found: Tensor = b.call(kind, scores, -1, None)
    return found


def _repeated(b: Builder, x: Tensor, query: Tensor) -> Tensor:
    times = query.shape[-3] // x.shape[-3]
    count = as_expr(times)
    if count.op != "const":
        b.cannot("grouped attention with unknown group sizes")
    return b.apply("aten::repeat_interleave", x, int(str(count.value)), -3)


def _masked(b: Builder, scores: Tensor, mask: Tensor | None, causal: Value, scale: Value) -> Tensor:
    dtype = scores.dtype
    shape = scores.shape if mask is None else b.broadcast_shapes(scores.shape, mask.shape)

    def make(body: Body, i: list[Expr]) -> Expr:
        e = body.broadcast(scores, i, dtype, shape) * body.scalar(scale, dtype)
        low = const(-math.inf, dtype)
        if mask is not None and mask.dtype is bool_:
            e = select(body.broadcast(mask, i, bool_, shape), e, low)
        elif mask is not None:
            e = e + body.broadcast(mask, i, dtype, shape)
        if causal is False:
            return e
        seen = select(binary("le", i[-1], i[-2]), e, low)
        return select(body.scalar(causal, bool_), seen, e) if isinstance(causal, Expr) else seen

    return b.compute(shape, dtype, make)


# PyTorch's fused operators of attention blocks, spelled out. Their masks say what is hidden.


@dataclass(frozen=True)
class _Projections:
    """The weights of one attention: of query, key and value below each other, and of the result."""

    heads: int
    inner_weight: Tensor
    inner_bias: Tensor
    outer_weight: Tensor
    outer_bias: Tensor

    def inner(self, b: Builder, x: Tensor, which: int) -> Tensor:
        """The queries, keys or values of x: (B, T, E) -> (B, heads, T, E / heads)."""
        weight = b.call("aten::chunk", self.inner_weight, 3, 0)[which]
        bias = b.call("aten::chunk", self.inner_bias, 3, 0)[which]
        flat = b.call("aten::linear", x, weight, bias)
        return transpose(b, b.call("aten::unflatten", flat, -1, [self.heads, -1]), 1, 2)


def _attended(mask: Tensor | None, mask_type: Value, b: Builder) -> Tensor | None:
    """A mask of what is hidden as one of what is attended, of rank 4."""
    if mask is None:
        return None
    shown = b.apply("aten::logical_not", mask)
    if mask_type == _SOURCE_MASK:
        return b.apply("aten::unsqueeze", b.apply("aten::unsqueeze", shown, 0), 0)
    if mask_type == _PADDING_MASK:
        return b.apply("aten::unsqueeze", b.apply("aten::unsqueeze", shown, 1), 1)
    return shown


def _attend(
    b: Builder, query: Tensor, key: Tensor, value: Tensor, by: _Projections, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    """(B, T, E) in and out, and the weights (B, heads, T, S)."""
    q, k, v = (by.inner(b, x, which) for which, x in enumerate((query, key, value)))
    weights = _weights(b, q, k, mask)
    mixed = b.call("aten::flatten", transpose(b, _weighted(b, weights, v), 1, 2), 2, -1)
    return b.call("aten::linear", mixed, by.outer_weight, by.outer_bias), weights


def _multi_head_attention(
    b: Builder,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    heads: int,
    *rest: Value,
) -> Value:
    """The result, and the weights (averaged over the heads if asked) or None."""
    given: tuple[Value, ...] = rest[4:]
    mask, needed, averaged, mask_type = given + _NO_MASK[len(given) :]
    by = _Projections(heads, rest[0], rest[1], rest[2], rest[3])
    out, found = _attend(b, query, key, value, by, _attended(mask, mask_type, b))
    if not needed:
        return out, None
    return out, b.call("aten::mean.dim", found, [1]) if averaged else found


def encoder_layer(
    b: Builder,
    x: Tensor,
    embed_dim: int,
    heads: int,
    *rest: Value,
    shown: Tensor | None = None,
) -> Tensor:
    """Self-attention and a feed-forward block, each with its residual and layer norm.

    Args:
        shown: what is attended, where no argument says it.
    """
    by = _Projections(heads, rest[0], rest[1], rest[2], rest[3])
    use_gelu, norm_first, eps = rest[4:7]
    weight_1, bias_1, weight_2, bias_2, up, up_bias, down, down_bias = rest[7:15]
    mask, mask_type = (*rest[15:], None, None)[:2]

    def norm(of: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        out: Tensor = b.call("aten::layer_norm", of, [embed_dim], weight, bias, eps)
        return out

    given = norm(x, weight_1, bias_1) if norm_first else x
    attended = _attended(mask, mask_type, b) if shown is None else shown
    mixed, _ = _attend(b, given, given, given, by, attended)
    x = b.call("aten::add", x, mixed)
    if norm_first:
        given = norm(x, weight_2, bias_2)
    else:
        x = given = norm(x, weight_1, bias_1)
    inner = b.call("aten::linear", given, up, up_bias)
    inner = b.call("aten::gelu", inner) if use_gelu else b.call("aten::relu", inner)
    x = b.call("aten::add", x, b.call("aten::linear", inner, down, down_bias))
    return x if norm_first else norm(x, weight_2, bias_2)


_SOURCE_MASK, _PADDING_MASK = 0, 1
_NO_MASK: tuple[Value, ...] = (None, True, True, None)
"""What `_native_multi_head_attention` takes where its last arguments are left out."""

ATTENTION: Rows = {
    "aten::scaled_dot_product_attention": attention,
    "aten::_native_multi_head_attention": _multi_head_attention,
    "aten::_transformer_encoder_layer_fwd": encoder_layer,
}
