"""Norms in machine code, next to the eager kernels: of nothing, and in another dtype."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

import tensorscript as ts

SHAPES = ((0,), (0, 3), (3, 0))
ORDERS = (1, -1, 2, -2, math.inf, -math.inf, "fro", "nuc", 0, 3)


def outcome(run: Any, x: Any) -> Any:
    try:
        return run(x).tolist()
    except (RuntimeError, IndexError):
        return "refused"


@pytest.mark.torch
@pytest.mark.parametrize("dim", [None, (-1,)])
def test_norms_of_nothing(dim: tuple[int, ...] | None) -> None:
    torch = pytest.importorskip("torch")
    for shape, order in itertools.product(SHAPES, ORDERS):
        x = ts.zeros(shape)
        run = lambda x: ts.linalg.norm(x, order, dim)  # noqa: B023, E731 - called in this round
        wanted = outcome(lambda x: torch.linalg.norm(x, order, dim), torch.zeros(shape))  # noqa: B023
        assert outcome(run, x) == wanted, (shape, order)
        if wanted != "refused" and order in (1, math.inf):  # of which nothing is the neutral one
            traced = ts.jit.trace(run, (x,))
            assert ts.compile(traced, fallback="error")(x).tolist() == wanted, (shape, order)


def largest(x: ts.Tensor) -> ts.Tensor:
    return ts.linalg.norm(x, float("inf"))


def wide(x: ts.Tensor) -> ts.Tensor:
    return ts.linalg.vector_norm(x, 2.0, [1], False, dtype=ts.float64)


def test_the_largest_of_nothing_is_refused() -> None:
    for run in (largest, ts.compile(largest, fallback="error")):
        with pytest.raises(RuntimeError, match="does not have an identity"):
            run(ts.zeros(0))


def test_in_another_dtype() -> None:
    x = ts.tensor([[3.0, 4.0], [5.0, 12.0]])
    found = ts.compile(wide, fallback="error")(x)
    assert found.dtype is ts.float64
    assert found.tolist() == wide(x).tolist() == [5.0, 13.0]
