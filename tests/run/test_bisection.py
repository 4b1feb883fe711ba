"""Places among sorted bounds, and what is found by them: the steps are PyTorch's own halvings."""

from __future__ import annotations

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import TensorScriptError

Array = np.ndarray


def first_place(bounds: ts.Tensor, x: ts.Tensor) -> ts.Tensor:
    return ts.searchsorted(bounds, x)


def last_place(bounds: ts.Tensor, x: ts.Tensor) -> ts.Tensor:
    return ts.bucketize(x, bounds, out_int32=True, right=True)


def place_of_number(bounds: ts.Tensor, x: float) -> ts.Tensor:
    return ts.searchsorted(bounds, x)


def by_halves(bounds: Array, x: Array, right: bool) -> Array:
    """PyTorch's `cus_lower_bound` and `cus_upper_bound` (aten/native/BucketizationUtils.h)."""
    found = np.zeros(x.shape, np.int64)
    for at in np.ndindex(x.shape):
        line = bounds if bounds.ndim == 1 else bounds[at[:-1]]
        start, end = 0, len(line)
        while start < end:
            middle = (start + end) // 2
            passes = line[middle] > x[at] if right else line[middle] >= x[at]
            start, end = (start, middle) if passes else (middle + 1, end)
        found[at] = start
    return found


def bounds_of(kind: str, shape: tuple[int, ...]) -> Array:
    random = np.random.default_rng(len(kind))
    made = random.integers(-20, 20, shape).astype("f4")
    if kind != "unsorted":
        made.sort(-1)
    if kind == "with NaN":
        made[..., -(made.shape[-1] // 3) :] = np.nan
    return made


SHAPES = [((0,), (5,)), ((1,), (2, 3)), ((64,), (100,)), ((1000,), (7, 9)), ((2, 3, 9), (2, 3, 4))]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("kind", ["sorted", "unsorted", "with NaN"])
@pytest.mark.parametrize("are_known", [True, False])
def test_places_are_those_of_halving(
    shapes: tuple[tuple[int, ...], ...], kind: str, are_known: bool
) -> None:
    bounds = bounds_of(kind, shapes[0])
    x = np.random.default_rng(1).integers(-21, 21, shapes[1]).astype("f4")
    x.flat[0] = np.nan
    for program, right in ((first_place, False), (last_place, True)):
        if program is last_place and bounds.ndim > 1:
            continue
        example = (bounds, x) if are_known else None
        compiled = ts.compile(program, example, fallback="error")
        if not are_known:  # the second call is of other sizes
            compiled(np.resize(bounds, (*bounds.shape[:-1], 3)), x)
        found = np.asarray(compiled(bounds, x))
        assert found.dtype == (np.int32 if right else np.int64)
        np.testing.assert_array_equal(found, by_halves(bounds, x, right))


def test_place_of_a_number() -> None:
    bounds = np.arange(100, dtype="f4")
    compiled = ts.compile(place_of_number, (bounds, 0.5), fallback="error")
    assert [int(compiled(bounds, x)) for x in (-1.0, 0.0, 41.5, 1e9)] == [0, 0, 42, 100]


def is_among(x: ts.Tensor, y: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    return ts.isin(x, y), ts.isin(x, y, invert=True)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "u1"])
@pytest.mark.parametrize("count", [1, 32, 33, 1000])
def test_elements_among_many(dtype: str, count: int) -> None:
    random = np.random.default_rng(count)
    x, y = (random.integers(0, 2 * count + 9, s).astype(dtype) for s in ((20, 30), (count,)))
    if dtype[0] == "f":
        x[0, :4], y[::5] = (np.nan, np.inf, -np.inf, -0.0), np.nan
    found, missing = ts.compile(is_among, (x, y), fallback="error")(x, y)
    np.testing.assert_array_equal(np.asarray(found), np.isin(x, y))
    np.testing.assert_array_equal(np.asarray(missing), ~np.isin(x, y))


def repeated(x: ts.Tensor, times: ts.Tensor) -> ts.Tensor:
    return ts.repeat_interleave(x, times, dim=0)


@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_repeats_of_each(dtype: str) -> None:
    random = np.random.default_rng(3)
    compiled = ts.compile(repeated, fallback="error")
    for count in (0, 1, 6, 300):
        x, times = random.standard_normal((count, 3)), random.integers(0, 4, count).astype(dtype)
        np.testing.assert_array_equal(np.asarray(compiled(x, times)), np.repeat(x, times, 0))
    nothing = np.zeros(6, dtype)
    assert np.asarray(compiled(np.ones((6, 3)), nothing)).shape == (0, 3)
    with pytest.raises(TensorScriptError, match="repeats can not be negative"):
        compiled(np.ones((2, 3)), np.array([2, -1], dtype))


def distinct_rows(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor, ts.Tensor]:
    return ts.unique(x, dim=0, return_inverse=True, return_counts=True)


@pytest.mark.parametrize("shape", [(1, 4), (50, 2), (300, 3), (40, 60)], ids=str)
@pytest.mark.parametrize("dtype", ["?", "i8", "f4"])
def test_distinct_rows(shape: tuple[int, ...], dtype: str) -> None:
    x = np.random.default_rng(5).integers(0, 3, shape).astype(dtype)
    found = map(np.asarray, ts.compile(distinct_rows, (x,), fallback="error")(x))
    wanted = np.unique(x, return_inverse=True, return_counts=True, axis=0)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other.reshape(one.shape))


def drawn(weights: ts.Tensor) -> ts.Tensor:
    return ts.multinomial(weights, 5000, True)


def test_draws_follow_their_weights() -> None:
    weights = np.array([[0, 1, 0, 3], [2, 0, 2, 0]], "f4")
    found = np.asarray(ts.compile(drawn, (weights,), fallback="error")(weights))
    for row, probabilities in zip(found, weights / 4, strict=True):
        shares = np.bincount(row, minlength=4) / row.size
        np.testing.assert_allclose(shares, probabilities, atol=0.05)
        assert not shares[probabilities == 0].any()
