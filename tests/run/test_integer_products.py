"""Bytes less their zero points are multiplied exactly, whatever their signs, sizes and zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.eager.tensor import Tensor
from tensorscript.nn import functional as F

IMAGES: dict[str, tuple[Any, ...]] = {
    "padded": ((2, 16, 9, 7), (24, 16, 3, 3), 1, 1, 1),
    "a stride": ((1, 20, 11, 13), (17, 20, 3, 2), 2, (1, 0), 1),
    "a dilation": ((1, 66, 12, 12), (16, 66, 2, 3), 1, 2, 2),
    "a line": ((3, 32, 50), (16, 32, 5), 3, 2, 1),
    "a volume": ((1, 17, 5, 4, 6), (19, 17, 2, 2, 3), 1, 1, 1),
}
"""Image, weights, stride, padding, dilation."""
SIZES = [(1, 64, 40), (3, 37, 130), (33, 515, 17), (130, 4000, 40)]
GRIDS = [("u1", 61, 0), ("i1", -7, 0), ("u1", 0, 0), ("u1", 255, -128), ("i1", 3, 5)]


class Layer(ts.nn.Module):
    def __init__(self, weight: np.ndarray, x: int, w: int) -> None:
        super().__init__()
        self.register_buffer("weight", ts.from_numpy(weight))
        self.x, self.w = x, w

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        return F.linear(x.to(ts.float32) - self.x, self.weight.to(ts.float32) - self.w)


def numbers(dtype: str, *shape: int) -> np.ndarray:
    limits = np.iinfo(dtype)
    random = np.random.default_rng(sum(shape))
    return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("size", SIZES)
def test_linear(size: tuple[int, int, int], grid: tuple[str, int, int]) -> None:
    """Rounded once: at these depths sums of float32 would have been rounded on the way."""
    (rows, depth, columns), (dtype, zero_x, zero_w) = size, grid
    x, w = numbers(dtype, rows, depth), numbers("i1", columns, depth)
    found = ts.compile(Layer(w, zero_x, zero_w), fallback="error")(x)
    exact = (x.astype(np.int64) - zero_x) @ (w.astype(np.int64) - zero_w).T
    np.testing.assert_array_equal(np.asarray(found), exact.astype(np.float32))


class Moving(ts.nn.Module):
    def __init__(self, weight: np.ndarray) -> None:
        super().__init__()
        self.register_buffer("weight", ts.from_numpy(weight))

    def forward(self, x: ts.Tensor, zero: ts.Tensor) -> ts.Tensor:
        return F.linear(x.to(ts.float32) - zero.to(ts.float32), self.weight.to(ts.float32))


@pytest.mark.parametrize("rows", [2, 5])
def test_a_zero_point_of_each_call(rows: int) -> None:
    w = numbers("i1", 24, 100)
    compiled = ts.compile(Moving(w), fallback="error")
    x = numbers("u1", rows, 100)
    for zero in (0, 9, 255):
        exact = (x.astype(np.int64) - zero) @ w.astype(np.int64).T
        found = compiled(x, np.array(zero, np.uint8))
        np.testing.assert_array_equal(np.asarray(found), exact.astype(np.float32))


class Windows(ts.nn.Module):
    """Two convolutions of bytes, the second of what the first gives on another grid."""

    def __init__(self, w: np.ndarray, steps: tuple[Any, ...], zero: int) -> None:
        super().__init__()
        self.register_buffer("w", ts.from_numpy(w))
        self.register_buffer("last", ts.from_numpy(numbers("i1", 16, w.shape[0], *w.shape[2:])))
        count = w.ndim - 2
        self.stride, self.padding, self.dilation = (
            [s] * count if isinstance(s, int) else list(s) for s in steps
        )
        self.zero = zero
        self.rank = count

    def mixed(self, x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
        numbers = x.to(ts.float32) - self.zero
        return ts.convolution(
            numbers, w.to(ts.float32), None, self.stride, self.padding, self.dilation, False,
            [0] * self.rank, 1,
        )  # fmt: skip

    def forward(self, x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
        y = self.mixed(x, self.w)
        narrow = ts.clamp(ts.round(y * 0.001) + self.zero, 0, 127).to(x.dtype)
        return y, self.mixed(narrow, self.last)


def exact(layer: Windows, x: Tensor) -> list[np.ndarray]:
    """The same in float64, which holds all the sums."""
    found = []
    for w in (layer.w, layer.last):
        y = ts.convolution(
            (x.to(ts.float64) - layer.zero), w.to(ts.float64), None, layer.stride, layer.padding,
            layer.dilation, False, [0] * layer.rank, 1,
        )  # fmt: skip
        found.append(y.numpy().astype(np.float32))
        x = ts.clamp(ts.round(y.float() * 0.001) + layer.zero, 0, 127).to(x.dtype)
    return found


@pytest.mark.parametrize("cpu", ["", "haswell"])
@pytest.mark.parametrize(("dtype", "zero"), [("u1", 61), ("i1", -7), ("u1", 0)])
@pytest.mark.parametrize("name", IMAGES)
def test_windows(name: str, dtype: str, zero: int, cpu: str) -> None:
    """Four bytes at once where the machine has the instruction, else pairs of 16 bits."""
    image, weights, *steps = IMAGES[name]
    x = numbers(dtype, *image)
    layer = Windows(numbers("i1", *weights), tuple(steps), zero)
    found = ts.compile(layer, fallback="error", cpu=cpu)(x)
    for ours, wanted in zip(found, exact(layer, ts.from_numpy(x)), strict=True):
        np.testing.assert_array_equal(np.asarray(ours), wanted)
