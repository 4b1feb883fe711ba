"""Convolutions and pooling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from peers import jax, lib
from workload import Workload, normal, workload

F = lib.nn.functional


def convolution(x, w, b):
    return lib.relu(F.conv2d(x, w, b, padding=1))


def first_layer(x, w, b):
    return lib.relu(F.conv2d(x, w, b, stride=2, padding=3))


def pointwise_convolution(x, w, b):
    return lib.relu(F.conv2d(x, w, b))


def depthwise(x, w, b):
    return lib.relu(F.conv2d(x, w, b, padding=1, groups=96))


def one_dimensional(x, w, b):
    return F.conv1d(x, w, b, padding=4)


def transposed(x, w, b):
    return F.conv_transpose2d(x, w, b, stride=2)


def max_pool(x):
    return F.max_pool2d(x, 3, 2, 1)


def average_pool(x):
    return F.avg_pool2d(x, 2)


def _convolution_jax(
    stride: int = 1, padding: int = 0, groups: int = 1, relu: bool = True
) -> Callable[..., Any]:
    def run(x: Any, w: Any, b: Any) -> Any:
        around = [(padding, padding)] * (x.ndim - 2)
        y = jax.lax.conv_general_dilated(
            x, w, [stride] * len(around), around, feature_group_count=groups
        )
        y += b.reshape(-1, *[1] * len(around))
        return jax.numpy.maximum(y, 0) if relu else y

    return run


def transposed_jax(x: Any, w: Any, b: Any) -> Any:
    order = ("NCHW", "OIHW", "NCHW")
    y = jax.lax.conv_transpose(
        x, w, (2, 2), "VALID", dimension_numbers=order, transpose_kernel=True
    )
    return y + b[:, None, None]


def max_pool_jax(x: Any) -> Any:
    around = ((0, 0), (0, 0), (1, 1), (1, 1))
    return jax.lax.reduce_window(x, -np.inf, jax.lax.max, (1, 1, 3, 3), (1, 1, 2, 2), around)


def average_pool_jax(x: Any) -> Any:
    sums = jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    return sums / 4


def _layer(
    name: str,
    program: Callable[..., Any],
    image: tuple[int, int],
    weights: tuple[int, int, int],
    pixels: int,
    in_jax: Callable[..., Any],
) -> Workload:
    """A convolution of a square image (channels, side) with weights (out, channels, side)."""
    (channels, side), (out, inputs, kernel) = image, weights
    make = normal((1, channels, side, side), (out, inputs, kernel, kernel), (out,))
    flops = 2.0 * pixels * out * inputs * kernel * kernel
    return Workload(name, lambda: program, make, in_jax, flops=flops)


SAME = _convolution_jax(padding=1)
WINDOW: tuple[Workload, ...] = (
    _layer("3x3, 64 to 64, 56x56", convolution, (64, 56), (64, 64, 3), 56**2, SAME),
    _layer("3x3, 128 to 128, 28x28", convolution, (128, 28), (128, 128, 3), 28**2, SAME),
    _layer("3x3, 256 to 256, 14x14", convolution, (256, 14), (256, 256, 3), 14**2, SAME),
    _layer("3x3, 512 to 512, 7x7", convolution, (512, 7), (512, 512, 3), 7**2, SAME),
    _layer("7x7 / 2, 3 to 64, 224x224", first_layer, (3, 224), (64, 3, 7), 112**2,
           _convolution_jax(stride=2, padding=3)),
    _layer("1x1, 256 to 128, 28x28", pointwise_convolution, (256, 28), (128, 256, 1), 28**2,
           _convolution_jax()),
    _layer("depthwise 3x3, 96, 56x56", depthwise, (96, 56), (96, 1, 3), 56**2,
           _convolution_jax(padding=1, groups=96)),
    workload("1-D, 64 to 64, 9 taps, 1000", one_dimensional,
             normal((1, 64, 1000), (64, 64, 9), (64,)), _convolution_jax(padding=4, relu=False),
             None, None, 2.0 * 1000 * 64 * 64 * 9),
    workload("transposed 2x2 / 2, 128 to 64, 28x28", transposed,
             normal((1, 128, 28, 28), (128, 64, 2, 2), (64,)), transposed_jax, None, None,
             2.0 * 56 * 56 * 64 * 128),
    workload("max pool 3x3 / 2, 64, 112x112", max_pool, normal((1, 64, 112, 112)), max_pool_jax),
    workload("average pool 2x2, 64, 112x112", average_pool, normal((1, 64, 112, 112)),
             average_pool_jax),
)  # fmt: skip
