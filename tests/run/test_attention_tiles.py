"""Does attention as one kernel give the right numbers at every shape, mask, and block of keys?"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.backends.target import host
from tensorscript.dialects.te.schedule import ScheduleError
from tensorscript.lowering.schedules.attention_shape import recognise_attention
from tensorscript.lowering.schedules.attention_tile import attention_blocking

F = ts.nn.functional


def plain(q: ts.Tensor, k: ts.Tensor, v: ts.Tensor) -> ts.Tensor:
    return F.scaled_dot_product_attention(q, k, v)


def causal(q: ts.Tensor, k: ts.Tensor, v: ts.Tensor) -> ts.Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def under_mask(q: ts.Tensor, k: ts.Tensor, v: ts.Tensor, mask: ts.Tensor) -> ts.Tensor:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def grouped(q: ts.Tensor, k: ts.Tensor, v: ts.Tensor) -> ts.Tensor:
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def written_out(q: ts.Tensor, k: ts.Tensor, v: ts.Tensor, mask: ts.Tensor) -> ts.Tensor:
    scores = ts.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
    weights = ts.softmax(scores.masked_fill(mask.logical_not(), float("-inf")), -1)
    return ts.matmul(F.dropout(weights, 0.1, False), v)


def without_scale(q: ts.Tensor, k: ts.Tensor, v: ts.Tensor) -> ts.Tensor:
    return ts.softmax(q @ k.transpose(-2, -1), -1) @ v


def with_its_weights(q: ts.Tensor, k: ts.Tensor, v: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    weights = ts.softmax(q @ k.transpose(-2, -1), -1)
    return weights @ v, weights


def of_one_projection(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    q, k, v = F.linear(x, w).view(2, 70, 3, 4, 24).permute(2, 0, 3, 1, 4).unbind(0)
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(2, 70, 96)


def reference(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, bias: np.ndarray | None = None, scale: float = 0
) -> np.ndarray:
    """In float64; a row without keys is NaN."""
    q, k, v = (a.astype("f8") for a in (q, k, v))
    with np.errstate(invalid="ignore"):
        scores = q @ k.swapaxes(-1, -2) * (scale or 1 / math.sqrt(q.shape[-1]))
        scores = scores if bias is None else scores + bias
        e = np.exp(scores - scores.max(-1, keepdims=True))
    out: np.ndarray = e / e.sum(-1, keepdims=True) @ v
    return out


def triangle(rows: int, keys: int) -> np.ndarray:
    return np.where(np.tri(rows, keys, dtype=bool), 0.0, -np.inf)


def operands(shape: tuple[int, ...], dtype: str = "f4") -> list[np.ndarray]:
    """q, k, v of a shape (batch, heads, queries, keys, width, width of the values)."""
    *lead, queries, keys, width, out = shape
    random = np.random.default_rng(sum(shape))
    sizes = ((queries, width), (keys, width), (keys, out))
    return [random.standard_normal((*lead, *s)).astype(dtype) for s in sizes]


def check(
    program: Callable[..., ts.Tensor], wanted: np.ndarray, *arrays: np.ndarray, tiled: bool = True
) -> None:
    compiled = ts.compile(program, arrays, fallback="error")
    assert ("te.for task in" in compiled.ir("scheduled")) == tiled
    accuracy = 1e-13 if wanted.dtype == arrays[0].dtype else 1e-5
    np.testing.assert_allclose(compiled(*arrays), wanted, rtol=accuracy, atol=accuracy)


SHAPES = [
    (1, 3, 64, 64, 32, 32),
    (2, 1, 100, 77, 48, 40),  # rests everywhere
    (3, 8, 16, 2, 2),
    (30, 700, 130, 99),  # two blocks of keys
    (1, 2, 270, 300, 16, 16),  # two blocks of queries
    (17, 20, 16, 16),  # without a batch
]


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape: tuple[int, ...]) -> None:
    q, k, v = operands(shape)
    check(plain, reference(q, k, v), q, k, v)


@pytest.mark.parametrize(("keys", "width", "blocks"), [(1024, 64, 1), (1025, 64, 2), (600, 128, 2)])
def test_keys_of_a_block_fill_half_of_the_second_cache(keys: int, width: int, blocks: int) -> None:
    q, k, v = operands((14, keys, width, width))
    scheduled = ts.compile(plain, (q, k, v), fallback="error").ir("scheduled")
    assert (f"te.for kb in 0 .. {blocks}" in scheduled) == (blocks > 1)


BLOCKINGS = [
    (4, 64, 16, 48, 128),
    (7, 32, 16, 49, 96),
    (5, 32, 16, 15, 64),
    (2, 16, 8, 4, 32),
    (9, 8, 4, 45, 800),
    (1, 64, 16, 7, 128),
]


@pytest.mark.parametrize("blocking", BLOCKINGS)
@pytest.mark.parametrize("program", [plain, causal])
def test_the_blocking_is_the_step_s(
    program: Callable[..., ts.Tensor], blocking: tuple[int, ...]
) -> None:
    shape = (2, 50, 90, 24, 40)
    q, k, v = operands(shape)
    schedule = ts.schedule(program, (q, k, v))
    schedule.kernel.tensorize(schedule.kernel.loops[0], "attention", *blocking)
    compiled = ts.compile(program, (q, k, v), schedule=schedule, cache=False)
    bias = triangle(50, 90) if program is causal else None
    np.testing.assert_allclose(compiled(q, k, v), reference(q, k, v, bias), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("queries", "keys", "width", "small", "large"),
    [
        (128, 128, 64, (4, 64), (13, 32)),
        (512, 512, 128, (4, 64), (14, 32)),
        (512, 197, 64, (14, 32), (14, 32)),  # 59 keys of padding
        (512, 512, 32, (14, 32), (14, 32)),
        (8, 128, 64, (4, 64), (8, 32)),
    ],
)
def test_small_first_caches_take_low_tiles(
    queries: int, keys: int, width: int, small: tuple[int, int], large: tuple[int, int]
) -> None:
    kernel = ts.schedule(plain, operands((8, queries, keys, width, width))).kernel
    form = recognise_attention(kernel._scheduler.func)  # what the scheduler itself looks at
    assert form is not None
    for bytes_of_cache, wanted in ((32 << 10, small), (48 << 10, large)):
        found = attention_blocking(form, 64, bytes_of_cache)
        assert (found.rows, found.columns) == wanted
        assert found.queries % found.rows == 0 and found.keys % found.columns == 0


@pytest.mark.parametrize(
    ("heads", "width", "in_place"),
    [(2, 24, True), (16, 64, False), (12, 64, True), (32, 64, False)],
)
def test_queries_are_read_where_they_lie(heads: int, width: int, in_place: bool) -> None:
    """Of several heads in a row, rows lie heads * width apart: not in few sets of a cache."""
    random = np.random.default_rng(heads)
    arrays = [random.standard_normal((40, heads, width)).astype("f4") for _ in range(3)]

    def rows_of_heads(q: ts.Tensor, k: ts.Tensor, v: ts.Tensor) -> ts.Tensor:
        q, k, v = q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1)
        return F.scaled_dot_product_attention(q, k, v)

    schedule = ts.schedule(rows_of_heads, arrays)
    schedule.kernel.tensorize(schedule.kernel.loops[0], "attention", 13, 32, 16, 52, 64)
    compiled = ts.compile(rows_of_heads, arrays, schedule=schedule, cache=False)
    q, k, v = (a.swapaxes(0, 1) for a in arrays)
    wanted = reference(q, k, v)
    np.testing.assert_allclose(compiled(*arrays), wanted, rtol=1e-5, atol=1e-5)
    assert ("te.alloc stack qp" in compiled.ir("scheduled")) == (not in_place)


@pytest.mark.parametrize("queries", [39, 40, 47, 64, 65, 77])
@pytest.mark.parametrize("keys", [50, 90])
@pytest.mark.parametrize("program", [plain, causal])
def test_the_last_panel_begins_earlier(
    program: Callable[..., ts.Tensor], queries: int, keys: int
) -> None:
    """One block of three panels of 13, two, two of which the last has no whole panel."""
    q, k, v = operands((2, queries, keys, 24, 40))
    schedule = ts.schedule(program, (q, k, v))
    schedule.kernel.tensorize(schedule.kernel.loops[0], "attention", 13, 32, 16, 39, 64)
    compiled = ts.compile(program, (q, k, v), schedule=schedule, cache=False)
    bias = triangle(queries, keys) if program is causal else None
    np.testing.assert_allclose(compiled(q, k, v), reference(q, k, v, bias), rtol=1e-5, atol=1e-5)
    whole = (queries - 1) % 39 + 1 >= 13
    assert (f", {queries - 13})" in compiled.ir("scheduled")) == (whole and queries % 13 > 0)


@pytest.mark.parametrize(
    ("blocking", "reason"),
    [
        ((13, 32, 16, 130), "takes rows, columns, lanes, queries, keys"),
        ((13, 32, 16, 128, 128), "whole tiles"),
        ((13, 32, 16, 130, 100), "whole tiles"),
        ((0, 32, 16, 130, 128), "positive"),
        ((13, 33, 16, 130, 132), "whole vectors"),
    ],
)
def test_blockings_that_do_not_fit(blocking: tuple[int, ...], reason: str) -> None:
    kernel = ts.schedule(plain, operands((2, 50, 90, 24, 40))).kernel
    with pytest.raises(ScheduleError, match=reason):
        kernel.tensorize(kernel.loops[0], "attention", *blocking)


@pytest.mark.parametrize("shape", SHAPES[1:4:2])
def test_doubles(shape: tuple[int, ...]) -> None:
    q, k, v = operands(shape, "f8")
    check(causal, reference(q, k, v, triangle(*shape[-4:-2])), q, k, v)


@pytest.mark.parametrize("cpu", ["x86-64-v3", "x86-64-v2"])
@pytest.mark.skipif(host().vector_bytes < 32, reason="needs an x86-64 CPU with AVX2")
def test_narrow_vectors(cpu: str) -> None:
    for shape in SHAPES[1:4:2]:
        q, k, v = operands(shape)
        compiled = ts.compile(causal, (q, k, v), cpu=cpu, fallback="error")
        wanted = reference(q, k, v, triangle(*shape[-4:-2]))
        np.testing.assert_allclose(compiled(q, k, v), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES[1:5])
def test_causal(shape: tuple[int, ...]) -> None:
    q, k, v = operands(shape)
    check(causal, reference(q, k, v, triangle(*shape[-4:-2])), q, k, v)


@pytest.mark.parametrize("shape", SHAPES[1:4:2])
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_masks(shape: tuple[int, ...], kind: str) -> None:
    """A row that hides all keys is 0 here and NaN where the softmax is written out; one that hides
    all keys of a block is like any other."""
    q, k, v = operands(shape)
    rows, keys = shape[-4:-2]
    shown = np.random.default_rng(0).random((rows, keys)) > 0.4
    shown[3], shown[5] = False, np.arange(keys) >= keys - 3
    wanted = reference(q, k, v, np.where(shown, 0.0, -np.inf))
    mask = shown if kind == "bool" else np.where(shown, 0, -np.inf).astype("f4")
    check(under_mask, np.where(np.isnan(wanted), 0.0, wanted), q, k, v, mask)
    if kind == "bool":
        check(written_out, wanted, q, k, v, shown)


def test_heads_that_share_keys() -> None:
    q, _, _ = operands((2, 4, 40, 40, 16, 16))
    _, k, v = operands((2, 2, 40, 40, 16, 16))
    wanted = reference(q, np.repeat(k, 2, 1), np.repeat(v, 2, 1))
    check(grouped, wanted, q, k, v)


def test_rows_of_one_projection() -> None:
    x, w = operands((140, 288, 96, 1))[:2]
    x = x.reshape(2, 70, 96)
    parts = (x.astype("f8") @ (w / 10).astype("f8").T).reshape(2, 70, 3, 4, 24)
    q, k, v = parts.transpose(2, 0, 3, 1, 4)
    wanted = reference(q, k, v).transpose(0, 2, 1, 3).reshape(2, 70, 96)
    check(of_one_projection, wanted, x, (w / 10).astype("f4"))


@pytest.mark.parametrize(("queries", "keys"), [(64, 64), (300, 517), (5, 3), (1, 1)])
@pytest.mark.parametrize("program", [plain, causal])
def test_dynamic_sizes(program: Callable[..., ts.Tensor], queries: int, keys: int) -> None:
    rows, columns = (ts.TensorSpec((1, 2, n, 32), ts.float32) for n in ("N", "M"))
    compiled = ts.compile(program, (rows, columns, columns), fallback="error")
    assert "te.for task in" in compiled.ir("scheduled")
    q, k, v = operands((1, 2, queries, keys, 32, 32))
    bias = triangle(queries, keys) if program is causal else None
    np.testing.assert_allclose(compiled(q, k, v), reference(q, k, v, bias), rtol=1e-5, atol=1e-5)


def test_large_scores_stay_finite() -> None:
    """Half of them are beyond what exp can take; an error of a score is one of its power."""
    q, k, v = operands((20, 600, 70, 70), "f8")
    q *= 1000
    found = ts.compile(without_scale, (q, k, v), fallback="error")(q, k, v)
    largest = np.abs(q @ k.T).max()
    np.testing.assert_allclose(found, reference(q, k, v, scale=1), rtol=0, atol=largest * 1e-15)


def test_nan_stays_in_its_row() -> None:
    q, k, v = operands((20, 30, 16, 16))
    q[3, 2] = np.nan
    check(plain, reference(q, k, v), q, k, v)


@pytest.mark.parametrize("cpu", ["", "x86-64-v3", "x86-64"])
@pytest.mark.parametrize("keys", [30, 900])
def test_special_scores(keys: int, cpu: str) -> None:
    """NaN of a key is in all rows, of a query in its own; so is infinity less infinity."""
    plain_q, plain_k, v = operands((20, keys, 64, 64))
    for place, special in ((0, np.nan), (keys - 1, np.nan), (1, np.inf), (keys - 2, -np.inf)):
        q, k = plain_q.copy(), plain_k.copy()
        k[place, 2], q[4, 3] = special, np.nan
        q[:, 2] = np.where(np.arange(20) % 2, 1, -1)
        with np.errstate(invalid="ignore"):
            wanted = reference(q, k, v)
        assert np.isnan(wanted[4]).all()
        found = ts.compile(plain, (q, k, v), cpu=cpu, fallback="error")(q, k, v)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("keys", [30, 900])
def test_rows_hidden_by_the_lowest_number_weigh_all_keys_alike(keys: int) -> None:
    q, k, v = operands((20, keys, 64, 64))
    mask = np.zeros((20, keys), np.float32)
    mask[3], mask[5, 1:] = np.finfo(np.float32).min, np.finfo(np.float32).min
    wanted = reference(q, k, v)
    wanted[3], wanted[5] = v.astype("f8").mean(0), v[0]
    check(under_mask, wanted, q, k, v, mask)


@pytest.mark.parametrize("cpu", ["", "x86-64-v3"])
def test_powers_that_would_be_subnormal(cpu: str) -> None:
    """What weighs less than 2^-126 of the largest weight counts as nothing."""
    q, k, v = operands((20, 90, 64, 64))
    mask = np.broadcast_to(np.linspace(0, -130, 90, dtype=np.float32), (20, 90)).copy()
    found = ts.compile(under_mask, (q, k, v, mask), cpu=cpu, fallback="error")(q, k, v, mask)
    np.testing.assert_allclose(found, reference(q, k, v, mask), rtol=1e-5, atol=1e-5)


def scaled_up(q: ts.Tensor, k: ts.Tensor, v: ts.Tensor) -> ts.Tensor:
    return F.scaled_dot_product_attention(q, k, v, scale=3.5)


def scaled_down(q: ts.Tensor, k: ts.Tensor, v: ts.Tensor) -> ts.Tensor:
    return F.scaled_dot_product_attention(q, k, v, scale=-0.7)


@pytest.mark.parametrize(
    ("program", "scale"), [(scaled_up, 3.5), (scaled_down, -0.7), (without_scale, 1)]
)
@pytest.mark.parametrize("keys", [60, 700])
def test_a_positive_scale_is_the_power_s(
    program: Callable[..., ts.Tensor], scale: float, keys: int
) -> None:
    q, k, v = operands((2, 50, keys, 99, 64))
    q /= 16
    scheduled = ts.compile(program, (q, k, v), fallback="error").ir("scheduled")
    assert ("te.let score" in scheduled) == (scale < 0)
    assert "greater= " in scheduled and "decay2(" in scheduled
    check(program, reference(q, k, v, scale=scale), q, k, v)


def test_a_row_that_sees_one_key_is_its_value() -> None:
    q, k, v = operands((3, 50, 50, 32, 32))
    found = ts.compile(causal, (q, k, v), fallback="error")(q, k, v)
    np.testing.assert_array_equal(found[:, 0], v[:, 0])


def test_weights_that_leave_are_stored() -> None:
    q, k, v = operands((20, 30, 16, 16))
    compiled = ts.compile(with_its_weights, (q, k, v), fallback="error")
    assert "te.for task in" not in compiled.ir("scheduled")
    np.testing.assert_allclose(compiled(q, k, v)[0], reference(q, k, v, scale=1), rtol=1e-4)


def test_few_queries_are_no_tiles() -> None:
    q, k, v = operands((1, 64, 32, 32))
    check(plain, reference(q, k, v), q, k, v, tiled=False)
