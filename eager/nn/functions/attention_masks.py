"""Masks of attention: what is added to the scores, or what they are not computed for."""

from __future__ import annotations

import warnings

from tensorscript.base.dtypes import DType

from ... import namespace as ts
from ...executor_flags import is_scripting, is_tracing
from ...tensor import Tensor


def canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    target_type: DType,
    other_type: DType | None = None,
    other_name: str = "",
) -> Tensor | None:
    """A mask that is added to scores: where a boolean one holds, minus infinity.

    Args:
        other_type: of the mask `other_name` beside it, which should be of the same.
    """
    if mask is None:
        return None
    additive = ts.is_floating_point(mask)
    if mask.dtype != ts.bool and not additive:
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if other_type is not None and mask.dtype != other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type "
            "for both instead.",
            stacklevel=2,
        )
    if additive:
        return mask
    return ts.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def dtype_of(mask: Tensor | None) -> DType | None:
    return None if mask is None else mask.dtype


def scores_mask(attn_mask: Tensor | None, sizes: list[int], batch_heads: int) -> Tensor | None:
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


def one_more(mask: Tensor | None) -> Tensor | None:
    """A mask with one more key, which is not masked."""
    if mask is None:
        return None
    return ts.pad(mask, [0, 1])


def hinted_mask(
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
    mask = canonical_mask(attn_mask, "attn_mask", kind)
    if is_causal and not has_padding and not need_weights:
        return None, True
    return mask, is_causal and not has_padding


def _check_padding(padding: Tensor, bsz: int, src_len: int) -> None:
    """Refuse a mask of padded keys that is not (N, S)."""
    for dim, size in enumerate([bsz, src_len]):
        if padding.size(dim) != size:
            raise AssertionError(
                f"Expected key_padded_mask.shape[{dim}] to be {size}, but got {padding.size(dim)}"
            )


def with_padding(
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


def mask_by_samples(mask: Tensor | None, bsz: int, num_heads: int, src_len: int) -> Tensor | None:
    """The mask with a dimension of samples and one of heads; of 1 each where it is one for all."""
    if mask is None:
        return None
    if mask.size(0) == 1:
        return mask.unsqueeze(0)
    return mask.view(bsz, num_heads, -1, src_len)
