"""Tensors in lists and dicts, and views of repeated arguments, stay the tensors that they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorscript as ts


def joined(x: ts.Tensor) -> list[ts.Tensor]:
    held = [x[:2], x]
    both = held + held
    x.add_(1)
    return both


def joined_and_written(x: ts.Tensor) -> ts.Tensor:
    last = [x[1:].view(-1)]
    parts = list(x.unbind(0)) + last
    parts[0].fill_(7)
    parts[-1][1:] = 9
    return x


def repeated(x: ts.Tensor) -> list[ts.Tensor]:
    twice = [x[1:]] * 2
    x.mul_(3)
    return twice


def shrunk_in_a_dict(x: ts.Tensor) -> dict[str, ts.Tensor]:
    table = {"row": x[0], "all": x}
    table["row"].resize_(2)
    return table


def last_row(x: ts.Tensor) -> ts.Tensor:
    x[2:] += 5
    return x


def nothing(x: ts.Tensor) -> ts.Tensor:
    x[:, 3:2] += 5
    return x


def beyond(x: ts.Tensor) -> ts.Tensor:
    x.as_strided([2], [1]).add_(1)
    return x


def sums_of_shorts(x: ts.Tensor) -> ts.Tensor:
    row = x[0]
    ts.cumsum(row * 1, 0, out=row)
    return x


def square() -> ts.Tensor:
    return ts.arange(12).reshape(3, 4).to(ts.int16)


def expanded() -> ts.Tensor:
    return square()[:1].expand(3, 4)


def lone_element() -> ts.Tensor:
    return square()[1, 1:2]


def parts(value: Any) -> list[Any]:
    if isinstance(value, ts.Tensor):
        return [value.tolist()]
    return [v.tolist() for v in (value.values() if isinstance(value, dict) else value)]


@pytest.mark.parametrize(
    ("program", "make"),
    [
        (joined, square), (joined_and_written, square), (repeated, square),
        (shrunk_in_a_dict, square), (last_row, expanded), (nothing, expanded),
        (beyond, lone_element), (sums_of_shorts, square),
    ],
)  # fmt: skip
def test_every_way_agrees_with_eager_mode(
    program: Callable[[ts.Tensor], Any], make: Callable[[], ts.Tensor]
) -> None:
    given = make()
    wanted = [*parts(program(given)), given.tolist()]
    for run in (ts.jit.script(program), ts.compile(program, cache=False)):
        x = make()
        assert [*parts(run(x)), x.tolist()] == wanted


def test_a_list_of_views_is_joined_without_a_copy() -> None:
    x = ts.zeros(3)
    made = ts.jit.script(joined)(x)
    np.testing.assert_array_equal([t.data_ptr() for t in made], [x.data_ptr()] * 4)


@pytest.mark.parametrize("rows", ["x[:2] += 5", "x += 5"])
def test_repeated_rows_are_not_written(rows: str) -> None:
    text = f"def f(x: Tensor):\n    {rows}\n    return x\n"
    with pytest.raises(RuntimeError, match="refers to a single memory location"):
        ts.compile(ts.jit.CompilationUnit(text).f, cache=False, fallback="error")(expanded())
