"""Are elements that change their order written where they belong, whatever the way there?"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.backends.target import host
from tensorscript.base.dtypes import bool_, float32
from tensorscript.dialects.te.expr import all_of, const, load, select, var
from tensorscript.lowering.schedules.cpu_vectors import CPUParameters
from tensorscript.lowering.schedules.crossed import in_squares
from tensorscript.lowering.te.reached import condition_of
from tensorscript.lowering.te.squares import crossing
from tensorscript.nn import functional as F

Program = Callable[[ts.Tensor], ts.Tensor]


def channels_last(x: ts.Tensor) -> ts.Tensor:
    return x.permute(0, 2, 3, 1).contiguous()


def normalised_last(x: ts.Tensor) -> ts.Tensor:
    return x.permute(0, 2, 3, 1).float() * 2 - 1


def turned(x: ts.Tensor) -> ts.Tensor:
    return ts.rot90(x)


def turned_back(x: ts.Tensor) -> ts.Tensor:
    return ts.rot90(x, 3)


def crossed_sum(x: ts.Tensor) -> ts.Tensor:
    return x.t() * 2 + 1


def crossed_with_column(x: ts.Tensor) -> ts.Tensor:
    return x.t() + x[:, 0]


def crossed_back(x: ts.Tensor) -> ts.Tensor:
    return x.flip(0).t() + 1


def crossed_vectors(x: ts.Tensor) -> ts.Tensor:
    return ts.cross(x, x.roll(1, 0), dim=1)


def first_halves(x: ts.Tensor) -> ts.Tensor:
    return ts.cat([x[:, 1:] - x[:, :-1], x[:, :1] * x[:, -1:]], 1)


def by_number(x: ts.Tensor) -> ts.Tensor:
    return x * x[:, :1] + x.flip(1)


ROWS: dict[Program, Callable[[np.ndarray], np.ndarray]] = {
    crossed_vectors: lambda x: np.cross(x, np.roll(x, 1, 0)),
    first_halves: lambda x: np.concatenate([x[:, 1:] - x[:, :-1], x[:, :1] * x[:, -1:]], 1),
    by_number: lambda x: x * x[:, :1] + x[:, ::-1],
}

MATRICES: dict[Program, Callable[[np.ndarray], np.ndarray]] = {
    turned: np.rot90,
    turned_back: lambda x: np.rot90(x, 3),
    crossed_sum: lambda x: x.T * 2 + 1,
    crossed_with_column: lambda x: x.T + x[:, 0],
    crossed_back: lambda x: x[::-1].T + 1,
}


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u1"])
@pytest.mark.parametrize("channels", [2, 3, 4, 5, 7, 8, 9])
def test_channels_put_last(channels: int, dtype: str) -> None:
    x = np.arange(2 * channels * 7 * 11).reshape(2, channels, 7, 11).astype(dtype)
    found = ts.compile(channels_last, (x,), fallback="error")(x)
    np.testing.assert_array_equal(found, x.transpose(0, 2, 3, 1))


def test_channels_put_last_are_steps_of_the_schedule() -> None:
    x = np.zeros((2, 3, 7, 11), "f4")
    assert "interleave" in ts.schedule(channels_last, (x,), start="default").steps


def test_what_is_computed_of_bytes_on_the_way() -> None:
    x = np.arange(4 * 3 * 9 * 5).reshape(4, 3, 9, 5).astype("u1")
    found = ts.compile(normalised_last, (x,), fallback="error")(x)
    np.testing.assert_array_equal(found, x.transpose(0, 2, 3, 1).astype("f4") * 2 - 1)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u1", "i8"])
@pytest.mark.parametrize("shape", [(5, 3), (16, 3), (50, 2), (47, 3), (32, 4), (63, 4), (70, 5)])
@pytest.mark.parametrize("program", ROWS, ids=lambda p: p.__name__)
def test_rows_of_coordinates(program: Program, shape: tuple[int, int], dtype: str) -> None:
    if program is crossed_vectors:
        shape = (shape[0], 3)
    x = np.random.default_rng(0).integers(0, 9, shape).astype(dtype)
    found = ts.compile(program, (x,), fallback="error")(x)
    np.testing.assert_array_equal(found, ROWS[program](x))


def test_rows_of_coordinates_are_interleaved() -> None:
    x = np.zeros((64, 3), "f4")
    assert "interleave" in ts.schedule(crossed_vectors, (x,), start="default").steps


@pytest.mark.parametrize("shape", [(16, 32), (37, 50), (64, 16), (17, 41), (18, 33)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i2"])
@pytest.mark.parametrize("program", MATRICES, ids=lambda p: p.__name__)
def test_matrices(program: Program, dtype: str, shape: tuple[int, int]) -> None:
    x = np.arange(shape[0] * shape[1]).reshape(shape).astype(dtype)
    found = ts.compile(program, (x,), fallback="error")(x)
    np.testing.assert_array_equal(found, MATRICES[program](x))


@pytest.mark.skipif(host().vector_bytes < 32, reason="needs an x86-64 CPU with AVX2")
@pytest.mark.parametrize(("cpu", "dtype", "side"), [("x86-64-v3", "f4", 8), ("x86-64-v2", "f4", 4),
                                                    ("x86-64-v3", "f8", 4)])  # fmt: skip
def test_rows_of_a_square_are_vectors(cpu: str, dtype: str, side: int) -> None:
    x = np.arange(41 * 22).reshape(41, 22).astype(dtype)
    compiled = ts.compile(crossed_sum, (x,), cpu=cpu, fallback="error")
    assert f'["squares", "i0", "i1", {side}]' in compiled.ir("schedule")
    np.testing.assert_array_equal(compiled(x), x.T * 2 + 1)


SMALL, LARGE = 32 << 10, 48 << 10
ALONG_READ, ALONG_WRITTEN = "i1_o i0_o", "i0_o i1_o"
IN_PAIRS = "i0_o_o i1_o i0_o_i"
BLOCKS = "i0_o i1_o i0_i_o i1_i_o"


@pytest.mark.parametrize(
    ("shape", "first_cache", "loops", "copies"),
    [
        ((64, 720), SMALL, ALONG_WRITTEN, 0),  # four squares of columns are few
        ((64, 1024), SMALL, IN_PAIRS, 0),
        ((200, 1000), SMALL, ALONG_READ, 0),
        ((200, 1000), LARGE, ALONG_READ, 0),
        ((256, 1024), SMALL, "i1_o_o i0_o_o i1_o_i i0_o_i", 0),
        ((200, 1024), LARGE, ALONG_READ, 0),  # only what is read collides
        ((1024, 200), LARGE, IN_PAIRS, 0),
        ((1024, 200), SMALL, ALONG_READ, 0),
        ((256, 480), LARGE, IN_PAIRS, 0),  # rows 1 KiB apart
        ((256, 1024), LARGE, BLOCKS, 1),
        ((1024, 256), LARGE, BLOCKS, 1),
        ((1024, 1024), LARGE, BLOCKS, 2),
        ((64, 2048), LARGE, BLOCKS, 1),
    ],
)
def test_the_way_of_squares(
    shape: tuple[int, int], first_cache: int, loops: str, copies: int
) -> None:
    """Along what is read, but where rows share sets of a first cache that has room for copies."""
    x = np.random.default_rng(0).standard_normal(shape).astype("f4")
    schedule = ts.schedule(crossed_sum, (x,))
    scheduler = schedule.kernel._scheduler
    nest = scheduler.nest.loops["i0"]
    found = crossing(nest, scheduler.nest.buffers, 64)
    assert found is not None
    in_squares(scheduler, found, CPUParameters(first_cache=first_cache))
    text = str(schedule.kernel)
    assert " ".join(re.findall(r"for (i[01]\w*_o\w*) ", text)) == loops
    assert text.count("alloc ") == copies
    compiled = ts.compile(crossed_sum, (x,), schedule=schedule, cache=False)
    np.testing.assert_allclose(compiled(x), x.T * 2 + 1, rtol=1e-6)


def within_zeros(x: ts.Tensor) -> ts.Tensor:
    return ts.sigmoid(F.pad(x, [1, 1, 1, 1])).permute(0, 2, 3, 1) * 2


def test_what_lies_outside_is_not_read() -> None:
    """Squares are filled with what the program reads, under the conditions that it reads it."""
    x = np.random.default_rng(0).standard_normal((2, 48, 30, 30)).astype("f4")
    compiled = ts.compile(within_zeros, (x,), fallback="error", cache=False)
    copies = [s for s in compiled.ir("scheduled").split("\n") if "te.store i2_square" in s]
    assert copies and all("= select(" in copy for copy in copies)
    np.testing.assert_allclose(
        compiled(x), within_zeros(ts.from_numpy(x)).numpy(), rtol=1e-5, atol=1e-6
    )


def test_conditions_of_a_part() -> None:
    x, y = load("x", [var("i")], float32), load("y", [var("i")], float32)
    zero, first, last = const(0.0, float32), var("i") < 9, var("i") > 3
    assert condition_of(select(first, select(last, x, y) * 2.0, zero), x) is all_of([first, last])
    assert str(condition_of(select(first, zero, x + y), x)) == "~(i < 9)"
    assert condition_of(x + select(first, x, zero), x) is const(True, bool_)
    assert condition_of(select(first, x, select(last, x, zero)), x) is None
    assert condition_of(select(y > 0.0, x, zero), x) is None
