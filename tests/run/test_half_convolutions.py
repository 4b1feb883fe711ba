"""Convolutions of bfloat16 and float16: the kernels that they become, and exact sums in float32."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.backends.target import Target, host

Sizes = tuple[int, int, int, int, int, int]


class Convolved(ts.nn.Module):
    """A convolution of small whole numbers, and a relu."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        channels, out, _, kernel, stride, groups = sizes
        self.c = ts.nn.Conv2d(channels, out, kernel, stride, kernel // 2, groups=groups)
        random = np.random.default_rng(out)
        for p in self.c.parameters():
            p.data = ts.from_numpy(random.integers(-2, 3, tuple(p.shape)).astype(np.float32))

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        return ts.relu(self.c(x))


class Residual(ts.nn.Module):
    """Convolutions that read what others give, one of them beside what it was computed from."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.a, self.b, self.c = (Convolved((channels, channels, 0, 3, 1, 1)) for _ in range(3))

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        y = ts.clamp(self.a(x), 0, 2)
        z = ts.clamp(self.b(y) + x, -2, 2)
        return self.c(z) + z


def image(*shape: int) -> ts.Tensor:
    return ts.from_numpy(np.random.default_rng(0).integers(-2, 3, shape).astype(np.float32))


SIZES: list[Sizes] = [
    (32, 48, 14, 3, 1, 1),
    (16, 17, 9, 3, 2, 1),  # parts of a tile
    (40, 32, 7, 5, 1, 1),  # a depth that is padded
    (64, 64, 8, 1, 2, 1),
    (3, 24, 18, 7, 2, 1),  # too few channels for a matrix unit
    (32, 32, 12, 3, 1, 4),
    (24, 24, 12, 3, 1, 24),
]


@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_convolutions(sizes: Sizes, kind: str, unit: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if unit and not (host().tiles and kind == "bfloat16"):
        pytest.skip("needs a processor whose matrix unit takes it")
    if not unit:
        monkeypatch.setattr(Target, "tiles", frozenset())
    dtype = getattr(ts, kind)
    module = Convolved(sizes).eval()
    for batch in (1, 2):
        x = image(batch, sizes[0], sizes[2], sizes[2])
        wanted = module(x).to(dtype)
        halves = ts.jit.script(module.to(dtype))
        compiled = ts.compile(halves, (x.to(dtype),), fallback="error", cache=False)
        assert ts.equal(compiled(x.to(dtype)), wanted)
        module.float()


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_half_types_are_no_reason_for_another_form(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Target, "tiles", frozenset())
    module = Convolved((64, 64, 16, 3, 1, 1)).eval()
    schedules = []
    for dtype in (ts.float32, getattr(ts, kind)):
        x = image(1, 64, 16, 16).to(dtype)
        made = ts.compile(ts.jit.script(module.to(dtype)), (x,), fallback="error", cache=False)
        schedules.append(made.ir("schedule"))
    assert schedules[0] == schedules[1]
    assert "convolution" in schedules[0]


@pytest.mark.skipif(not host().tiles, reason="needs a processor with AMX")
def test_a_chain_on_the_matrix_unit() -> None:
    """Each convolution is computed once, by tiles, and reads channels last."""
    module = Residual(32).eval()
    x = image(2, 32, 10, 10)
    wanted = module(x).bfloat16()
    halves = ts.jit.script(module.bfloat16())
    compiled = ts.compile(halves, (x.bfloat16(),), fallback="error", cache=False)
    assert ts.equal(compiled(x.bfloat16()), wanted)
    assert set(re.findall(r'"tensorize", "\w+", "(.*?)"', compiled.ir("schedule"))) == {
        "packed tiles of pairs"
    }
    assert compiled.ir("kernels").count("tg.contract") == 3
