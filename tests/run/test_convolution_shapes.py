"""Do convolutions give the right numbers at every stride, dilation, padding, group and size?"""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.backends.target import host
from tensorscript.lowering.schedules.convolution_nest import rows_of_blocks
from tensorscript.nn import functional as F


class Convolution(ts.nn.Module):
    """A convolution of `dims` dimensions whose numbers are constants, and a relu."""

    __constants__ = ("dilation", "dims", "groups", "padding", "stride")

    def __init__(self, dims: int, numbers: tuple[int, int, int, int]) -> None:
        super().__init__()
        self.dims = dims
        self.stride, self.padding, self.dilation, self.groups = numbers

    def forward(self, x: ts.Tensor, w: ts.Tensor, b: ts.Tensor) -> ts.Tensor:
        if self.dims == 1:
            y = F.conv1d(x, w, b, self.stride, self.padding, self.dilation, self.groups)
        elif self.dims == 2:
            y = F.conv2d(x, w, b, self.stride, self.padding, self.dilation, self.groups)
        else:
            y = F.conv3d(x, w, b, self.stride, self.padding, self.dilation, self.groups)
        return ts.relu(y)


def convolved(x: ts.Tensor, w: ts.Tensor, b: ts.Tensor) -> ts.Tensor:
    return F.conv2d(x, w, b)


