"""Multi-head attention.

Ashish Vaswani and others, "Attention Is All You Need", 2017.
"""

from __future__ import annotations

import math

from ... import namespace as ts
from ...executor_flags import is_scripting, is_tracing
from ...tensor import Tensor
from .attention_masks import (
    canonical_mask,
    dtype_of,
    hinted_mask,
    mask_by_samples,
    one_more,
    scores_mask,
    with_padding,
)
from .dropout import dropout


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
    query: Tensor, key: Tensor, value: Tensor, weights: list[Tensor], bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values by weights of their own and the parts of one bias.

    Raises:
        AssertionError: weights, or their parts of the bias, have other sizes.
    """
    parts = [] if bias is None else list(bias.chunk(3))
    _check_parameters(query, key, value, weights, parts)
    return _linears([query, key, value], weights, parts)


def _packed_projections(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor | None, bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values by the parts of one weight and of one bias.

    While a trace listens, what is the same tensor is projected at once, as PyTorch records it.

    Raises:
        AssertionError: keys and values differ in shape.
    """
    if key.size() != value.size():
        raise AssertionError(f"key shape {key.size()} does not match value shape {value.size()}")
    assert weight is not None
    if not is_scripting() and is_tracing() and key is value:
        return _shared_projections(query, key, weight, bias)
    weights = list(weight.chunk(3))
    parts = [] if bias is None else list(bias.chunk(3))
    return _linears([query, key, value], weights, parts)


