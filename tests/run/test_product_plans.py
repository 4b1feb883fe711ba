"""Are products cut into tasks, and their factors packed, as their sizes and layout suggest?"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from thread_count import threads_of

import tensorscript as ts
from tensorscript.base.dtypes import DType, float32, float64
from tensorscript.dialects.te.expr import const
from tensorscript.lowering.schedules.contraction_plan import Lie, Plan, Sizes, best_plan
from tensorscript.lowering.schedules.contraction_tile import Tile, block_for, tile_for

TILE = Tile(14, 32, 16)


def sizes(rows: int, columns: int, depth: int, **more: object) -> Sizes:
    """Of a product with tiles of 14 x 32 elements, for threads."""
    return replace(Sizes(rows, columns, depth, TILE, 20, 8), **more)  # type: ignore[arg-type]  # fields


@pytest.mark.parametrize(
    ("case", "plan"),
    [
        # Every thread packs its own columns, and nothing is packed twice.
        (sizes(256, 256, 256, plain=frozenset("x")), Plan(1, 8, "none", "task")),
        # Rows a power of two apart are packed by the task that takes them, the columns once;
        (sizes(1024, 1024, 1024, tile=Tile(13, 32, 16), most_panels=43),
         Plan(8, 1, "task", "before")),
        (sizes(512, 512, 512, tile=Tile(14, 16, 8), most_panels=32), Plan(8, 1, "task", "before")),
        # by two tasks where panels divide better so.
        (sizes(1024, 1024, 1024), Plan(4, 2, "task", "before")),
        # Rows that would leave the last cache before they are read are never packed ahead.
        (sizes(2048, 2048, 2048), Plan(8, 1, "task", "before")),
        (sizes(8192, 512, 512), Plan(32, 1, "task", "before")),
        # More blocks of rows than tasks, so that the sums of each stay cached over more columns.
        (sizes(2048, 2048, 2048, sum_bytes=4, most_panels=26), Plan(16, 2, "task", "before")),
        # Weights are packed at compile time.
        (sizes(64, 512, 512, plain=frozenset("x"), free=frozenset("y")),
         Plan(1, 8, "none", "before")),
        # What lies far is read once, by rows enough for it.
        (sizes(32, 50257, 768, tile=Tile(11, 32, 16), most_panels=33, sum_bytes=4,
               plain=frozenset("x"), free=frozenset("y")), Plan(1, 11, "none", "before")),
        # Few rows read every column once or twice.
        (sizes(16, 1024, 1024, plain=frozenset("y")), Plan(1, 8, "before", "none")),
        # One thread packs everything once.
        (sizes(256, 256, 256, tasks=1), Plan(1, 1, "task", "task")),
        (sizes(512, 512, 512, tasks=1), Plan(2, 1, "task", "before")),
    ],
)  # fmt: skip
def test_the_cheapest_plan(case: Sizes, plan: Plan) -> None:
    assert best_plan(case) == plan


@pytest.mark.parametrize(
    ("bytes_apart", "serves"),
    [(256, True), (1024, True), (2048, False), (4096, False), (4160, True)],
)
def test_rows_that_share_sets_of_the_cache_are_packed(bytes_apart: int, serves: bool) -> None:
    assert Lie(bytes_apart, 4, 4).serves_rows(TILE) == serves


@pytest.mark.parametrize(
    ("dtype", "first_cache", "depth"),
    [(float32, 32 << 10, 128), (float32, 48 << 10, 192), (float32, 128 << 10, 256),
     (float64, 32 << 10, 80), (float64, 48 << 10, 128)],
)  # fmt: skip
def test_blocks_of_the_depth_fill_the_first_cache(
    dtype: DType, first_cache: int, depth: int
) -> None:
    side = const(2048)
    found = block_for(dtype, 64, side, side, side, first_cache=first_cache)
    assert found.depth == depth


def test_columns_that_stay_cached_are_read_as_they_lie() -> None:
    assert Lie(4, 256, 4).serves_columns(64, 30)
    assert not Lie(4, 4096, 4).serves_columns(256, 30)
    assert Lie(4, 4096, 4).serves_columns(256, 2)
    assert not Lie(256, 4, 4).serves_columns(64, 2)


def product(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return x @ w


def transposed(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return x.t() @ w


PACKED = re.compile(r"te\.alloc stack (xp|yp)")


@pytest.mark.parametrize(
    ("rows", "depth", "columns", "packed"),
    [
        (64, 64, 64, set()), (330, 100, 97, {"yp"}), (30, 1100, 65, set()), (17, 300, 70, set()),
        (16, 1024, 96, {"xp"}), (300, 1024, 90, {"xp", "yp"}), (29, 520, 200, set()),
    ],
)  # fmt: skip
@pytest.mark.parametrize("program", [product, transposed])
def test_sides_that_do_not_divide(
    program: object, rows: int, depth: int, columns: int, packed: set[str]
) -> None:
    """The last tile of a side that is read as it lies is moved back, and stores what is left."""
    random = np.random.default_rng(0)
    x, w = (
        random.standard_normal((rows, depth), "f4"),
        random.standard_normal((depth, columns), "f4"),
    )
    given = np.ascontiguousarray(x.T) if program is transposed else x
    compiled = ts.compile(program, (given, w), fallback="error")  # type: ignore[arg-type]  # a function
    if program is product:
        wide = ts.compile(program, (given, w), fallback="error", cpu="x86-64-v4")
        assert set(PACKED.findall(wide.ir("scheduled"))) == packed
    wanted = x.astype("f8") @ w
    np.testing.assert_allclose(compiled(given, w), wanted, rtol=0, atol=depth * 1e-6)


@pytest.mark.parametrize("depth", [1024, 1027, 250])
@pytest.mark.parametrize("columns", [512, 523])
def test_columns_are_packed_by_strips(depth: int, columns: int) -> None:
    """Some steps of the depth of all panels, the last strip shorter."""
    random = np.random.default_rng(0)
    x = random.standard_normal((500, depth), "f4")
    w = random.standard_normal((depth, columns), "f4")
    compiled = ts.compile(product, (x, w), fallback="error")
    if depth > 1000:
        assert f"te.for strip in 0 .. {-(-depth // 8)} parallel" in compiled.ir("scheduled")
    np.testing.assert_allclose(compiled(x, w), x.astype("f8") @ w, rtol=0, atol=depth * 1e-6)


class Weights(ts.nn.Module):
    """A linear layer, whose weights are packed once."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layer = ts.nn.Linear(width, 2 * width)

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        return self.layer(x)


