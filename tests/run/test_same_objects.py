"""Programs that ask which of their arguments are one object, and what native code says then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorscript as ts


def doubled_if_same(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    if x is y:
        return x * 2
    return x + 100


def written_and_asked(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    y.add_(1)
    return x * 2 if x is y else x + 100


def of_list(xs: list[ts.Tensor]) -> ts.Tensor:
    return xs[0] * 2 if xs[0] is not xs[1] else xs[0] + 100


def tensors() -> list[Any]:
    return [ts.ones(3), ts.ones(3)]


def arrays() -> list[Any]:
    return [np.ones(3, np.float32), np.ones(3, np.float32)]


@pytest.mark.parametrize("make", [tensors, arrays])
def test_as_in_python(make: Any) -> None:
    a, b = make()
    compiled = ts.compile(doubled_if_same, fallback="error")
    for one, other, wanted in [(a, b, 101), (a, a, 2), (b, a, 101), (b, b, 2)]:
        np.testing.assert_array_equal(np.asarray(compiled(one, other)), np.full(3, wanted, "f4"))


@pytest.mark.parametrize("make", [tensors, arrays])
def test_parts_of_a_list(make: Any) -> None:
    a, b = make()
    compiled = ts.compile(of_list, fallback="error")
    for given, wanted in [([a, b], 2), ([a, a], 101)]:
        np.testing.assert_array_equal(np.asarray(compiled(given)), np.full(3, wanted, "f4"))


@pytest.mark.parametrize("make", [tensors, arrays])
def test_writes_show_in_both(make: Any) -> None:
    """The interpreter answers where one array is written and read as another argument."""
    a, b = make()
    compiled = ts.compile(written_and_asked)
    np.testing.assert_array_equal(np.asarray(compiled(a, b)), np.full(3, 101, "f4"))
    np.testing.assert_array_equal(np.asarray(compiled(a, a)), np.full(3, 4, "f4"))
    np.testing.assert_array_equal(np.asarray(a), np.full(3, 2, "f4"))


def test_layers_of_attention_see_that_they_are_given_one_tensor() -> None:
    layer = ts.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x, masked = ts.randn(2, 5, 8), ts.ones(2, 5, dtype=ts.bool)
    compiled = ts.compile(layer, fallback="error")
    with ts.no_grad():
        found, _ = compiled(x, x, x, masked, False)
        wanted, _ = layer(x, x, x, masked, False)
    assert ts.isnan(wanted).all() and ts.isnan(found).all()
