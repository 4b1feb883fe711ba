"""Random convolutional networks compute natively what they compute in eager mode.

Which form a convolution takes, what is fused behind it and where channels lie hangs on its sizes
and on its neighbours, so networks find what convolutions alone do not.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import nn
from tensorscript.nn import functional as F

Shape = tuple[int, int, int]
Step = tuple[str, int, int]
"""What is done, to which value, and the module, the other value or the number that it takes."""
NETWORKS = 12
KINDS = {
    "convolution": 5, "filter": 4, "pointwise": 4, "group": 3, "transposed": 1, "branches": 4,
    "max": 1, "mean": 1, "relu": 2, "silu": 1, "add": 4, "join": 2, "norm": 2, "larger": 1,
    "excite": 1,
}  # fmt: skip
BORDERED = {**KINDS, "border": 20, "overlapping": 20, "shuffle": 1, "turn": 1}
BOUNDS = {ts.float32: 1e-4, ts.float64: 1e-12, ts.float16: 0.02, ts.bfloat16: 0.1}
"""Of what native and eager mode may differ, relative to the greatest number."""


class Network(nn.Module):
    """Up to seven random steps, each of one of the last three values."""

    def __init__(self, random: Random, first: Shape, kinds: dict[str, int] = KINDS) -> None:
        super().__init__()
        self.parts = nn.ModuleList()
        self.steps: list[Step] = []
        self.shapes = [first]
        for _ in range(random.randint(2, 7)):
            at = random.randrange(max(0, len(self.shapes) - 3), len(self.shapes))
            kind = random.choices([*kinds], [*kinds.values()])[0]
            self._step(random, kind, at)

    def _step(self, random: Random, kind: str, at: int) -> None:
        """Take a step if the value's shape allows it."""
        channels, height, width = shape = self.shapes[at]
        other = 0
        if kind in ("convolution", "filter", "pointwise", "group", "transposed"):
            other, shape = len(self.parts), self._convolve(random, kind, shape)
        elif kind == "branches":
            other, stride = len(self.parts), random.choice([1, 2])
            out = random.choice([16, 24, 32, 48])
            for size in random.sample([1, 3, 5], 2):
                self.parts.append(nn.Conv2d(channels, out, size, stride, size // 2))
            shape = out, (height - 1) // stride + 1, (width - 1) // stride + 1
        elif kind in ("max", "mean"):
            shape = channels, height // 2, width // 2
        elif kind == "add":
            other = random.choice([k for k, found in enumerate(self.shapes) if found == shape])
        elif kind == "join":
            fits = [k for k, found in enumerate(self.shapes) if found[1:] == shape[1:]]
            other = random.choice(fits)
            shape = channels + self.shapes[other][0], height, width
        elif kind == "norm":
            other = len(self.parts)
            self.parts.append(nn.BatchNorm2d(channels))
        elif kind == "larger":
            shape = channels, 2 * height, 2 * width
        elif kind == "border":
            other = random.randrange(4)
            shape = channels, height + 1, width + 2 - other
        elif kind == "overlapping":
            other = random.randrange(2)
            shape = channels, (height - 1) // 2 + 1, (width - 1) // 2 + 1
        elif kind == "shuffle":
            if channels % 4:
                return
            shape = channels // 4, 2 * height, 2 * width
        elif kind == "turn":
            shape = channels, width, height
        elif kind == "excite":
            other = len(self.parts)
            self.parts.append(nn.Conv2d(channels, channels, 1))
        if min(shape) >= 1 and shape[0] <= 128 and shape[1] <= 64:
            self.steps.append((kind, at, other))
            self.shapes.append(shape)

    def _convolve(self, random: Random, kind: str, shape: Shape) -> Shape:
        channels, height, width = shape
        size = {"pointwise": 1, "group": 3}.get(kind) or random.choice([1, 2, 3, 3, 5])
        stride, dilation = random.choice([1, 1, 2]), 1
        out, groups = random.choice([8, 12, 16, 20, 24, 32, 48, 64]), 1
        padding = random.choice([0, (size - 1) // 2])
        if kind == "transposed":
            self.parts.append(nn.ConvTranspose2d(channels, out, size, stride, padding))
            return out, *((n - 1) * stride - 2 * padding + size for n in (height, width))  # type: ignore[return-value]  # three
        if kind == "filter":
            out, groups, dilation = channels, channels, random.choice([1, 1, 2])
        elif kind == "group":
            groups = next((g for g in (8, 4, 2) if channels % g == 0), 1)
            out = max(1, out // groups) * groups
        layer = nn.Conv2d(channels, out, size, stride, padding, dilation, groups)
        self.parts.append(layer)
        reach = dilation * (size - 1) + 1
        return out, *((n + 2 * padding - reach) // stride + 1 for n in (height, width))  # type: ignore[return-value]  # three

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        values = [x]
        for kind, at, other in self.steps:
            values.append(self._done(kind, values[at], other, values))
        return values[-1]

    def _done(self, kind: str, x: ts.Tensor, other: int, values: list[ts.Tensor]) -> Any:
        match kind:
            case "max":
                return F.max_pool2d(x, 2)
            case "mean":
                return F.avg_pool2d(x, 2)
            case "relu" | "silu":
                return getattr(F, kind)(x)
            case "add":
                return F.relu(x + values[other])
            case "join":
                return ts.cat([x, values[other]], 1)
            case "border":
                return F.pad(x, [2, -other, 0, 1])
            case "overlapping":
                return (F.max_pool2d, F.avg_pool2d)[other](x, 3, 2, 1)
            case "shuffle":
                return F.pixel_shuffle(x, 2)
            case "turn":
                return x.transpose(2, 3)
            case "larger":
                return F.interpolate(x, scale_factor=2.0, mode="nearest")
            case "branches":
                return F.relu(self.parts[other](x) + self.parts[other + 1](x))
            case "excite":
                return x * F.sigmoid(self.parts[other](x.mean([2, 3], keepdim=True)))
        return self.parts[other](x)


def assert_same(seed: int, kinds: dict[str, int], dtype: ts.dtype) -> None:
    random = Random(seed)
    ts.manual_seed(seed)
    height, width = random.choice([7, 8, 14, 16, 28, 32]), random.choice([0, 0, 3])
    shape = random.choice([3, 8, 16, 24, 48]), height, height + width
    network = Network(random, shape, kinds).eval().to(dtype)
    x = ts.randn(random.choice([1, 2]), *shape).to(dtype)
    expected = network(x).detach().double().numpy()
    traced = ts.jit.trace(network, (x,), check_trace=False)
    found = ts.compile(traced, fallback="error", cache=False)(x)
    assert found.dtype is dtype
    bound = BOUNDS[dtype] * max(float(np.abs(expected).max()), 1e-6)
    message = f"{seed}: {network.steps}"
    np.testing.assert_allclose(found.detach().double().numpy(), expected, 0, bound, err_msg=message)


@pytest.mark.parametrize("first", range(0, 5 * NETWORKS, NETWORKS))
def test_networks(first: int) -> None:
    for seed in range(first, first + NETWORKS):
        assert_same(seed, KINDS, ts.float32)


@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
def test_networks_with_borders(dtype: ts.dtype) -> None:
    for seed in range(NETWORKS):
        assert_same(seed, BORDERED, dtype)
