"""`nn.functional.pad`: which paddings fit which tensors, and what they give."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

import tensorscript as ts
from tensorscript.base.errors import OperatorError

MODES = ("constant", "reflect", "replicate", "circular", "mirror")
PADS = (
    (), (1,), (1, 1), (0, 1), (4, 0), (3, 3), (-1, 1), (-5, 0), (1, 1, 1), (1, 1, 1, 1), (0,) * 4,
    (-1, -1, 0, 1), (-1,) * 4, (1, 1, 3, 3), (1,) * 6, (1, 1, 0, 0, 0, 0), (1,) * 8,
)  # fmt: skip
SHAPES = (
    (), (2,), (0,), (2, 3), (0, 3), (2, 0), (2, 3, 4), (0, 3, 4), (2, 0, 4), (2, 3, 4, 3),
    (0, 3, 4, 3), (2, 3, 0, 3), (2, 3, 4, 3, 3), (0, 3, 4, 3, 3),
)  # fmt: skip


def outcome(library: Any, shape: tuple[int, ...], pads: tuple[int, ...], *rest: Any) -> str:
    x = library.arange(float(math.prod(shape))).reshape(shape)
    try:
        made = library.nn.functional.pad(x, pads, *rest)
    except (RuntimeError, NotImplementedError) as error:
        kind = "NotImplementedError" if isinstance(error, NotImplementedError) else "RuntimeError"
        return f"{kind}: {str(error).partition(chr(10))[0]}"
    return f"{tuple(made.shape)}: {made.reshape(-1).tolist()}"


@pytest.mark.torch
def test_as_pytorch_pads_and_refuses() -> None:
    torch = pytest.importorskip("torch")
    for shape, pads, mode in itertools.product(SHAPES, PADS, MODES):
        given = (shape, pads, mode)
        assert outcome(ts, *given) == outcome(torch, *given), given
    for mode in MODES:
        with_value = ((2, 3), (1, 1), mode, 2.0)
        assert outcome(ts, *with_value) == outcome(torch, *with_value), mode


def mirror(x):  # type: ignore[no-untyped-def]
    return ts.nn.functional.pad(x, [1, 1], "reflect")


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((2, 3, 4, 3), "Padding size 2 is not supported for 4D input tensor."),
        ((2, 1), r"Argument #4: Padding size should be less than .* padding \(1, 1\) at dimension"),
        ((2, 0, 3), r"Expected 2D or 3D \(batch mode\) tensor .* but got: \[2, 0, 3\]"),
    ],
)
def test_refusals_are_those_of_eager_mode(shape: tuple[int, ...], message: str) -> None:
    x = ts.zeros(shape)
    for run in (mirror, ts.compile(mirror, fallback="error", cache=False)):
        with pytest.raises(OperatorError, match=message):
            run(x)


def circled(x: ts.Tensor, low: int, high: int) -> ts.Tensor:
    return ts.nn.functional.pad(x, [low, high], "circular")


def test_what_is_cut_off_does_not_go_round() -> None:
    x = ts.arange(8.0).reshape(1, 2, 4)
    run = ts.compile(circled, fallback="error", cache=False)
    for low, high in ((1, 1), (-2, 1), (1, -1), (-3, 3), (-1, -2), (-4, 0)):
        assert run(x, low, high).tolist() == circled(x, low, high).tolist(), (low, high)
    with pytest.raises(OperatorError, match="can't extend"):
        run(x, -4, 1)
