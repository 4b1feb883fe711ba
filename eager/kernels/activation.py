"""Activation functions, softmax and dropout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.dtypes import DType, bfloat16, bool_, float16, float32
from tensorscript.base.errors import OperatorError, ValueRangeError

from ..random import DEFAULT_GENERATOR
from ..storage import Array, array, cast, compute, floating, promoted, wrap
from .elementwise import logistic
from .pointwise import operand
from .shapes import normal_dim
from .special import erf

Kernel = Callable[..., Any]


def parametric(fn: Callable[..., Any]) -> Kernel:
    """A kernel `fn(x, *parameters)` that keeps the dtype."""
    return lambda self, *p: wrap(fn(compute(self), *p).astype(compute(self).dtype), self.dtype)


def hardshrink(self: Any, lambd: float = 0.5) -> Any:
    """0 within the bounds, which are of the dtype of `self`."""
    x = compute(self)
    return wrap(np.where(np.abs(x) <= operand(lambd, self.dtype), x.dtype.type(0), x), self.dtype)


def threshold(self: Any, limit: Any, fill: Any) -> Any:
    """`fill` where `self` is at most `limit`; both are first of the dtype of `self`, the limit of
    half types of float32."""
    kinds = float32 if self.dtype in (float16, bfloat16) else self.dtype, self.dtype
    bound, other = compute(wrap(limit, kinds[0])), compute(wrap(fill, kinds[1]))
    x = compute(self)
    return wrap(np.where(x <= bound, other, x), self.dtype)


def gelu(self: Any, approximate: str = "none") -> Any:
    x = compute(self)
    if approximate == "tanh":
        inner = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
        return wrap((0.5 * x * (1 + np.tanh(inner))).astype(x.dtype), self.dtype)
    wide = x.astype(np.float64)
    return wrap((0.5 * wide * (1 + erf(wide / np.sqrt(2)))).astype(x.dtype), self.dtype)


def _softplus(x: Array, beta: float = 1.0, threshold: float = 20.0) -> Array:
    scaled = x * x.dtype.type(beta)
    return np.where(scaled > threshold, x, np.log1p(np.exp(scaled)) / beta)


def _elu(x: Array, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Array:
    return np.where(x > 0, x * scale, np.expm1(x * input_scale) * alpha * scale)


SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def _logsigmoid(x: Array) -> Array:
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


def prelu(self: Any, weight: Any) -> Any:
    """One slope, or one for each channel (dimension 1)."""
    if self.dtype is not weight.dtype:
        raise OperatorError(
            f"prelu: Type promoting not supported. Got {self.dtype.word} and {weight.dtype.word}"
        )
    if array(weight).ndim > 1:
        raise OperatorError(
            "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim ="
            f" {array(weight).ndim}"
        )
    x, w = compute(self), compute(weight)
    if w.size != 1:
        if x.ndim == 0:
            raise OperatorError("Not allow zero-dim input tensor.")
        channels = x.shape[1] if x.ndim > 1 else 1
        if w.size != channels:
            raise OperatorError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{w.size} and channel size = {channels}."
            )
    if w.size > 1 and x.ndim > 1:
        w = w.reshape(-1, *[1] * (x.ndim - 2))
    elif w.ndim:
        w = w.reshape(-1) if w.size > 1 else w.reshape(())
    return wrap(np.where(x > 0, x, w * x), self.dtype)


def glu(self: Any, dim: int = -1) -> Any:
    x = compute(self)
    axis = normal_dim(dim, x.ndim)
    if x.shape[axis] % 2:
        raise OperatorError(
            f"Halving dimension must be even, but dimension {axis} is size {x.shape[axis]}"
        )
    a, b = np.split(x, 2, axis)
    return wrap(a * logistic(b), self.dtype)


def softmax_array(x: Array, axis: int, log: bool) -> Array:
    """softmax along `axis`, shifted by the maximum."""
    if x.ndim == 0:
        return softmax_array(x.reshape(1), 0, log).reshape(())
    shifted = x - x.max(axis=axis, keepdims=True) if x.shape[axis] else x
    exponent = np.exp(shifted)
    total = exponent.sum(axis=axis, keepdims=True)
    return np.asarray(shifted - np.log(total) if log else exponent / total)


def softmax(log: bool) -> Kernel:
    def run(self: Any, dim: int, dtype: Any = None) -> Any:
        out = dtype or self.dtype
        x = cast(self, out)
        return wrap(softmax_array(x, normal_dim(dim, x.ndim), log), out)

    return run


def softmax_backward(grad: Any, output: Any, dim: int, dtype: DType) -> Any:
    g, y = compute(grad), compute(output)
    found = y * (g - (g * y).sum(axis=normal_dim(dim, y.ndim), keepdims=True))
    return wrap(found, output.dtype)


def log_softmax_backward(grad: Any, output: Any, dim: int, dtype: DType) -> Any:
    g, y = compute(grad), compute(output)
    total = g.sum(axis=normal_dim(dim, y.ndim), keepdims=True)
    return wrap(g - np.exp(y) * total, output.dtype)


def safe_softmax(self: Any, dim: int, dtype: DType | None = None) -> Any:
    """softmax whose rows of nothing but -inf are 0."""
    x = compute(self)
    found = softmax(log=False)(self, dim, dtype)
    empty = np.isneginf(x).all(axis=normal_dim(dim, x.ndim), keepdims=True)
    return wrap(np.where(empty, 0, compute(found)), found.dtype)


def keep_mask(shape: tuple[int, ...], p: float) -> Array:
    """Bernoulli(1 - p) as bool."""
    if not 0 <= p <= 1:
        raise OperatorError(f"dropout probability has to be between 0 and 1, but got {p}")
    count = int(np.prod(shape, dtype=np.int64))
    return np.asarray(DEFAULT_GENERATOR.uniform(count, True) < 1 - p).reshape(shape)


def _dropped(x: Array, p: float, mask_shape: tuple[int, ...]) -> Array:
    if p == 1:
        keep_mask(mask_shape, p)
        return np.zeros_like(x)
    return np.asarray(x * (keep_mask(mask_shape, p) / (1 - p)).astype(x.dtype))


def dropout(self: Any, p: float, train: bool) -> Any:
    if not 0 <= p <= 1:
        raise OperatorError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not train or p == 0:
        return self
    x = compute(self)
    return wrap(_dropped(x, p, x.shape), self.dtype)


def dropout_(self: Any, p: float, train: bool) -> Any:
    self._array[...] = dropout(self, p, train)._array
    return self


def feature_dropout(self: Any, p: float, train: bool) -> Any:
    if not train or p == 0:
        return self
    x = compute(self)
    return wrap(_dropped(x, p, _by_channel(x.shape)), self.dtype)


def _by_channel(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[:2], *[1] * (len(shape) - 2))


_ALPHA_PRIME = -SELU_ALPHA * SELU_SCALE
"""What SELU tends to far below 0, and what alpha dropout puts for an element."""


def alpha_dropout(shape_of: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Kernel:
    """Dropout that keeps mean and variance of SELU's output (Klambauer and others, 2017);
    `shape_of` the shape that one draw covers."""

    def run(self: Any, p: float, train: bool) -> Any:
        if not 0 <= p <= 1:
            raise OperatorError(f"dropout probability has to be between 0 and 1, but got {p}")
        if not train or p == 0:
            return self
        x = compute(self)
        if p == 1:
            return wrap(np.zeros_like(x), self.dtype)
        mask = keep_mask(shape_of(x.shape), p)
        scale = 1 / np.sqrt((_ALPHA_PRIME**2 * p + 1) * (1 - p))
        out = np.where(mask, x, _ALPHA_PRIME) * scale - scale * p * _ALPHA_PRIME
        return wrap(out.astype(x.dtype), self.dtype)

    return run


def native_dropout(self: Any, p: float, train: bool | None) -> Any:
    """The scaled elements and the mask of those kept."""
    x = compute(self)
    if train is False:
        return wrap(x.copy(), self.dtype), wrap(np.ones(x.shape, bool), bool_)
    mask = keep_mask(x.shape, p)
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return wrap((x * mask * scale).astype(x.dtype), self.dtype), wrap(mask, bool_)


def native_dropout_backward(grad: Any, mask: Any, scale: float) -> Any:
    """grad * mask * scale; the first product stays in the dtype of both."""
    both = promoted(grad, mask)
    dtype = floating(both)
    product = cast(wrap(cast(grad, both) * cast(mask, both), both), dtype)
    return wrap(product * product.real.dtype.type(scale), dtype)


def hardtanh(self: Any, lower: Any = -1, upper: Any = 1) -> Any:
    if lower > upper:
        raise ValueRangeError("max_val must be >= min_val")
    x = compute(self)
    return wrap(np.clip(x, x.dtype.type(lower), x.dtype.type(upper)), self.dtype)


def rrelu(self: Any, lower: Any = 0.125, upper: Any = 1 / 3, training: bool = False,
          generator: Any = None) -> Any:  # fmt: skip
    if lower > upper:
        raise OperatorError("Lower bound should be less than or equal to the upper bound")
    x = compute(self)
    slope: Any = (lower + upper) / 2
    if training:  # numbers are drawn for what is not positive alone
        low, slope = x <= 0, np.ones(x.shape)
        drawn = (generator or DEFAULT_GENERATOR).uniform(int(low.sum()), True)
        slope[low] = lower + (upper - lower) * drawn
    return wrap(np.where(x >= 0, x, (x * slope).astype(x.dtype)), self.dtype)


KERNELS: dict[str, Kernel] = {
    "aten::gelu": gelu,
    "aten::silu": parametric(lambda x: x * logistic(x)),
    "aten::mish": parametric(lambda x: x * np.tanh(_softplus(x))),
    "aten::relu6": parametric(lambda x: np.clip(x, 0, 6)),
    "aten::hardtanh": hardtanh,
    "aten::hardsigmoid": parametric(lambda x: np.clip(x + 3, 0, 6) / 6),
    "aten::hardswish": parametric(lambda x: x * np.clip(x + 3, 0, 6) / 6),
    "aten::leaky_relu": parametric(lambda x, s=0.01: np.where(x > 0, x, x * x.dtype.type(s))),
    "aten::elu": parametric(_elu),
    "aten::selu": parametric(lambda x: _elu(x, SELU_ALPHA, SELU_SCALE)),
    "aten::celu": parametric(lambda x, a=1.0: np.maximum(x, 0) + np.minimum(
        a * np.expm1(np.minimum(x, 0) / a), 0)),
    "aten::softplus": parametric(_softplus),
    "aten::log_sigmoid": parametric(_logsigmoid),
    "aten::hardshrink": hardshrink,
    "aten::softshrink": parametric(
        lambda x, t=0.5: np.where(x > t, x - t, np.where(x < -t, x + t, x * 0))
    ),
    "aten::threshold": threshold,
    "aten::prelu": prelu,
    "aten::glu": glu,
    "aten::rrelu": rrelu,
    "aten::softmax.int": softmax(log=False),
    "aten::_softmax": lambda self, dim, half: softmax(log=False)(self, dim),
    "aten::log_softmax.int": softmax(log=True),
    "aten::_log_softmax": lambda self, dim, half: softmax(log=True)(self, dim),
    "aten::special_softmax": softmax(log=False),
    "aten::special_log_softmax": softmax(log=True),
    "aten::dropout": dropout,
    "aten::dropout_": dropout_,
    "aten::feature_dropout": feature_dropout,
    "aten::alpha_dropout": alpha_dropout(lambda shape: shape),
    "aten::feature_alpha_dropout": alpha_dropout(_by_channel),
    "aten::native_dropout": native_dropout,
    "aten::native_dropout_backward": native_dropout_backward,
    "aten::_softmax_backward_data": softmax_backward,
    "aten::_log_softmax_backward_data": log_softmax_backward,
    "aten::_safe_softmax": safe_softmax,
}  # fmt: skip
