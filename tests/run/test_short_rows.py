"""Are rows that fill no vector read in as few loads, and without asking whether there are any?
Do they get a lane each where that is worth it?"""

from __future__ import annotations

import re

import numpy as np
import pytest

import tensorscript as ts


def product_of_three(x: ts.Tensor) -> ts.Tensor:
    return x.prod(1)


def logarithms(x: ts.Tensor) -> ts.Tensor:
    return x.log_softmax(1)


def shares(x: ts.Tensor) -> ts.Tensor:
    return x.softmax(-1)


def deviations(x: ts.Tensor) -> ts.Tensor:
    return x.var(1)


def first_of_one(x: ts.Tensor) -> ts.Tensor:
    return x.argmax(0, keepdim=True)


def shares_of_both(x: ts.Tensor) -> ts.Tensor:
    both = ts.cat([x, -x], 1).softmax(3)
    return both.permute([1, 3, 2, 0])


def shares_of_chosen(x: ts.Tensor, places: ts.Tensor) -> ts.Tensor:
    return x.index_select(0, places).softmax(2)


def test_rows_at_places_that_elements_tell_are_not_copied() -> None:
    x, places = np.random.default_rng(0).standard_normal((4, 64, 5)), np.array([2, 1, 1])
    chosen = np.exp(x[places])
    found = ts.compile(shares_of_chosen, (x, places), fallback="error")(x, places)
    np.testing.assert_allclose(found, chosen / chosen.sum(2, keepdims=True), rtol=1e-13)


def test_rows_of_two_places_are_not_copied() -> None:
    """Which half of the lines a row is of depends on the loop around it."""
    x = np.random.default_rng(0).standard_normal((16, 8, 16, 3))
    both = np.exp(np.concatenate([x, -x], 1))
    wanted = (both / both.sum(3, keepdims=True)).transpose(1, 3, 2, 0)
    found = ts.compile(shares_of_both, (x,), fallback="error")(x)
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-13)


def test_columns_share_the_vectors_that_they_lie_in() -> None:
    """64 rows of 3 are 12 vectors of 16; the last one of each column ends with its last element."""
    x = np.random.default_rng(0).standard_normal((6400, 3)).astype("f4")
    compiled = ts.compile(product_of_three, (x,), fallback="error")
    text = compiled.ir("s")
    if "zmm" not in text:
        pytest.skip("vectors of the machine are shorter")
    places = set(re.findall(r"\s(-?\d*\(%r\w+\)), (?:%zmm\d+, )*%zmm", text))
    assert 12 <= len(places) <= 14
    np.testing.assert_allclose(compiled(x), x.prod(1), rtol=1e-6)


def test_a_row_has_a_first_element() -> None:
    x = np.random.default_rng(0).standard_normal((7, 10)).astype("f4")
    compiled = ts.compile(logarithms, (x,), fallback="error")
    assert "some" not in re.findall(r"^(\w+)\.?\d*:", compiled.ir("ll"), re.M)
    shifted = x - x.max(1, keepdims=True)
    expected = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    np.testing.assert_allclose(compiled(x), expected, rtol=1e-5)


def test_the_place_in_lines_of_one_is_read_nowhere() -> None:
    x = np.array([[1, np.nan, 3]], "f4")
    compiled = ts.compile(first_of_one, (x,), fallback="error")
    np.testing.assert_array_equal(compiled(x), np.zeros((1, 3), "i8"))
    assert "load" not in compiled.ir("te")


SHAPES = [(16, 2), (37, 3), (64, 8), (33, 9), (200, 16), (50, 17), (19, 31), (40, 33), (48, 48)]


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_in_lanes(shape: tuple[int, int], kind: str) -> None:
    x = np.random.default_rng(1).standard_normal(shape).astype(kind)
    shifted = (x - x.max(1, keepdims=True)).astype("f8")
    total = np.exp(shifted).sum(1, keepdims=True)
    rtol = {"f4": 2e-6, "f8": 1e-14}[kind]
    for function, expected in (
        (logarithms, shifted - np.log(total)),
        (shares, np.exp(shifted) / total),
        (deviations, x.astype("f8").var(1, ddof=1)),
    ):
        found = ts.compile(function, (x,), fallback="error")(x)
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)


