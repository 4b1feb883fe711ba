"""Losses: operators behind the words of `reduction`, and the losses that are no operator.

The arguments `size_average` and `reduce` are the former spelling of `reduction`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ... import namespace as ts
from ...caution import warn
from ...executor_flags import is_scripting
from ...tensor import Tensor
from .reduction import reduced, reduction_code, reduction_word


def _warn_of_sizes(input: Tensor, target: Tensor) -> None:
    if input.size() != target.size():
        warn(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size."
        )


def _weighted(errors: Tensor, weight: Tensor, reduction: str) -> Tensor:
    """Errors times weights, reduced; the mean is over the weights."""
    if weight.size() != errors.size():
        raise ValueError("Weights and input must have the same size.")
    weighted = errors * weight
    if reduction == "none":
        return weighted
    if reduction == "sum":
        return weighted.sum()
    if reduction == "mean":
        return weighted.sum() / weight.sum()
    raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Squares of the differences."""
    code = reduction_code(reduction, size_average, reduce)
    if not is_scripting():
        _warn_of_sizes(input, target)
    input, target = ts.broadcast_tensors([input, target])
    if weight is not None:
        return _weighted(ts.pow(input - target, 2), weight, reduction)
    return ts.mse_loss(input, target, code)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Absolute differences."""
    code = reduction_code(reduction, size_average, reduce)
    if not is_scripting():
        _warn_of_sizes(input, target)
    input, target = ts.broadcast_tensors([input, target])
    if weight is not None:
        return _weighted(ts.abs(input - target), weight, reduction)
    return ts.l1_loss(input, target, code)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target * input)) for targets of 1 and -1."""
    code = reduction_code(reduction, size_average, reduce)
    return ts.soft_margin_loss(input, target, code)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squares below `beta`, absolute values above."""
    code = reduction_code(reduction, size_average, reduce)
    if not is_scripting():
        _warn_of_sizes(input, target)
    input, target = ts.broadcast_tensors([input, target])
    return ts.smooth_l1_loss(input, target, code, beta)


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Squares below `delta`, `delta` times absolute values above; elements may have weights."""
    if not is_scripting():
        _warn_of_sizes(input, target)
    input, target = ts.broadcast_tensors([input, target])
    if weight is None:
        return ts.huber_loss(input, target, reduction_code(reduction), delta)
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    return reduced(ts.huber_loss(input, target, 0, delta) * weight, reduction)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Divergence of log-probabilities `input` from `target`; "batchmean" divides by its length."""
    word = reduction_word(reduction, size_average, reduce)
    if word == "batchmean":
        reduced = ts.kl_div(input, target, 2, log_target=log_target)
        return reduced / input.size(0) if input.dim() != 0 else reduced
    return ts.kl_div(input, target, reduction_code(word), log_target=log_target)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Negative log-probability, by softmax of `input`, of classes or of class probabilities."""
    code = reduction_code(reduction, size_average, reduce)
    return ts.cross_entropy_loss(input, target, weight, code, ignore_index, label_smoothing)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negated element of `input` (log-probabilities) at each target class."""
    code = reduction_code(reduction, size_average, reduce)
    return ts.nll_loss_nd(input, target, weight, code, ignore_index)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-probability of targets in [0, 1] under probabilities `input`."""
    code = reduction_code(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}) is deprecated. Please ensure they have the same size."
        )
    if weight is not None:
        weight = weight.expand_as(target)
    return ts.binary_cross_entropy(input, target, weight, code)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of the sigmoid of `input`."""
    code = reduction_code(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Target size ({target.size()}) must be the same as input size ({input.size()})"
        )
    return ts.binary_cross_entropy_with_logits(input, target, weight, pos_weight, code)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos for targets of 1, max(0, cos - margin) for targets of -1."""
    code = reduction_code(reduction, size_average, reduce)
    return ts.cosine_embedding_loss(input1, input2, target, margin, code)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin)."""
    code = reduction_code(reduction, size_average, reduce)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return ts.margin_ranking_loss(input1, input2, target, margin, code)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`input` for targets of 1, max(0, margin - input) for targets of -1."""
    code = reduction_code(reduction, size_average, reduce)
    return ts.hinge_embedding_loss(input, target, margin, code)


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Hinge loss between the classes named in `target` (up to the first -1) and all others."""
    code = reduction_code(reduction, size_average, reduce)
    return ts.multilabel_margin_loss(input, target, code)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Hinge loss between the target class and all others.

    Raises:
        ValueError: `p` is neither 1 nor 2, or `weight` is not one-dimensional.
    """
    code = reduction_code(reduction, size_average, reduce)
    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return ts.multi_margin_loss(input, target, p, margin, weight, code)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean binary cross entropy over the classes, which are the last dimension."""
    word = reduction_word(reduction, size_average, reduce)
    loss = -(target * ts.log_sigmoid(input) + (1 - target) * ts.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    class_dim = input.dim() - 1
    C = input.size(class_dim)
    loss = loss.sum(class_dim) / C
    return reduced(loss, word)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of counts; `full` adds Stirling's term."""
    code = reduction_code(reduction, size_average, reduce)
    return ts.poisson_nll_loss(input, target, log_input, full, eps, code)


def _is_one_along_one_dimension(sizes: list[int], part: list[int]) -> bool:
    """Whether `part` differs from `sizes` in one dimension only, and is 1 there."""
    apart = [b for a, b in zip(sizes, part) if a != b]  # noqa: B905 - scripts know no `strict`
    return len(sizes) == len(part) and len(apart) == 1 and apart[0] == 1


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood under normal distributions of means `input` and variances `var`.

    Raises:
        ValueError: a variance is negative, its sizes do not fit, or no such reduction.
    """
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * ts.ones_like(input)
    elif bool(ts.any(var < 0)):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = ts.unsqueeze(var, -1)
        elif not _is_one_along_one_dimension(input.size(), var.size()):
            raise ValueError("var is of incorrect size")
    if reduction != "none" and reduction != "mean" and reduction != "sum":
        raise ValueError(reduction + " is not valid")
    var = var.clone()
    var.clamp_(min=eps)
    loss = 0.5 * (ts.log(var) + (input - target) ** 2 / var)
    if full:
        loss += 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, distance to `positive` - distance to `negative` + margin)."""
    code = reduction_code(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return ts.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, code)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with any distance; a function as an argument is beyond script."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    a, p, n = anchor.ndim, positive.ndim, negative.ndim
    if not (a == p and p == n):
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {a}D, positive {p}D, and negative {n}D inputs"
        )
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    distance = ts.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = ts.minimum(far, distance(positive, negative))
    return reduced(ts.clamp_min(margin + near - far, 0), reduction)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Negative log-probability of label sequences over all their alignments.

    Alex Graves and others, "Connectionist Temporal Classification", 2006.
    """
    code = reduction_code(reduction)
    return ts.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, code, zero_infinity
    )
