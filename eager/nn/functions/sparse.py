"""Rows of tables: embeddings, alone and in bags."""

from __future__ import annotations

from ... import namespace as ts
from ...executor_flags import is_scripting
from ...tensor import Tensor


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` at `input`; with `max_norm` longer rows are first shortened in place."""
    at = -1 if padding_idx is None else padding_idx
    if padding_idx is not None and padding_idx > 0:
        if padding_idx >= weight.size(0):
            raise AssertionError("Padding_idx must be within num_embeddings")
    elif padding_idx is not None and padding_idx < 0:
        if padding_idx < -weight.size(0):
            raise AssertionError("Padding_idx must be within num_embeddings")
        at = weight.size(0) + padding_idx
    if max_norm is not None:
        input = input.contiguous()
        ts.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    return ts.embedding(weight, input, at, scale_grad_by_freq, sparse)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima over bags of rows: the rows of `input`, or runs between `offsets`.

    Raises:
        ValueError: sizes that do not fit, or an unknown mode.
    """
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.size()}) is not None, then "
            f"it must have the same shape as the input ({input.size()})"
        )
    if weight.dim() != 2:
        raise ValueError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}"
        )
    if input.dim() == 2:
        if offsets is not None:
            kind = "<unknown>"
            if not is_scripting():
                kind = str(type(offsets))
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch "
                "of fixed length sequences. However, found offsets of type "
                f"{kind}"
            )
        offsets = ts.arange(0, input.numel(), input.size(1), dtype=input.dtype, device=input.device)
        include_last_offset = False
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}"
        )
    code = _bag_mode(mode)
    if max_norm is not None:
        input = input.contiguous()
        ts.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}')."
        )
    found, _, _, _ = ts.embedding_bag(
        weight, input, offsets, scale_grad_by_freq, code, sparse, per_sample_weights,
        include_last_offset, padding_idx,
    )  # fmt: skip
    return found


def _bag_mode(mode: str) -> int:
    if mode == "sum":
        return 0
    if mode == "mean":
        return 1
    if mode == "max":
        return 2
    raise ValueError("mode has to be one of sum, mean or max")
