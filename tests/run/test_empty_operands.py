"""Operators over no elements at all: as PyTorch answers or refuses them, eager and natively."""

from __future__ import annotations

import pytest

import tensorscript as ts
from tensorscript.base.errors import OperatorError

EMPTY, BATCH = ts.ones(3, 0), ts.ones(0, 2, 4, 4)

SHAPES = {
    "nanmedian": (lambda: ts.nanmedian(EMPTY, 0)[1], (0,)),
    "max_pool2d": (lambda: ts.nn.functional.max_pool2d(BATCH, 2, return_indices=True)[1],
                   (0, 2, 2, 2)),
    "cond": (lambda: ts.linalg.cond(ts.ones(2, 0, 0)), (2,)),
    "tensorsolve": (lambda: ts.linalg.tensorsolve(ts.ones(0, 4, 4, 0), ts.ones(0, 4)), (4, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str) -> None:
    run, shape = SHAPES[name]
    assert run().shape == shape


def test_nanmedian_of_each_row() -> None:
    nan = float("nan")
    values, places = ts.nanmedian(ts.tensor([[3.0, nan, 1.0, 2.0], [nan, nan, nan, nan]]), 1)
    assert values[0].item() == 2 and values[1].isnan() and places.tolist() == [3, 0]


def test_refusals() -> None:
    none = ts.ones(0, dtype=ts.int64)
    with pytest.raises(OperatorError, match="can have only 1 value, got 0"):
        ts.index_select(ts.tensor(8.0), 0, none)
    with pytest.raises(OperatorError, match="Can not infer total number of classes"):
        ts.nn.functional.one_hot(none)
    with pytest.raises(OperatorError, match="log_probs tensor must not be empty"):
        ts.nn.functional.ctc_loss(ts.ones(5, 0, 3), ts.ones(0, 2, dtype=ts.int64), none, none)


def _filled(x: ts.Tensor, at: ts.Tensor) -> ts.Tensor:
    return ts.index_fill(x, 0, at, -6.0)


@pytest.mark.parametrize(("count", "expected"), [(0, 8.0), (1, -6.0)])
def test_index_fill_of_a_number(count: int, expected: float) -> None:
    x, at = ts.tensor(8.0), ts.zeros(count, dtype=ts.int64)
    assert _filled(x, at).item() == expected
    assert ts.compile(_filled, (x, at), fallback="error")(x, at).item() == expected


def _unpooled(x: ts.Tensor, at: ts.Tensor) -> ts.Tensor:
    return ts.nn.functional.max_unpool2d(x, at, [2, 2])


def test_unpooling_no_images() -> None:
    x, at = BATCH, ts.zeros(0, 2, 4, 4, dtype=ts.int64)
    assert ts.compile(_unpooled, (x, at), fallback="error")(x, at).shape == (0, 2, 8, 8)
