"""Normalisations and attention."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import uint8
from tensorscript.base.errors import OperatorError

from ..storage import Array, array, compute, to_storage, wrap
from .activation import dropout, softmax_array
from .reduction import variance
from .shapes import broadcast, check_broadcast

Kernel = Callable[..., Any]


def _affine(x: Array, weight: Any, bias: Any, shape: tuple[int, ...]) -> Array:
    if weight is not None:
        x = x * compute(weight).reshape(shape)
    return x if bias is None else x + compute(bias).reshape(shape)


def _standard(x: Array, over: tuple[int, ...], eps: float) -> tuple[Array, Array, Array]:
    """(x - mean) / sqrt(var + eps) over some dimensions; also the mean and the scale."""
    count = math.prod(x.shape[d] for d in over)
    mean = np.divide(x.sum(axis=over, keepdims=True, dtype=x.dtype), x.dtype.type(count))
    scale = 1 / np.sqrt(variance(x, over, 0, True) + x.dtype.type(eps))
    return (x - mean) * scale, mean, scale


def _move(statistic: Any, momentum: float, new: Array) -> None:
    """A running statistic a step towards the batch's, in place."""
    mixed = (1 - momentum) * compute(statistic) + momentum * new
    array(statistic)[...] = to_storage(mixed, statistic.dtype)


def _batch_norm(
    self: Any, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float,
    eps: float,
) -> tuple[Any, Array, Array]:  # fmt: skip
    """The result, and the batch's mean and inverse deviation (empty unless training)."""
    x = compute(self)
    shape = (1, -1, *[1] * (x.ndim - 2))
    if x.ndim < 2:
        if x.size:
            raise OperatorError(f"Expected at least 2 dimensions, but got {x.ndim}")
        return wrap(x.copy(), self.dtype), x, x
    if not training:
        scale = 1 / np.sqrt(compute(var) + x.dtype.type(eps))
        out = (x - compute(mean).reshape(shape)) * scale.reshape(shape).astype(x.dtype)
        none = np.zeros(0, x.dtype)
        return wrap(_affine(out, weight, bias, shape), self.dtype), none, none
    over = (0, *range(2, x.ndim))
    out, centre, inverse = _standard(x, over, eps)
    if mean is not None:
        _move(mean, momentum, centre.reshape(-1))
        _move(var, momentum, variance(x, over, 1, False))
    return wrap(_affine(out, weight, bias, shape), self.dtype), centre, inverse


def batch_norm(
    self: Any, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float,
    eps: float, cudnn: bool = True,
) -> Any:  # fmt: skip
    """x (N, C, *). Training uses the batch and moves the running statistics in place; a batch
    without elements has no statistics and moves none."""
    if self.numel() == 0:
        return wrap(compute(self).copy(), self.dtype)
    for name, found in (("mean", mean), ("var", var)):
        if found is None and not training:
            raise OperatorError(f"running_{name} must be defined in evaluation mode")
    return _batch_norm(self, weight, bias, mean, var, training, momentum, eps)[0]


def native_batch_norm(
    self: Any, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float,
    eps: float,
) -> Any:  # fmt: skip
    """Also the batch's mean and inverse deviation."""
    out, *saved = _batch_norm(self, weight, bias, mean, var, training, momentum, eps)
    kept = (
        self.dtype
        if weight is None and mean is None
        else (mean if weight is None else weight).dtype
    )
    return out, *(wrap(part.reshape(-1), kept) for part in saved)


def _without_statistics(
    self: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float
) -> Any:
    return native_batch_norm(self, weight, bias, None, None, training, momentum, eps)


def _without_training(
    self: Any, weight: Any, bias: Any, mean: Any, var: Any, momentum: float, eps: float
) -> Any:
    return native_batch_norm(self, weight, bias, mean, var, False, momentum, eps)


def _with_update(
    self: Any, weight: Any, bias: Any, mean: Any, var: Any, momentum: float, eps: float
) -> Any:
    parts = native_batch_norm(self, weight, bias, mean, var, True, momentum, eps)
    return (*parts, wrap(np.zeros(0, np.uint8), uint8))


