"""Lines of few elements are sorted in registers, many beside each other: are all orders right?"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.lowering.schedules.order_short import SHORT, SHORT_APART, exchanges

Array = np.ndarray


@pytest.mark.parametrize("size", range(1, 13))
def test_network_sorts_all_of_zeros_and_ones(size: int) -> None:
    """Which sorts everything then (Knuth, volume 3, 5.3.4, theorem Z)."""
    pairs = list(exchanges(size))
    assert all(low < high < size for low, high in pairs)
    for bits in itertools.product((0, 1), repeat=size):
        line = list(bits)
        for low, high in pairs:
            line[low], line[high] = min(line[low], line[high]), max(line[low], line[high])
        assert line == sorted(bits)


def first(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    return ts.sort(x, stable=True, dim=0)


def last(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    return ts.sort(x, stable=True, dim=-1, descending=True)


def values(x: ts.Tensor) -> ts.Tensor:
    return ts.sort(x, 0)[0]


def largest(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    return ts.topk(x, 2, 0)


def samples(dtype: str, shape: tuple[int, ...]) -> Array:
    """Few values, so that they tie; of floats also NaN and infinities."""
    x = np.random.default_rng(shape[0]).integers(0, 5, shape).astype(dtype)
    if dtype[0] == "f":
        x.flat[::7], x.flat[1::11], x.flat[2::13] = np.nan, np.inf, -np.inf
    return x


def in_order(x: Array, axis: int, descending: bool) -> tuple[Array, Array]:
    """Stable, NaN above all."""
    if x.dtype.kind == "f":
        keys = np.where(np.isnan(x), 10.0, np.clip(x, -9, 9)).astype("f8")
    else:
        keys = x.astype("i8")
    places = np.argsort(-keys if descending else keys, axis, kind="stable")
    return np.take_along_axis(x, places, axis), places


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "i4", "u1", "?"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, SHORT, SHORT + 1, 17, SHORT_APART, SHORT_APART + 1])
def test_lines_of_few_elements(dtype: str, size: int) -> None:
    for program, axis, shape in ((first, 0, (size, 3, 21)), (last, -1, (35, size))):
        x = samples(dtype, shape)
        found = ts.compile(program, (x,), fallback="error")(x)
        for one, other in zip(found, in_order(x, axis, program is last), strict=True):
            np.testing.assert_array_equal(np.asarray(one), other)
    x = samples(dtype, (size, 50))
    found_values = np.asarray(ts.compile(values, (x,), fallback="error")(x))
    np.testing.assert_array_equal(found_values, in_order(x, 0, False)[0])
    if size > 1 and dtype != "?":
        found = ts.compile(largest, (x,), fallback="error")(x)
        wanted = in_order(x, 0, True)[0][:2]
        np.testing.assert_array_equal(np.asarray(found[0]), wanted)
        picked = np.take_along_axis(x, np.asarray(found[1]), 0)
        np.testing.assert_array_equal(picked, wanted)


def test_lines_whose_number_the_program_finds() -> None:
    compiled = ts.compile(last, fallback="error")
    for rows in (0, 1, 7, 64, 100):
        x = samples("f4", (rows, 4)) if rows else np.zeros((0, 4), "f4")
        found = compiled(x)
        for one, other in zip(found, in_order(x, -1, True), strict=True):
            np.testing.assert_array_equal(np.asarray(one), other)


def test_zeros_keep_their_signs() -> None:
    x = np.array([[0.0, -0.0, 1.0], [-0.0, 0.0, -0.0]], "f4")
    found, places = ts.compile(first, (x,), fallback="error")(x)
    np.testing.assert_array_equal(np.asarray(places), [[0, 0, 1], [1, 1, 0]])
    signs = [[False, True, True], [True, False, False]]
    np.testing.assert_array_equal(np.signbit(np.asarray(found)), signs)
