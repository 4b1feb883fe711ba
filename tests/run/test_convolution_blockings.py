"""Are the tiles and blocks of a convolution those of its step, whatever they are?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.compiler.examples import argument_specs
from tensorscript.compiler.function import CompiledFunction
from tensorscript.compiler.options import CompileOptions
from tensorscript.compiler.programs import program_of
from tensorscript.dialects.te.ops import functions
from tensorscript.dialects.te.schedule import ScheduleError
from tensorscript.lowering.schedules.candidates import rounds, variations
from tensorscript.lowering.schedules.cpu_vectors import CPUParameters

F = ts.nn.functional


def strided(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return ts.relu(F.conv2d(x, w, None, 2, 1))


def plain(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return F.conv2d(x, w)


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    random = np.random.default_rng(3)
    return [random.standard_normal(shape).astype("f4") for shape in shapes]


def by_taps(x: np.ndarray, w: np.ndarray, stride: int, padding: int) -> np.ndarray:
    """In float64."""
    x = np.pad(x.astype("f8"), [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    windows = windows[:, :, ::stride, ::stride]
    return np.einsum("nchwrs,mcrs->nmhw", windows, w.astype("f8"))


IMAGE, WEIGHTS = (2, 20, 17, 28), (40, 20, 3, 3)
"""Results of 9 by 14."""
ONE, WINDOW = (1, 1, 30, 50), (1, 1, 3, 5)


@pytest.mark.parametrize(
    "step",
    [
        ("convolution", 7, 32, 16, 64, 2, 0),
        ("convolution", 3, 16, 8, 1000, 9, 1),
        ("convolution", 14, 8, 4, 1, 20, 0),
        ("packed convolution", 5, 48, 16, 90, 4, 1),
        ("turned convolution", 7, 32, 16, 64, 2, 0),
        ("turned convolution", 14, 16, 16, 1000, 9, 1),
        ("turned convolution", 1, 8, 4, 30, 5, 0),
        ("packed turned convolution", 42, 16, 16, 100, 3, 0),
    ],
)
def test_blockings(step: tuple[str, int, int, int, int, int, int]) -> None:
    x, w = arrays(IMAGE, WEIGHTS)
    schedule = ts.schedule(strided, (x, w))
    schedule.kernel.tensorize(schedule.kernel.loops[0], *step)
    made = ts.compile(strided, (x, w), schedule=schedule, cache=False)
    wanted = np.maximum(by_taps(x, w, 2, 1), 0)
    np.testing.assert_allclose(made(x, w), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("tile", [(1, 16, 16), (4, 32, 16), (28, 64, 16), (3, 8, 4)])
def test_tiles_of_one_channel(tile: tuple[int, int, int]) -> None:
    x, w = arrays(ONE, WINDOW)
    schedule = ts.schedule(plain, (x, w))
    schedule.kernel.tensorize(schedule.kernel.loops[0], "plane convolution", *tile)
    made = ts.compile(plain, (x, w), schedule=schedule, cache=False)
    np.testing.assert_allclose(made(x, w), by_taps(x, w, 1, 0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("shapes", "step", "reason"),
    [
        ((IMAGE, WEIGHTS), ("convolution", 64), "takes rows, columns, lanes, depth, block"),
        ((IMAGE, WEIGHTS), ("convolution", 7, 32, 16, 64, 2, 2), "by_panel is 0 or 1"),
        ((IMAGE, WEIGHTS), ("convolution", 7, 32, 16, 0, 2, 0), "positive"),
        ((IMAGE, WEIGHTS), ("turned convolution", 8, 32, 16, 64, 2, 0), "no run of pixels"),
        ((IMAGE, WEIGHTS), ("turned convolution", 42, 32, 16, 64, 2, 0), "whole runs"),
        ((IMAGE, WEIGHTS), ("plane convolution", 4, 32, 16), "not a convolution of one channel"),
        ((ONE, WINDOW), ("plane convolution", 60, 16, 16), "no more rows than the image"),
    ],
)
def test_refusals(
    shapes: tuple[tuple[int, ...], ...], step: tuple[str, *tuple[int, ...]], reason: str
) -> None:
    kernel = ts.schedule(strided, arrays(*shapes)).kernel
    with pytest.raises(ScheduleError, match=reason):
        kernel.tensorize(kernel.loops[0], *step)


@pytest.mark.parametrize(
    ("program", "shapes"),
    [(strided, (IMAGE, WEIGHTS)), (plain, ((1, 16, 9, 58), (16, 16, 3, 3)))],
)
def test_candidates_are_legal(
    program: Callable[..., ts.Tensor], shapes: tuple[tuple[int, ...], ...]
) -> None:
    found_program, name = program_of(program)
    function = CompiledFunction(found_program, CompileOptions(cache=False), name)
    specs = argument_specs(function, arrays(*shapes))
    (func,) = (
        f
        for f in functions(function.lower(specs, keep=True).report.modules["te"])
        if f.role.data == "kernel"
    )
    checked = CPUParameters(checked=True)
    found = [
        made
        for number in range(rounds(func, checked))
        for made in variations(func, checked, checked, number)
    ]
    assert len(found) >= 8
    assert len({made.schedule for made in found}) == len(found)
