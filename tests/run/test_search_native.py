"""Are the places of extremes the first ones, of NaN before all, at every length of a line?"""

from __future__ import annotations

import numpy as np
import pytest

import tensorscript as ts


def largest(x: ts.Tensor) -> ts.Tensor:
    return x.argmax(1)


def smallest(x: ts.Tensor) -> ts.Tensor:
    return x.argmin(1)


def largest_of_columns(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    return x.max(0)


LENGTHS = (1, 3, 63, 64, 65, 128, 200, 513)
"""Around one and several blocks of a search."""


def samples(dtype: str, length: int) -> np.ndarray:
    """Rows of few values, so that they tie; of floats also with NaN, infinities and zeros."""
    random = np.random.default_rng(length)
    x = random.integers(0, 4, (12, length)).astype(dtype)
    if dtype[0] == "f":
        x[1, random.integers(length, size=2)] = np.nan
        x[2] = np.nan
        x[3] = -np.inf
        x[4] = np.inf
        x[5, :] = np.where(random.random(length) < 0.5, -0.0, 0.0)
        x[6, random.integers(length)], x[6, random.integers(length)] = np.inf, np.nan
        x[7, -1] = np.nan
        x[8] = np.float16(6e-8)
    x[9] = 0
    x[9, -1] = 1
    return x


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "i8", "u1"])
def test_places_of_extremes(dtype: str) -> None:
    up, down = (ts.compile(f, fallback="error") for f in (largest, smallest))
    columns = ts.compile(largest_of_columns, fallback="error")
    for length in LENGTHS:
        x = samples(dtype, length)
        np.testing.assert_array_equal(up(x), x.argmax(1), err_msg=f"{length}")
        np.testing.assert_array_equal(down(x), x.argmin(1), err_msg=f"{length}")
        values, places = columns(np.ascontiguousarray(x.T))
        np.testing.assert_array_equal(values, x.max(1))
        np.testing.assert_array_equal(places, x.argmax(1))


def test_lengths_that_are_not_known() -> None:
    found = ts.compile(largest, [ts.TensorSpec((12, "N"), ts.float32)], fallback="error")
    for length in LENGTHS:
        x = samples("f4", length)
        np.testing.assert_array_equal(found(x), x.argmax(1))


def test_the_schedule_searches_a_long_line() -> None:
    text = ts.compile(largest, (np.zeros((4, 512), "f4"),)).ir("scheduled")
    assert text.count("te.while") == 1


def extremes(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    return x.amax(1), x.amin(1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("length", [1, 2, 3, 5, 16, 17, 63, 64, 200])
def test_extremes_are_nan_wherever_one_is(length: int, dtype: type[np.floating]) -> None:
    """A row for each place, and one without."""
    x = np.random.default_rng(length).standard_normal((length + 1, length)).astype(dtype)
    x[0] = np.inf
    np.fill_diagonal(x[:-1], np.nan)
    most, least = ts.compile(extremes, fallback="error")(x)
    np.testing.assert_array_equal(most, x.max(1))
    np.testing.assert_array_equal(least, x.min(1))
