"""Are the most frequent values of sorted runs those that eager mode counts?"""

from __future__ import annotations

import numpy as np
import pytest

import tensorscript as ts


def of_rows(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    return ts.mode(x, -1)


def of_columns(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    return ts.mode(x, 0, True)


@pytest.mark.parametrize("shape", [(3, 1), (5, 100), (40, 3), (2, 700)])
@pytest.mark.parametrize("dtype", ["f4", "i8", "?"])
def test_modes(dtype: str, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(shape[1]).integers(0, 6, shape).astype(dtype)
    for program in (of_rows, of_columns):
        compiled = ts.compile(program, (x,), fallback="error")
        for found, wanted in zip(compiled(x), program(ts.from_numpy(x)), strict=True):
            np.testing.assert_array_equal(found, wanted.numpy())


def test_zeros_are_one_value_whatever_their_sign() -> None:
    x = np.array([1.0, 0.0, 2.0, -0.0, 1.0, 0.0], "f4")
    value, place = ts.compile(of_rows, (x,), fallback="error")(x)
    assert (value, place) == (0.0, 5)


def test_elements_are_compared_with_their_neighbours_alone() -> None:
    compiled = ts.compile(of_rows, (np.zeros((2, 700), "f4"),), fallback="error")
    text = compiled.ir("kernels")
    assert "tg.sort" in text
    assert text.count('over <"700">') <= 2  # the longest run, and its place
