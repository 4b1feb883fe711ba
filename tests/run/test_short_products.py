"""Products with one short side: dot products along the depth, wide tiles, rows for columns."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.backends.target import host
from tensorscript.base.dtypes import DType, float32, float64, int32
from tensorscript.dialects.te.expr import const
from tensorscript.lowering.schedules.contraction_tile import block_for, streamed_block_for

Program = Callable[..., ts.Tensor]


def plain(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return x @ y


def rows(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return x @ y.transpose(-1, -2)


def columns(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return ts.relu(x.transpose(-1, -2) @ y - 1)


def of_vector(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return x @ y


def biased(x: ts.Tensor, y: ts.Tensor, b: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    out = ts.nn.functional.linear(x, y, b)
    return ts.tanh(out), out


def operands(program: Program, *size: int, dtype: str = "f4") -> tuple[np.ndarray, np.ndarray]:
    *batch, m, k, n = size
    random = np.random.default_rng(sum(size))
    first = (k, m) if program is columns else (m, k)
    second = (n, k) if program is rows else (k, n)
    x, y = (random.standard_normal((*batch, *shape)).astype(dtype) for shape in (first, second))
    return x, y


def wanted(program: Program, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """In float64."""
    x, y = x.astype("f8"), y.astype("f8")
    if program is rows:
        return np.asarray(x @ y.swapaxes(-1, -2))
    return np.maximum(x.swapaxes(-1, -2) @ y - 1, 0) if program is columns else np.asarray(x @ y)


def run(program: Program, size: tuple[int, ...], kernel: str | None, dtype: str = "f4") -> None:
    x, y = operands(program, *size, dtype=dtype)
    compiled = ts.compile(program, (x, y), fallback="error")
    if kernel is not None and host().vector_bytes == 64:
        assert f'"{kernel}"' in compiled.ir("schedule")
    error = (1e-6 if dtype == "f4" else 1e-14) * size[-2] ** 0.5
    np.testing.assert_allclose(compiled(x, y), wanted(program, x, y), rtol=0, atol=4 * error)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    ("program", "size"),
    [
        (rows, (33, 1000, 17)),  # neither side divides
        (rows, (3, 4100, 70)),  # more than one block of the depth
        (rows, (2, 256, 2)),
        (rows, (3, 1, 301, 40)),  # a batch of single rows
        (rows, (5, 2, 3, 300, 7)),
        (plain, (90, 515, 3)),  # the columns are copied
        (columns, (3, 700, 5)),  # and both sides
        (rows, (1, 999, 50)),
    ],
)
def test_dot_products(program: Program, size: tuple[int, ...], dtype: str) -> None:
    run(program, size, "dots", dtype)


@pytest.mark.parametrize(
    ("program", "size", "kernel"),
    [
        (plain, (2, 300, 301), "product"),
        (plain, (3, 64, 500), "product"),
        (columns, (3, 200, 130), "product"),
        (columns, (200, 150, 3), "product"),  # rows for columns
        (columns, (4, 131, 70, 5), "product"),
        (plain, (40, 1, 30), None),  # the depth is no sum
        (plain, (40, 2, 30), None),
        (rows, (64, 12, 3), None),
    ],
)
def test_few_rows_or_columns(program: Program, size: tuple[int, ...], kernel: str | None) -> None:
    run(program, size, kernel)


@pytest.mark.parametrize("cpu", ["x86-64-v3", "x86-64-v2"])
@pytest.mark.skipif(host().vector_bytes < 32, reason="needs an x86-64 CPU with AVX2")
def test_narrow_vectors(cpu: str) -> None:
    cases = [(rows, (9, 300, 17)), (plain, (3, 64, 500)), (columns, (200, 150, 3))]
    for program, size in cases:
        x, y = operands(program, *size)
        compiled = ts.compile(program, (x, y), cpu=cpu, fallback="error")
        np.testing.assert_allclose(compiled(x, y), wanted(program, x, y), rtol=0, atol=1e-4)


def test_vectors() -> None:
    x, y = operands(plain, 50, 700, 1)
    compiled = ts.compile(of_vector, (x, y[:, 0]), fallback="error")
    np.testing.assert_allclose(compiled(x, y[:, 0]), (x @ y)[:, 0], rtol=0, atol=1e-4)


def test_epilogues_are_inside() -> None:
    x, y = operands(rows, 7, 600, 11)
    b = np.arange(11, dtype="f4")
    compiled = ts.compile(biased, (x, y, b), fallback="error")
    out = x.astype("f8") @ y.T.astype("f8") + b
    for found, want in zip(compiled(x, y, b), (np.tanh(out), out), strict=True):
        np.testing.assert_allclose(found, want, rtol=0, atol=1e-4)


def test_halves_are_summed_in_float32() -> None:
    x, y = operands(rows, 4, 1000, 9)
    halves = [ts.from_numpy(a).to(ts.bfloat16) for a in (x, y)]
    found = ts.compile(rows, halves, fallback="error")(*halves)
    want = wanted(rows, *(a.float().numpy() for a in halves))
    np.testing.assert_allclose(found.float().numpy(), want, rtol=1 / 128, atol=1e-3)


@pytest.mark.parametrize(
    ("size", "far", "tile"),
    [
        ((3, 4000), False, (3, 128)),  # as many vectors as the registers hold
        ((3, 300), False, (3, 64)),  # of a wider one a quarter would be padding
        ((6, 4096), False, (6, 64)),
        ((14, 4096), False, (14, 32)),
        ((14, 4096), True, (5, 64)),  # from memory in longer stretches
        ((512, 4096), True, (14, 32)),
    ],
)
def test_few_rows_take_wide_tiles(size: tuple[int, int], far: bool, tile: tuple[int, int]) -> None:
    found = block_for(float32, 64, const(size[0]), const(size[1]), const(64), far)
    assert (found.rows, found.columns) == tile


@pytest.mark.parametrize(
    ("dtype", "size", "depth"),
    [
        (float32, (2, 512, 512), 64),
        (float32, (8, 512, 1000), 64),  # they wait for what lies beyond the second cache
        (float32, (28, 1024, 1024), 64),
        (float32, (48, 1024, 1024), 256),  # four panels of rows wait less
        (float32, (8, 512, 512), 128),
        (float32, (15, 512, 512), 128),
        (float32, (8, 256, 512), 256),  # to cut it would take time
        (float32, (16, 512, 512), 256),
        (float64, (8, 512, 512), 64),
        (int32, (8, 512, 1000), 256),  # nothing is rounded
    ],
)
def test_few_rows_are_summed_in_short_chains(
    dtype: DType, size: tuple[int, int, int], depth: int
) -> None:
    rows, steps, columns = size
    assert block_for(dtype, 64, const(rows), const(columns), const(steps)).depth == depth


def test_errors_of_few_rows_are_those_of_short_chains() -> None:
    """Of positive numbers, whose sums grow evenly: a rounding errs by about a quarter of a unit of
    the sum so far, in chains of 64 steps, then in one of their sums."""
    steps, chain = 512, 64
    random = np.random.default_rng(steps)
    x, y = (random.uniform(0.5, 1, (n, steps)).astype("f4") for n in (8, 1000))
    layer = ts.nn.Linear(steps, len(y), bias=False)
    layer.weight = ts.nn.Parameter(ts.from_numpy(y), requires_grad=False)
    found = np.asarray(ts.compile(layer, [x], fallback="error")(x))
    want = x.astype("f8") @ y.T.astype("f8")
    steps_of_both = chain**2 / steps + steps / chain
    error = np.sqrt(np.mean(np.square(found - want))) / want.max()
    assert error <= 2.0**-25 * np.sqrt(steps_of_both / 3)


@pytest.mark.parametrize(
    ("rows", "tile"),
    [(3, (3, 64)), (8, (8, 32)), (14, (14, 32)), (16, (16, 16)), (24, (24, 16)), (64, (16, 16))],
)
def test_many_rows_stream_columns_once(rows: int, tile: tuple[int, int]) -> None:
    """One vector a row, so that all rows, or many, take what is read of the columns."""
    found = streamed_block_for(float32, 64, rows, const(4096))
    assert (found.rows, found.columns, found.depth) == (*tile, 32)


@pytest.mark.parametrize(
    ("size", "fetched"),
    [
        ((16, 1024, 1024), 1), ((24, 700, 1030), 1), ((8, 1030, 700), 2), ((3, 1024, 1024), 4),
        ((16, 512, 512), 0),  # the second cache has them
        ((200, 1024, 1024), 0),  # many rows wait for nothing
    ],
)  # fmt: skip
def test_columns_beyond_the_second_cache_are_streamed(
    size: tuple[int, int, int], fetched: int
) -> None:
    """They are read as they lie, and a row's lines are asked for two panels before."""
    x, y = operands(plain, *size)
    specs = [ts.TensorSpec(a.shape, ts.float32) for a in (x, y)]
    target, cpu = "x86_64-unknown-linux-gnu", "x86-64-v4"
    compiled = ts.compile(plain, specs, target=target, cpu=cpu, fallback="error")
    assert compiled.ir("scheduled").count("te.prefetch p1.") == fetched


