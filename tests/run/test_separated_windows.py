"""Do pools whose windows are combined by rows first give what eager mode gives?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorscript as ts
import tensorscript.nn.functional as F


def greatest(x: ts.Tensor) -> ts.Tensor:
    return F.max_pool2d(F.relu(x), 3, 2, 1)


def greatest_of_tall(x: ts.Tensor) -> ts.Tensor:
    return F.max_pool2d(x, (5, 3), 1, (2, 1), 1, True)


def greatest_of_distant(x: ts.Tensor) -> ts.Tensor:
    return F.max_pool2d(x, 3, 2, 0, 2, True)


def means(x: ts.Tensor) -> ts.Tensor:
    return F.avg_pool2d(x, 3, 1, 1, False, False)


def greatest_within_zeros(x: ts.Tensor) -> ts.Tensor:
    return F.max_pool2d(F.pad(x, [1, 0]), 3, 2, 1)


def greatest_within_least(x: ts.Tensor) -> ts.Tensor:
    return F.max_pool2d(F.pad(x, [1, -2], value=float("-inf")), 3, 2, 1)


def means_within_zeros(x: ts.Tensor) -> ts.Tensor:
    return F.avg_pool2d(F.pad(x, [2, 1, 1, 0]), 3, 2, 1, False, False)


def means_within_ones(x: ts.Tensor) -> ts.Tensor:
    return F.avg_pool2d(F.pad(x, [2, 1, 1, 0], value=1.0), 3, 2, 1, False, False)


@pytest.mark.parametrize("width", [9, 16, 31, 64, 70, 129, 300])
@pytest.mark.parametrize(
    "program",
    [
        greatest, greatest_of_tall, greatest_of_distant, means, greatest_within_zeros,
        greatest_within_least, means_within_zeros, means_within_ones,
    ],
)  # fmt: skip
def test_pools(program: Any, width: int) -> None:
    x = np.random.default_rng(width).standard_normal((2, 12, width)).astype("f4")
    if program.__name__.startswith("greatest"):
        x.flat[5] = np.nan
        x[:, :, :4] -= 10
    compiled = ts.compile(program, (x,), fallback="error")
    wanted = program(ts.from_numpy(x)).numpy()
    np.testing.assert_allclose(compiled(x), wanted, rtol=1e-5, atol=1e-6)


def test_short_rows_stay_in_registers() -> None:
    compiled = ts.compile(greatest, (np.zeros((2, 12, 112), "f4"),), fallback="error")
    assert compiled.ir("kernels").count("tg.reduce") == 2
    assert compiled.ir("te").count("te.func") == 2  # one kernel, and the host's


def cut_by_two(x: ts.Tensor) -> ts.Tensor:
    return F.unfold(x, 2, stride=2)


@pytest.mark.parametrize("shape", [(1, 2, 4, "D"), ("A", "B", "C", "D")])
def test_a_loop_is_not_cut_by_its_own_size(shape: tuple[int | str, ...]) -> None:
    """Of D // 2 iterations, divided by D // 2: the second of two loops would be the first again."""
    compiled = ts.compile(cut_by_two, (ts.TensorSpec(shape, ts.float32),), fallback="error")
    for size in (2, 5, 70):
        x = np.arange(8.0 * size, dtype="f4").reshape(1, 2, 4, size)
        parts = x[..., : size // 2 * 2].reshape(1, 2, 2, 2, size // 2, 2)
        wanted = parts.transpose(0, 1, 3, 5, 2, 4).reshape(1, 8, -1)
        np.testing.assert_array_equal(compiled(x), wanted)
