"""Multi-head attention.

Ashish Vaswani and others, "Attention Is All You Need", 2017.
"""

from __future__ import annotations

import math

from tensorscript.base.dtypes import DType

from ... import namespace as ts
from ...tensor import Tensor
from .dropout import dropout


def _canonical_mask(mask: Tensor | None, mask_name: str, target_type: DType) -> Tensor | None:
    """A mask that is added to scores: where a boolean one holds, minus infinity."""
    if mask is None:
        return None
    if ts.is_floating_point(mask):
        return mask
    if mask.dtype != ts.bool:
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    return ts.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def _check_shapes(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
    num_heads: int,
) -> bool:
    """Whether the inputs have a batch dimension.

    Raises:
        AssertionError: their numbers of dimensions do not fit.
    """
    n = query.dim()
    if n != 2 and n != 3:
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {n}-D query tensor"
        )
    kind = "batched (3-D)" if n == 3 else "unbatched (2-D)"
    if key.dim() != n or value.dim() != n:
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {n}-D but found {key.dim()}-D "
            f"and {value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != n - 1:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {n - 1}-D but found "
            f"{key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.dim() != 2 and attn_mask.dim() != 3:
        raise AssertionError(
            f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
            f"{attn_mask.dim()}-D tensor instead"
        )
    if n == 2 and attn_mask is not None and attn_mask.dim() == 3:
        expected = [num_heads, query.size(0), key.size(0)]
        if list(attn_mask.size()) != expected:
            raise AssertionError(
                f"Expected `attn_mask` shape to be ({expected[0]}, {expected[1]}, {expected[2]}) "
                f"but got {attn_mask.shape}"
            )
    return n == 3


