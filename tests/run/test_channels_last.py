"""Do networks whose images lie with channels last give the numbers of eager mode?"""

from __future__ import annotations

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import nn
from tensorscript.compiler.function import CompiledFunction
from tensorscript.compiler.options import CompileOptions


def filtering(
    channels: int, kernel: int = 3, stride: int = 1, padding: int = 1, dilation: int = 1
) -> nn.Module:
    """A convolution of each channel by itself."""
    return nn.Conv2d(channels, channels, kernel, stride, padding, dilation, groups=channels)


def inverted(channels: int, wide: int, *filtered: int) -> nn.Module:
    """Widen, filter each channel, narrow."""
    return nn.Sequential(
        nn.Conv2d(channels, wide, 1), nn.ReLU6(),
        filtering(wide, *filtered), nn.BatchNorm2d(wide), nn.Hardswish(),
        nn.Conv2d(wide, channels, 1),
    )  # fmt: skip


class Residual(nn.Module):
    """An inverted residual, or what stands in it."""

    def __init__(self, inside: nn.Module) -> None:
        super().__init__()
        self.inside = inside

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        return x + self.inside(x)


class Excited(nn.Module):
    """Squeeze and excitation between the filter and the last product."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Conv2d(8, 32, 1)
        self.filter = filtering(32, 5, 2, 2)
        self.down = nn.Conv2d(32, 16, 1)
        self.up = nn.Conv2d(16, 32, 1)
        self.narrow = nn.Conv2d(32, 24, 1)

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        y = ts.silu(self.filter(ts.silu(self.wide(x))))
        scale = ts.sigmoid(self.up(ts.relu(self.down(y.mean([2, 3], keepdim=True)))))
        return self.narrow(y * scale)


class Branches(nn.Module):
    """Two convolutions of a strided image, added, before a filter."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(8, 48, 3, 2, 1), nn.Conv2d(8, 48, 1, 2)
        self.filter, self.narrow = filtering(48), nn.Conv2d(48, 40, 1)

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        y = ts.relu(self.second(x) + self.first(x))
        return self.narrow(self.filter(y))


class Block(nn.Module):
    """A block of ConvNeXt: the norm works on channels last."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(8, 32, 2, 2)
        self.filter = filtering(32, 7, 1, 3)
        self.norm = nn.LayerNorm(32)
        self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 32)

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        x = self.first(x)
        y = self.norm(self.filter(x).permute(0, 2, 3, 1))
        return x + self.down(ts.nn.functional.gelu(self.up(y))).permute(0, 3, 1, 2)


class Shuffled(nn.Module):
    """Halves of the channels, one filtered, joined and shuffled."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.filter = nn.Conv2d(16, 16, 1), filtering(16)
        self.first, self.after = nn.Conv2d(8, 32, 1), nn.Conv2d(32, 8, 1)

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        a, b = self.first(x).chunk(2, 1)
        y = ts.cat([a, ts.relu(self.filter(self.before(b)))], 1)
        n, c, h, w = y.shape
        return self.after(y.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w))


class Speech(nn.Module):
    """The convolution of a conformer: one dimension, from channels last and back."""

    def __init__(self) -> None:
        super().__init__()
        self.gated = nn.Conv1d(8, 64, 1)
        self.filter = nn.Conv1d(32, 32, 15, padding=7, groups=32)
        self.norm, self.out = nn.BatchNorm1d(32), nn.Conv1d(32, 8, 1)

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        y = ts.nn.functional.glu(self.gated(x), 1)
        return self.out(ts.silu(self.norm(self.filter(y))))