def reference(
    x: np.ndarray, w: np.ndarray, stride: int, padding: int, dilation: int, groups: int
) -> np.ndarray:
    """The sum over taps and channels, in float64."""
    x, w = x.astype("f8"), w.astype("f8")
    dims = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0)] + [(padding, padding)] * dims)
    reach = [dilation * (n - 1) + 1 for n in w.shape[2:]]
    sizes = [(n - r) // stride + 1 for n, r in zip(x.shape[2:], reach, strict=True)]
    out = np.zeros((x.shape[0], w.shape[0], *sizes))
    per = w.shape[0] // groups
    for g in range(groups):
        own = x[:, g * w.shape[1] : (g + 1) * w.shape[1]]
        for tap in product(*(range(n) for n in w.shape[2:])):
            starts = [t * dilation for t in tap]
            inside = [
                slice(s, s + stride * (n - 1) + 1, stride)
                for s, n in zip(starts, sizes, strict=True)
            ]
            window = own[(slice(None), slice(None), *inside)]
            at_tap: Any = (slice(g * per, (g + 1) * per), slice(None), *tap)
            taken = w[at_tap]
            part = np.einsum("nc...,mc->nm...", window, taken)
            out[:, g * per : (g + 1) * per] += part
    return out


CASES = [
    # (image, weights, stride, padding, dilation, groups)
    ((1, 3, 20, 20), (20, 3, 3, 3), 1, 1, 1, 1),
    ((2, 8, 17, 23), (16, 8, 3, 3), 1, 0, 1, 1),
    ((1, 3, 31, 40), (18, 3, 7, 7), 2, 3, 1, 1),
    ((1, 4, 30, 30), (5, 4, 3, 3), 3, 1, 1, 1),
    ((1, 6, 19, 19), (8, 6, 3, 3), 1, 2, 2, 1),
    ((1, 6, 25, 25), (8, 6, 3, 3), 2, 2, 2, 1),
    ((1, 16, 12, 12), (32, 16, 1, 1), 1, 0, 1, 1),
    ((1, 16, 13, 13), (32, 16, 1, 1), 2, 0, 1, 1),
    ((2, 12, 14, 14), (12, 1, 3, 3), 1, 1, 1, 12),
    ((1, 24, 15, 15), (24, 1, 5, 5), 2, 2, 1, 24),
    # rows that fill vectors, whole ones and not; the last block of rows is moved back
    ((2, 6, 37, 41), (6, 1, 3, 3), 1, 1, 1, 6),
    ((1, 3, 48, 64), (3, 1, 3, 3), 1, 1, 1, 3),
    ((1, 6, 41, 70), (12, 1, 3, 3), 2, 1, 1, 6),
    ((1, 4, 40, 45), (4, 1, 3, 3), 1, 2, 2, 4),
    ((1, 4, 70, 75), (4, 1, 5, 4), 2, 2, 3, 4),
    ((1, 2, 5, 50), (2, 1, 7, 7), 1, 3, 1, 2),
    ((1, 1, 60, 60), (1, 1, 3, 5), 3, 1, 1, 1),
    ((1, 8, 16, 16), (12, 4, 3, 3), 1, 1, 1, 2),
    # channels in the lanes: in whole blocks and not, of one vector and two, in any plane
    ((1, 32, 7, 7), (32, 1, 5, 5), 1, 2, 1, 32),
    ((2, 100, 7, 7), (100, 1, 3, 3), 1, 1, 1, 100),
    ((2, 17, 14, 9), (17, 1, 5, 3), 2, 1, 1, 17),
    ((1, 20, 6, 15), (20, 1, 5, 5), 1, 2, 1, 20),
    ((1, 40, 31, 31), (40, 1, 7, 7), 3, 3, 2, 40),
    ((1, 16, 1, 1), (16, 1, 3, 3), 1, 1, 1, 16),
    ((1, 33, 19, 20), (33, 1, 5, 5), 1, 0, 1, 33),
    ((2, 24, 50), (24, 1, 31), 1, 15, 1, 24),
    ((1, 16, 4, 5, 6), (16, 1, 3, 3, 3), 1, 1, 1, 16),
    # groups of several channels are a batch
    ((2, 24, 15, 16), (40, 6, 3, 3), 1, 1, 1, 4),
    ((1, 24, 17, 17), (60, 4, 3, 3), 2, 1, 1, 6),
    ((1, 36, 9, 9), (48, 12, 1, 1), 1, 0, 1, 3),
    ((1, 6, 12, 12), (30, 1, 3, 3), 1, 1, 1, 6),
    ((1, 40, 7, 7), (30, 40, 3, 3), 1, 1, 1, 1),
    ((2, 40, 14, 14), (35, 40, 3, 3), 1, 1, 1, 1),
    ((1, 70, 29, 29), (32, 70, 3, 3), 2, 1, 1, 1),
    ((1, 64, 7, 7), (64, 64, 3, 3), 1, 1, 1, 1),
    # more weights than pixels, in whole panels and not, by lanes of channels and of pixels
    ((1, 120, 7, 7), (150, 120, 3, 3), 1, 1, 1, 1),
    ((2, 130, 7, 14), (128, 130, 3, 3), 1, 1, 1, 1),
    ((1, 200, 5, 5), (90, 200, 3, 3), 1, 1, 1, 1),
    ((1, 230, 11, 5), (75, 230, 3, 3), 2, 1, 1, 1),
    # runs of several whole rows
    ((2, 40, 4, 4), (64, 40, 3, 3), 1, 1, 1, 1),
    ((1, 24, 6, 3), (32, 24, 3, 3), 1, 1, 1, 1),
    ((1, 24, 9, 9), (48, 24, 3, 3), 2, 1, 1, 1),
    ((1, 10, 3, 4, 2), (32, 10, 3, 3, 3), 1, 1, 1, 1),
    ((1, 48, 28), (32, 48, 3), 1, 1, 1, 1),
    ((2, 5, 100), (16, 5, 9), 1, 4, 1, 1),
    ((1, 32, 60), (48, 8, 16), 1, 8, 1, 4),
    ((1, 5, 101), (7, 5, 4), 2, 0, 1, 1),
    ((1, 3, 8, 9, 10), (6, 3, 3, 3, 3), 1, 1, 1, 1),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_convolution(case: tuple[Any, ...], dtype: str) -> None:
    image, weights, stride, padding, dilation, groups = case
    random = np.random.default_rng(0)
    x, w = (random.standard_normal(shape).astype(dtype) for shape in (image, weights))
    b = random.standard_normal(weights[0]).astype(dtype)
    module = Convolution(x.ndim - 2, (stride, padding, dilation, groups))
    compiled = ts.compile(module, (x, w, b), fallback="error")
    wanted = reference(x, w, stride, padding, dilation, groups)
    wanted += b.reshape(-1, *(1,) * (x.ndim - 2))
    terms = weights[1] * int(np.prod(weights[2:]))
    bound = terms * 4 * np.finfo(dtype).eps
    np.testing.assert_allclose(compiled(x, w, b), np.maximum(wanted, 0), rtol=bound, atol=bound)


def test_channels_of_a_group_are_rows_of_one_tile() -> None:
    shapes = (1, 64, 14, 14), (128, 16, 3, 3), (128,)
    module = Convolution(2, (1, 1, 1, 4))
    text = ts.compile(module, [np.ones(s, "f4") for s in shapes], fallback="error").ir("scheduled")
    assert "te.for i1_part in 0 .. 4 parallel" in text
    assert "te.alloc reg tile: f32[1, " not in text


@pytest.mark.parametrize("cpu", ["x86-64-v3", "x86-64-v2"])
@pytest.mark.skipif(host().vector_bytes < 32, reason="needs an x86-64 CPU with AVX2")
def test_runs_and_groups_in_narrow_vectors(cpu: str) -> None:
    random = np.random.default_rng(0)
    for image, weights, groups in (((2, 24, 4, 4), (32, 24, 3, 3), 1),
                                   ((1, 24, 9, 8), (32, 6, 3, 3), 4),
                                   ((2, 32, 6, 7), (32, 1, 3, 3), 32)):  # fmt: skip
        x, w = (random.standard_normal(shape).astype("f4") for shape in (image, weights))
        b = np.zeros(32, "f4")
        module = Convolution(2, (1, 1, 1, groups))
        found = ts.compile(module, (x, w, b), cpu=cpu, fallback="error")(x, w, b)
        wanted = np.maximum(reference(x, w, 1, 1, 1, groups), 0)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-4)


def test_a_run_covers_whole_rows_of_a_narrow_image() -> None:
    shapes = (1, 128, 4, 4), (128, 128, 3, 3), (128,)
    module = Convolution(2, (1, 1, 1, 1))
    text = ts.compile(module, [np.ones(s, "f4") for s in shapes], cpu="x86-64-v4").ir("scheduled")
    assert "te.alloc reg tile: f32[8, 32]" in text


class Packed(ts.nn.Module):
    """A convolution with weights of its own, which are packed at compile time."""

    def __init__(self, convolution: Convolution, w: np.ndarray, b: np.ndarray) -> None:
        super().__init__()
        self.convolution = convolution
        self.w, self.b = ts.nn.Parameter(ts.from_numpy(w)), ts.nn.Parameter(ts.from_numpy(b))

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        y: ts.Tensor = self.convolution(x, self.w, self.b)
        return y


PACKED = [
    ((1, 3, 31, 40), (18, 3, 7, 7), 2, 3, 1, 1),
    ((1, 70, 28, 28), (64, 70, 3, 3), 2, 1, 1, 1),
    ((2, 130, 14, 28), (64, 130, 3, 5), 2, 2, 1, 1),
    ((1, 130, 7, 7), (64, 130, 3, 3), 1, 1, 1, 1),
    ((1, 9, 40, 40), (32, 9, 4, 4), 3, 1, 1, 1),
    ((1, 5, 43, 43), (32, 5, 11, 11), 4, 2, 1, 1),
    ((1, 5, 60, 60), (32, 5, 2, 2), 4, 0, 1, 1),
    ((1, 24, 41), (32, 24, 16), 2, 0, 1, 1),
    ((2, 32, 14, 14), (64, 8, 3, 3), 1, 1, 1, 4),
    ((1, 16, 14, 14), (8, 4, 3, 3), 1, 0, 1, 4),
    ((2, 24, 16, 16), (16, 3, 3, 3), 1, 1, 1, 8),
    ((1, 24, 17, 16), (24, 3, 3, 3), 2, 1, 1, 8),
    ((2, 16, 24, 24), (16, 1, 3, 3), 1, 0, 2, 16),
]  # fmt: skip


@pytest.mark.parametrize("case", PACKED, ids=str)
def test_weights_of_a_module(case: tuple[Any, ...]) -> None:
    image, weights, stride, padding, dilation, groups = case
    random = np.random.default_rng(0)
    x, w = (random.standard_normal(shape).astype("f4") for shape in (image, weights))
    b = random.standard_normal(weights[0]).astype("f4")
    plain = Convolution(x.ndim - 2, (stride, padding, dilation, groups))
    module = Packed(plain, w, b)
    compiled = ts.compile(module, (x,), fallback="error")
    wanted = reference(x, w, stride, padding, dilation, groups)
    wanted += b.reshape(-1, *(1,) * (x.ndim - 2))
    bound = weights[1] * int(np.prod(weights[2:])) * 4 * np.finfo("f4").eps
    np.testing.assert_allclose(compiled(x), np.maximum(wanted, 0), rtol=bound, atol=bound)


def test_packed_weights_are_read_one_after_the_other() -> None:
    """Taps of a stride are visited phase by phase, and lie so; the next block is fetched ahead."""
    x, w, b = (np.ones(s, "f4") for s in ((1, 64, 28, 28), (64, 64, 3, 3), (64,)))
    module = Packed(Convolution(2, (2, 1, 1, 1)), w, b)
    text = ts.compile(module, (x,), fallback="error").ir("scheduled")
    (step,) = (line for line in text.splitlines() if "te.update tile" in line)
    assert "s0_r1_first * 6 + s0_r1_turn * 3 + s0_r2_first * 2 + s0_r2_turn" in step
    assert "te.prefetch weights" in text


@pytest.mark.parametrize(("side", "channels"), [(7, 512), (14, 64), (28, 64)])
def test_each_run_of_pixels_fetches_its_part_of_the_next_weights(side: int, channels: int) -> None:
    shapes = (1, 64, side, side), (channels, 64, 3, 3), (channels,)
    x, w, b = (np.ones(s, "f4") for s in shapes)
    module = Packed(Convolution(2, (1, 1, 1, 1)), w, b)
    text = ts.compile(module, (x,), fallback="error", cpu="x86-64-v4").ir("scheduled")
    fetched = re.findall(r"te\.prefetch weights\.f32\[[^,]+, (.*), 0\], cache 2", text)
    tiles = re.findall(r"te\.for (h\d) in 0 \.\. (\d+) serial", text)
    (turns,) = re.findall(r"te\.for s0_r0 in 0 \.\. (?:min\()?(\d+).* reduce", text)
    step, found = int(turns), set()
    for places in product(*(range(int(count)) for _, count in tiles), range(step)):
        names = dict(zip([*(name for name, _ in tiles), "s0_r0"], places, strict=True))
        found |= {eval(e, {"min": min, "kb": 0, **names}) for e in fetched}
    assert len(fetched) < 9  # a tap's each would be all of them
    assert set(range(step * 9, 2 * step * 9)) <= found


def test_a_window_reads_a_plane_and_no_copy_per_tap() -> None:
    arrays = tuple(np.ones(shape, "f4") for shape in ((1, 8, 20, 20), (16, 8, 3, 3), (16,)))
    text = ts.compile(convolved, arrays, fallback="error").ir("scheduled")
    assert "plane: f32[8, 1," in text
    assert "row: f32" not in text


def strided(x: ts.Tensor, w: ts.Tensor, b: ts.Tensor) -> ts.Tensor:
    return F.conv2d(x, w, b, 2)


def test_taps_of_a_stride_are_loops_over_phases_without_a_division() -> None:
    arrays = tuple(np.ones(shape, "f4") for shape in ((1, 8, 21, 21), (32, 8, 3, 3), (32,)))
    text = ts.compile(strided, arrays, fallback="error").ir("scheduled")
    (step,) = (line for line in text.splitlines() if "te.update tile" in line)
    assert "_first" in step
    assert "_turn" in step
    assert "%" not in step
    assert "//" not in step


def test_channels_are_lanes_where_pixels_would_be_wasted() -> None:
    arrays = tuple(np.ones(shape, "f4") for shape in ((1, 64, 14, 14), (32, 64, 3, 3), (32,)))
    text = ts.compile(convolved, arrays, fallback="error").ir("scheduled")
    assert "te.for pixel" in text or "pixel_u0" in text


@pytest.mark.parametrize(("size", "taps", "turned"), [(7, 3, True), (28, 5, True), (28, 3, False)])
def test_planes_are_turned_where_that_is_repaid(size: int, taps: int, turned: bool) -> None:
    shapes = (1, 32, size, size), (32, 1, taps, taps), (32,)
    module = Convolution(2, (1, taps // 2, 1, 32))
    compiled = ts.compile(module, [np.ones(s, "f4") for s in shapes], cpu="x86-64-v4")
    assert ("plane filter" in compiled.ir("schedule")) == turned


def test_few_pixels_are_split_by_channels() -> None:
    """What a task packs of the weights, no other one reads."""
    arrays = tuple(np.ones(shape, "f4") for shape in ((1, 256, 9, 9), (256, 256, 3, 3), (256,)))
    compiled = ts.compile(convolved, arrays, fallback="error", cpu="x86-64-v4")
    text = compiled.ir("scheduled")
    tasks = text.index("te.for hb in 0 .. 8 parallel")
    packed = re.search(r"te\.alloc stack weights: f32\[1, (135|288), 32\]", text)
    assert packed is not None and tasks < packed.start()


def test_long_sums_are_cut() -> None:
    """The errors of a chain of 4608 additions would be 2e-6, those of chains of 288 are 3e-7."""
    random = np.random.default_rng(0)
    x = random.standard_normal((1, 512, 7, 7)).astype("f4")
    w, b = random.standard_normal((32, 512, 3, 3)).astype("f4"), np.zeros(32, "f4")
    wanted = reference(x, w, 1, 0, 1, 1)
    found = ts.compile(convolved, (x, w, b), fallback="error")(x, w, b)
    assert np.abs(found - wanted).max() < 6e-7 * np.abs(wanted).max()


@pytest.mark.parametrize(
    ("size", "most", "least", "rows"),
    [
        (56, 7, 1, 7),
        (28, 4, 1, 4),
        (14, 2, 1, 2),
        (7, 1, 1, 1),
        (13, 4, 1, 1),
        (13, 4, 3, 3),
        (9, 20, 12, 9),
    ],
)
def test_rows_of_blocks(size: int, most: int, least: int, rows: int) -> None:
    assert rows_of_blocks(size, most, least) == rows


def every_second(x: ts.Tensor) -> ts.Tensor:
    return x[:, 1::2] * 2.0


@pytest.mark.parametrize("length", [2, 31, 64, 65, 131])
def test_every_second_element(length: int) -> None:
    x = np.random.default_rng(0).standard_normal((3, length)).astype("f4")
    compiled = ts.compile(every_second, (x,), fallback="error")
    np.testing.assert_array_equal(compiled(x), x[:, 1::2] * 2)


def spread(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return F.conv_transpose1d(x, w, stride=2)


def test_gaps_of_a_stride_are_not_multiplied() -> None:
    x, w = ts.ones(1, 1, 3), ts.tensor([[[float("inf"), 1.0]]])
    for run in (spread, ts.compile(spread, fallback="error", cache=False)):
        assert run(x, w).tolist() == [[[float("inf"), 1.0] * 3]]


def of_each_pixel(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return x.reshape(4, 16, 8, 8).permute(0, 3, 2, 1) @ w


@pytest.mark.parametrize("channels", [3, 8, 15, 16, 20])
def test_channels_of_a_product_may_be_fewer_than_lanes(channels: int) -> None:
    random = np.random.default_rng(channels)
    x = random.standard_normal((1, 64, 8, 8)).astype("f4")
    w = random.standard_normal((16, channels)).astype("f4")
    compiled = ts.compile(of_each_pixel, (x, w), fallback="error")
    wanted = x.reshape(4, 16, 8, 8).transpose(0, 3, 2, 1) @ w
    np.testing.assert_allclose(compiled(x, w), wanted, rtol=1e-4, atol=1e-5)