@pytest.mark.parametrize(("columns", "asked"), [(512, False), (3072, True)])
def test_sums_that_stay_near_are_not_asked_for(columns: int, asked: bool) -> None:
    """Of a task, one of eight."""
    specs = [ts.TensorSpec(s, ts.float32) for s in ((8, 512), (512, columns))]
    target, cpu = "x86_64-unknown-linux-gnu", "x86-64-v4"
    compiled = ts.compile(plain, specs, target=target, cpu=cpu, fallback="error")
    assert ("te.prefetch sums." in compiled.ir("scheduled")) is asked


@pytest.mark.parametrize("cpu", ["", "x86-64-v3", "x86-64-v2"])
@pytest.mark.parametrize(
    "size", [(16, 1024, 1024), (23, 700, 1030), (45, 530, 1000), (5, 999, 601)]
)
@pytest.mark.skipif(host().vector_bytes < 32, reason="needs an x86-64 CPU with AVX2")
def test_streamed_columns(size: tuple[int, int, int], cpu: str) -> None:
    x, y = operands(plain, *size)
    compiled = ts.compile(plain, (x, y), cpu=cpu, fallback="error")
    np.testing.assert_allclose(compiled(x, y), wanted(plain, x, y), rtol=0, atol=2e-4)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("size", [(16, 200, 12000), (3, 300, 5001), (60, 1050, 640)])
def test_a_thread_sweeps_over_its_columns(size: tuple[int, int, int], threads: int) -> None:
    """Step by step of the depth, and over no more of them than whose sums stay cached."""
    x, y = operands(plain, *size)
    compiled = ts.compile(plain, (x, y), fallback="error")
    assert re.search(r"te\.for tb in .* parallel grain \d+ chunk tn", compiled.ir("scheduled"))
    before = ts.get_num_threads()
    try:
        ts.set_num_threads(threads)
        found = compiled(x, y)
    finally:
        ts.set_num_threads(before)
    np.testing.assert_allclose(found, wanted(plain, x, y), rtol=0, atol=2e-4)


def test_a_sweep_is_cut_where_its_sums_are_many() -> None:
    """640 KiB of them, in tiles of a KiB."""
    specs = [ts.TensorSpec(s, ts.float32) for s in ((16, 200), (200, 12000))]
    target, cpu = "x86_64-unknown-linux-gnu", "x86-64-v4"
    text = ts.compile(plain, specs, target=target, cpu=cpu, fallback="error").ir("scheduled")
    assert "te.alloc stack sums: f32[640, 1, 16, 16]" in text
    assert re.search(r"te\.for tc in 0 \.\. \(tn \+ 639\) // 640", text)