class Pooled(nn.Module):
    """Windows, sizes and a mixing convolution after a filter."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.filter = nn.Conv2d(8, 16, 1), filtering(16)
        self.mixing = nn.Conv2d(32, 8, 3, padding=1)

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        y = self.filter(self.first(x))
        small = ts.nn.functional.max_pool2d(y, 2)
        large = ts.nn.functional.interpolate(small, scale_factor=2.0, mode="nearest")
        return self.mixing(ts.cat([y, large], 1))


def stem(channels: int, kernel: int, stride: int, padding: int) -> nn.Module:
    """A convolution that mixes channels of a window, then a filter."""
    return nn.Sequential(
        nn.Conv2d(8, channels, kernel, stride, padding), nn.ReLU6(),
        inverted(channels, channels),
    )  # fmt: skip


MODELS = {
    "inverted residual": lambda: Residual(inverted(8, 32)),
    "two of them": lambda: nn.Sequential(
        Residual(inverted(8, 48)), Residual(inverted(8, 32, 5, 1, 2))
    ),
    "stride 2": lambda: nn.Sequential(inverted(8, 32, 3, 2), inverted(8, 32)),
    "dilation": lambda: inverted(8, 32, 3, 1, 2, 2),
    "no padding": lambda: inverted(8, 32, 3, 1, 0),
    "more padding than window": lambda: inverted(8, 32, 3, 1, 3),
    "channels that leave half a vector": lambda: Residual(inverted(8, 24)),
    "squeeze and excitation": Excited,
    "norm over channels": Block,
    "shuffled channels": Shuffled,
    "pooled": Pooled,
    "branches": Branches,
}
SIZES = [(1, 8, 14, 14), (2, 8, 10, 22), (1, 8, 16, 26)]


def check(model: nn.Module, x: np.ndarray, strict: bool = False) -> CompiledFunction:
    """The compiled model, whose result agrees with eager mode's."""
    model = model.eval()
    wanted = model(ts.from_numpy(x)).numpy()
    compiled = ts.compile(
        model, options=CompileOptions(fallback="error", verify=True, cache=False, strict=strict)
    )
    np.testing.assert_allclose(compiled(x), wanted, 2e-5, 2e-5)
    return compiled


@pytest.mark.parametrize("name", MODELS)
def test_networks(name: str) -> None:
    ts.manual_seed(0)
    model = MODELS[name]()
    random = np.random.default_rng(0)
    for shape in (*SIZES[:2], (1, 8, 32, 32)):
        check(model, random.standard_normal(shape).astype("f4"))


@pytest.mark.parametrize(
    ("numbers", "shape"),
    [
        ((32, 3, 2, 1), (2, 8, 16, 32)),
        ((17, 3, 1, 1), (1, 8, 9, 12)),
        ((48, 2, 2, 0), (1, 8, 16, 24)),
        ((32, 5, 1, 2), (1, 8, 30, 28)),
    ],
)
def test_a_stem_reads_planes_and_gives_channels_last(
    numbers: tuple[int, int, int, int], shape: tuple[int, ...]
) -> None:
    ts.manual_seed(0)
    x = np.random.default_rng(0).standard_normal(shape).astype("f4")
    text = check(stem(*numbers), x).ir("scheduled")
    assert "te.alloc stack plane: f32[8, " in text
    through_sums = "te.for pixel in 0 .." in text
    assert through_sums == ("te.alloc stack sums" in text)
    if numbers[0] != 48:  # panels of as many channels as two vectors of the machine
        assert through_sums == (numbers[0] == 17)


def test_one_dimension() -> None:
    ts.manual_seed(0)
    x = np.random.default_rng(0).standard_normal((2, 8, 50)).astype("f4")
    check(Speech(), x)


def test_the_filter_is_a_kernel_of_its_own() -> None:
    ts.manual_seed(0)
    x = np.random.default_rng(0).standard_normal((1, 8, 16, 26)).astype("f4")
    for strict in (False, True):
        compiled = check(Residual(inverted(8, 32)), x, strict)
        assert '"channel filter"' in compiled.ir("schedule")


def test_double_precision_and_two_threads() -> None:
    ts.manual_seed(0)
    x = np.random.default_rng(0).standard_normal((1, 8, 40, 44))
    before = ts.get_num_threads()
    ts.set_num_threads(2)
    try:
        check(Residual(inverted(8, 32)).double(), x)
    finally:
        ts.set_num_threads(before)


def test_sizes_that_are_not_known() -> None:
    ts.manual_seed(0)
    model = Residual(inverted(8, 32)).eval()
    spec = ts.TensorSpec((1, 8, "H", "W"), ts.float32)
    compiled = ts.compile(model, [spec], options=CompileOptions(fallback="error", cache=False))
    for shape in SIZES[:1] + SIZES[2:]:
        x = np.random.default_rng(0).standard_normal(shape).astype("f4")
        wanted = model(ts.from_numpy(x)).numpy()
        np.testing.assert_allclose(compiled(x), wanted, 2e-5, 2e-5)
