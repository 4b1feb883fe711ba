"""Embedding bags: rows of a table gathered and reduced by bag; scatter with a reduction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.bags import MAX, MEAN, SUM, knows_owners
from tensorscript.base.dtypes import promote_types
from tensorscript.base.errors import OperatorError

from ..storage import Array, array, compute, wrap

Kernel = Callable[..., Any]


def embedding_bag(
    weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool = False, mode: int = SUM,
    sparse: bool = False, per_sample_weights: Any = None, include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:  # fmt: skip
    """weight (V, D), indices (n), offsets (B[+1]) -> (B, D); then what PyTorch keeps for gradients:
    the bag of each index, the size of each bag, and for max the row that each value came from."""
    table, at, starts = compute(weight), array(indices), array(offsets)
    if at.size and (at.min() < 0 or at.max() >= table.shape[0]):
        place = int(np.flatnonzero((at < 0) | (at >= table.shape[0]))[0])
        raise OperatorError(
            f"Index {place} of input takes value {at[place]} which is not in the valid range "
            f"[0, {table.shape[0]})"
        )
    if per_sample_weights is not None and mode != SUM:
        raise OperatorError("embedding_bag: per_sample_weights only supported with mode='sum'")
    bags = starts.size - 1 if include_last_offset else starts.size
    edges = [*starts[:bags].tolist(), int(starts[-1]) if include_last_offset else at.size]
    out = np.zeros((bags, table.shape[1]), table.dtype)
    best = np.zeros(out.shape, np.int64)
    owner, sizes = np.zeros(at.size, np.int64), np.zeros(bags, np.int64)
    skipped = None if padding_idx is None else padding_idx % table.shape[0]
    scale = None if per_sample_weights is None else compute(per_sample_weights)
    for b in range(bags):
        span = np.arange(edges[b], edges[b + 1])
        owner[span] = b
        span = span[at[span] != skipped] if skipped is not None else span
        sizes[b] = span.size
        if not span.size:
            continue
        rows = table[at[span]]
        if mode == MAX:
            out[b], best[b] = rows.max(0), at[span][rows.argmax(0)]
        else:
            total = (rows if scale is None else rows * scale[span, None]).sum(0)
            out[b] = total / span.size if mode == MEAN else total
    if not knows_owners(mode, weight.dtype, padding_idx):
        owner = owner[:0]
    if mode == SUM:
        sizes = np.zeros(starts.size, np.int64)
    kept = (owner, sizes, best if mode == MAX else sizes)
    dtype = promote_types(indices.dtype, offsets.dtype)
    return (wrap(out, weight.dtype), *(wrap(np.array(x, dtype.numpy), dtype) for x in kept))


_REDUCTIONS: dict[str, tuple[Callable[..., Any], float]] = {
    "sum": (np.add.at, 0), "mean": (np.add.at, 0), "prod": (np.multiply.at, 1),
    "amax": (np.maximum.at, -np.inf), "amin": (np.minimum.at, np.inf),
}  # fmt: skip


def reduce_at(a: Array, at: Any, source: Array, reduce: str, include_self: bool) -> Array:
    """`a` with `source` reduced into the places `at`; untouched places keep their value."""
    if reduce not in _REDUCTIONS:
        raise OperatorError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    fn, neutral = _REDUCTIONS[reduce]
    out = a.copy()
    if not include_self:
        out[at] = _limit(neutral, a.dtype)
    fn(out, at, source)
    if reduce != "mean":
        return out
    counts = np.full(a.shape, int(include_self), np.int64)
    np.add.at(counts, at, 1)
    counts = np.maximum(counts, 1)
    return np.asarray(out // counts if a.dtype.kind in "iu" else out / counts, a.dtype)


def _limit(number: float, dtype: np.dtype[Any]) -> Any:
    if np.isfinite(number) or dtype.kind == "f":
        return number
    if dtype.kind == "b":
        return number > 0
    info = np.iinfo(dtype)
    return info.max if number > 0 else info.min


def _inner_form(
    weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool = False, mode: int = SUM,
    sparse: bool = False, per_sample_weights: Any = None, include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Any:  # fmt: skip
    """The operator behind it says -1 for no padding."""
    return embedding_bag(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
        include_last_offset, padding_idx if padding_idx >= 0 else None,
    )  # fmt: skip


KERNELS: dict[str, Kernel] = {
    "aten::embedding_bag": embedding_bag,
    "aten::embedding_bag.padding_idx": embedding_bag,
    "aten::_embedding_bag": _inner_form,
    "aten::_embedding_bag_forward_only": _inner_form,
}
