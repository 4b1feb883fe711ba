"""Do whole steps between neighbours give the same elements as their positions in float32?"""

from __future__ import annotations

import numpy as np
import pytest

import tensorscript as ts


def near(x: ts.Tensor, new: ts.Tensor) -> ts.Tensor:
    return ts.nn.functional.interpolate(x, size=[new.size(0)], mode="nearest")


@pytest.mark.parametrize(
    ("old", "new"), [(56, 112), (56, 168), (7, 49), (60, 20), (50, 73), (1, 9)]
)
def test_nearest_neighbours(old: int, new: int) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, old)).astype("f4")
    like = np.zeros(new, "f4")
    places = np.floor(np.arange(new, dtype="f4") * (np.float32(old) / np.float32(new)))
    expected = x[..., np.minimum(places.astype(int), old - 1)]
    np.testing.assert_array_equal(ts.compile(near, (x, like), fallback="error")(x, like), expected)


def doubled(x: ts.Tensor) -> ts.Tensor:
    return ts.nn.functional.interpolate(x, scale_factor=2.0, mode="nearest")


def test_whole_steps_are_not_gathered() -> None:
    x = np.zeros((1, 4, 32, 64), "f4")
    compiled = ts.compile(doubled, (x,), fallback="error")
    assert "floor" not in compiled.ir("te")
    assert "masked.gather" not in compiled.ir("ll")


def resized(x: ts.Tensor, new: ts.Tensor) -> ts.Tensor:
    return ts.nn.functional.interpolate(x, size=new.shape, mode="nearest")


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "u1"])
@pytest.mark.parametrize(
    ("old", "new"),
    [((9, 70), (11, 119)), ((40, 65), (23, 41)), ((3, 3), (5, 50)), ((4, 99), (4, 5))],
)
def test_gathers_of_near_lanes(old: tuple[int, int], new: tuple[int, int], dtype: str) -> None:
    x = (20 * np.random.default_rng(1).standard_normal((2, 3, *old))).astype(dtype)
    like = np.zeros(new, "f4")
    expected = x
    for axis, (have, want) in enumerate(zip(old, new, strict=True), 2):
        step = np.float32(have) / np.float32(want)
        places = np.floor(np.arange(want, dtype="f4") * step).astype(int)
        expected = expected.take(np.minimum(places, have - 1), axis)
    found = ts.compile(resized, (x, like), fallback="error")(x, like)
    np.testing.assert_array_equal(found, expected)


def thirds(x: ts.Tensor) -> ts.Tensor:
    return x.repeat_interleave(3, 1)


def test_indices_are_divided_in_32_bits() -> None:
    x = np.random.default_rng(1).standard_normal((5, 77)).astype("f4")
    compiled = ts.compile(thirds, (x,), fallback="error")
    np.testing.assert_array_equal(compiled(x), x.repeat(3, 1))
    assert "udiv <" in compiled.ir("ll")
    assert not any("div <" in line and "x i64>" in line for line in compiled.ir("ll").splitlines())


def rolled(x: ts.Tensor) -> ts.Tensor:
    return x.roll(1, 1) + x.roll(-7, 1)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i2"])
@pytest.mark.parametrize("columns", [17, 32, 50])
def test_lanes_that_begin_again(columns: int, dtype: str) -> None:
    x = np.arange(90 * columns).reshape(90, columns).astype(dtype)
    found = ts.compile(rolled, (x,), fallback="error")(x)
    np.testing.assert_array_equal(found, np.roll(x, 1, 1) + np.roll(x, -7, 1))


def attended(x: ts.Tensor) -> ts.Tensor:
    y = ts.nn.functional.pad(x, [1, 2], mode="replicate")
    return ts.nn.functional.scaled_dot_product_attention(y, y, y)


@pytest.mark.parametrize("width", [16, 9, 29])
def test_lanes_that_fill_no_registers_are_gathered(width: int) -> None:
    x = np.random.default_rng(1).standard_normal((2, 24, width)).astype("f4")
    found = ts.compile(attended, (x,), fallback="error")(x)
    np.testing.assert_allclose(found, attended(ts.from_numpy(x)).numpy(), rtol=1e-4, atol=1e-5)
