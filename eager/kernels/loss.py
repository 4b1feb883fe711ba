"""Loss functions; `reduction` is 0 none, 1 mean, 2 sum, as in TorchScript's schemas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.dtypes import DType, real_dtype
from tensorscript.base.errors import DimensionError, OperatorError

from ..storage import Array, array, cast, compute, floating, promoted, rounded, wrap
from .activation import softmax_array
from .cascade import cascade_sum
from .shapes import broadcast, check_broadcast

Kernel = Callable[..., Any]
NONE, MEAN, SUM = 0, 1, 2


def reduced(x: Array, reduction: int, dtype: DType | None = None) -> Array:
    """`dtype`, where given, must be one that has a mean."""
    if reduction == MEAN:
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise OperatorError(
                "mean(): could not infer output dtype. Input dtype must be either a floating point "
                f"or complex dtype. Got: {dtype.word}"
            )
        return np.asarray(np.divide(x.sum(dtype=x.dtype), x.dtype.type(x.size)))
    return np.asarray(x.sum(dtype=x.dtype)) if reduction == SUM else x


def pairwise(fn: Callable[..., Array]) -> Kernel:
    """A loss `fn(input, target, *parameters)` element by element, then reduced."""

    def run(self: Any, target: Any, reduction: int = MEAN, *parameters: Any) -> Any:
        dtype = promoted(self, target)
        a, b = cast(self, dtype), cast(target, dtype)
        check_broadcast(*((b, a) if fn is _kl else (a, b)))  # PyTorch multiplies the target first
        found = fn(a, b, *parameters)
        out = real_dtype(dtype) if found.dtype.kind == "f" else dtype
        found = np.asarray(found, np.result_type(a.real.dtype if out is not dtype else a.dtype))
        return wrap(reduced(found, reduction, out), out)

    return run


def _smooth_l1(a: Array, b: Array, beta: float = 1.0) -> Array:
    d = np.abs(a - b)
    return np.asarray(d if beta == 0 else np.where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta))


def _huber(a: Array, b: Array, delta: float = 1.0) -> Array:
    d = np.abs(a - b)
    return np.asarray(np.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta)))


def _kl(a: Array, b: Array, log_target: bool = False) -> Array:
    if log_target:
        return np.asarray(np.exp(b) * (b - a))
    return np.asarray(np.where(b == 0, 0, b * np.log(np.where(b == 0, 1, b))) - b * a)


def binary_cross_entropy(self: Any, target: Any, weight: Any = None, reduction: int = MEAN) -> Any:
    x, y = compute(self), compute(target)
    if x.shape != y.shape:
        raise OperatorError(
            f"Using a target size ({list(y.shape)}) that is different to the input size "
            f"({list(x.shape)}) is deprecated. Please ensure they have the same size."
        )
    if x.size and bool(((x < 0) | (x > 1)).any()):
        raise OperatorError("all elements of input should be between 0 and 1")
    low = x.dtype.type(-100)
    out = -(y * np.maximum(np.log(x), low) + (1 - y) * np.maximum(np.log1p(-x), low))
    out = out if weight is None else out * compute(weight)
    return wrap(reduced(out, reduction), self.dtype)


def bce_with_logits(
    self: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = MEAN
) -> Any:
    """Every step rounds in half types, as the operators that PyTorch makes it of do."""

    def step(a: Any) -> Array:
        return rounded(np.asarray(a), self.dtype)

    x, y = compute(self), compute(target)
    log_sigmoid = step(np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))))
    if pos_weight is not None:
        broadcast(array(pos_weight).shape, array(self).shape)
        factor = step(step(step(compute(pos_weight) - 1) * y) + 1)
        log_sigmoid = step(factor * log_sigmoid)
    out = step(step(step(1 - y) * x) - log_sigmoid)
    out = out if weight is None else step(out * compute(weight))
    return wrap(reduced(out, reduction), self.dtype)


def _picked(x: Array, at: Array, weight: Any, reduction: int, ignore: int, dtype: DType) -> Array:
    """-x at the target class (dimension 1, or 0 of a vector), weighted, reduced; in half types
    (`dtype`, of the tensor that `x` is of) every step rounds."""
    axis = 1 if x.ndim > 1 else 0
    at = at.reshape(()) if x.ndim == 1 else at
    classes = x.shape[axis]
    valid = at != ignore
    bad = at[valid & ((at < 0) | (at >= classes))]
    if bad.size:
        raise DimensionError(f"Target {int(bad.flat[0])} is out of bounds.")
    safe = np.where(valid, at, 0)
    found = np.take_along_axis(x, np.expand_dims(safe, axis), axis).squeeze(axis)
    w = np.ones(classes, x.dtype) if weight is None else compute(weight)
    scale = np.where(valid, w[safe], 0).astype(x.dtype)
    out = rounded(np.where(valid, -found * scale, 0).astype(x.dtype), dtype)
    if reduction == NONE:
        return out
    if dtype.itemsize > 2:
        total, scales = out.sum(dtype=x.dtype), scale.sum(dtype=x.dtype)
    else:
        places = np.flatnonzero(valid)
        total = cascade_sum(out[valid], places, at.size, dtype)
        scales = rounded(np.asarray(places.size, x.dtype), dtype)
        if weight is not None:
            scales = cascade_sum(scale[valid], places, at.size, dtype)
    return np.asarray(np.divide(total, scales) if reduction == MEAN else total)


def nll_loss(
    self: Any, target: Any, weight: Any = None, reduction: int = MEAN, ignore_index: int = -100
) -> Any:
    dtype = self.dtype
    x, at = compute(self), array(target)
    return wrap(_picked(x, at, weight, reduction, ignore_index, dtype), dtype)


def cross_entropy(
    self: Any, target: Any, weight: Any = None, reduction: int = MEAN, ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """`target` holds class numbers, or probabilities of the input's shape."""
    x = compute(self)
    axis = 1 if x.ndim > 1 else 0
    log_p = softmax_array(x, axis, log=True)
    classes = x.shape[axis]
    smooth = max(label_smoothing, 0.0)  # less than 0 PyTorch does not look at
    if target.dtype.is_floating_point:
        y = compute(target) * (1 - smooth) + smooth / max(classes, 1)
        shape = [1] * x.ndim
        shape[axis] = -1
        w = 1 if weight is None else compute(weight).reshape(shape)
        out = -(log_p * y * w).sum(axis)
        if reduction == MEAN:
            count = out.size if classes else np.nan  # PyTorch divides elements by classes
            return wrap(out.sum() / x.dtype.type(count), self.dtype)
        return wrap(reduced(out.astype(x.dtype), reduction), self.dtype)
    log_p = rounded(log_p, self.dtype)
    hard = _picked(log_p, array(target), weight, reduction, ignore_index, self.dtype)
    if not smooth:
        return wrap(hard, self.dtype)
    return wrap((1 - smooth) * hard + smooth / classes * _uniform(
        log_p, array(target), weight, reduction, ignore_index, axis), self.dtype)  # fmt: skip


