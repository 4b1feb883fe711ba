"""Are native sums as close as sums in parts are, however long they are?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.compiler.options import CompileOptions

EPS = float(np.finfo(np.float32).eps)
SHAPES = ((2, 100001), (3, 1 << 19), (4099, 300), (1, 1))
"""Long rows of whole blocks and of a part of one; long columns."""


def rows(x: ts.Tensor) -> ts.Tensor:
    return x.sum(1)


def columns(x: ts.Tensor) -> ts.Tensor:
    return x.sum(0)


def whole(x: ts.Tensor) -> ts.Tensor:
    return x.sum()


def variances(x: ts.Tensor) -> ts.Tensor:
    return x.var(1, correction=0)


def variances_of_columns(x: ts.Tensor) -> ts.Tensor:
    return x.var(0, correction=0)


def running(x: ts.Tensor) -> ts.Tensor:
    return x.cumsum(1)


PROGRAMS: dict[str, tuple[Callable[..., ts.Tensor], Callable[[np.ndarray], np.ndarray], float]] = {
    "rows": (rows, lambda x: x.sum(1), 3),
    "columns": (columns, lambda x: x.sum(0), 3),
    "whole": (whole, lambda x: x.sum(), 3),
    "variances": (variances, lambda x: x.var(1), 1),
    "variances of columns": (variances_of_columns, lambda x: x.var(0), 1),
    "running": (running, lambda x: x.cumsum(1), 0.51),
}
"""The program, its meaning in float64, and the error that is allowed in units of the last place
of the largest result: sums in one chain have hundreds; what is made in float64 is rounded once."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_errors(name: str) -> None:
    program, meaning, allowed = PROGRAMS[name]
    compiled = ts.compile(program, fallback="error")
    for shape in SHAPES:
        x = np.random.default_rng(3).random(shape).astype(np.float32)
        wanted = meaning(x.astype(np.float64))
        error = np.abs(np.asarray(compiled(x)) - wanted)
        assert error.max() <= allowed * EPS * np.abs(wanted).max(), shape


def test_a_sum_of_wide_numbers_stays_wide() -> None:
    def total(x: ts.Tensor) -> ts.Tensor:
        return x.double().sum()

    x = np.full(100000, 0.1, np.float32)
    found = ts.compile(total, (x,), fallback="error")(x)
    assert abs(float(found) - x.astype(np.float64).sum()) < 1e-9


def test_threads_share_no_accumulator() -> None:
    """A sum over a size that each call gives; `verify` checks every step of its schedule."""
    options = CompileOptions(fallback="error", verify=True, cache=False)
    total = ts.compile(whole, (ts.TensorSpec(("N",), ts.int64),), options=options)
    before = ts.get_num_threads()
    ts.set_num_threads(2)
    try:
        x = np.arange(1_000_000)
        assert [int(total(x)) for _ in range(5)] == [int(x.sum())] * 5
    finally:
        ts.set_num_threads(before)
