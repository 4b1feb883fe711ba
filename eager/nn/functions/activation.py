"""Activations: operators with an in-place form, softmax along a dimension found by itself."""

from __future__ import annotations

import warnings

from tensorscript.base.dtypes import DType

from ... import namespace as ts
from ...tensor import Tensor


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return ts.relu_(input)
    return ts.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return ts.relu6_(input)
    return ts.relu6(input)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return ts.selu_(input)
    return ts.selu(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return ts.silu_(input)
    return ts.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return ts.mish_(input)
    return ts.mish(input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return ts.hardsigmoid_(input)
    return ts.hardsigmoid(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return ts.hardswish_(input)
    return ts.hardswish(input)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    if inplace:
        return ts.elu_(input, alpha)
    return ts.elu(input, alpha)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    if inplace:
        return ts.celu_(input, alpha)
    return ts.celu(input, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    if inplace:
        return ts.leaky_relu_(input, negative_slope)
    return ts.leaky_relu(input, negative_slope)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if inplace:
        return ts.hardtanh_(input, min_val, max_val)
    return ts.hardtanh(input, min_val, max_val)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    if inplace:
        return ts.threshold_(input, threshold, value)
    return ts.threshold(input, threshold, value)


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """Leaky ReLU whose slope is random in [lower, upper] in training and their mean else."""
    if inplace:
        return ts.rrelu_(input, lower, upper, training)
    return ts.rrelu(input, lower, upper, training)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """One half times the sigmoid of the other."""
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return ts.glu(input, dim)


def logsigmoid(input: Tensor) -> Tensor:
    return ts.log_sigmoid(input)


def softsign(input: Tensor) -> Tensor:
    return input / (ts.abs(input) + 1)


def tanhshrink(input: Tensor) -> Tensor:
    return input - ts.tanh(input)


def _softmax_dim(name: str, ndim: int) -> int:
    """The dimension that softmax takes when it is told none."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument.",
        stacklevel=2,
    )
    if ndim == 0 or ndim == 1 or ndim == 3:
        return 0
    return 1


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None
) -> Tensor:
    if dim is None:
        dim = _softmax_dim("softmax", input.dim())
    return ts.softmax(input, dim, dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None
) -> Tensor:
    if dim is None:
        dim = _softmax_dim("log_softmax", input.dim())
    return ts.log_softmax(input, dim, dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None
) -> Tensor:
    if dim is None:
        dim = _softmax_dim("softmin", input.dim())
    return ts.softmax(-input, dim, dtype)


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A sample of the relaxed categorical distribution; `hard` rounds it to one-hot.

    Eric Jang and others, "Categorical Reparameterization with Gumbel-Softmax", 2016.
    """
    gumbels = -ts.empty_like(logits, memory_format=ts.contiguous_format).exponential_().log()
    gumbels = (logits + gumbels) / tau
    y_soft = gumbels.softmax(dim)
    if not hard:
        return y_soft
    index = y_soft.max(dim, keepdim=True)[1]
    y_hard = ts.zeros_like(logits, memory_format=ts.contiguous_format).scatter_(dim, index, 1.0)
    return y_hard - y_soft.detach() + y_soft
