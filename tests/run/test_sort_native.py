"""Do native sorts order as NumPy's stable sort does, whatever the length and dtype?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.lowering.schedules.order_tile import sorting_exchanges


def ascending(x: ts.Tensor) -> Any:
    return ts.sort(x, 1)


def descending(x: ts.Tensor) -> Any:
    return ts.sort(x, 0, True)


def places(x: ts.Tensor) -> ts.Tensor:
    return ts.argsort(x, 1)


def first_five(x: ts.Tensor) -> Any:
    return ts.topk(x, 5, 1)


def last_five(x: ts.Tensor) -> Any:
    return ts.topk(x, 5, 1, False)


def sample(dtype: str, length: int) -> np.ndarray:
    random = np.random.default_rng(length)
    x = (random.standard_normal((3, length)) * 20).astype(dtype)
    if dtype in ("f4", "f8"):
        x[random.random((3, length)) < 0.1] = np.nan
        x[random.random((3, length)) < 0.1] = -np.inf
    return x


def stable_order(x: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    if not descending:
        return np.argsort(x, axis, kind="stable")
    order = np.argsort(np.flip(x, axis), axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(order, axis)


LENGTHS = (1, 8, 9, 33, 300)
"""Around the longest line that is ranked, and a network of several squares."""


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "u1", "?"])
def test_sorts(dtype: str) -> None:
    up, down = (ts.compile(f, fallback="error") for f in (ascending, descending))
    for length in LENGTHS:
        x = sample(dtype, length)
        for compiled, axis, reverse in ((up, 1, False), (down, 0, True)):
            values, order = compiled(x)
            wanted = stable_order(x, axis, reverse)
            np.testing.assert_array_equal(order, wanted)
            np.testing.assert_array_equal(values, np.take_along_axis(x, wanted, axis))


def test_places_alone() -> None:
    x = sample("f4", 300)
    index = ts.compile(places, fallback="error")
    np.testing.assert_array_equal(index(x), stable_order(x, 1, False))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
def test_selections(dtype: str) -> None:
    largest, smallest = (ts.compile(f, fallback="error") for f in (first_five, last_five))
    for length in LENGTHS[1:]:
        x = sample(dtype, length)
        for compiled, reverse in ((largest, True), (smallest, False)):
            values, order = compiled(x)
            wanted = stable_order(x, 1, reverse)[:, :5]
            np.testing.assert_array_equal(values, np.take_along_axis(x, wanted, 1))
            np.testing.assert_array_equal(np.take_along_axis(x, np.asarray(order), 1), values)


def test_a_selection_of_too_many_is_refused() -> None:
    with pytest.raises(ts.TensorScriptError, match="selected index k out of range"):
        ts.compile(first_five, (np.zeros((2, 4), "f4"),), fallback="error")


def test_lengths_that_are_not_known() -> None:
    compiled = ts.compile(ascending, [ts.TensorSpec((3, "N"), ts.float32)], fallback="error")
    for length in (0, *LENGTHS, 1000, 5000):
        x = sample("f4", length)
        values, order = compiled(x)
        wanted = stable_order(x, 1, False)
        np.testing.assert_array_equal(order, wanted)
        np.testing.assert_array_equal(values, np.take_along_axis(x, wanted, 1))


def ascending_values(x: ts.Tensor) -> ts.Tensor:
    return ts.sort(x, 1)[0]


def test_lines_of_several_networks_are_merged() -> None:
    x = sample("i2", (1 << 20) + 1000)[:1]
    compiled = ts.compile(ascending_values, (x,), fallback="error")
    assert compiled.ir("scheduled").count("te.while width <") == 1
    np.testing.assert_array_equal(compiled(x), np.sort(x, 1))


@pytest.mark.parametrize("size", [4, 8, 16])
def test_exchanges_sort(size: int) -> None:
    """By the principle of zeros and ones (Knuth, volume 3, 5.3.4)."""
    lines = np.arange(1 << size)[:, None] >> np.arange(size) & 1
    wanted = np.sort(lines, 1)
    for a, b in sorting_exchanges(size):
        lines[:, [a, b]] = np.sort(lines[:, [a, b]], 1)
    np.testing.assert_array_equal(lines, wanted)


def test_the_schedule_does_not_rank_a_long_line() -> None:
    compiled = ts.compile(ascending_values, (np.zeros((3, 1000), "f4"),), fallback="error")
    assert "te.update rank[]" in compiled.ir("te")
    text = compiled.ir("scheduled")
    assert "te.update rank" not in text
    assert text.count("te.while net_width < 1024") == 1
