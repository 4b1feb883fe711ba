"""Products of matrices in tiles on a GPU: results, races, banks, registers, and what is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple

import numpy as np
import pytest
from gpu_agreement import TARGET, accepted, agree, launch, normal, scheduled, tolerance

import tensorscript as ts
import tensorscript.nn.functional as F
from tensorscript import Tensor
from tensorscript.backends.ptx import driver
from tensorscript.backends.ptx.emulate import RaceError
from tensorscript.compiler.gpu import GPUModule
from tensorscript.dialects.te.ops import SyncOp
from tensorscript.dialects.te.schedule import ScheduleError
from tensorscript.dialects.walks import walk_ops
from tensorscript.lowering.schedules.gpu_tile import TILES, BlockTile

DTYPES = ("f4", "f8", "f2", "i1", "i4", "i8")


def matmul(x: Tensor, y: Tensor) -> Tensor:
    return x @ y


def transposed(x: Tensor, y: Tensor) -> Tensor:
    return x.t() @ y.t()


def linear(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return ts.relu(F.linear(x, w, b)) * 2


def added(c: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return ts.addmm(c, x, y, beta=0.5, alpha=2.0)


def convolved(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return ts.relu(ts.conv2d(x, w, b, padding=[1, 1]))


def strided(x: Tensor, w: Tensor) -> Tensor:
    return ts.conv2d(x, w, stride=[2, 1], padding=[1, 0])


def drawn(rng: np.random.Generator, dtype: str, *shape: int) -> np.ndarray:
    """Numbers whose products and sums are not rounded much, and wrap around in bytes."""
    return (rng.standard_normal(shape) * 4).astype(dtype)


def exact(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x @ y, in float64 for floats and wrapped around for integers."""
    if x.dtype.kind == "f":
        return np.matmul(x.astype(np.float64), y.astype(np.float64))
    return np.matmul(x.astype(np.int64), y.astype(np.int64)).astype(x.dtype)


def close(got: np.ndarray, wanted: np.ndarray, depth: int) -> None:
    """Rounding of the dtype, and of a sum of `depth` products in its sums' dtype."""
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, wanted)
        return
    eps = max(np.finfo(got.dtype).eps, depth * np.finfo(np.result_type(got.dtype, "f4")).eps)
    scale = float(np.abs(wanted).max(initial=1.0))
    np.testing.assert_allclose(got, wanted, rtol=0, atol=eps * scale)


def tiled(tile: BlockTile, *arrays: np.ndarray) -> GPUModule:
    """The product of two matrices in tiles of that size."""
    schedule = ts.schedule(matmul, arrays)
    first = schedule.kernel.loops[0]
    schedule.kernel.step("tensorize", first, "product on a GPU", *astuple(tile))
    return scheduled(matmul, *arrays, schedule=schedule)


def shapes(count: int) -> Iterator[tuple[int, ...]]:
    rng = np.random.default_rng(7)
    sides = (1, 2, 4, 5, 7, 8, 13, 16, 17, 31, 32, 37, 64, 67)
    for _ in range(count):
        yield tuple(int(n) for n in rng.choice(sides, 3))


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_shapes(dtype: str) -> None:
    """Of processors without tensor cores, which float16 would be multiplied on."""
    compiled = ts.compile(matmul, target="ptx-emulate:sm_75", fallback="error")
    rng = np.random.default_rng(DTYPES.index(dtype))
    for m, k, n in shapes(6):
        x, y = drawn(rng, dtype, m, k), drawn(rng, dtype, k, n)
        close(compiled(x, y), exact(x, y), k)
        accepted(compiled.ir("ptx"))


@pytest.mark.parametrize("tile", TILES, ids=lambda tile: "x".join(map(str, astuple(tile))))
def test_every_tile(tile: BlockTile) -> None:
    """Of a matrix that ends within tiles, and for every second tile of one that loads vectors;
    without spilled registers or conflicts of banks."""
    odd = (tile.rows + 3, 2 * tile.depth + 3, tile.columns + 1)
    even = (tile.rows, 2 * tile.depth, tile.columns)
    rng = np.random.default_rng(1)
    for dtype, (m, k, n) in (("f4", odd), ("f8", even))[: 1 + TILES.index(tile) % 2]:
        x, y = drawn(rng, dtype, m, k), drawn(rng, dtype, k, n)
        module = tiled(tile, x, y)
        for usage in accepted(module.ptx).values():
            assert (usage.stack, usage.spill_stores, usage.spill_loads) == (0, 0, 0)
            assert usage.registers * tile.threads <= 65536
        got, counts = launch(module, x, y, banks=True)
        close(got, exact(x, y), k)
        assert counts.bank_conflicts == 0
        if m == tile.rows:
            assert counts.global_load_bytes == x.nbytes + y.nbytes


def test_operands_as_they_lie() -> None:
    agree(transposed, normal(33, 17), normal(21, 33), terms=256)
    agree(matmul, normal(3, 8, 20), normal(3, 20, 9), terms=256)
    agree(matmul, normal(2, 3, 5, 6), normal(3, 6, 7), terms=256)
    agree(matmul, normal(5, 36), normal(36, 8)[:, ::-1], terms=256)


