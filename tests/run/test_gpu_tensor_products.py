"""Products of halves on tensor cores: results, races, banks, registers, and who stays away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple
from typing import Any

import numpy as np
import pytest
from gpu_agreement import TARGET, accepted, launch, normal, scheduled

import tensorscript as ts
import tensorscript.nn.functional as F
from tensorscript import Tensor
from tensorscript.backends.ptx.emulate import RaceError
from tensorscript.compiler.gpu import GPUModule
from tensorscript.dialects.te.ops import MultiplyOp, SyncOp
from tensorscript.dialects.te.schedule import ScheduleError
from tensorscript.dialects.walks import walk_ops
from tensorscript.lowering.schedules.gpu_tensor_tile import TENSOR_TILES, TensorTile

DTYPES = {"float16": ts.float16, "bfloat16": ts.bfloat16}
EPS = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
UNITS = "te.multiply"


def matmul(x: Tensor, y: Tensor) -> Tensor:
    return x @ y


def transposed(x: Tensor, y: Tensor) -> Tensor:
    return x.t() @ y.t()


def linear(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return ts.relu(F.linear(x, w, b))


def convolved(x: Tensor, w: Tensor) -> Tensor:
    return ts.conv2d(x, w, padding=[1, 1])


def widened(x: Tensor, y: Tensor) -> Tensor:
    return (x @ y).float() + 1.0


def bits(x: np.ndarray, name: str) -> np.ndarray:
    """Numbers of a half dtype, as they lie in memory."""
    return x.astype("f2") if name == "float16" else (x.view("u4") >> 16).astype("u2")


def numbers(x: np.ndarray) -> np.ndarray:
    """What such an array stands for."""
    return x.astype("f8") if x.dtype == "f2" else (x.astype("u4") << 16).view("f4").astype("f8")


def close(got: np.ndarray, wanted: np.ndarray, name: str, depth: int) -> None:
    """A result is rounded once, and its sum in float32."""
    scale = float(np.abs(wanted).max(initial=1.0))
    np.testing.assert_allclose(got, wanted, rtol=0, atol=(EPS[name] + depth * 2.0**-23) * scale)


def tiled(
    tile: TensorTile, x: np.ndarray, y: np.ndarray, name: str, function: Callable[..., Any] = matmul
) -> GPUModule:
    """A product of two matrices in tiles of that size."""
    specs = [ts.TensorSpec(a.shape, DTYPES[name]) for a in (x, y)]
    schedule = ts.schedule(function, specs)
    first = schedule.kernel.loops[0]
    schedule.kernel.step("tensorize", first, "product on tensor cores", *astuple(tile))
    return scheduled(function, *specs, schedule=schedule)


def halves(name: str, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [bits(normal(*shape, seed=seed), name) for seed, shape in enumerate(shapes)]


@pytest.mark.parametrize("tile", TENSOR_TILES, ids=lambda tile: "x".join(map(str, astuple(tile))))
def test_every_tile(tile: TensorTile) -> None:
    """Of matrices that end within tiles, and for every second tile of transposed ones that fill
    them; without spilled registers or conflicts of banks."""
    m, k, n = tile.rows, 2 * tile.depth, tile.columns
    cases = [(matmul, "float16", m + 3, k + 3, n + 1), (transposed, "bfloat16", m, k, n)]
    for function, name, m, k, n in cases[: 1 + TENSOR_TILES.index(tile) % 2]:
        x, y = halves(name, (m, k), (k, n))
        wanted = numbers(x) @ numbers(y)
        if function is transposed:
            x, y = np.ascontiguousarray(x.T), np.ascontiguousarray(y.T)
        module = tiled(tile, x, y, name, function)
        for usage in accepted(module.ptx).values():
            assert (usage.stack, usage.spill_stores, usage.spill_loads) == (0, 0, 0)
            assert usage.registers * tile.threads <= 65536
        got, counts = launch(module, x, y, banks=True)
        close(numbers(got), wanted, name, k)
        assert counts.bank_conflicts == 0
        if function is transposed:
            assert counts.global_load_bytes == x.nbytes + y.nbytes


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(4, 2, 4), (5, 7, 9), (16, 16, 8), (17, 40, 33), (64, 37, 70)])
def test_shapes(name: str, shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    x, y = halves(name, (m, k), (k, n))
    module = scheduled(matmul, *(ts.TensorSpec(a.shape, DTYPES[name]) for a in (x, y)))
    got, _ = launch(module, x, y)
    close(numbers(got), numbers(x) @ numbers(y), name, k)
    assert any(isinstance(op, MultiplyOp) for op in walk_ops(module.module))


@pytest.mark.parametrize("name", DTYPES)
def test_small_integers_are_exact(name: str) -> None:
    rng = np.random.default_rng(5)
    x, y = (rng.integers(-4, 5, shape).astype("f4") for shape in ((33, 20), (20, 17)))
    a, b = bits(x, name), bits(y, name)
    module = scheduled(matmul, *(ts.TensorSpec(h.shape, DTYPES[name]) for h in (a, b)))
    got, _ = launch(module, a, b)
    wanted = ts.tensor(x @ y).to(DTYPES[name]).float().numpy()
    np.testing.assert_array_equal(numbers(got), wanted)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (linear, [(9, 40), (24, 40), (24,)]),
        (matmul, [(3, 8, 20), (3, 20, 12)]),
        (widened, [(20, 16), (16, 9)]),
        (convolved, [(2, 3, 6, 7), (5, 3, 3, 3)]),
    ],
)
def test_forms(function: Callable[..., Any], shapes: list[tuple[int, ...]], name: str) -> None:
    dtype = DTYPES[name]
    tensors = [ts.tensor(normal(*s, seed=i)).to(dtype) for i, s in enumerate(shapes)]
    expected = ts.compile(function, fallback="error", cache=False)(*tensors)
    compiled = ts.compile(function, target=TARGET, fallback="error")
    got = compiled(*tensors)
    assert got.dtype is expected.dtype and UNITS in compiled.ir("scheduled")
    accepted(compiled.ir("ptx"))
    wanted = expected.float().numpy().astype("f8")
    close(got.float().numpy(), wanted, name, 2 * max(shapes[0][-1], 27))


def test_named_sizes() -> None:
    specs = [ts.TensorSpec(("M", "K"), ts.float16), ts.TensorSpec(("K", "N"), ts.float16)]
    compiled = ts.compile(matmul, specs, target=TARGET, fallback="error")
    for m, k, n in ((5, 3, 70), (40, 33, 8), (130, 2, 3)):
        x, y = halves("float16", (m, k), (k, n))
        close(compiled(x, y).astype("f8"), numbers(x) @ numbers(y), "float16", k)
    assert UNITS in compiled.ir("scheduled") and len(compiled.stats.native) == 1


def test_who_stays_away() -> None:
    """float32 is never rounded to TF32, sums stay in order where that is asked for, and older
    processors have no such instruction."""
    x, y = normal(32, 32), normal(32, 32)
    for arrays, target, strict, there in (
        ((x, y), TARGET, False, False),
        ((x.astype("f8"), y.astype("f8")), TARGET, False, False),
        ((x.astype("f2"), y.astype("f2")), TARGET, True, False),
        ((x.astype("f2"), y.astype("f2")), "ptx-emulate:sm_75", False, False),
        ((x.astype("f2"), y.astype("f2")), "ptx-emulate:sm_90", False, True),
    ):
        compiled = ts.compile(matmul, list(arrays), target=target, strict=strict, fallback="error")
        assert (UNITS in compiled.ir("scheduled")) is there
        assert ("mma.sync" in compiled.ir("ptx")) is there


def test_a_barrier_that_is_missing_is_a_race() -> None:
    x, y = halves("float16", (64, 64), (64, 64))
    tile = TensorTile(64, 64, 32, 32, 32)
    for which in (0, 1):
        module = tiled(tile, x, y, "float16")
        removed = [op for op in walk_ops(module.module) if isinstance(op, SyncOp)][which]
        removed.detach()
        removed.erase()
        with pytest.raises(RaceError, match="shared memory"):
            launch(module, x, y)


def test_what_a_product_loads() -> None:
    x, y = halves("float16", (64, 64), (64, 64))
    module = tiled(TensorTile(64, 64, 32, 32, 32), x, y, "float16")
    _, counts = launch(module, x, y)
    assert counts.global_load_bytes / 2 / 64**3 == 2 / 64
    assert counts.global_loads == counts.global_load_bytes / 16  # vectors of eight
    assert counts.barriers == 3
    assert module.ptx.count("mma.sync") == 2 * 2 * 4  # two steps of a turn, 2 by 4 products
    assert module.ptx.count("ldmatrix") == 2 * (2 + 2)


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ((48, 64, 32, 16, 16), "powers of two"),
        ((64, 64, 8, 32, 32), "16 at least"),
        ((64, 64, 32, 128, 16), "no more rows"),
        ((128, 128, 32, 64, 64), "64 sums"),
        ((256, 128, 32, 16, 16), "1024 threads"),
        ((128, 128, 64, 64, 32), "bytes of shared memory"),
    ],
)
def test_tiles_that_there_are_not(sizes: tuple[int, ...], reason: str) -> None:
    spec = ts.TensorSpec((8, 8), ts.float16)
    nest = ts.schedule(matmul, [spec, spec]).kernel
    with pytest.raises(ScheduleError, match=reason):
        nest.step("tensorize", nest.loops[0], "product on tensor cores", *sizes)


def test_products_that_they_do_not_take() -> None:
    nest = ts.schedule(matmul, [normal(8, 8), normal(8, 8)]).kernel
    with pytest.raises(ScheduleError, match="is not one product of matrices of float16"):
        nest.step("tensorize", nest.loops[0], "product on tensor cores", 16, 32, 32, 16, 16)
