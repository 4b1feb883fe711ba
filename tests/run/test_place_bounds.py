"""Places that index tensors hold, at the ends of what is allowed and at those of int64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import UserError

COUNT = 5
LEAST, MOST = -(2**63), 2**63 - 1
MANY = 100_000
"""Places that several blocks of the test are for."""


def taken(x: ts.Tensor, i: ts.Tensor) -> ts.Tensor:
    return ts.take(x, i)


def selected(x: ts.Tensor, i: ts.Tensor) -> ts.Tensor:
    return ts.index_select(x, 0, i)


def places(count: int, place: int) -> np.ndarray:
    """Allowed ones, with one of another value late among them."""
    at = np.arange(count) % COUNT
    at[count - 2] = place
    return at


@pytest.mark.parametrize("count", [3, 77, MANY])
@pytest.mark.parametrize("program", [taken, selected])
def test_places_at_the_ends(program: Callable[..., ts.Tensor], count: int) -> None:
    x = np.arange(COUNT, dtype=np.float32)
    compiled = ts.compile(program, fallback="error", cache=False)
    least = -COUNT if program is taken else 0
    for place in (least, 0, COUNT - 1):
        at = places(count, place)
        np.testing.assert_array_equal(compiled(x, at), x[at])
    for place in (least - 1, COUNT, LEAST, LEAST + 1, LEAST + COUNT, MOST, MOST - COUNT):
        with pytest.raises(UserError, match="out of range"):
            compiled(x, places(count, place))


def test_no_places() -> None:
    empty = np.zeros(0, np.int64)
    compiled = ts.compile(taken, fallback="error", cache=False)
    assert compiled(np.ones(COUNT, np.float32), empty).shape == (0,)
