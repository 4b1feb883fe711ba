"""Are rows that fill no vector read in as few loads, and without asking whether there are any?"""

from __future__ import annotations

import re

import numpy as np
import pytest

import tensorscript as ts


def product_of_three(x: ts.Tensor) -> ts.Tensor:
    return x.prod(1)


def logarithms(x: ts.Tensor) -> ts.Tensor:
    return x.log_softmax(1)


def first_of_one(x: ts.Tensor) -> ts.Tensor:
    return x.argmax(0, keepdim=True)


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
    x = np.random.default_rng(0).standard_normal((40, 10)).astype("f4")
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