def _uniform(log_p: Array, at: Array, weight: Any, reduction: int, ignore: int, axis: int) -> Array:
    """The part of label smoothing that spreads over all classes."""
    valid = at != ignore
    w = np.ones(log_p.shape[axis], log_p.dtype) if weight is None else compute(weight)
    shape = [1] * log_p.ndim
    shape[axis] = -1
    out = np.where(valid, -(log_p * w.reshape(shape)).sum(axis), 0).astype(log_p.dtype)
    if reduction == MEAN:
        scale = np.where(valid, w[np.where(valid, at, 0)], 0).sum()
        return np.asarray(np.divide(out.sum(dtype=log_p.dtype), scale))
    return np.asarray(out.sum(dtype=log_p.dtype)) if reduction == SUM else out


def poisson_nll(
    self: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: int
) -> Any:
    """`full` adds Stirling's approximation of log(target!); every step rounds to half types."""
    dtype = floating(promoted(self, target))
    x, y = cast(self, dtype), cast(target, dtype)

    def step(found: Array) -> Array:
        return rounded(found.astype(x.dtype), dtype)

    rate = np.exp(x) if log_input else x
    log_rate = x if log_input else step(np.log(step(x + x.dtype.type(eps))))
    out = step(step(rate) - step(y * log_rate))
    if full:
        lower = step(step(y * step(np.log(y))) - y)
        stirling = step(lower + step(0.5 * step(np.log(step(2 * np.pi * y)))))
        out = step(out + np.where(y > 1, stirling, 0))
    return wrap(reduced(out, reduction), dtype)


def soft_margin(self: Any, target: Any, reduction: int = MEAN) -> Any:
    """log(1 + exp(-target * input)); the power rounds (and overflows) in the operands' dtype."""
    dtype = promoted(self, target)
    a, b = cast(self, dtype), cast(target, dtype)
    check_broadcast(a, b)
    out = np.log1p(rounded(np.exp(rounded(-a * b, dtype)), dtype))
    return wrap(reduced(rounded(out, dtype), reduction, dtype), dtype)


def hinge_embedding(self: Any, target: Any, margin: float = 1.0, reduction: int = MEAN) -> Any:
    """The input where the target is 1, max(0, margin - input) where it is -1."""
    dtype = promoted(self, target)
    a, b = cast(self, dtype), cast(target, dtype)
    check_broadcast(b, a)
    apart = np.maximum(rounded(a.dtype.type(margin) - a, dtype), 0)
    out = np.where(b != 1, apart, 0) + np.where(b != -1, a, 0)
    return wrap(reduced(rounded(out.astype(a.dtype), dtype), reduction, dtype), dtype)


KERNELS: dict[str, Kernel] = {
    "aten::mse_loss": pairwise(lambda a, b: (a - b) * (a - b)),
    "aten::l1_loss": pairwise(lambda a, b: np.abs(a - b)),
    "aten::smooth_l1_loss": pairwise(_smooth_l1),
    "aten::huber_loss": pairwise(_huber),
    "aten::kl_div": lambda self, target, reduction=MEAN, log_target=False: pairwise(_kl)(
        self, target, reduction, log_target
    ),
    "aten::soft_margin_loss": soft_margin,
    "aten::hinge_embedding_loss": hinge_embedding,
    "aten::binary_cross_entropy": binary_cross_entropy,
    "aten::binary_cross_entropy_with_logits": bce_with_logits,
    "aten::nll_loss": nll_loss,
    "aten::nll_loss2d": nll_loss,
    "aten::nll_loss_nd": nll_loss,
    "aten::cross_entropy_loss": cross_entropy,
    "aten::poisson_nll_loss": poisson_nll,
}
