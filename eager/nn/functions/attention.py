"""Multi-head attention.

Ashish Vaswani and others, "Attention Is All You Need", 2017.
"""

from __future__ import annotations

import math

from tensorscript.base.dtypes import DType

from ... import namespace as ts
from ...executor_flags import is_scripting, is_tracing
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
    if isinstance(embed_dim, Tensor):  # a size while a trace listens
        head_dim = embed_dim.div(num_heads, rounding_mode="trunc")
    else:
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


def _by_heads(x: Tensor, bsz: int, num_heads: int, head_dim: int, given: Tensor | None) -> Tensor:
    """(S, N, E) as (heads of all samples, S, head_dim); `given` stands for it as it is."""
    if given is not None:
        return given
    return x.view(x.size(0), bsz * num_heads, head_dim).transpose(0, 1)


def _with_zeros(x: Tensor, shape: list[int]) -> Tensor:
    """Keys or values by heads, and one more of zeros."""
    return ts.cat([x, ts.zeros(shape, dtype=x.dtype, device=x.device)], dim=1)


def _check_padding(padding: Tensor, bsz: int, src_len: int) -> None:
    """Refuse a mask of padded keys that is not (N, S)."""
    for dim, size in enumerate([bsz, src_len]):
        if padding.size(dim) != size:
            raise AssertionError(
                f"Expected key_padded_mask.shape[{dim}] to be {size}, but got {padding.size(dim)}"
            )


def _with_padding(
    mask: Tensor | None, padding: Tensor | None, bsz: int, num_heads: int, src_len: int
) -> Tensor | None:
    """The mask of scores with the padded keys of every sample in it."""
    if padding is None:
        return mask
    if is_scripting() or not is_tracing():
        _check_padding(padding, bsz, src_len)
    spread = padding.view(bsz, 1, 1, src_len).expand(-1, num_heads, -1, -1)
    spread = spread.reshape(bsz * num_heads, 1, src_len)
    return spread if mask is None else mask + spread


def _mask_by_samples(mask: Tensor | None, bsz: int, num_heads: int, src_len: int) -> Tensor | None:
    """The mask with a dimension of samples and one of heads; of 1 each where it is one for all."""
    if mask is None:
        return None
    if mask.size(0) == 1:
        return mask.unsqueeze(0)
    return mask.view(bsz, num_heads, -1, src_len)


def _weighted(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout_p: float
) -> tuple[Tensor, Tensor]:
    """The results by heads of all samples (N * heads, L, head size), and the weights."""
    _, _, head_dim = q.size()
    q = q * math.sqrt(1.0 / float(head_dim))
    if mask is None:
        scores = ts.bmm(q, k.transpose(-2, -1))
    else:
        scores = ts.baddbmm(mask, q, k.transpose(-2, -1))
    scores = ts.softmax(scores, -1)
    if dropout_p > 0.0:
        scores = dropout(scores, p=dropout_p)
    return ts.bmm(scores, v), scores


def _projected_out(
    rows: Tensor, weight: Tensor, bias: Tensor | None, tgt_len: int, bsz: int
) -> Tensor:
    """Rows (L * N, heads * head size) through the last layer, (L, N, E)."""
    out = ts.linear(rows, weight, bias)
    return out.view(tgt_len, bsz, out.size(1))


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
    padding = _canonical_mask(key_padding_mask, "key_padding_mask", query.dtype)
    mask, is_causal = _hinted_mask(
        attn_mask, padding is not None, need_weights, is_causal, query.dtype
    )
    head_dim = _check_embedding(embed_dim, embed_dim_to_check, num_heads)
    if use_separate_proj_weight:
        weights = _separate_weights(key, value, q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = _projections(query, key, value, weights, in_proj_bias)
    else:
        q, k, v = _packed_projections(query, key, value, in_proj_weight, in_proj_bias)
    mask = _scores_mask(mask, [tgt_len, key.size(0)], bsz * num_heads)
    if bias_k is not None and bias_v is not None:
        assert static_k is None, "bias cannot be added to static key."
        assert static_v is None, "bias cannot be added to static value."
        k = ts.cat([k, bias_k.repeat(1, bsz, 1)])
        v = ts.cat([v, bias_v.repeat(1, bsz, 1)])
        mask, padding = _one_more(mask), _one_more(padding)
    q = q.view(tgt_len, bsz * num_heads, head_dim).transpose(0, 1)
    k = _by_heads(k, bsz, num_heads, head_dim, static_k)
    v = _by_heads(v, bsz, num_heads, head_dim, static_v)
    if add_zero_attn:
        zeros = [bsz * num_heads, 1, head_dim]
        k, v = _with_zeros(k, zeros), _with_zeros(v, zeros)
        mask, padding = _one_more(mask), _one_more(padding)
    src_len = k.size(1)
    mask = _with_padding(mask, padding, bsz, num_heads, src_len)
    if not training:
        dropout_p = 0.0
    if not need_weights:
        mask = _mask_by_samples(mask, bsz, num_heads, src_len)
        out = ts.scaled_dot_product_attention(
            q.view(bsz, num_heads, tgt_len, head_dim),
            k.view(bsz, num_heads, src_len, head_dim),
            v.view(bsz, num_heads, src_len, head_dim),
            mask,
            dropout_p,
            is_causal,
        )
        rows = out.permute(2, 0, 1, 3).reshape(bsz * tgt_len, embed_dim)
        out = _projected_out(rows, out_proj_weight, out_proj_bias, tgt_len, bsz)
        return (out if is_batched else out.squeeze(1)), None
    out, scores = _weighted(q, k, v, mask, dropout_p)
    rows = out.transpose(0, 1).reshape(tgt_len * bsz, embed_dim)
    out = _projected_out(rows, out_proj_weight, out_proj_bias, tgt_len, bsz)
    scores = scores.view(bsz, num_heads, tgt_len, src_len)
    if average_attn_weights:
        scores = scores.mean(1)
    if not is_batched:
        return out.squeeze(1), scores.squeeze(0)
    return out, scores
