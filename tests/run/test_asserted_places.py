"""What is read at places that a tensor tells is read after they have been found to be inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