def test_a_block_of_rows_is_turned() -> None:
    x = np.random.default_rng(1).standard_normal((2, 32, 10)).astype("f4")
    compiled = ts.compile(shares, (x,), fallback="error")
    steps = compiled.ir("schedule")
    assert '"cache", "p0"' in steps
    assert '"vectorize_outer"' in steps
    shifted = np.exp(x - x.max(2, keepdims=True))
    np.testing.assert_allclose(compiled(x), shifted / shifted.sum(2, keepdims=True), rtol=1e-5)


def shares_across(x: ts.Tensor) -> ts.Tensor:
    return x.softmax(1)


@pytest.mark.parametrize("shape", [(128, 128, 4), (70, 33, 7), (5, 20, 3)])
def test_short_rows_across_are_shuffled_rather_than_gathered(shape: tuple[int, ...]) -> None:
    """Lanes along the first dimension would each read a line of their own."""
    x = np.random.default_rng(2).standard_normal(shape).astype("f4")
    compiled = ts.compile(shares_across, (x,), cpu="x86-64-v4", fallback="error")
    assert '"vectorize_outer", "i0"' not in compiled.ir("schedule")
    shifted = np.exp(x - x.max(1, keepdims=True))
    host = ts.compile(shares_across, (x,), fallback="error")
    np.testing.assert_allclose(host(x), shifted / shifted.sum(1, keepdims=True), rtol=1e-5)


def test_loops_over_a_short_row_are_written_out() -> None:
    """Of rows of up to 16: what one of them stores for the next one stays in a register."""
    for length in (10, 17):
        compiled = ts.compile(logarithms, (np.zeros((64, length), "f4"),), fallback="error")
        written_out = "full_unroll" in compiled.ir("schedule")
        loops = re.findall(rf"in 0 \.\. {length} serial", compiled.ir("scheduled"))
        assert written_out == (length == 10) == (not loops)


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("length", [1, 3, 10, 40, 64, 100, 1000])
def test_a_row_of_nan_is_nan(length: int, kind: str) -> None:
    """The maximum may leave a NaN out: it is in the sum. So is that of two infinities."""
    x = np.random.default_rng(0).standard_normal((80, length)).astype(kind)
    for row, value in ((3, np.nan), (20, np.inf), (37, -np.inf), (64, np.nan)):
        x[row, row % length] = value
    x[5], x[6], x[7] = np.nan, -np.inf, np.inf
    x[8, 0], x[8, -1] = np.inf, np.nan
    with np.errstate(all="ignore"):
        shifted = (x - x.max(1, keepdims=True)).astype("f8")
        total = np.exp(shifted).sum(1, keepdims=True)
        expected = shifted - np.log(total), np.exp(shifted) / total
    for function, wanted in zip((logarithms, shares), expected, strict=True):
        found = ts.compile(function, (x,), fallback="error")(x)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_rows_that_a_block_would_leave_over_stay() -> None:
    x = np.zeros((2, 20, 10), "f4")
    assert '"cache"' not in ts.compile(shares, (x,), fallback="error").ir("schedule")


def test_any_number_of_rows() -> None:
    random = np.random.default_rng(1)
    compiled = ts.compile(logarithms, (ts.TensorSpec(("N", 10), ts.float32),), fallback="error")
    for count in (0, 1, 15, 16, 35):
        x = random.standard_normal((count, 10)).astype("f4")
        shifted = x - x.max(1, keepdims=True, initial=-9)
        expected = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
        np.testing.assert_allclose(compiled(x), expected, rtol=1e-5, atol=1e-6)


def products_with_itself(x: ts.Tensor) -> ts.Tensor:
    return ts.bmm(x, x.transpose(1, 2)) / x.shape[2]


@pytest.mark.parametrize("shape", [(2, 16, 16), (1, 32, 5), (3, 64, 7)])
def test_other_rows_of_the_same_array_are_not_in_the_copy(shape: tuple[int, int, int]) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype("f4")
    found = ts.compile(products_with_itself, (x,), fallback="error")(x)
    np.testing.assert_allclose(found, x @ x.transpose(0, 2, 1) / shape[2], rtol=1e-4, atol=1e-6)
