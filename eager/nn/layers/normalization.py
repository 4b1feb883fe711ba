"""Normalisation over the last dimensions, groups of channels, and neighbouring channels."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from ... import namespace as ts
from ...tensor import Tensor
from .. import functional as F
from .. import init
from .layer import Layer, optional_parameter


class _AffineNorm(Layer):
    """A norm with an optional weight of ones and an optional bias of zeros."""

    def _make_affine(self, sizes: Any, affine: bool, bias: bool, device: Any, dtype: Any) -> None:
        optional_parameter(self, "weight", affine, sizes, device, dtype)
        optional_parameter(self, "bias", affine and bias, sizes, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


def _shape(normalized_shape: Any) -> tuple[int, ...]:
    if isinstance(normalized_shape, Integral):
        return (int(normalized_shape),)
    return tuple(normalized_shape)


class LayerNorm(_AffineNorm):
    """Mean 0 and variance 1 over the last dimensions."""

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]
    _text = (
        "{normalized_shape}, eps={eps}, elementwise_affine={elementwise_affine}, bias={has_bias}"
    )
    normalized_shape: tuple[int, ...]
    eps: float
    elementwise_affine: bool

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True,
        bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._make_affine(self.normalized_shape, elementwise_affine, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class GroupNorm(_AffineNorm):
    """Mean 0 and variance 1 over every group of channels."""

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]
    _text = "{num_groups}, {num_channels}, eps={eps}, affine={affine}, bias={has_bias}"
    num_groups: int
    num_channels: int
    eps: float
    affine: bool

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
        device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._make_affine(num_channels, affine, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class RMSNorm(Layer):
    """Root mean square 1 over the last dimensions."""

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]
    _text = "{normalized_shape}, eps={eps}, elementwise_affine={elementwise_affine}"
    normalized_shape: tuple[int, ...]
    eps: float | None
    elementwise_affine: bool

    def __init__(
        self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        sizes = self.normalized_shape
        optional_parameter(self, "weight", elementwise_affine, sizes, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)


class LocalResponseNorm(Layer):
    """Division by the mean square over `size` neighbouring channels."""

    __constants__ = ["size", "alpha", "beta", "k"]
    _text = "{size}, alpha={alpha}, beta={beta}, k={k}"
    size: int
    alpha: float
    beta: float
    k: float

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, float(self.k))


class CrossMapLRN2d(LocalResponseNorm):
    """Each element of (N, C, H, W) over a power of the squares of neighbouring channels.

    As in PyTorch the sum moves from channel to channel, and never lets go of the first one.
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        squares, channels = input.pow(2), input.size(1)
        reach = (self.size - 1) // 2 + 1
        total = ts.zeros_like(squares[:, 0])
        for c in range(min(reach, channels)):
            total = total + squares[:, c]
        sums = [total]
        for c in range(1, channels):
            if c + reach <= channels:
                total = total + squares[:, c + reach - 1]
            if c > reach:
                total = total - squares[:, c - reach]
            sums.append(total)
        scale = ts.stack(sums, 1) * (self.alpha / self.size) + self.k
        return scale.pow(-self.beta) * input