@pytest.mark.parametrize(
    ("cpu", "rows", "fetches"),
    [
        ("x86-64-v4", 1, 0), ("x86-64-v4", 4, 0), ("x86-64-v4", 8, 2), ("x86-64-v4", 300, 2),
        ("x86-64-v3", 3, 0), ("x86-64-v3", 6, 1),
    ],
)  # fmt: skip
def test_the_next_panel_is_fetched_meanwhile(cpu: str, rows: int, fetches: int) -> None:
    """A line for each of a packed row, where the tile does enough with it."""
    spec = ts.TensorSpec((rows, 300), ts.float32)
    target = "x86_64-unknown-linux-gnu"
    compiled = ts.compile(Weights(300), (spec,), target=target, cpu=cpu, fallback="error")
    assert compiled.ir("scheduled").count(", cache 2") == fetches


@pytest.mark.parametrize("rows", [8, 45])
@pytest.mark.parametrize("width", [90, 600])
def test_fetching_behind_the_last_panel_changes_nothing(rows: int, width: int) -> None:
    layer = Weights(width)
    x = np.random.default_rng(0).standard_normal((rows, width), "f4")
    weight, bias = (p.detach().numpy().astype("f8") for p in layer.parameters())
    got = ts.compile(layer, (x,), fallback="error")(x)
    np.testing.assert_allclose(got, x @ weight.T + bias, rtol=0, atol=1e-5)


