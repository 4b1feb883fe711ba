"""Activations: one class a function, with its parameters as constants."""

from __future__ import annotations

import warnings
from typing import Any

from ... import namespace as ts
from ...tensor import Tensor
from .. import functional as F
from .. import init as init_
from ..module import Module
from .layer import Layer, parameter


class _Inplace(Layer):
    """An activation whose only parameter is where it writes."""

    __constants__ = ["inplace"]
    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class _ShownInplace(_Inplace):
    """As `_Inplace`; its text tells."""

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ReLU(_ShownInplace):
    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, inplace=self.inplace)


class SiLU(_ShownInplace):
    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, inplace=self.inplace)


class Mish(_ShownInplace):
    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, inplace=self.inplace)


class SELU(_ShownInplace):
    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, inplace=self.inplace)


class Hardsigmoid(_Inplace):
    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, inplace=self.inplace)


class Hardswish(_Inplace):
    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, inplace=self.inplace)


class Sigmoid(Module):
    def forward(self, input: Tensor) -> Tensor:
        return ts.sigmoid(input)


class Tanh(Module):
    def forward(self, input: Tensor) -> Tensor:
        return ts.tanh(input)


class LogSigmoid(Module):
    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softsign(Module):
    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class _Parameterised(Layer):
    """An activation with parameters that may also write in place; its text tells both."""

    def extra_repr(self) -> str:
        return super().extra_repr() + (", inplace=True" if self.inplace else "")


class Threshold(_Parameterised):
    __constants__ = ["threshold", "value", "inplace"]
    _text = "threshold={threshold}, value={value}"
    threshold: float
    value: float
    inplace: bool

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)


class RReLU(_Parameterised):
    __constants__ = ["lower", "upper", "inplace"]
    _text = "lower={lower}, upper={upper}"
    lower: float
    upper: float
    inplace: bool

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class ELU(_Parameterised):
    __constants__ = ["alpha", "inplace"]
    _text = "alpha={alpha}"
    alpha: float
    inplace: bool

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class CELU(_Parameterised):
    __constants__ = ["alpha", "inplace"]
    _text = "alpha={alpha}"
    alpha: float
    inplace: bool

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class LeakyReLU(_Parameterised):
    __constants__ = ["inplace", "negative_slope"]
    _text = "negative_slope={negative_slope}"
    negative_slope: float
    inplace: bool

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class GLU(Layer):
    __constants__ = ["dim"]
    _text = "dim={dim}"
    dim: int

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)


class GELU(Layer):
    __constants__ = ["approximate"]
    _text = "approximate={approximate!r}"
    approximate: str

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)


class Hardshrink(Layer):
    __constants__ = ["lambd"]
    _text = "{lambd}"
    lambd: float

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


class Softshrink(Layer):
    __constants__ = ["lambd"]
    _text = "{lambd}"
    lambd: float

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class Softplus(Layer):
    __constants__ = ["beta", "threshold"]
    _text = "beta={beta}, threshold={threshold}"
    beta: float
    threshold: float

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)


class Softmin(Layer):
    __constants__ = ["dim"]
    _text = "dim={dim}"
    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax(Layer):
    __constants__ = ["dim"]
    _text = "dim={dim}"
    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(Layer):
    __constants__ = ["dim"]
    _text = "dim={dim}"
    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 3 and input.dim() != 4:
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead"
            )
        return F.softmax(input, -3, _stacklevel=5)


class Hardtanh(_Parameterised):
    """Clamp to [min_val, max_val]; `min_value` and `max_value` are the former names."""

    __constants__ = ["min_val", "max_val", "inplace"]
    _text = "min_val={min_val}, max_val={max_val}"
    min_val: float
    max_val: float
    inplace: bool

    def __init__(
        self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False,
        min_value: float | None = None, max_value: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.min_val = _renamed("min", min_val, min_value)
        self.max_val = _renamed("max", max_val, max_value)
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(
                f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})"
            )

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


def _renamed(end: str, current: float, former: float | None) -> float:
    if former is None:
        return current
    warnings.warn(
        f"keyword argument `{end}_value` is deprecated and renamed to `{end}_val`",
        FutureWarning,
        stacklevel=3,
    )
    return former


class ReLU6(Hardtanh):
    """Clamp to [0, 6]."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class PReLU(Layer):
    """Leaky ReLU with a learnt slope, one for all channels or one each."""

    __constants__ = ["num_parameters"]
    _text = "num_parameters={num_parameters}"
    num_parameters: int

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = parameter(num_parameters, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init_.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)
