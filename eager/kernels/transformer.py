"""PyTorch's fused inference operators for attention blocks, spelled out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.errors import OperatorError

from ..storage import Array, compute, value, wrap
from .activation import softmax_array
from .nested import as_nested, hidden_rows
from .special import erf

Kernel = Callable[..., Any]
SOURCE_MASK, PADDING_MASK, FULL_MASK = 0, 1, 2


def _hidden(mask: Any, mask_type: int | None) -> Array | None:
    """`mask` (true: not attended) with the shape of the scores (B, heads, T, S)."""
    if mask is None:
        return None
    found = value(mask).astype(bool)
    if mask_type == SOURCE_MASK:
        return found[None, None]
    if mask_type == PADDING_MASK:
        return found[:, None, None, :]
    if mask_type == FULL_MASK:
        return found
    raise OperatorError(
        "Mask Type should be 0 (src_mask), 1 (src_key_padding_mask), or 2 (default)"
    )


def _heads(x: Array, w: Array, b: Array, heads: int) -> Array:
    """(B, T, E) -> (B, heads, T, E / heads)."""
    out = x @ w.T + b
    return out.reshape(*out.shape[:2], heads, -1).swapaxes(1, 2)


def attend(
    query: Array, key: Array, val: Array, heads: int, weights: tuple[Array, ...],
    hidden: Array | None,
) -> tuple[Array, Array]:  # fmt: skip
    """(B, T, E) in and out, and the attention weights (B, heads, T, S)."""
    qkv_weight, qkv_bias, proj_weight, proj_bias = weights
    (wq, wk, wv), (bq, bk, bv) = np.split(qkv_weight, 3), np.split(qkv_bias, 3)
    q, k, v = _heads(query, wq, bq, heads), _heads(key, wk, bk, heads), _heads(val, wv, bv, heads)
    scores = (q / q.dtype.type(np.sqrt(q.shape[-1]))) @ k.swapaxes(-1, -2)
    if hidden is not None:
        scores = np.where(hidden, scores.dtype.type(-np.inf), scores)
    found = softmax_array(scores, -1, log=False)
    mixed = (found @ v).swapaxes(1, 2).reshape(*query.shape[:2], -1)
    return mixed @ proj_weight.T + proj_bias, found


def multi_head_attention(
    query: Any, key: Any, val: Any, embed_dim: int, num_head: int, qkv_weight: Any, qkv_bias: Any,
    proj_weight: Any, proj_bias: Any, mask: Any = None, need_weights: bool = True,
    average_attn_weights: bool = True, mask_type: int | None = None,
) -> Any:  # fmt: skip
    """(B, T, E) -> (B, T, E) and the weights, averaged over the heads if asked, or None."""
    _check(query, embed_dim, num_head)
    weights = tuple(compute(w) for w in (qkv_weight, qkv_bias, proj_weight, proj_bias))
    out, found = attend(compute(query), compute(key), compute(val), num_head, weights,
                        _hidden(mask, mask_type))  # fmt: skip
    if not need_weights:
        return wrap(out, query.dtype), None
    if average_attn_weights:
        found = found.sum(1) / found.dtype.type(num_head)
    return wrap(out, query.dtype), wrap(found, query.dtype)


def _check(query: Any, embed_dim: int, heads: int) -> None:
    shape = query._array.shape
    if len(shape) != 3:
        raise OperatorError(f"expected 3-D `query`, got {len(shape)}-D tensor")
    if shape[2] != embed_dim:
        raise OperatorError(f"passed-in embed_dim {embed_dim} didn't match last dim of query "
                            f"{shape[2]}")  # fmt: skip
    if embed_dim % heads:
        raise OperatorError("D must divide evenly by num_head")


def _norm(x: Array, weight: Array, bias: Array, eps: float) -> Array:
    centre = x - x.mean(-1, keepdims=True)
    spread = (centre * centre).mean(-1, keepdims=True)
    return np.asarray(centre / np.sqrt(spread + x.dtype.type(eps)) * weight + bias, x.dtype)


def encoder_layer(
    src: Any, embed_dim: int, num_heads: int, qkv_weight: Any, qkv_bias: Any, proj_weight: Any,
    proj_bias: Any, use_gelu: bool, norm_first: bool, eps: float, norm_weight_1: Any,
    norm_bias_1: Any, norm_weight_2: Any, norm_bias_2: Any, ffn_weight_1: Any, ffn_bias_1: Any,
    ffn_weight_2: Any, ffn_bias_2: Any, mask: Any = None, mask_type: int | None = None,
) -> Any:  # fmt: skip
    """Self-attention and a feed-forward block, each with its residual and layer norm; of a nested
    tensor a nested one."""
    _check(src, embed_dim, num_heads)
    first = compute(norm_weight_1), compute(norm_bias_1), eps
    second = compute(norm_weight_2), compute(norm_bias_2), eps
    weights = tuple(compute(w) for w in (qkv_weight, qkv_bias, proj_weight, proj_bias))
    x = compute(src)
    given = _norm(x, *first) if norm_first else x
    hidden = _hidden(mask, mask_type) if src._lengths is None else hidden_rows(src)
    mixed, _ = attend(given, given, given, num_heads, weights, hidden)
    x = x + mixed if norm_first else _norm(x + mixed, *first)
    given = _norm(x, *second) if norm_first else x
    inner = given @ compute(ffn_weight_1).T + compute(ffn_bias_1)
    inner = _gelu(inner) if use_gelu else np.maximum(inner, 0)
    x = x + inner @ compute(ffn_weight_2).T + compute(ffn_bias_2)
    out = wrap(x if norm_first else _norm(x, *second), src.dtype)
    return out if src._lengths is None else as_nested(out, src._lengths)


def _gelu(x: Array) -> Array:
    return np.asarray(x * 0.5 * (1 + erf(x * np.sqrt(0.5))), x.dtype)


KERNELS: dict[str, Kernel] = {
    "aten::_native_multi_head_attention": multi_head_attention,
    "aten::_transformer_encoder_layer_fwd": encoder_layer,
}