def planes(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return ts.einsum("nchw,oc->nhwo", x, w)


def heads(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return x.permute(0, 2, 1, 3).reshape(x.size(0), x.size(2), -1) @ w


@pytest.mark.parametrize(
    ("program", "shape", "weights", "apart"),
    [
        (planes, (3, 40, 17, 19), (33, 40), True), (planes, (5, 600, 9, 8), (70, 600), True),
        (planes, (3, 40, 5, 7), (33, 40), False), (heads, (3, 5, 65, 10), (50, 31), True),
        (heads, (3, 5, 20, 10), (50, 31), False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_that_do_not_follow_are_products_of_their_own(
    program: object, shape: tuple[int, ...], weights: tuple[int, int], apart: bool, threads: int
) -> None:
    random = np.random.default_rng(0)
    x, w = random.standard_normal(shape, "f4"), random.standard_normal(weights, "f4")
    compiled = ts.compile(program, (x, w), fallback="error")  # type: ignore[arg-type]  # a function
    assert (f"te.for i0 in 0 .. {shape[0]} " in compiled.ir("scheduled")) is apart
    wide = x.astype("f8")
    if program is planes:
        wanted = np.einsum("nchw,oc->nhwo", wide, w)
    else:
        wanted = wide.transpose(0, 2, 1, 3).reshape(shape[0], shape[2], -1) @ w
    before = ts.get_num_threads()
    ts.set_num_threads(threads)
    try:
        np.testing.assert_allclose(compiled(x, w), wanted, rtol=0, atol=weights[1] * 1e-6)
    finally:
        ts.set_num_threads(before)


@pytest.mark.parametrize(
    ("rows", "of_tile"), [(8, 8), (16, 8), (64, 13), (128, 13), (197, 11), (512, 14)]
)
def test_rows_of_a_tile_leave_little_padding(rows: int, of_tile: int) -> None:
    assert tile_for(float32, 64, const(rows)).rows == of_tile


def heads_joined(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return x.transpose(1, 2).flatten(2) @ w


@pytest.mark.parametrize("width", [32, 20])
def test_a_depth_of_joined_heads_is_packed_by_squares(width: int) -> None:
    """Where memory goes on evenly in a head only, and where a head is no whole number of squares.
    The numbers are right in both."""
    random = np.random.default_rng(0)
    x = random.standard_normal((2, 3, 77, width)).astype("f4")
    w = random.standard_normal((3 * width, 80)).astype("f4")
    compiled = ts.compile(heads_joined, (x, w), target="x86_64-unknown-linux-gnu", cpu="x86-64-v4")
    assert ("te.for kv in" in compiled.ir("scheduled")) == (width == 32)
    wanted = x.transpose(0, 2, 1, 3).reshape(2, 77, -1).astype("f8") @ w
    got = ts.compile(heads_joined, (x, w), fallback="error")(x, w)
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


def test_groups_ask_for_no_rows() -> None:
    """A row of theirs is read on and on, not a step of all rows at a time."""
    x = ts.randn(100, 500).to(ts.bfloat16)
    w = ts.randn(500, 300).to(ts.bfloat16)
    target, cpu = "x86_64-unknown-linux-gnu", "sapphirerapids"
    compiled = ts.compile(product, (x, w), target=target, cpu=cpu, fallback="error")
    text = compiled.ir("scheduled")
    assert "yp: bf16[" in text and "te.prefetch xp" not in text


@pytest.mark.parametrize("rows", [40, 64, 120])
def test_each_panel_of_rows_fetches_its_part_of_the_next_columns(rows: int) -> None:
    x = np.ones((rows, 512), "f4")
    target, cpu = "x86_64-unknown-linux-gnu", "x86-64-v4"
    text = ts.compile(Weights(512).eval(), (x,), target=target, cpu=cpu).ir("scheduled")
    (ahead,) = re.findall(r"te\.let ahead: i64 = (.*)", text)
    (step,) = re.findall(r"te\.prefetch yp\.f32\[0, (.*), 0\], cache 2", text)
    (panels,) = re.findall(r"te\.for iq in 0 \.\. (\d+) serial", text)
    (steps,) = (int(n) for n in re.findall(r"te\.for kt in 0 \.\. (?:min\()?(\d+)", text))
    found = []
    for iq in range(int(panels)):
        names: dict[str, object] = {"min": min, "iq": iq, "jq": 0, "kb": 0, "tb": 0}
        names["ahead"] = eval(ahead, names)
        found.append({eval(step, {**names, "kt": kt}) for kt in range(steps)})
    assert set(range(512, 512 + steps)) <= set().union(*found)
    assert max(map(len, found)) <= 2 * -(-steps // len(found))


@pytest.mark.parametrize(
    ("rows", "depth", "columns", "along"),
    [
        (1000, 8, 1000, True),
        (2048, 128, 1024, True),
        (512, 16, 512, False),  # the results stay near
        (128, 8, 8192, False),  # few rows share what another thread has packed
        (1024, 1024, 1024, False),  # the columns do not stay near
        (1024, 256, 1024, False),  # the results are added up in two blocks of the depth
    ],
)
def test_results_that_leave_the_caches_are_written_side_by_side(
    rows: int, depth: int, columns: int, along: bool
) -> None:
    def product(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
        return x @ y

    specs = (ts.TensorSpec((rows, depth), ts.float32), ts.TensorSpec((depth, columns), ts.float32))
    target = "x86_64-unknown-linux-gnu"
    made = ts.compile(product, specs, target=target, cpu="x86-64-v4", fallback="error")
    text = made.ir("scheduled")
    assert (text.index("te.for iq in") < text.index("te.for jq in")) == along


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", [(1000, 8, 1000), (700, 3, 1030), (513, 130, 1056)])
def test_results_along_rows(shape: tuple[int, int, int], threads: int) -> None:
    def product(x: ts.Tensor, y: ts.Tensor, b: ts.Tensor) -> ts.Tensor:
        return (x @ y + b).relu()

    m, k, n = shape
    numbers = np.random.default_rng(0)
    x, y, b = (numbers.standard_normal(s).astype("f4") for s in ((m, k), (k, n), (n,)))
    with threads_of(threads):
        found = ts.compile(product, (x, y, b), fallback="error")(x, y, b)
    wanted = np.maximum(x.astype("f8") @ y.astype("f8") + b, 0)
    least = np.abs(np.maximum(x @ y + b, 0) - wanted).max()  # what sums in float32 are off
    np.testing.assert_allclose(found, wanted, 0, 1.5 * least)
