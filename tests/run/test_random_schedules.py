"""Random legal steps on the compiler's own schedules of random programs: the same results natively.

`test_te_schedule.py` evaluates steps on nests that heuristics have not touched; here loops are
collapsed, folded and vectorized before, and machine code of every width of vector is made.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest
from test_compile_random import load

import tensorscript as ts
from tensorscript.base.errors import UserError
from tensorscript.compiler.loop_nest import LoopNest

PROGRAMS = 24
SHAPES = ((4, 5), (17, 33), (1, 7), (64, 16), (8, 8), (3, 100))
Drawn = Callable[[Random, str, str, str], tuple[object, ...]]
"""The arguments of a step of two loops and a buffer."""
STEPS: dict[str, Drawn] = {
    "split": lambda r, i, j, b: (
        i, r.choice([2, 3, 8, 16]), r.choice(["guard", "loop", "short", "rest"])
    ),
    "reorder": lambda r, i, j, b: (i, j),
    "fuse": lambda r, i, j, b: (i, j),
    "collapse": lambda r, i, j, b: (i, j),
    "fuse_loops": lambda r, i, j, b: (i, j),
    "tile": lambda r, i, j, b: (i, j, 4, 4, "guard"),
    "parallel": lambda r, i, j, b: (i, r.choice([1, 2, 8])),
    "accumulate": lambda r, i, j, b: (i, 8),
    "vectorize_outer": lambda r, i, j, b: (i, 8),
    "scan": lambda r, i, j, b: (i, 8),
    "slice_head": lambda r, i, j, b: (i, 2),
    "slice_tail": lambda r, i, j, b: (i, 2),
    "prefetch": lambda r, i, j, b: (i, b, r.choice([1, 64, 2048])),
    "cache": lambda r, i, j, b: (b, i, "stack"),
    "compute_at": lambda r, i, j, b: (b, i),
    "inline": lambda r, i, j, b: (b,),
    "permute": lambda r, i, j, b: (b, 1, 0),
    "set_scope": lambda r, i, j, b: (b, r.choice(["heap", "stack"])),
    **dict.fromkeys(
        ("vectorize", "unroll", "full_unroll", "rfactor", "distribute", "normalize", "forward",
         "invariant"),
        lambda r, i, j, b: (i,),
    ),
}  # fmt: skip


def changed(random: Random, nests: list[LoopNest]) -> list[str]:
    """Take some steps; those that were legal."""
    done = []
    for _ in range(random.randint(3, 30)):
        nest, kind = random.choice(nests), random.choice([*STEPS, "split", "cache", "vectorize"])
        if not nest.loops:
            continue
        names = [random.choice(nest.loops).name for _ in range(2)]
        given = STEPS[kind](random, names[0], names[1], random.choice(nest.buffers))
        try:
            nest.step(kind, *given)  # type: ignore[arg-type]  # the schedule checks them
        except UserError:
            continue
        done.append(f"{nest.name}: {kind}{given}")
    return done


def check(folder: Path, seed: int) -> None:
    random, numbers, program = Random(seed), np.random.default_rng(seed), load(folder, seed)
    shape, dtype = random.choice(SHAPES), random.choice([np.float32, np.float32, np.float64])
    x, y = (numbers.standard_normal(shape).astype(dtype) for _ in range(2))
    schedule = ts.schedule(program, (x, y), start=random.choice(["logical", "default"]))
    steps = changed(random, list(schedule.kernels.values()))
    run = ts.compile(program, (x, y), schedule=schedule, cache=False, fallback="error")
    wanted = program(ts.from_numpy(x), ts.from_numpy(y))
    for found, want in zip(run(x, y), map(np.asarray, wanted), strict=True):
        bound = (2e-4 if dtype is np.float32 else 1e-9) * max(1, np.abs(want).max())
        np.testing.assert_allclose(found, want, 0, bound, err_msg=f"{seed}: {steps}")


@pytest.mark.parametrize("first", range(0, PROGRAMS, 8))
def test_programs_with_changed_schedules(tmp_path: Path, first: int) -> None:
    for seed in range(first, first + 8):
        check(tmp_path, seed)


def test_a_copy_of_rows_that_are_read_as_one_line(tmp_path: Path) -> None:
    """`fold` reads behind the end of a row; what lies there is copied as well."""

    def columns(x: ts.Tensor) -> ts.Tensor:
        return x.sum(0)

    x = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    schedule = ts.schedule(columns, (x,), start="logical")
    schedule.kernel.step("fold", "i0", 2)
    schedule.kernel.step("vectorize_outer", "i0_w", 16)
    schedule.kernel.step("cache", "p0", "i0_w_o", "stack")
    run = ts.compile(columns, (x,), schedule=schedule, cache=False, fallback="error")
    np.testing.assert_allclose(run(x), x.sum(0), 0, 1e-5)


@pytest.mark.parametrize(("cut", "left"), [("slice_tail", "s0_r1_t"), ("slice_head", "s0_r1")])
@pytest.mark.parametrize("count", [2, 8, 11])
def test_accumulators_of_a_loop_that_starts_behind_0(cut: str, left: str, count: int) -> None:
    """Whole vectors and the rest begin where the loop does."""

    def total(x: ts.Tensor) -> ts.Tensor:
        return (x.cumsum(1) * 0.1).sum()

    x = np.random.default_rng(0).standard_normal((5, 16))
    schedule = ts.schedule(total, (x,), start="logical")
    nest = next(n for n in schedule.kernels.values() if any(k.name == "s0_r1" for k in n.loops))
    nest.step(cut, "s0_r1", count)
    nest.step("accumulate", left, 4)
    run = ts.compile(total, (x,), schedule=schedule, cache=False, fallback="error")
    np.testing.assert_allclose(run(x), (x.cumsum(1) * 0.1).sum(), 1e-12)


def test_rows_that_are_read_as_one_line_are_not_permuted() -> None:
    """The elements behind the end of a row are the next row's only in the order they were in."""

    def twice(x: ts.Tensor) -> ts.Tensor:
        y = x.tanh()
        return y - y.sum(0)

    x = np.random.default_rng(0).standard_normal((8, 8))
    schedule = ts.schedule(twice, (x,), start="logical")
    nest = schedule.kernel
    held = next(name for name in nest.buffers if name.startswith("t"))
    nest.step("permute", held, 1, 0)
    nest.step("permute", held, 1, 0)
    nest.step("collapse", "s0_i0", "s0_i1")
    with pytest.raises(UserError, match="may leave its dimension"):
        nest.step("permute", held, 1, 0)
    run = ts.compile(twice, (x,), schedule=schedule, cache=False, fallback="error")
    np.testing.assert_allclose(run(x), np.tanh(x) - np.tanh(x).sum(0), 0, 1e-12)