def _projections(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weights: list[Tensor],
    bias: Tensor | None,
    is_separate: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values by their three weights and the parts of one bias.

    Raises:
        AssertionError: weights of their own, or their parts of the bias, have other sizes.
    """
    parts = [] if bias is None else list(bias.chunk(3))
    if is_separate:
        _check_parameters(query, key, value, weights, parts)
    if bias is None:
        return (
            ts.linear(query, weights[0]),
            ts.linear(key, weights[1]),
            ts.linear(value, weights[2]),
        )
    return (
        ts.linear(query, weights[0], parts[0]),
        ts.linear(key, weights[1], parts[1]),
        ts.linear(value, weights[2], parts[2]),
    )


def _check_parameters(
    query: Tensor, key: Tensor, value: Tensor, weights: list[Tensor], biases: list[Tensor]
) -> None:
    """Refuse weights (E, E), (E, K), (E, V), or biases (E), of other sizes."""
    features, names = query.size(-1), ["query", "key", "value"]
    for at, size in enumerate([features, key.size(-1), value.size(-1)]):
        if list(weights[at].size()) != [features, size]:
            raise AssertionError(
                f"expecting {names[at]} weights shape of ({features}, {size}), but got "
                f"{weights[at].size()}"
            )
    for at, bias in enumerate(biases):
        if list(bias.size()) != [features]:
            raise AssertionError(
                f"expecting {names[at]} bias shape of ({features},), but got {bias.size()}"
            )


def _scores_mask(attn_mask: Tensor | None, sizes: list[int], batch_heads: int) -> Tensor | None:
    """The attention mask with a leading dimension of 1 or of every head of every sample.

    Raises:
        RuntimeError: its sizes do not fit.
    """
    if attn_mask is None:
        return None
    if attn_mask.dim() == 2:
        if list(attn_mask.size()) != sizes:
            raise RuntimeError(
                f"The shape of the 2D attn_mask is {attn_mask.size()}, but should be "
                f"({sizes[0]}, {sizes[1]})."
            )
        return attn_mask.unsqueeze(0)
    if list(attn_mask.size()) != [batch_heads] + sizes:
        raise RuntimeError(
            f"The shape of the 3D attn_mask is {attn_mask.size()}, but should be "
            f"({batch_heads}, {sizes[0]}, {sizes[1]})."
        )
    return attn_mask


def _one_more(mask: Tensor | None) -> Tensor | None:
    """A mask with one more key, which is not masked."""
    if mask is None:
        return None
    return ts.constant_pad_nd(mask, [0, 1])


def _hinted_mask(
    attn_mask: Tensor | None, has_padding: bool, need_weights: bool, is_causal: bool, kind: DType
) -> tuple[Tensor | None, bool]:
    """The attention mask as it is added to scores, and whether the attention itself is to mask what
    comes later: the hint `is_causal` holds only where nothing else is masked.

    Raises:
        RuntimeError: the hint without a mask.
    """
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    mask = _canonical_mask(attn_mask, "attn_mask", kind)
    if is_causal and not has_padding and not need_weights:
        return None, True
    return mask, is_causal and not has_padding


def _check_embedding(embed_dim: int, expected: int, num_heads: int) -> int:
    """The features of one head.

    Raises:
        AssertionError: other features than expected, or not a multiple of the heads.
    """
    if embed_dim != expected:
        raise AssertionError(
            f"was expecting embedding dimension of {expected}, but got {embed_dim}"
        )
    head_dim = embed_dim // num_heads
    if head_dim * num_heads != embed_dim:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    return head_dim


def _separate_weights(
    key: Tensor, value: Tensor, q: Tensor | None, k: Tensor | None, v: Tensor | None
) -> list[Tensor]:
    """The three weights, for keys and values of features of their own.

    Raises:
        AssertionError: keys and values differ in length or batch.
    """
    if key.size()[:2] != value.size()[:2]:
        raise AssertionError(
            f"key's sequence and batch dims {key.size()[:2]} do not match value's "
            f"{value.size()[:2]}"
        )
    assert q is not None and k is not None and v is not None
    return [q, k, v]


def _packed_weights(key: Tensor, value: Tensor, weight: Tensor | None) -> list[Tensor]:
    """The three parts of one weight.

    Raises:
        AssertionError: keys and values differ in shape.
    """
    if key.size() != value.size():
        raise AssertionError(f"key shape {key.size()} does not match value shape {value.size()}")
    assert weight is not None
    return list(weight.chunk(3))


def _by_heads(x: Tensor, heads: int, head_dim: int, given: Tensor | None) -> Tensor:
    """(S, N, E) as (heads of all samples, S, head_dim); `given` stands for it as it is."""
    if given is not None:
        return given
    return x.view(x.size(0), heads, head_dim).transpose(0, 1)


def _with_padding(
    mask: Tensor | None, padding: Tensor | None, bsz: int, num_heads: int, src_len: int
) -> Tensor | None:
    """The mask of scores with the padded keys of every sample in it."""
    if padding is None:
        return mask
    for dim, size in enumerate([bsz, src_len]):
        if padding.size(dim) != size:
            raise AssertionError(
                f"Expected key_padded_mask.shape[{dim}] to be {size}, but got {padding.size(dim)}"
            )
    spread = padding.view(bsz, 1, 1, src_len).expand(-1, num_heads, -1, -1)
    spread = spread.reshape(bsz * num_heads, 1, src_len)
    return spread if mask is None else mask + spread


def _attended(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bsz: int, num_heads: int,
    dropout_p: float, is_causal: bool,
) -> Tensor:  # fmt: skip
    """The heads' results side by side (L * N, E), without the weights."""
    _, tgt_len, head_dim = q.size()
    src_len = k.size(1)
    if mask is not None:
        if mask.size(0) == 1:
            mask = mask.unsqueeze(0)
        else:
            mask = mask.view(bsz, num_heads, -1, src_len)
    out = ts.scaled_dot_product_attention(
        q.view(bsz, num_heads, tgt_len, head_dim),
        k.view(bsz, num_heads, src_len, head_dim),
        v.view(bsz, num_heads, src_len, head_dim),
        mask,
        dropout_p,
        is_causal,
    )
    return out.permute(2, 0, 1, 3).reshape(bsz * tgt_len, num_heads * head_dim)


def _weighted(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    bsz: int,
    num_heads: int,
    dropout_p: float,
) -> tuple[Tensor, Tensor]:
    """The heads' results side by side (L * N, E), and the weights (N, heads, L, S)."""
    _, tgt_len, head_dim = q.size()
    q = q * math.sqrt(1.0 / float(head_dim))
    if mask is None:
        scores = ts.bmm(q, k.transpose(-2, -1))
    else:
        scores = ts.baddbmm(mask, q, k.transpose(-2, -1))
    scores = ts.softmax(scores, -1)
    if dropout_p > 0.0:
        scores = dropout(scores, p=dropout_p)
    out = ts.bmm(scores, v).transpose(0, 1).reshape(tgt_len * bsz, num_heads * head_dim)
    return out, scores.view(bsz, num_heads, tgt_len, k.size(1))


def _projected_out(
    out: Tensor, weight: Tensor, bias: Tensor | None, tgt_len: int, bsz: int
) -> Tensor:
    """Rows (L * N, heads * head size) through the last layer, (L, N, E)."""
    return ts.linear(out, weight, bias).view(tgt_len, bsz, weight.size(0))


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of several heads over (L, N, E) queries and (S, N, E) keys and values.

    Returns:
        (L, N, E) and, with `need_weights`, the weights (N, L, S) or (N, heads, L, S).

    Raises:
        AssertionError, RuntimeError: sizes or options that do not fit.
    """
    is_batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not is_batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    tgt_len, bsz, embed_dim = query.size()
    heads = bsz * num_heads
    padding = _canonical_mask(key_padding_mask, "key_padding_mask", query.dtype)
    mask, is_causal = _hinted_mask(
        attn_mask, padding is not None, need_weights, is_causal, query.dtype
    )
    head_dim = _check_embedding(embed_dim, embed_dim_to_check, num_heads)
    if use_separate_proj_weight:
        weights = _separate_weights(key, value, q_proj_weight, k_proj_weight, v_proj_weight)
    else:
        weights = _packed_weights(key, value, in_proj_weight)
    q, k, v = _projections(query, key, value, weights, in_proj_bias, use_separate_proj_weight)
    mask = _scores_mask(mask, [tgt_len, key.size(0)], heads)
    if bias_k is not None and bias_v is not None:
        assert static_k is None, "bias cannot be added to static key."
        assert static_v is None, "bias cannot be added to static value."
        k = ts.cat([k, bias_k.repeat(1, bsz, 1)])
        v = ts.cat([v, bias_v.repeat(1, bsz, 1)])
        mask, padding = _one_more(mask), _one_more(padding)
    q = _by_heads(q, heads, head_dim, None)
    k = _by_heads(k, heads, head_dim, static_k)
    v = _by_heads(v, heads, head_dim, static_v)
    if add_zero_attn:
        zeros = ts.zeros([heads, 1, head_dim], dtype=k.dtype, device=k.device)
        k, v = ts.cat([k, zeros], dim=1), ts.cat([v, zeros], dim=1)
        mask, padding = _one_more(mask), _one_more(padding)
    mask = _with_padding(mask, padding, bsz, num_heads, k.size(1))
    if not training:
        dropout_p = 0.0
    if not need_weights:
        out = _attended(q, k, v, mask, bsz, num_heads, dropout_p, is_causal)
        out = _projected_out(out, out_proj_weight, out_proj_bias, tgt_len, bsz)
        return (out if is_batched else out.squeeze(1)), None
    out, scores = _weighted(q, k, v, mask, bsz, num_heads, dropout_p)
    out = _projected_out(out, out_proj_weight, out_proj_bias, tgt_len, bsz)
    if average_attn_weights:
        scores = scores.mean(1)
    if not is_batched:
        return out.squeeze(1), scores.squeeze(0)
    return out, scores
