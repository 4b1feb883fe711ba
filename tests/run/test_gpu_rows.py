"""Rows on a GPU: a block, a warp or a part of one for each, which meet by shuffles."""

from __future__ import annotations

import numpy as np
import pytest
from gpu_agreement import agree, launch, normal, scheduled, tolerance

import tensorscript as ts
import tensorscript.nn.functional as F
from tensorscript import Tensor
from tensorscript.backends.ptx import driver
from tensorscript.backends.ptx.emulate import BarrierError, RaceError
from tensorscript.compiler.gpu import GPUModule
from tensorscript.dialects.te.expr import var
from tensorscript.dialects.te.ops import AcrossOp, IfOp, SyncOp
from tensorscript.dialects.walks import walk_ops


def softmax(x: Tensor) -> Tensor:
    return ts.softmax(x, -1)


def normed(x: Tensor, w: Tensor) -> Tensor:
    return F.layer_norm(x, [x.size(-1)], w) + x.amax(-1, keepdim=True)


def totals(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return x.sum(-1), x.prod(-1), x.amin(-1)


def across(x: Tensor) -> Tensor:
    return ts.softmax(x, 0) + x.sum(0)


def images(x: Tensor) -> Tensor:
    return ts.log_softmax(x, 1)


def matmul(x: Tensor, y: Tensor) -> Tensor:
    return x @ y


def applied(w: Tensor, x: Tensor, b: Tensor) -> Tensor:
    return ts.relu(w @ x + b)


def threads(module: GPUModule) -> tuple[int, int]:
    """Blocks, and threads of one."""
    (kernel,) = module.compile().launches
    return int(kernel.grid[0]), int(kernel.block[0])


@pytest.mark.parametrize("width", [2, 7, 8, 9, 31, 32, 33, 100, 256, 257, 700])
def test_rows_of_every_length(width: int) -> None:
    for rows in (1, 19):
        agree(softmax, normal(rows, width), terms=512, spills=False)
    agree(normed, normal(2, 9, width), normal(width), terms=512, spills=False)


@pytest.mark.parametrize("dtype", ["f8", "f2", "i4", "i8", "i1"])
def test_dtypes(dtype: str) -> None:
    scale = 1 if dtype[0] == "f" else 2
    for width in (10, 90, 300):
        agree(totals, (normal(11, width) * scale).astype(dtype), terms=4096)


def test_logical_results() -> None:
    def every(x: Tensor) -> tuple[Tensor, Tensor]:
        return (x > 0).all(-1), (x > 2.5).any(-1)

    agree(every, np.abs(normal(9, 60)))
    agree(every, normal(9, 300))


@pytest.mark.parametrize(
    ("shape", "grid", "lanes"),
    [
        ((50, 10), (4, 256), 16),
        ((64, 100), (8, 256), 32),
        ((3, 100), (1, 128), 32),
        ((64, 1000), (64, 256), 256),
        ((1, 40), (1, 32), 32),
    ],
)
def test_who_computes_a_row(shape: tuple[int, int], grid: tuple[int, int], lanes: int) -> None:
    module = scheduled(softmax, normal(*shape))
    assert threads(module) == grid
    across = [op.lanes for op in walk_ops(module.module) if isinstance(op, AcrossOp)]
    assert across == ([32, 8] * 2 if lanes == 256 else [lanes] * 2)


def test_many_long_rows_are_warps_too() -> None:
    assert threads(scheduled(softmax, np.zeros((1024, 1000), np.float32))) == (128, 256)


def test_few_very_long_rows_have_all_threads_of_a_block() -> None:
    def everything(x: Tensor) -> tuple[Tensor, Tensor]:
        return x.sum(), x.amax()

    agree(everything, normal(90, 100), terms=4096)
    agree(softmax, normal(2, 12000), terms=4096, spills=False)
    module = scheduled(softmax, np.zeros((2, 9000), np.float32))
    assert threads(module) == (2, 1024)
    assert ".maxntid 1024" in module.ptx  # more registers than such a block has would not start
    assert threads(scheduled(softmax, np.zeros((200, 9000), np.float32))) == (200, 256)


def test_what_a_row_costs_before_and_after() -> None:
    """Barriers of the block: one a reduction and one between stages; a warp needs none. A tree in
    shared memory took nine a reduction, and an element of it for every thread."""
    x = normal(4, 1000)
    result, long = launch(scheduled(softmax, x), x, banks=True)
    np.testing.assert_allclose(result.sum(1), 1, rtol=1e-5)
    assert long.barriers == 4 * (1 + 1 + 1)
    assert long.bank_conflicts == 0
    x = normal(8, 100)
    assert launch(scheduled(softmax, x), x)[1].barriers == 0


@pytest.mark.parametrize(
    ("width", "dtype", "size"),
    [(1000, "f4", 16), (999, "f4", 4), (100, "f4", 16), (90, "f4", 4), (96, "f8", 16),
     (128, "f2", 8), (10, "f4", 4), (16384, "f4", 16)],
)  # fmt: skip
def test_rows_are_loaded_by_vectors_where_they_divide(width: int, dtype: str, size: int) -> None:
    x = normal(3, width).astype(dtype)
    result, counts = launch(scheduled(softmax, x), x)
    wanted = np.exp(x.astype("f8") - x.max(1, keepdims=True))
    wanted /= wanted.sum(1, keepdims=True)
    np.testing.assert_allclose(result.astype("f8"), wanted, rtol=0, atol=1e-3)
    assert counts.global_load_bytes == counts.global_loads * size


def without(module: GPUModule, kind: type[SyncOp] | type[AcrossOp], which: int) -> GPUModule:
    """The module with one statement less."""
    removed = [op for op in walk_ops(module.module) if isinstance(op, kind)][which]
    removed.detach()
    removed.erase()
    return module


def test_a_barrier_that_is_missing_is_a_race() -> None:
    x = normal(4, 1000)
    with pytest.raises(RaceError, match="shared memory"):
        launch(without(scheduled(softmax, x), SyncOp, 0), x)


def test_a_shuffle_that_is_missing_is_another_result() -> None:
    for x in (normal(4, 1000), normal(8, 40)):
        result, _ = launch(without(scheduled(softmax, x), AcrossOp, -1), x)
        assert not np.allclose(result.sum(1), 1)


def test_threads_without_a_row_must_come_to_the_shuffle() -> None:
    """The last block has fewer rows: a shuffle for those that have one waits for ever."""
    x = normal(19, 10)
    module = scheduled(softmax, x)
    across = next(op for op in walk_ops(module.module) if isinstance(op, AcrossOp))
    block = across.parent
    assert block is not None
    block.insert_op_before(IfOp(var("i0") < 19, [across.clone()]), across)
    across.detach()
    across.erase()
    with pytest.raises(BarrierError):
        launch(module, x)


@pytest.mark.parametrize("shape", [(33, 64), (5, 300), (70, 9)])
def test_a_matrix_times_a_vector_is_a_row_each(shape: tuple[int, int]) -> None:
    rows, depth = shape
    compiled = agree(applied, normal(rows, depth), normal(depth), normal(rows), terms=512)
    assert "te.across" in compiled.ir("scheduled")
    agree(applied, normal(2, rows, depth), normal(2, depth, 1), normal(1), terms=512)


@pytest.mark.parametrize("shape", [(40, 7), (33, 64), (100, 33), (300, 100)])
def test_columns_are_a_thread_of_each_warp(shape: tuple[int, int]) -> None:
    compiled = agree(across, normal(*shape), terms=512, spills=False)
    assert "te.sync shared" in compiled.ir("scheduled")
    agree(totals_across, (normal(*shape) * 2).astype("i4"))


def test_channels_of_images_are_columns() -> None:
    """A softmax of all pixels at once: each has its threads."""
    for shape in ((2, 33, 3, 64), (2, 40, 3, 7), (3, 5, 4, 4)):
        agree(images, normal(*shape), terms=512)
    assert threads(scheduled(images, normal(2, 33, 3, 64))) == (12, 256)
    assert threads(scheduled(images, normal(3, 5, 4, 4))) == (1, 256)  # short: a thread each


def test_norms_of_channels_and_groups_are_rows() -> None:
    def batch(x: Tensor) -> Tensor:
        return F.batch_norm(x, None, None, training=True)

    def group(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return F.group_norm(x, 3, w, b)

    for shape in ((4, 6, 5, 7), (2, 12, 10, 20)):
        x, w = normal(*shape), normal(shape[1])
        agree(batch, x, terms=4096)
        agree(group, x, w, w, terms=4096)
        for module in (scheduled(batch, x), scheduled(group, x, w, w)):
            assert any(isinstance(op, AcrossOp) for op in walk_ops(module.module))


def totals_across(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.sum(0), x.amax(0)


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["f4", "f2", "f8", "i4"])
def test_few_rows_times_a_matrix(rows: int, dtype: str) -> None:
    x, y = ((normal(*shape) * 4).astype(dtype) for shape in ((rows, 70), (70, 50)))
    assert "te.sync shared" in agree(matmul, x, y, terms=512).ir("scheduled")


def test_columns_need_their_barrier_and_have_no_conflicts() -> None:
    x, y = normal(2, 64), normal(64, 64)
    module = scheduled(matmul, x, y)
    result, counts = launch(module, x, y, banks=True)
    np.testing.assert_allclose(result, x @ y, rtol=0, atol=1e-4)
    assert (counts.bank_conflicts, counts.barriers) == (0, 4)
    with pytest.raises(RaceError, match="shared memory"):
        launch(without(scheduled(matmul, x, y), SyncOp, 0), x, y)


def test_an_argument_that_rows_overwrite() -> None:
    def scale(x: Tensor) -> Tensor:
        x /= x.sum(1, keepdim=True)
        return x

    for shape in ((19, 10), (19, 60), (3, 300)):
        x = np.abs(normal(*shape)) + 1
        expected = x / x.sum(1, keepdims=True)
        emulated = ts.compile(scale, target="ptx-emulate", fallback="error")
        assert emulated(x) is x
        np.testing.assert_allclose(x, expected, rtol=1e-5)


@pytest.mark.gpu
@pytest.mark.skipif(not driver.available(), reason="needs an NVIDIA GPU")
@pytest.mark.parametrize("shape", [(3000, 10), (2000, 100), (70, 20000), (300, 1000)])
def test_on_the_gpu(shape: tuple[int, int]) -> None:
    x = normal(*shape)
    for function in (softmax, across, images):
        arguments = x.reshape(-1, shape[1] // 5, 5) if function is images else x
        expected = ts.compile(function, fallback="error")(arguments)
        got = ts.compile(function, target="cuda", fallback="error")(arguments)
        np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance(expected, 4096))