def _check_normalized(shape: tuple[int, ...], weight: Any) -> None:
    if not shape:
        raise OperatorError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            "element, but got normalized_shape = []"
        )
    if weight is not None and compute(weight).shape != shape:
        raise OperatorError(
            "Expected weight to be of same shape as normalized_shape, but got weight of shape "
            f"{list(compute(weight).shape)} and normalized_shape = {list(shape)}"
        )


def layer_norm(
    self: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None,
    eps: float = 1e-5, cudnn: bool = True,
) -> Any:  # fmt: skip
    x = compute(self)
    shape = tuple(normalized_shape)
    _check_normalized(shape, weight)
    if x.shape[x.ndim - len(shape) :] != shape:
        raise OperatorError(
            f"Given normalized_shape={list(shape)}, expected input with shape "
            f"[*, {', '.join(map(str, shape))}], but got input of size{list(x.shape)}"
        )
    out, mean, scale = _standard(x, tuple(range(-len(shape), 0)), eps)
    if self.dtype.itemsize == 2:  # x * scale is not rounded before -mean * scale is added
        out = (x * scale.astype(np.float64) - mean * scale).astype(x.dtype)
    return wrap(_affine(out, weight, bias, shape), self.dtype)


def native_layer_norm(self: Any, shape: Sequence[int], weight: Any, bias: Any, eps: float) -> Any:
    x = compute(self)
    _check_normalized(tuple(shape), weight)
    _, mean, scale = _standard(x, tuple(range(-len(shape), 0)), eps)
    kept = self.dtype if weight is None or weight.dtype is self.dtype else weight.dtype
    return layer_norm(self, shape, weight, bias, eps), wrap(mean, kept), wrap(scale, kept)


def rms_norm(
    self: Any, normalized_shape: Sequence[int], weight: Any = None, eps: float | None = None
) -> Any:
    x = compute(self)
    _check_normalized(tuple(normalized_shape), weight)
    if x.shape[x.ndim - len(normalized_shape) :] != tuple(normalized_shape):
        raise OperatorError(
            f"Given normalized_shape={list(normalized_shape)}, expected input with shape "
            f"[*{', '.join(map(str, normalized_shape))}], but got input of size{list(x.shape)}"
        )
    over = tuple(range(-len(normalized_shape), 0))
    small = np.finfo(x.dtype).eps if eps is None else eps
    mean_square = np.asarray((x * x).mean(axis=over, keepdims=True, dtype=x.dtype))
    out = x / np.sqrt(mean_square + x.dtype.type(small))
    return wrap(_affine(out, weight, None, tuple(normalized_shape)), self.dtype)


def group_norm(
    self: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5,
    cudnn: bool = True,
) -> Any:  # fmt: skip
    return _group_norm(self, groups, weight, bias, eps)[0]


