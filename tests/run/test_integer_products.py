"""Bytes less their zero points are multiplied exactly, whatever their signs, sizes and zeros."""

from __future__ import annotations

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.nn import functional as F

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
