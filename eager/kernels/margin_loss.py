"""Losses with a margin, between two tensors or between a class and the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.dtypes import minus_one, real_dtype
from tensorscript.base.errors import OperatorError

from ..storage import Array, array, cast, compute, compute_dtype, floating, promoted, wrap
from .linalg import distances
from .loss import MEAN, reduced
from .shapes import broadcast, check_broadcast

Kernel = Callable[..., Any]


def cosine_similarity(first: Any, second: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    dtype = promoted(first, second)
    if not dtype.is_floating_point:
        raise OperatorError(
            f"expected common dtype to be floating point, yet common dtype is {dtype.word}"
        )
    check_broadcast(cast(first, dtype), cast(second, dtype))
    a, b = np.broadcast_arrays(cast(first, dtype), cast(second, dtype))
    small = a.dtype.type(eps)
    na = np.maximum(np.sqrt((a * a).sum(dim, keepdims=True)), small)
    nb = np.maximum(np.sqrt((b * b).sum(dim, keepdims=True)), small)
    return wrap(((a / na) * (b / nb)).sum(dim), dtype)


def pairwise_distance(
    first: Any, second: Any, p: float = 2, eps: float = 1e-6, keepdim: bool = False
) -> Any:
    """The p-norm of first - second + eps over the last dimension."""
    dtype = floating(promoted(first, second))
    common = promoted(first, second)
    a, b = cast(first, common), cast(second, common)
    check_broadcast(a, b)
    gap = cast(wrap(a - b, common), dtype)  # of integers with wrap-around, as the operators' own
    found = distances(np.abs(gap + gap.dtype.type(eps)), p)
    return wrap(found[..., None] if keepdim else found, real_dtype(dtype))


def margin_ranking(
    first: Any, second: Any, target: Any, margin: float = 0.0, reduction: int = MEAN
) -> Any:
    dtype = promoted(first, second, target)
    a, b, y = cast(first, dtype), cast(second, dtype), cast(target, dtype)
    check_broadcast(a, b, y)
    out = floating(dtype)
    wide = cast(wrap(-y * (a - b), dtype), out)
    return wrap(reduced(np.maximum(wide + wide.dtype.type(margin), 0), reduction, out), out)


def cosine_embedding(
    first: Any, second: Any, target: Any, margin: float = 0.0, reduction: int = MEAN
) -> Any:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
    check_broadcast(array(first), array(second))
    common = promoted(first, second)
    dtype = floating(common)
    wide = compute_dtype(dtype)
    a, b, y = cast(first, common), cast(second, common), compute(target)
    dot, aa, bb = ((p * q).sum(-1).astype(wide) for p, q in ((a, b), (a, a), (b, b)))
    broadcast(y.shape, dot.shape)
    small = wide.type(1e-12)
    cos = dot / np.sqrt((aa + small) * (bb + small))
    apart = np.where(y == minus_one(target.dtype), np.maximum(cos - margin, 0), 0)
    out = np.where(y == 1, 1 - cos, apart)
    return wrap(reduced(out.astype(wide), reduction), dtype)


def triplet_margin(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2.0,
    eps: float = 1e-6, swap: bool = False, reduction: int = MEAN,
) -> Any:  # fmt: skip
    first = pairwise_distance(anchor, positive, p, eps)
    near, far = compute(first), compute(pairwise_distance(anchor, negative, p, eps))
    if swap:
        far = np.minimum(far, compute(pairwise_distance(positive, negative, p, eps)))
    loss = np.maximum(near - far + near.dtype.type(margin), 0)
    return wrap(reduced(loss, reduction), first.dtype)


def multi_margin(
    self: Any, target: Any, p: Any = 1, margin: Any = 1, weight: Any = None, reduction: int = MEAN
) -> Any:
    """mean over the other classes of max(0, margin - x[target] + x[class])^p."""
    x, at = np.atleast_2d(compute(self)), np.atleast_1d(array(target))
    if at.shape != x.shape[:1]:
        raise OperatorError(
            f"inconsistent target size, expected [{x.shape[0]}] but got {list(array(target).shape)}"
        )
    own = np.take_along_axis(x, at[:, None], 1)
    terms = np.maximum(margin - own + x, 0) ** p
    if weight is not None:
        terms = terms * compute(weight)[at][:, None]
    np.put_along_axis(terms, at[:, None], 0, 1)
    loss = (terms.sum(1) / x.shape[1]).astype(x.dtype)
    single = array(target).ndim == 0 or compute(self).ndim < 2
    loss = loss[0] if single else loss
    return wrap(reduced(loss, reduction), self.dtype)


def _listed(at: Array, classes: int) -> Array:
    """at (N, C), labels up to the first -1 -> how often each class is listed (N, C)."""
    ends = np.where((at < 0).any(1), (at < 0).argmax(1), at.shape[1])
    rows, columns = np.nonzero(np.arange(at.shape[1]) < ends[:, None])
    counts = np.zeros((at.shape[0], classes), np.int64)
    np.add.at(counts, (rows, at[rows, columns]), 1)
    return counts


def multilabel_margin(self: Any, target: Any, reduction: int = MEAN) -> Any:
    """Per row the sum over targets and others of max(0, 1 - (x[target] - x[other])) / classes;
    also which classes are targets."""
    x, at = np.atleast_2d(compute(self)), np.atleast_2d(array(target))
    if x.shape != at.shape:
        raise OperatorError(
            f"inconsistent target size: {list(at.shape)} for input of size: {list(x.shape)}"
        )
    counts = _listed(at, x.shape[1])
    labels = counts > 0
    gaps = np.maximum(1 - x[:, :, None] + x[:, None, :], 0)
    counted = counts[:, :, None] * ~labels[:, None, :]
    loss = ((gaps * counted).sum((1, 2)) / max(x.shape[1], 1)).astype(x.dtype)
    loss = loss[0] if compute(self).ndim < 2 else loss
    shape = array(target).shape
    return wrap(reduced(loss, reduction), self.dtype), wrap(labels.reshape(shape), self.dtype)


KERNELS: dict[str, Kernel] = {
    "aten::cosine_similarity": cosine_similarity,
    "aten::pairwise_distance": pairwise_distance,
    "aten::margin_ranking_loss": margin_ranking,
    "aten::cosine_embedding_loss": cosine_embedding,
    "aten::triplet_margin_loss": triplet_margin,
    "aten::multi_margin_loss": multi_margin,
    "aten::multilabel_margin_loss": lambda self, target, reduction=MEAN: multilabel_margin(
        self, target, reduction
    )[0],
    "aten::multilabel_margin_loss_forward": multilabel_margin,
}
