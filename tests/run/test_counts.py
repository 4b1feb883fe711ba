"""Is the work of kernels counted as written, whatever their schedules add?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.dialects.te.ops import functions
from tensorscript.lowering.te.counts import Work, work_of

F = ts.nn.functional


def product(x, w):
    return ts.relu(x @ w)


def convolution(x, w):
    return F.conv2d(x, w, padding=1)


def chain(x, w):
    return x * w + x


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, "f4")


def counted(program: Callable[..., Any], *arguments: Any) -> list[Work | None]:
    compiled = ts.compile(program, arguments, fallback="error")
    assert compiled.latest_specs is not None
    module = compiled.lower(compiled.latest_specs, keep=True).report.modules["te"]
    return [work_of(f) for f in functions(module) if f.role.data == "kernel"]


@pytest.mark.parametrize(
    ("program", "left", "right", "multiply_adds", "elements"),
    [
        (product, (5, 7), (7, 33), 5 * 7 * 33, 5 * 7 + 7 * 33 + 5 * 33),
        (convolution, (1, 3, 8, 8), (4, 3, 3, 3), 64 * 4 * 27, 3 * 64 + 4 * 27 + 4 * 64),
        (chain, (6, 6), (6, 6), 0, 3 * 36),
    ],
)
def test_a_kernel(program, left, right, multiply_adds: int, elements: int) -> None:
    assert counted(program, zeros(*left), zeros(*right)) == [Work(multiply_adds, 4 * elements)]


def rows_of(table, at):
    return table[at] * 2.0


def test_a_table_is_read_where_it_is_asked() -> None:
    at = np.zeros(5, np.int64)
    assert counted(rows_of, zeros(1000, 16), at)[-1] == Work(0, 4 * 2 * 5 * 16 + 8 * 5)


def test_sizes_of_the_call_are_not_known() -> None:
    rows = ts.TensorSpec(("N", 7), ts.float32)
    assert counted(product, rows, zeros(7, 33)) == [None]
