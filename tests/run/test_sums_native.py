"""Are native sums as close as sums in parts are, however long they are?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from thread_count import threads_of

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
    "rows": (rows, lambda x: x.sum(1), 1.5),
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


VERIFIED = CompileOptions(fallback="error", verify=True, cache=False)
"""Every step of a schedule is checked."""


def test_threads_share_no_accumulator() -> None:
    """A sum over a size that each call gives."""
    total = ts.compile(whole, (ts.TensorSpec(("N",), ts.int64),), options=VERIFIED)
    x = np.arange(1_000_000)
    with threads_of(2):
        assert [int(total(x)) for _ in range(5)] == [int(x.sum())] * 5


def positive(x: ts.Tensor) -> ts.Tensor:
    return x[x > 0.5].sum()


def columns_of_chosen_rows(x: ts.Tensor) -> ts.Tensor:
    return x[x[:, 0] > 0.5].sum(0)


def variance(x: ts.Tensor) -> ts.Tensor:
    return x.var(correction=0)


FOUND: dict[str, tuple[Callable[..., ts.Tensor], Callable[[np.ndarray], np.ndarray]]] = {
    "whole": (whole, lambda x: x.sum()),
    "variance": (variance, lambda x: x.var()),
    "columns": (columns, lambda x: x.sum(0)),
    "found": (positive, lambda x: x[x > 0.5].sum()),
    "columns of found rows": (columns_of_chosen_rows, lambda x: x[x[:, 0] > 0.5].sum(0)),
}


@pytest.mark.parametrize("name", FOUND)
def test_threads_do_not_change_sums_over_sizes_of_the_call(name: str) -> None:
    """Threads take blocks of fixed sizes, so that rounding is the same however many there are."""
    program, meaning = FOUND[name]
    compiled = ts.compile(program, (ts.TensorSpec(("N", "M"), ts.float32),), options=VERIFIED)
    for shape in ((400, 2500), (3, 5), (0, 7)):
        x = np.random.default_rng(4).random(shape).astype(np.float32)
        results = []
        for count in (1, 2):
            with threads_of(count):
                results.append(np.asarray(compiled(x)))
        np.testing.assert_array_equal(results[0], results[1])
        if x.size or program is not variance:
            wanted = meaning(x.astype(np.float64))
            np.testing.assert_allclose(results[0], wanted, rtol=1e-5)


def test_sums_over_sizes_of_the_call_are_shared_by_threads() -> None:
    compiled = ts.compile(whole, (ts.TensorSpec(("N",), ts.float32),), options=VERIFIED)
    assert "parallel" in compiled.ir("scheduled")


def softmax(x: ts.Tensor) -> ts.Tensor:
    return ts.softmax(x, 1)


@pytest.mark.parametrize("program", [rows, whole, variances, softmax])
def test_steps_of_long_sums_are_legal(
    program: Callable[[ts.Tensor], ts.Tensor], tmp_path: Path
) -> None:
    """The compiler does not check its own steps; those that are read from a file are."""
    x = np.random.default_rng(4).random((2, 100001)).astype(np.float32)
    compiled = ts.compile(program, (x,), fallback="error", cache=False)
    (tmp_path / "steps.json").write_text(compiled.ir("schedule"))
    again = ts.compile(
        program, (x,), fallback="error", cache=False, schedule=tmp_path / "steps.json"
    )
    assert "rfactor" in compiled.ir("schedule")
    assert again.ir("scheduled") == compiled.ir("scheduled")
    np.testing.assert_array_equal(again(x), compiled(x))
