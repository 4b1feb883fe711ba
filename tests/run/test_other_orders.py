"""Is the order of elements in memory that of the program, or left to the interpreter?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tensorscript as ts


def of_a_sum(x: ts.Tensor) -> ts.Tensor:
    return (x.t() + 1).as_strided([3, 2], [2, 1])


def of_a_part_of_a_sum(x: ts.Tensor) -> ts.Tensor:
    return (x.t() + 1)[:, 1:].as_strided([3, 2], [2, 1])


def of_a_copy(x: ts.Tensor) -> ts.Tensor:
    return x.t().contiguous().as_strided([3, 2], [2, 1])


def of_a_view(x: ts.Tensor) -> ts.Tensor:
    return x[1:].as_strided([3, 2], [2, 1])


def steps(x: ts.Tensor) -> tuple[int, int]:
    y = x.t() * 2
    return y.stride(0), y.stride(1)


def _numbers() -> np.ndarray:
    return np.arange(24, dtype="f4").reshape(4, 6)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (of_a_sum, [[1, 2], [3, 4], [5, 6]]),
        (of_a_part_of_a_sum, [[7, 8], [9, 10], [11, 12]]),
        (of_a_copy, [[0, 6], [12, 18], [1, 7]]),
        (of_a_view, [[6, 7], [8, 9], [10, 11]]),
    ],
)
def test_strides_over_what_was_computed(
    program: Callable[[ts.Tensor], ts.Tensor], expected: list[list[int]]
) -> None:
    compiled = ts.compile(program)
    assert np.asarray(compiled(_numbers())).tolist() == expected
    assert compiled.stats.is_native == (program in (of_a_copy, of_a_view))


def test_strides_that_are_asked_for() -> None:
    assert ts.compile(steps)(_numbers()) == (1, 6)


def fill(x: ts.Tensor) -> ts.Tensor:
    x[..., :4].fill_(2)
    return x + 0


def test_an_argument_whose_elements_are_one_place() -> None:
    x = ts.ones(4, 1).expand(4, 6)
    assert ts.compile(fill)(x).tolist() == [[2.0] * 6] * 4
    assert x.tolist() == [[2.0] * 6] * 4
