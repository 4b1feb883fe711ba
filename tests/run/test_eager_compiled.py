"""A few operators through the whole compiler on every layout: machine code equals eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorscript as ts

RNG = np.random.default_rng(5)
X = RNG.standard_normal((4, 3)).astype(np.float32)
LAYOUTS = {
    "contiguous": X,
    "transposed": np.ascontiguousarray(X.T).T,
    "strided": np.repeat(X, 2, axis=1)[:, ::2],
    "empty": np.zeros((0, 3), np.float32),
    "special": np.array([[np.nan, np.inf, -0.0], [1e-30, -np.inf, 2.5]], np.float32),
}


def arithmetic(x: ts.Tensor) -> ts.Tensor:
    return ts.where(x > 0, x * 2.5 - 1, ts.exp(x) + x.size(0))


def reductions(x: ts.Tensor) -> ts.Tensor:
    return x.sum(1) + x.amax(1) * x.mean(1)


def rows(x: ts.Tensor) -> ts.Tensor:
    return ts.softmax(x, 1) @ x.t()


def shapes(x: ts.Tensor) -> ts.Tensor:
    return ts.cat([x.flip([1]), x.roll(1, 1)], 1).permute(1, 0).reshape(-1)


PROGRAMS: list[Callable[[Any], Any]] = [arithmetic, reductions, rows, shapes]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_compiled_equals_eager(program: Callable[[Any], Any], layout: str) -> None:
    x = ts.from_numpy(LAYOUTS[layout])
    want = program(x).numpy()
    got = ts.compile(program, example_inputs=(x,), fallback="error")(x).numpy()
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5, equal_nan=True)


def softmax_and_its_mean(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    scores = ts.softmax(x, 1)
    return scores, scores.reshape(1, x.size(0), x.size(1)).mean(0)


def as_complex(x: ts.Tensor) -> ts.Tensor:
    return x.to(ts.complex128, memory_format=ts.contiguous_format)


@pytest.mark.parametrize("program", [softmax_and_its_mean, as_complex])
def test_reductions_of_one_and_conversions(program: Callable[[Any], Any]) -> None:
    """A reduction over a single element inside a kernel of rows; a dtype before a memory format."""
    x = ts.from_numpy(X)
    traced = ts.jit.trace(program, (x,))
    want = program(x)
    got = ts.compile(traced, example_inputs=(x,), fallback="error")(x)
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype
        np.testing.assert_allclose(g.numpy(), w.numpy(), rtol=1e-5)
