"""How many vectors does a map take at a time?"""

from __future__ import annotations

import json
from collections.abc import Callable
from inspect import signature

import numpy as np
import pytest

import tensorscript as ts


def sum_of_two(x: ts.Tensor) -> ts.Tensor:
    return x * 2 + 1


def three_functions(x: ts.Tensor) -> ts.Tensor:
    return ts.exp(ts.tanh(x) - x) * ts.sigmoid(x)


def many_in_a_row(x: ts.Tensor) -> ts.Tensor:
    for _ in range(12):
        x = ts.tanh(x) + 0.1
    return x


def many_side_by_side(x: ts.Tensor) -> ts.Tensor:
    y = x
    for k in range(12):
        y = y + ts.sigmoid(x * (k + 1))
    return y


def too_many_in_a_row(x: ts.Tensor) -> ts.Tensor:
    for _ in range(32):
        x = ts.tanh(x) + 0.1
    return x


def of_two(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return ts.exp(x) * y


CASES: list[tuple[Callable[..., ts.Tensor], str, int]] = [
    (sum_of_two, "skylake-avx512", 64),
    (three_functions, "skylake-avx512", 64),
    (many_in_a_row, "skylake-avx512", 64),
    (many_side_by_side, "skylake-avx512", 16),
    (too_many_in_a_row, "skylake-avx512", 16),
    (sum_of_two, "haswell", 32),
    (three_functions, "haswell", 32),
    (of_two, "haswell", 16),
    (many_in_a_row, "haswell", 8),
]


@pytest.mark.parametrize(("program", "cpu", "lanes"), CASES)
def test_lanes(program: Callable[..., ts.Tensor], cpu: str, lanes: int) -> None:
    """With 32 registers four vectors, unless what is done in them does not wait for each other, or
    is so much that it would take long to compile; with 16 two where more than one value is kept."""
    target = "x86_64-unknown-linux-gnu"
    x = np.zeros((256, 64), "f4")
    given = (x,) * len(signature(program).parameters)
    compiled = ts.compile(program, given, target=target, cpu=cpu, fallback="error")
    steps = json.loads(compiled.ir("schedule"))["kernels"]["k0"]
    assert ["split", "i1", lanes, "rest"] in steps