def test_epilogues_are_part_of_the_kernel() -> None:
    for function, arrays in (
        (linear, (normal(5, 40), normal(12, 40), normal(12))),
        (added, (normal(9), normal(19, 16), normal(16, 9))),
        (added, (normal(19, 1), normal(19, 16), normal(16, 9))),
    ):
        assert len(agree(function, *arrays, terms=256).kernels) == 1


def test_convolutions() -> None:
    agree(convolved, normal(2, 3, 8, 8), normal(5, 3, 3, 3), normal(5), terms=256)
    agree(strided, normal(1, 4, 9, 7), normal(8, 4, 3, 2), terms=256)
    agree(strided, normal(2, 8, 6, 6), normal(4, 8, 1, 1), terms=256)


def test_named_sizes() -> None:
    specs = [ts.TensorSpec(("M", "K")), ts.TensorSpec(("K", "N"))]
    compiled = ts.compile(matmul, specs, target=TARGET, fallback="error")
    for m, k, n in ((5, 3, 70), (40, 33, 8), (64, 16, 128), (130, 2, 3)):
        x, y = normal(m, k), normal(k, n, seed=1)
        close(compiled(x, y), exact(x, y), k)
    assert "te.sync shared" in compiled.ir("scheduled")
    assert len(compiled.stats.native) == 1


X, Y = normal(64, 64), normal(64, 64, seed=1)
TILE_64 = BlockTile(64, 64, 16, 4, 4)


@pytest.mark.parametrize("which", [0, 1])
def test_a_barrier_that_is_missing_is_a_race(which: int) -> None:
    """Before the first turn, and behind each one."""
    assert launch(tiled(TILE_64, X, Y), X, Y)[1].barriers == 5
    module = tiled(TILE_64, X, Y)
    removed = [op for op in walk_ops(module.module) if isinstance(op, SyncOp)][which]
    removed.detach()
    removed.erase()
    with pytest.raises(RaceError, match="shared memory"):
        launch(module, X, Y)


def thread_per_result() -> GPUModule:
    schedule = ts.schedule(matmul, (X, Y))
    i, j, _ = schedule.kernel.loops
    schedule.kernel.bind(i, "bx")
    schedule.kernel.bind(j, "tx")
    return scheduled(matmul, X, Y, schedule=schedule)


def test_what_is_loaded_for_each_multiply_add() -> None:
    """A thread per result loads both factors each time; a tile of n loads each once for n."""
    work = 64**3
    (wanted, before), (got, after) = (
        launch(module, X, Y) for module in (thread_per_result(), tiled(TILE_64, X, Y))
    )
    np.testing.assert_array_equal(got, wanted)
    assert before.global_loads == 2 * work
    assert before.global_load_bytes / 4 == 2 * work
    assert after.global_load_bytes / 4 == 2 * work / 64
    assert after.global_loads == after.global_load_bytes / 16  # vectors of four
    assert after.shared_loads == (4 + 4) / 4 / 16 * work  # the same, for sixteen sums


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ((48, 64, 16, 4, 4), "powers of two"),
        ((64, 64, 16, 128, 1), "no more rows"),
        ((256, 256, 8, 16, 16), "64 sums"),
        ((16, 16, 8, 4, 4), "32 to 1024 threads"),
        ((32, 32, 4, 1, 1), "an element of both"),
        ((128, 128, 32, 8, 8), "bytes of shared memory"),
    ],
)
def test_tiles_that_there_are_not(sizes: tuple[int, ...], reason: str) -> None:
    nest = ts.schedule(matmul, (normal(8, 8), normal(8, 8))).kernel
    with pytest.raises(ScheduleError, match=reason):
        nest.step("tensorize", nest.loops[0], "product on a GPU", *sizes)


def test_the_steps_of_a_tile_are_data() -> None:
    compiled = agree(matmul, normal(64, 32), normal(32, 64), terms=256, spills=False)
    assert "product on a GPU" in compiled.ir("schedule")


@pytest.mark.gpu
@pytest.mark.skipif(not driver.available(), reason="needs an NVIDIA GPU")
@pytest.mark.parametrize("dtype", DTYPES)
def test_on_the_gpu(dtype: str) -> None:
    rng = np.random.default_rng(0)
    compiled = ts.compile(matmul, target="cuda", fallback="error")
    for m, k, n in ((1000, 333, 777), (2048, 512, 1024), (64, 64, 64), (3, 500, 70), (500, 70, 1)):
        x, y = drawn(rng, dtype, m, k), drawn(rng, dtype, k, n)
        close(compiled(x, y), exact(x, y), k)
    x, w, b = normal(4, 16, 30, 30), normal(32, 16, 3, 3), normal(32)
    expected = ts.compile(convolved, fallback="error")(x, w, b)
    got = ts.compile(convolved, target="cuda", fallback="error")(x, w, b)
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance(expected, 1024))