def _group_norm(
    self: Any, groups: int, weight: Any, bias: Any, eps: float
) -> tuple[Any, Array, Array]:
    """The result, and mean and inverse deviation (N, groups)."""
    x = compute(self)
    grouped = x.reshape(x.shape[0], groups, x[:1].size // groups if x.size else 0)
    out, mean, scale = _standard(grouped, (2,), eps)
    shape = (1, -1, *[1] * (x.ndim - 2))
    found = wrap(_affine(out.reshape(x.shape), weight, bias, shape), self.dtype)
    return found, mean[..., 0], scale[..., 0]


def native_group_norm(
    self: Any, weight: Any, bias: Any, n: int, c: int, size: int, groups: int, eps: float
) -> Any:
    out, *parts = _group_norm(self, groups, weight, bias, eps)
    kept = self.dtype if weight is None else weight.dtype
    return out, *(wrap(part, kept) for part in parts)


def instance_norm(
    self: Any, weight: Any, bias: Any, mean: Any, var: Any, use_input_stats: bool,
    momentum: float, eps: float, cudnn: bool = True,
) -> Any:  # fmt: skip
    if (mean is None) != (var is None):
        raise OperatorError(
            "running_mean and running_var must either both be None or neither be None"
        )
    if not use_input_stats:
        if mean is None:
            raise OperatorError(
                "Expected running_mean and running_var to be defined when use_input_stats is false"
            )
        return batch_norm(self, weight, bias, mean, var, False, momentum, eps)
    x = compute(self)
    over = tuple(range(2, x.ndim))
    out, centre, _ = _standard(x, over, eps)
    if mean is not None:
        _move(mean, momentum, centre.reshape(x.shape[:2]).mean(0))
        _move(var, momentum, variance(x, over, 1, False).mean(0))
    return wrap(_affine(out, weight, bias, (1, -1, *[1] * (x.ndim - 2))), self.dtype)


def norm_except_dim(v: Any, pow: int = 2, dim: int = 0) -> Any:
    """The p-norm over all dimensions but one; over all of them, as one number, for dim -1."""
    if not (v.dtype.is_floating_point or v.dtype.is_complex):
        raise OperatorError(
            "norm(): input dtype should be either floating point or complex. Got "
            f"{v.dtype.word} instead."
        )
    x = np.abs(compute(v)) ** pow
    if dim == -1:
        return wrap(x.sum() ** (1 / pow), v.dtype)
    over = tuple(a for a in range(x.ndim) if a != dim)
    return wrap(x.sum(axis=over, keepdims=True) ** (1 / pow), v.dtype)


def weight_norm(v: Any, g: Any, dim: int = 0) -> Any:
    return wrap(compute(v) * (compute(g) / compute(norm_except_dim(v, 2, dim))), v.dtype)


def attention(
    query: Any, key: Any, value: Any, mask: Any = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """softmax(q k^T * scale + mask) v over the last two dimensions."""
    q, k, v = compute(query), compute(key), compute(value)
    if enable_gqa and k.shape[-3] != q.shape[-3]:
        k = np.repeat(k, q.shape[-3] // k.shape[-3], -3)
        v = np.repeat(v, q.shape[-3] // v.shape[-3], -3)
    broadcast(q.shape[:-2], k.shape[:-2])
    factor = max(q.shape[-1], 1) ** -0.5 if scale is None else scale
    scores = np.matmul(q, k.swapaxes(-1, -2)) * q.dtype.type(factor)
    if is_causal:
        allowed = np.tril(np.ones(scores.shape[-2:], bool))
        scores = np.where(allowed, scores, -np.inf).astype(q.dtype)
    if mask is not None:
        check_broadcast(scores, m := compute(mask))
        scores = np.where(m, scores, -np.inf).astype(q.dtype) if m.dtype == bool else scores + m
    weights = softmax_array(scores, -1, log=False)
    weights = np.where(np.isneginf(scores).all(-1, keepdims=True), 0, weights).astype(q.dtype)
    if dropout_p:
        weights = compute(dropout(wrap(weights, query.dtype), dropout_p, True))
    return wrap(np.matmul(weights, v), query.dtype)


KERNELS: dict[str, Kernel] = {
    "aten::batch_norm": batch_norm,
    "aten::layer_norm": layer_norm,
    "aten::native_layer_norm": native_layer_norm,
    "aten::rms_norm": rms_norm,
    "aten::native_batch_norm": native_batch_norm,
    "aten::_native_batch_norm_legit": native_batch_norm,
    "aten::_native_batch_norm_legit.no_stats": _without_statistics,
    "aten::_native_batch_norm_legit_no_training": _without_training,
    "aten::_batch_norm_with_update": _with_update,
    "aten::native_group_norm": native_group_norm,
    "aten::group_norm": group_norm,
    "aten::instance_norm": instance_norm,
    "aten::_weight_norm": weight_norm,
    "aten::norm_except_dim": norm_except_dim,
    "aten::scaled_dot_product_attention": attention,
}
