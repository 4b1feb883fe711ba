"""Products with a weight: Identity, Linear, Bilinear."""

from __future__ import annotations

import math
from typing import Any

from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..module import Module
from .layer import Layer, optional_parameter, parameter


class Identity(Module):
    """Its input; takes any arguments and forgets them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


def bias_bound(weight: Tensor) -> float:
    """1 / sqrt(fan_in): the bound of the uniform distribution that a bias starts from."""
    fan_in = init._calculate_fan_in_and_fan_out(weight)[0]
    return 1 / math.sqrt(fan_in) if fan_in > 0 else 0


class Linear(Layer):
    """x W^T + b: (*, in_features) to (*, out_features)."""

    __constants__ = ["in_features", "out_features"]
    _text = "in_features={in_features}, out_features={out_features}, bias={has_bias}"
    in_features: int
    out_features: int
    weight: Tensor

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = parameter((out_features, in_features), device, dtype)
        optional_parameter(self, "bias", bias, out_features, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = bias_bound(self.weight)
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)


class NonDynamicallyQuantizableLinear(Linear):
    """Linear; attention's output projection has a class of its own in saved models."""


class Bilinear(Layer):
    """x1 W x2 + b: (*, in1_features) and (*, in2_features) to (*, out_features)."""

    __constants__ = ["in1_features", "in2_features", "out_features"]
    _text = (
        "in1_features={in1_features}, in2_features={in2_features}, out_features={out_features}, "
        "bias={has_bias}"
    )
    in1_features: int
    in2_features: int
    out_features: int
    weight: Tensor

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = parameter((out_features, in1_features, in2_features), device, dtype)
        optional_parameter(self, "bias", bias, out_features, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.in1_features <= 0:
            raise ValueError(
                f"in1_features must be > 0, but got (in1_features={self.in1_features})"
            )
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)
