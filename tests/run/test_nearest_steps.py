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
