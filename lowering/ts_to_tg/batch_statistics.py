"""Rows of batch normalisations that also give what they normalised by."""

from __future__ import annotations

from tensorscript.base.dtypes import uint8

from .builder import Builder, Rows
from .equivalents import inverse_spread
from .normalization import batch_norm
from .reduction import moments
from .values import Tensor, Value


def _native(
    b: Builder,
    x: Tensor,
    weight: Value,
    bias: Value,
    mean: Value,
    var: Value,
    training: bool,
    momentum: float,
    eps: float,
) -> Value:
    """The result, and in training the batch's means and reciprocal deviations."""
    if x.rank < 2:
        b.cannot("a batch of fewer than 2 dimensions")
    kept = next((t.dtype for t in (weight, mean) if t is not None), x.dtype)
    if not training:
        none = b.full([0], 0, kept)
        out = batch_norm(b, x, weight, bias, mean, var, training, momentum, eps)
        return out, none, b.copied(none)
    now, spread = moments(b, x, [d for d in range(x.rank) if d != 1], False, 0)
    inverse = b.cast(inverse_spread(b, spread, eps, x), kept)
    out = batch_norm(b, x, weight, bias, mean, var, training, momentum, eps)
    return out, b.cast(now, kept), inverse


def _with_update(b: Builder, x: Tensor, *arguments: Value) -> Value:
    weight, bias, mean, var, momentum, eps = arguments
    found = _native(b, x, weight, bias, mean, var, True, momentum, eps)
    return *found, b.full([0], 0, uint8)


def _without_training(b: Builder, x: Tensor, *arguments: Value) -> Value:
    weight, bias, mean, var, momentum, eps = arguments
    return _native(b, x, weight, bias, mean, var, False, momentum, eps)


BATCH_STATISTICS: Rows = {
    "aten::native_batch_norm": _native,
    "aten::_native_batch_norm_legit": _native,
    "aten::_native_batch_norm_legit.no_stats": lambda b, x, weight, bias, *rest: _native(
        b, x, weight, bias, None, None, *rest
    ),
    "aten::_native_batch_norm_legit_no_training": _without_training,
    "aten::_batch_norm_with_update": _with_update,
}
