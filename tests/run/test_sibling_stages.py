"""Do computations that share a kernel because they read the same rows give their own results?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tensorscript as ts

T = ts.Tensor


def extremes(x: T, y: T) -> tuple[T, T, T]:
    return x.sum(1), x.amax(1), x.amin(1)


def moments(x: T, y: T) -> tuple[T, T, T, T]:
    return x.mean(1), x.std(1), (x * y).sum(1), y.sum(1)


def whole_rows(x: T, y: T) -> tuple[T, T, T, T]:
    return x.sum(1), x.relu(), y.softmax(1) * x, x.argmax(1)


def both_ways(x: T, y: T) -> tuple[T, T, T, T, T]:
    return x.relu() + y, x.sum(0), x.sum(1), y.amax(0), x.amax(1)


def _softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


Wanted = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, ...]]
PROGRAMS: dict[Callable[..., tuple[T, ...]], Wanted] = {
    extremes: lambda x, y: (x.sum(1), x.max(1), x.min(1)),
    moments: lambda x, y: (x.mean(1), x.std(1, ddof=1), (x * y).sum(1), y.sum(1)),
    whole_rows: lambda x, y: (x.sum(1), np.maximum(x, 0), _softmax(y) * x, x.argmax(1)),
    both_ways: lambda x, y: (np.maximum(x, 0) + y, x.sum(0), x.sum(1), y.max(0), x.max(1)),
}


@pytest.mark.parametrize("shape", [(64, 256), (70, 1001), (300, 300), (5, 700), (200, 30)], ids=str)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_siblings(program: Callable[..., tuple[T, ...]], shape: tuple[int, int]) -> None:
    numbers = np.random.default_rng(0)
    x, y = (numbers.standard_normal(shape).astype("f4") for _ in range(2))
    found = ts.compile(program, (x, y), fallback="error")(x, y)
    expected = PROGRAMS[program](x.astype("f8"), y.astype("f8"))
    for ours, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(ours), right, rtol=3e-6, atol=2e-7 * shape[1])