def _linears(
    inputs: list[Tensor], weights: list[Tensor], biases: list[Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """Three linear layers; all without bias if there are none."""
    if len(biases) == 0:
        return (
            ts.linear(inputs[0], weights[0]),
            ts.linear(inputs[1], weights[1]),
            ts.linear(inputs[2], weights[2]),
        )
    return (
        ts.linear(inputs[0], weights[0], biases[0]),
        ts.linear(inputs[1], weights[1], biases[1]),
        ts.linear(inputs[2], weights[2], biases[2]),
    )


def _shared_projections(
    query: Tensor, key: Tensor, weight: Tensor, bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values where values are `key`, and queries may be."""
    width = query.size(-1)
    if query is key:
        made = _side_by_side(ts.linear(query, weight, bias), 3, width)
        return made[0], made[1], made[2]
    first, others = weight.split([width, width * 2])
    bias_first, bias_others = (None, None) if bias is None else bias.split([width, width * 2])
    queries = ts.linear(query, first, bias_first)
    made = _side_by_side(ts.linear(key, others, bias_others), 2, width)
    return queries, made[0], made[1]


def _side_by_side(x: Tensor, count: int, width: int) -> Tensor:
    """(..., count * width) as (count, ..., width), each part in one piece."""
    parts = x.unflatten(-1, (count, width)).unsqueeze(0).transpose(0, -2)
    return parts.squeeze(-2).contiguous()


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


def _check_embedding(embed_dim: int, expected: int, num_heads: int) -> int:
    """The features of one head.

    Raises:
        AssertionError: other features than expected, or not a multiple of the heads.
    """
    if embed_dim != expected:
        raise AssertionError(
            f"was expecting embedding dimension of {expected}, but got {embed_dim}"
        )
    if isinstance(embed_dim, Tensor):  # a size while a trace listens
        head_dim = embed_dim.div(num_heads, rounding_mode="trunc")
    else:
        head_dim = embed_dim // num_heads
    if head_dim * num_heads != embed_dim:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    return head_dim


def _projected(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    packed: Tensor | None,
    separate: tuple[Tensor | None, Tensor | None, Tensor | None] | None,
    bias: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values by one weight, or by three for features of their own.

    Raises:
        AssertionError: keys and values differ in length or batch.
    """
    if separate is None:
        return _packed_projections(query, key, value, packed, bias)
    if key.size()[:2] != value.size()[:2]:
        raise AssertionError(
            f"key's sequence and batch dims {key.size()[:2]} do not match value's "
            f"{value.size()[:2]}"
        )
    q, k, v = separate
    assert q is not None and k is not None and v is not None
    return _projections(query, key, value, [q, k, v], bias)


def _by_heads(x: Tensor, bsz: int, num_heads: int, head_dim: int, given: Tensor | None) -> Tensor:
    """(S, N, E) as (heads of all samples, S, head_dim); `given` stands for it as it is."""
    if given is not None:
        return given
    return x.view(x.size(0), bsz * num_heads, head_dim).transpose(0, 1)


def _with_biases(
    k: Tensor,
    v: Tensor,
    bsz: int,
    biases: tuple[Tensor | None, Tensor | None],
    static: tuple[Tensor | None, Tensor | None],
    masks: tuple[Tensor | None, Tensor | None],
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """Keys and values (S, N, E) with a learned one behind each, and their masks.

    Raises:
        AssertionError: the keys or values are given by heads already.
    """
    bias_k, bias_v = biases
    mask, padding = masks
    if bias_k is None or bias_v is None:
        return k, v, mask, padding
    assert static[0] is None, "bias cannot be added to static key."
    assert static[1] is None, "bias cannot be added to static value."
    k = ts.cat([k, bias_k.repeat(1, bsz, 1)])
    v = ts.cat([v, bias_v.repeat(1, bsz, 1)])
    return k, v, one_more(mask), one_more(padding)


def _with_zeros(
    k: Tensor, v: Tensor, shape: list[int], masks: tuple[Tensor | None, Tensor | None]
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """Keys and values by heads with one of zeros behind each, and their masks."""
    mask, padding = masks
    k = ts.cat([k, ts.zeros(shape, dtype=k.dtype, device=k.device)], dim=1)
    v = ts.cat([v, ts.zeros(shape, dtype=v.dtype, device=v.device)], dim=1)
    return k, v, one_more(mask), one_more(padding)


def _with_weights(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    dropout_p: float,
    tgt_len: int,
    bsz: int,
    embed_dim: int,
) -> tuple[Tensor, Tensor]:
    """The results (L * N, heads * head size), and the weights (N * heads, L, S)."""
    _, _, head_dim = q.size()
    q = q * math.sqrt(1.0 / float(head_dim))
    if mask is None:
        scores = ts.bmm(q, k.transpose(-2, -1))
    else:
        scores = ts.baddbmm(mask, q, k.transpose(-2, -1))
    scores = ts.softmax(scores, -1)
    if dropout_p > 0.0:
        scores = dropout(scores, p=dropout_p)
    out = ts.bmm(scores, v)
    return out.transpose(0, 1).reshape(tgt_len * bsz, embed_dim), scores


def _without_weights(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    sizes: list[int],
    embed_dim: int,
) -> Tensor:
    """The results (L * N, heads * head size) in one operator.

    Args:
        sizes: N, heads, L, S and the size of a head.
    """
    bsz, num_heads, tgt_len, src_len, head_dim = sizes
    mask = mask_by_samples(mask, bsz, num_heads, src_len)
    out = ts.scaled_dot_product_attention(
        q.view(bsz, num_heads, tgt_len, head_dim),
        k.view(bsz, num_heads, src_len, head_dim),
        v.view(bsz, num_heads, src_len, head_dim),
        mask,
        dropout_p,
        is_causal,
    )
    return out.permute(2, 0, 1, 3).reshape(bsz * tgt_len, embed_dim)


def _projected_out(
    rows: Tensor, weight: Tensor, bias: Tensor | None, tgt_len: int, bsz: int
) -> Tensor:
    """Rows (L * N, heads * head size) through the last layer, (L, N, E)."""
    out = ts.linear(rows, weight, bias)
    return out.view(tgt_len, bsz, out.size(1))


def _as_asked(
    out: Tensor, scores: Tensor | None, sizes: list[int], averaged: bool, is_batched: bool
) -> tuple[Tensor, Tensor | None]:
    """The results and the weights, averaged over the heads if asked, without N if none was given.

    Args:
        sizes: N, heads, L, S and the size of a head.
    """
    if scores is not None:
        bsz, num_heads, tgt_len, src_len, _ = sizes
        scores = scores.view(bsz, num_heads, tgt_len, src_len)
        if averaged:
            scores = scores.mean(1)
    if is_batched:
        return out, scores
    return out.squeeze(1), None if scores is None else scores.squeeze(0)


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
    padding = canonical_mask(
        key_padding_mask, "key_padding_mask", query.dtype, dtype_of(attn_mask), "attn_mask"
    )
    mask, is_causal = hinted_mask(
        attn_mask, padding is not None, need_weights, is_causal, query.dtype
    )
    head_dim = _check_embedding(embed_dim, embed_dim_to_check, num_heads)
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _projected(query, key, value, in_proj_weight, separate, in_proj_bias)
    mask = scores_mask(mask, [tgt_len, key.size(0)], bsz * num_heads)
    k, v, mask, padding = _with_biases(
        k, v, bsz, (bias_k, bias_v), (static_k, static_v), (mask, padding)
    )
    q = q.view(tgt_len, bsz * num_heads, head_dim).transpose(0, 1)
    k = _by_heads(k, bsz, num_heads, head_dim, static_k)
    v = _by_heads(v, bsz, num_heads, head_dim, static_v)
    if add_zero_attn:
        k, v, mask, padding = _with_zeros(k, v, [bsz * num_heads, 1, head_dim], (mask, padding))
    src_len = k.size(1)
    mask = with_padding(mask, padding, bsz, num_heads, src_len)
    dropout_p = dropout_p if training else 0.0
    sizes = [bsz, num_heads, tgt_len, src_len, head_dim]
    scores: Tensor | None = None
    if need_weights:
        rows, scores = _with_weights(q, k, v, mask, dropout_p, tgt_len, bsz, embed_dim)
    else:
        rows = _without_weights(q, k, v, mask, dropout_p, is_causal, sizes, embed_dim)
    out = _projected_out(rows, out_proj_weight, out_proj_bias, tgt_len, bsz)
    return _as_asked(out, scores, sizes, average_attn_weights, is_batched)
