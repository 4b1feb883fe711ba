"""Convolutions and transposed convolutions in one to three dimensions."""

from __future__ import annotations

import math
from typing import Any

from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..functions.types import annotate
from ..tuples import _pair, _single, _triple, ntuple
from .layer import Layer, optional_parameter, parameter
from .linear import bias_bound

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Layer):
    """Checks, parameters and text of all convolutions."""

    __constants__ = [
        "stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels",
        "out_channels", "kernel_size",
    ]  # fmt: skip
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: str | tuple[int, ...]
    dilation: tuple[int, ...]
    transposed: bool
    output_padding: tuple[int, ...]
    groups: int
    padding_mode: str
    weight: Tensor
    bias: Tensor | None
    _reversed_padding_repeated_twice: list[int]

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: tuple[int, ...],
        stride: tuple[int, ...], padding: str | tuple[int, ...], dilation: tuple[int, ...],
        transposed: bool, output_padding: tuple[int, ...], groups: int, bias: bool,
        padding_mode: str, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        _check(in_channels, out_channels, stride, padding, groups, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = _margins(padding, dilation, kernel_size)
        outer, inner = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        self.weight = parameter((outer, inner // groups, *kernel_size), device, dtype)
        optional_parameter(self, "bias", bias, out_channels, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None and bias_bound(self.weight) > 0:
            bound = bias_bound(self.weight)
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        text = "{in_channels}, {out_channels}, kernel_size={kernel_size}, stride={stride}"
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            if getattr(self, name) != (usual,) * len(getattr(self, name)):
                text += f", {name}={{{name}}}"
        if self.groups != 1:
            text += ", groups={groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += ", padding_mode={padding_mode}"
        return text.format(**self.__dict__)


def _check(
    in_channels: int, out_channels: int, stride: tuple[int, ...], padding: Any, groups: int,
    padding_mode: str,
) -> None:  # fmt: skip
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups != 0:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups != 0:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(padding, str) and padding not in ("same", "valid"):
        raise ValueError(
            f"Invalid padding string {padding!r}, should be one of {{'valid', 'same'}}"
        )
    if padding == "same" and any(s != 1 for s in stride):
        raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in _PADDING_MODES:
        raise ValueError(
            f"padding_mode must be one of {_PADDING_MODES}, but got padding_mode='{padding_mode}'"
        )


def _margins(padding: Any, dilation: tuple[int, ...], kernel_size: tuple[int, ...]) -> list[int]:
    """What `pad` takes for a padding: both sides of every dimension, the last one first."""
    if padding == "valid":
        return [0, 0] * len(kernel_size)
    if padding != "same":
        return [side for size in reversed(padding) for side in (size, size)]
    found: list[int] = []
    for d, k in zip(reversed(dilation), reversed(kernel_size), strict=True):
        total = d * (k - 1)
        found += [total // 2, total - total // 2]
    return found


class Conv1d(_ConvNd):
    """(N, in_channels, sizes) to (N, out_channels, sizes) in 1 dimension."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, _single(kernel_size), _single(stride),
            padding if isinstance(padding, str) else _single(padding), _single(dilation), False,
            _single(0), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.padding_mode != "zeros":
            padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            return F.conv1d(
                padded, weight, bias, self.stride, _single(0), self.dilation, self.groups
            )
        return F.conv1d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv2d(_ConvNd):
    """(N, in_channels, sizes) to (N, out_channels, sizes) in 2 dimensions."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, _pair(kernel_size), _pair(stride),
            padding if isinstance(padding, str) else _pair(padding), _pair(dilation), False,
            _pair(0), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.padding_mode != "zeros":
            padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            return F.conv2d(padded, weight, bias, self.stride, _pair(0), self.dilation, self.groups)
        return F.conv2d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv3d(_ConvNd):
    """(N, in_channels, sizes) to (N, out_channels, sizes) in 3 dimensions."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, _triple(kernel_size), _triple(stride),
            padding if isinstance(padding, str) else _triple(padding), _triple(dilation), False,
            _triple(0), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.padding_mode != "zeros":
            padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            return F.conv3d(
                padded, weight, bias, self.stride, _triple(0), self.dilation, self.groups
            )
        return F.conv3d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class _ConvTransposeNd(_ConvNd):
    """Transposed convolutions: the strides of the input become steps of the output."""

    _dims = 0

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, output_padding: Any = 0, groups: int = 1, bias: bool = True,
        dilation: Any = 1, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        spread = ntuple(self._dims)
        super().__init__(
            in_channels, out_channels, spread(kernel_size), spread(stride), spread(padding),
            spread(dilation), True, spread(output_padding), groups, bias, padding_mode, device,
            dtype,
        )  # fmt: skip

    def _output_padding(
        self,
        input: Tensor,
        output_size: list[int] | None,
        stride: list[int],
        padding: list[int],
        kernel_size: list[int],
        num_spatial_dims: int,
        dilation: list[int],
    ) -> list[int]:
        """What is added to the smallest output so that it has `output_size`."""
        if output_size is None:
            return _single(self.output_padding)
        before = 2 if input.dim() == num_spatial_dims + 2 else 1
        if len(output_size) == before + num_spatial_dims:
            output_size = output_size[before:]
        if len(output_size) != num_spatial_dims:
            raise ValueError(
                f"ConvTranspose{num_spatial_dims}D: for {input.dim()}D input, output_size must "
                f"have {num_spatial_dims} or {before + num_spatial_dims} elements (got "
                f"{len(output_size)})"
            )
        smallest = annotate(list[int], [])
        largest = annotate(list[int], [])
        for d in range(num_spatial_dims):
            size = (input.size(d + before) - 1) * stride[d] - 2 * padding[d]
            size = size + dilation[d] * (kernel_size[d] - 1) + 1
            smallest.append(size)
            largest.append(size + stride[d] - 1)
        found = annotate(list[int], [])
        for d in range(num_spatial_dims):
            if output_size[d] < smallest[d] or output_size[d] > largest[d]:
                raise ValueError(
                    f"requested an output size of {output_size}, but valid sizes range from "
                    f"{smallest} to {largest} (for an input of {input.size()[2:]})"
                )
            found.append(output_size[d] - smallest[d])
        return found


class ConvTranspose1d(_ConvTransposeNd):
    """(N, in_channels, sizes) to (N, out_channels, larger sizes) in 1 dimension."""

    _dims = 1

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        added = self._output_padding(
            input, output_size, self.stride, self.padding, self.kernel_size, 1, self.dilation
        )
        return F.conv_transpose1d(
            input, self.weight, self.bias, self.stride, self.padding, added, self.groups,
            self.dilation,
        )  # fmt: skip


class ConvTranspose2d(_ConvTransposeNd):
    """(N, in_channels, sizes) to (N, out_channels, larger sizes) in 2 dimensions."""

    _dims = 2

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        added = self._output_padding(
            input, output_size, self.stride, self.padding, self.kernel_size, 2, self.dilation
        )
        return F.conv_transpose2d(
            input, self.weight, self.bias, self.stride, self.padding, added, self.groups,
            self.dilation,
        )  # fmt: skip


class ConvTranspose3d(_ConvTransposeNd):
    """(N, in_channels, sizes) to (N, out_channels, larger sizes) in 3 dimensions."""

    _dims = 3

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        added = self._output_padding(
            input, output_size, self.stride, self.padding, self.kernel_size, 3, self.dilation
        )
        return F.conv_transpose3d(
            input, self.weight, self.bias, self.stride, self.padding, added, self.groups,
            self.dilation,
        )  # fmt: skip
