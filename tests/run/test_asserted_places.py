"""What is read at places that a tensor tells is read after they have been found to be inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import Tensor


def class_losses(x: Tensor, k: Tensor):
    return ts.nn.functional.cross_entropy(x, k)


def pictures(x: Tensor, k: Tensor):
    return ts.softmax(x, 1).gather(1, k.unsqueeze(1)).log().mean()


@pytest.mark.parametrize("program", [class_losses, pictures])
def test_rows_are_not_read_outside_of_themselves(program: Callable[..., Any]) -> None:
    """The softmax is a kernel of its own: the element must not be picked in it, which runs before
    the places are looked at."""
    x, outside = ts.ones(2, 3), ts.tensor([0, 1 << 40])
    run = ts.compile(program, fallback="error", cache=False)
    assert run(x, ts.tensor([0, 1])).item() == pytest.approx(program(x, ts.tensor([0, 1])).item())
    with pytest.raises((IndexError, RuntimeError), match="out of bounds"):
        run(x, outside)


def wavefront(x: ts.Tensor) -> ts.Tensor:
    table = ts.zeros([x.size(0) + 1, x.size(1)])
    for i in range(1, x.size(0) + 1):
        for j in range(1, x.size(1)):
            table[i, j] = table[i - 1, j - 1] + table[i, j - 1] + x[i - 1, j]
    return table


def test_places_of_counters_are_proven_inside() -> None:
    """Counters, and one below and above them."""
    x = np.random.default_rng(0).standard_normal((50, 70)).astype(np.float32)
    compiled = ts.compile(wavefront, [x], fallback="error")
    assert "index out of range" not in compiled.ir("te")
    want = np.zeros((51, 70), np.float32)
    for i in range(1, 51):
        for j in range(1, 70):
            want[i, j] = want[i - 1, j - 1] + want[i, j - 1] + x[i - 1, j]
    np.testing.assert_allclose(compiled(x), want, rtol=1e-4, atol=1e-5)


def beyond(x: ts.Tensor) -> float:
    total = 0.0
    for i in range(x.size(0)):
        total += float(x[i + 1])
    return total


def behind(x: ts.Tensor) -> float:
    total = 0.0
    for i in range(x.size(0)):
        total += float(x[i - 1])
    return total


def test_places_that_leave_are_still_asked_for() -> None:
    x = np.arange(1.0, 40.0)
    assert ts.compile(behind, [x], fallback="error")(x) == x.sum()
    with pytest.raises(RuntimeError, match="out of range"):
        ts.compile(beyond, [x], fallback="error")(x)


def by_remainder(x: Tensor, k: Tensor) -> Tensor:
    return x[k.remainder(7)]


def test_places_are_computed_in_32_bits() -> None:
    """The 7 is a constant of the places' own dtype, which schedules look at as at any size."""
    x, k = np.arange(9.0, dtype=np.float32), np.arange(-50, 50, dtype=np.int32)
    run = ts.compile(by_remainder, [x, k], fallback="error", cache=False)
    np.testing.assert_array_equal(run(x, k), x[k % 7])
