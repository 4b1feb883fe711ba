"""What losses over classes ask of scores, targets and the weights of classes."""

from __future__ import annotations

from typing import Any

from tensorscript.base.dtypes import int64, uint8
from tensorscript.base.errors import ValueRangeError

from .words import Demand, each, require, sizes_of


def _nll_nd(self: Any, target: Any, weight: Any = None, *_: Any) -> None:
    """Negative log likelihood of scores (N, C, ...) or (C) at classes (N, ...) or one class."""
    scores, given = sizes_of(self), sizes_of(target)
    if not scores:
        raise ValueRangeError("Expected 1 or more dimensions (got 0)")
    if len(scores) == 1 and given not in ([], [1]):
        raise ValueRangeError(
            f"For 1D input, 1D target must have size 1, but got target size: {given[0]}"
        )
    count = given[0] if given else 0
    if len(scores) != 1 and scores[0] != count:
        raise ValueRangeError(
            f"Expected input batch_size ({scores[0]}) to match target batch_size ({count})."
        )
    _nll(self, target, weight)


def _nll(self: Any, target: Any, weight: Any = None, *_: Any) -> None:
    scores, given = sizes_of(self), sizes_of(target)
    wanted = scores[:1] + scores[2:]
    if len(scores) <= 2:
        require(len(given) <= 1, "0D or 1D target tensor expected, multi-target not supported")
        fits = len(scores) == 1 or given == wanted
        require(fits, f"size mismatch (got input: {scores}, target: {given})")
    elif len(scores) == 4:
        require(
            len(given) == 3,
            "only batches of spatial targets supported (3D tensors) but got targets of dimension: "
            f"{len(given)}",
        )
        require(given == wanted, f"size mismatch (got input: {scores} , target: {given}")
    else:
        require(given == wanted, f"Expected target size {wanted}, got {given}")
    require(
        target.dtype in (int64, uint8),
        f"expected target dtype to be Long or Byte, but got {target.dtype.word}",
    )
    classes = scores[1] if len(scores) > 1 else scores[0]
    if weight is not None:
        require(
            weight.dtype is self.dtype,
            f"expected scalar type {self.dtype.word} but found {weight.dtype.word}",
        )
    if weight is not None and sizes_of(weight) != [classes]:
        require(len(scores) < 3, "weight tensor should be defined either for all or no classes")
        require(False, _weights(classes, weight))


def _weights(classes: int, weight: Any) -> str:
    return (
        f"weight tensor should be defined either for all {classes} classes or no classes but got "
        f"weight tensor of shape: {sizes_of(weight)}"
    )


def _cross_entropy(
    self: Any, target: Any, weight: Any, reduction: int, ignore_index: int, smoothing: float
) -> None:
    """A target of the scores' sizes holds a probability for each class."""
    require(smoothing <= 1.0, f"label_smoothing must be between 0.0 and 1.0. Got: {smoothing:g}")
    scores = sizes_of(self)
    if scores != sizes_of(target):
        _nll_nd(self, target, weight)
        return
    require(
        target.dtype.is_floating_point,
        "Expected floating point type for target with class probabilities, got "
        f"{target.dtype.word}",
    )
    require(ignore_index < 0, "ignore_index is not supported for floating point target")
    classes = (scores[1] if len(scores) > 1 else scores[0]) if scores else 1
    fits = weight is None or sizes_of(weight) == [classes]
    require(fits, "" if fits else f"cross_entropy: {_weights(classes, weight)}")


CLASSES: dict[str, Demand] = {
    **each(_nll_nd, "nll_loss_nd"),
    **each(_nll, "nll_loss", "nll_loss2d"),
    **each(_cross_entropy, "cross_entropy_loss"),
}
"""Overloads to what they ask, in the words of PyTorch."""
