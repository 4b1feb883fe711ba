"""Embedding bags in machine code, of bags of several sizes, next to the eager kernel."""

from __future__ import annotations

import numpy as np
import pytest

import tensorscript as ts


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_several_sizes(mode: str) -> None:
    bags = ts.nn.EmbeddingBag(6, 3, mode=mode, padding_idx=2)
    indices = ts.tensor([1, 2, 5, 0, 0, 2, 4])
    run = ts.compile(bags, fallback="error")
    for offsets in ([0, 2, 2, 5], [0, 7], [0]):
        want = bags(indices, ts.tensor(offsets))
        got = run(indices, ts.tensor(offsets))
        np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol=1e-6)


def all_results(
    w: ts.Tensor, indices: ts.Tensor, offsets: ts.Tensor, mode: int, last: bool, skipped: int | None
) -> tuple[ts.Tensor, ts.Tensor, ts.Tensor, ts.Tensor]:
    return ts.embedding_bag(
        w, indices, offsets, False, mode, False, None, last, skipped
    )  # fmt: skip


def weighted(
    w: ts.Tensor, indices: ts.Tensor, offsets: ts.Tensor, scale: ts.Tensor, last: bool
) -> ts.Tensor:
    return ts.nn.functional.embedding_bag(
        indices, w, offsets, mode="sum", per_sample_weights=scale, include_last_offset=last
    )


def rows_of_indices(w: ts.Tensor, indices: ts.Tensor, mode: str, skipped: int | None) -> ts.Tensor:
    return ts.nn.functional.embedding_bag(indices, w, mode=mode, padding_idx=skipped)


def _drawn(total: int, *starts: int) -> tuple[ts.Tensor, ts.Tensor, ts.Tensor]:
    rng = np.random.default_rng(total)
    table = rng.standard_normal((9, 5)).astype(np.float32)
    return ts.tensor(table), ts.tensor(rng.integers(0, 9, total)), ts.tensor([*starts]).long()


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("skipped", [None, 3])
@pytest.mark.parametrize("dtype", [ts.float32, ts.float16])
def test_all_results(mode: int, last: bool, skipped: int | None, dtype: ts.dtype) -> None:
    """Empty bags at the ends and in the middle, and no bags or indices at all."""
    run = ts.compile(all_results, fallback="error")
    for total, starts in (
        (40, [0, 0, 7, 7, 7, 30, 40]), (40, [0, 40, 40]), (0, [0, 0, 0]), (4, [0]),
    ):  # fmt: skip
        table, indices, offsets = _drawn(total, *starts)
        arguments = (table.to(dtype), indices, offsets, mode, last, skipped)
        for got, want in zip(run(*arguments), all_results(*arguments), strict=True):
            tolerance = 1e-3 if want.dtype is ts.float16 else 1e-6
            np.testing.assert_allclose(got.numpy(), want.numpy(), tolerance, tolerance)


def test_indices_behind_the_last_bag_are_in_none() -> None:
    table, indices, offsets = _drawn(20, 0, 4, 4, 11)
    want = all_results(table, indices, offsets, 0, True, None)
    got = ts.compile(all_results, fallback="error")(table, indices, offsets, 0, True, None)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g.numpy(), w.numpy(), 1e-6, 1e-6)


def test_no_bags_take_nothing() -> None:
    table, indices, offsets = _drawn(20)
    run = ts.compile(all_results, fallback="error")
    assert run(table, indices, offsets, 0, False, None)[0].shape == (0, 5)
    assert run(table, indices, ts.tensor([0]), 2, True, None)[0].shape == (0, 5)


@pytest.mark.parametrize("last", [False, True])
def test_weighted(last: bool) -> None:
    table, indices, offsets = _drawn(40, 0, 3, 3, 20, 40)
    scale = ts.linspace(-1, 2, 40)
    got = ts.compile(weighted, fallback="error")(table, indices, offsets, scale, last)
    want = weighted(table, indices, offsets, scale, last)
    np.testing.assert_allclose(got.numpy(), want.numpy(), 1e-5, 1e-6)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("skipped", [None, 3])
def test_rows_of_indices(mode: str, skipped: int | None) -> None:
    table, indices, _ = _drawn(24)
    run = ts.compile(rows_of_indices, fallback="error")
    for shape in ((4, 6), (1, 24), (24, 1)):
        rows = indices.reshape(shape)
        want = rows_of_indices(table, rows, mode, skipped)
        np.testing.assert_allclose(
            run(table, rows, mode, skipped).numpy(), want.numpy(), 1e-5, 1e-6
        )


def test_an_infinite_row_stays_in_its_bag() -> None:
    """What is not taken is left out, not multiplied by zero."""
    table, indices, offsets = ts.tensor([[1.0], [np.inf]]), ts.tensor([0, 1, 0]), ts.tensor([0, 2])
    for skipped, want in ((None, [[np.inf], [1.0]]), (1, [[1.0], [1.0]])):
        got = ts.compile(all_results, fallback="error")(table, indices, offsets, 0, False, skipped)
        np.testing.assert_array_equal(got[0].numpy(), want)


def found_bags(w: ts.Tensor, indices: ts.Tensor, begins: ts.Tensor) -> ts.Tensor:
    offsets = begins.nonzero().squeeze(1)
    return ts.nn.functional.embedding_bag(indices[indices >= 0], w, offsets, mode="sum")


@pytest.mark.parametrize("begins", [[0], [0, 3, 4], []])
def test_sizes_that_the_program_finds(begins: list[int]) -> None:
    table, indices, _ = _drawn(12)
    indices[5:7] = -1
    marks = ts.zeros(10)
    for at in begins:
        marks[at] = 1
    got = ts.compile(found_bags, fallback="error")(table, indices, marks)
    np.testing.assert_allclose(got.numpy(), found_bags(table, indices, marks).numpy(), 1e-5, 1e-6)


@pytest.mark.parametrize("starts", [[0, -1], [0, -(10**9)], [0, 3, 2], [0, 1, -1]])
def test_bags_that_end_before_they_begin_are_refused(starts: list[int]) -> None:
    table, indices, offsets = _drawn(4, *starts)
    for run in (all_results, ts.compile(all_results, fallback="error")):
        with pytest.raises(RuntimeError, match="offsets must not decrease"):
            run(table, indices, offsets, 1, False, None)
