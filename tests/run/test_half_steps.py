"""Where PyTorch calculates in half types, eager operators round as often: to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.dtypes import bfloat16
from tensorscript.eager.kernels.cascade import cascade_sum

F = ts.nn.functional
RNG = np.random.default_rng(11)
DTYPES = ("bfloat16", "float16")


def agree(name: str, dtype: str, *arrays: Any, **options: Any) -> None:
    """`nn.functional.<name>` of both libraries; float arrays become tensors of `dtype`."""
    torch = pytest.importorskip("torch")

    def run(library: Any) -> Any:
        def given(a: Any) -> Any:
            if not isinstance(a, np.ndarray):
                return a
            t = library.tensor(a.tolist())
            return t.to(getattr(library, dtype)) if a.dtype.kind == "f" else t

        face = getattr(library.nn.functional, name)
        found = face(*map(given, arrays), **{k: given(v) for k, v in options.items()})
        return np.array(found.float().tolist(), np.float32)

    np.testing.assert_array_equal(run(ts), run(torch))


def test_a_cascade_loses_less_than_a_sum_in_turn() -> None:
    ones = np.ones(4096, np.float32)
    assert cascade_sum(ones, np.arange(4096), 4096, bfloat16) == 4096
    assert cascade_sum(ones, np.ones(4096, np.int64), 4096, bfloat16) == 256  # nothing closes
    assert cascade_sum(ones[:0], np.arange(0), 0, bfloat16) == 0


@pytest.mark.torch
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 2, 16, 17, 40, 700])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_nll_loss(dtype: str, count: int, reduction: str) -> None:
    x, weight = RNG.standard_normal((count, 5)), RNG.random(5)
    target = RNG.integers(0, 5, count)
    for options in ({}, {"weight": weight}, {"weight": weight, "ignore_index": 2}):
        agree("nll_loss", dtype, x, target, reduction=reduction, **options)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", DTYPES)
def test_nll_loss_of_images(dtype: str) -> None:
    x, target = RNG.standard_normal((2, 3, 4, 5)), RNG.integers(0, 3, (2, 4, 5))
    agree("nll_loss", dtype, x, target, weight=RNG.standard_normal(3))


@pytest.mark.torch
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("log_input", [True, False])
@pytest.mark.parametrize("full", [True, False])
def test_poisson_nll_loss(dtype: str, log_input: bool, full: bool) -> None:
    x, counts = RNG.random(200) * 3, RNG.integers(0, 9, 200).astype(np.float64)
    agree("poisson_nll_loss", dtype, x, counts, log_input, full, reduction="none")


@pytest.mark.torch
@pytest.mark.parametrize("dtype", DTYPES)
def test_layer_norm_of_one_element_is_what_rounding_leaves(dtype: str) -> None:
    agree("layer_norm", dtype, RNG.standard_normal((50, 1)), (1,))
    agree("layer_norm", dtype, RNG.standard_normal((50, 1)), (1,), RNG.standard_normal(1))


@pytest.mark.torch
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [True, False])
def test_cubic_sampling(dtype: str, padding: str, align: bool) -> None:
    image, grid = RNG.standard_normal((2, 3, 6, 5)), RNG.standard_normal((2, 4, 7, 2))
    options = {"mode": "bicubic", "padding_mode": padding, "align_corners": align}
    agree("grid_sample", dtype, image, grid, **options)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_binary_cross_entropy_with_logits(dtype: str, reduction: str) -> None:
    x, y, positive = RNG.normal(size=(5, 7)), RNG.uniform(size=(5, 7)), RNG.uniform(1, 3, 7)
    name = "binary_cross_entropy_with_logits"
    agree(name, dtype, x, y, weight=RNG.normal(size=7), reduction=reduction)
    agree(name, dtype, x, y, pos_weight=positive, reduction=reduction)
