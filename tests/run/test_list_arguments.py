"""Lists of numbers as arguments of native code: how calls take them, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import UserError
from tensorscript.compiler.function import CompiledFunction


class Items(list[int]):
    """A list of the user's."""


def weighted(xs: list[int], weights: list[float], kept: list[bool], scale: int = 2) -> float:
    total = 0.0
    for i in range(len(xs)):
        if kept[i]:
            total += weights[i] * float(xs[i])
        xs[i] = 0
    return total * float(scale)


@pytest.fixture(scope="module")
def compiled() -> CompiledFunction:
    made = ts.compile(weighted, fallback="error", cache=False)
    assert isinstance(made, CompiledFunction)
    return made


@pytest.mark.parametrize("length", [0, 1, 7, 4096, 4097])
def test_lists_of_every_length(compiled: CompiledFunction, length: int) -> None:
    numbers = list(range(length))
    weights, kept = [0.5 * n for n in numbers], [n % 3 != 1 for n in numbers]
    expected = weighted(list(numbers), weights, kept)
    assert compiled(numbers, weights, kept) == expected
    assert compiled(numbers, weights, kept, 3) == 1.5 * expected
    assert numbers == list(range(length))  # the program's own copy
    assert len(compiled.stats.native) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ([True, 3], [1.0, 2.0], [True, True]),
        ([1, 3], [1, 2.0], [True, True]),
        ([np.int64(1), 3], [1.0, 2.0], [True, True]),
        (Items([1, 3]), [1.0, 2.0], [True, True]),
    ],
)
def test_what_is_not_plain_is_taken_as_well(compiled: CompiledFunction, arguments: Any) -> None:
    assert compiled([1, 3], [1.0, 2.0], [True, True]) == 14.0
    assert compiled(*arguments) == 14.0


@pytest.mark.parametrize(
    "arguments",
    [
        ([1.5], [1.0], [True]),
        ([2**63], [1.0], [True]),
        ([1], [None], [True]),
    ],
)
def test_wrong_elements_are_refused(compiled: CompiledFunction, arguments: Any) -> None:
    assert compiled([1], [1.0], [True]) == 2.0
    with pytest.raises(UserError, match="weighted"):
        compiled(*arguments)


def test_an_error_of_the_program(compiled: CompiledFunction) -> None:
    with pytest.raises(UserError, match="list index out of range"):
        compiled([1, 2], [1.0], [True, True])


def last(xs: list[int], flags: list[bool]) -> int:
    return xs.pop() + int(flags[0])


@pytest.mark.parametrize("calls", [1, 2])
def test_what_an_error_tells(calls: int) -> None:
    made = ts.compile(last, fallback="error", cache=False)
    for _ in range(calls):
        with pytest.raises(UserError, match="pop from empty list"):
            made([], [True])
    assert made([1], [True]) == 2
    with pytest.raises(UserError, match="pop from empty list"):
        made([], [True])
