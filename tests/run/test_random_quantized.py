"""Random quantized networks compute natively what PyTorch computes, to one step of their last grid.

Which of them multiply bytes, where channels lie and what is fused behind a product hangs on sizes
and neighbours. PyTorch makes the networks, whose archives are read and compiled.
"""

from __future__ import annotations

import io
from random import Random
from typing import Any

import numpy as np
import pytest

import tensorscript as ts

Shape = tuple[int, int, int]
NETWORKS = 5
PLAIN = ("relu", "relu6", "hardsigmoid", "sigmoid", "tanh", "flip", "clamp", "requantize")
KINDS = (
    "convolution", "convolution", "convolution", "filter", "linear", "add", "add_relu", "mul",
    "join", "max", "mean", "average", "larger", "halves", *PLAIN,
)  # fmt: skip


def network(torch: Any, random: Random, first: Shape) -> Any:
    """Up to six random steps, each of one of the last three values."""

    class Network(torch.nn.Module):  # type: ignore[misc]  # PyTorch may be absent
        def __init__(self) -> None:
            super().__init__()
            self.parts = torch.nn.ModuleList()
            self.steps: list[tuple[str, int, int, float, int]] = []
            self.shapes = [first]
            for _ in range(random.randint(1, 6)):
                self.take(random.choice(KINDS), random.randrange(len(self.shapes[-3:])))

        def take(self, kind: str, back: int) -> None:
            at = len(self.shapes) - 1 - back
            channels, height, width = shape = self.shapes[at]
            scale, zero, other = random.choice([0.05, 0.02, 0.0317]), random.randint(90, 160), 0
            if kind in ("convolution", "filter", "linear"):
                other = len(self.parts)
                made, shape = weighted(torch, random, kind, shape)
                made.scale, made.zero_point = scale, zero
                if min(shape) < 1:
                    return
                self.parts.append(made)
            elif kind in ("add", "add_relu", "mul"):
                other = random.choice([k for k, s in enumerate(self.shapes) if s == shape])
            elif kind == "join":
                fits = [k for k, s in enumerate(self.shapes) if s[1:] == shape[1:]]
                other = random.choice(fits)
                shape = channels + self.shapes[other][0], height, width
            elif kind in ("max", "average"):
                shape = channels, (height - 1) // 2 + 1, (width - 1) // 2 + 1
            elif kind == "mean":
                shape = channels, 1, 1
            elif kind == "larger":
                shape = channels, 2 * height, 2 * width
            elif kind == "halves":
                if channels % 2:
                    return
                shape = channels // 2, height, width
            if shape[1] * shape[2] <= 1600:
                self.steps.append((kind, at, other, scale, zero))
                self.shapes.append(shape)

        def forward(self, x: Any) -> Any:
            values = [torch.quantize_per_tensor(x, 0.05, 120, torch.quint8)]
            for kind, at, other, scale, zero in self.steps:
                values.append(self.done(kind, values[at], other, values, scale, zero))
            return values[-1].dequantize()

        def done(
            self, kind: str, x: Any, other: int, values: list[Any], scale: float, zero: int
        ) -> Any:
            joined, functional = torch.ops.quantized, torch.nn.functional
            match kind:
                case "add" | "add_relu" | "mul":
                    return getattr(joined, kind)(x, values[other], scale, zero)
                case "join":
                    return joined.cat([x, values[other]], 1, scale, zero)
                case "max":
                    return functional.max_pool2d(x, 3, 2, 1)
                case "average":
                    return functional.avg_pool2d(x, 3, 2, 1)
                case "mean":
                    return x.mean([2, 3], keepdim=True)
                case "larger":
                    return functional.interpolate(x, scale_factor=2.0, mode="nearest")
                case "halves":
                    return x.chunk(2, 1)[1]
                case "relu" | "hardsigmoid":
                    return getattr(functional, kind)(x)
                case "relu6":
                    return joined.relu6(x)
                case "sigmoid" | "tanh":
                    return getattr(torch, kind)(x)
                case "flip":
                    return x.flip(2)
                case "clamp":
                    return torch.clamp(x, -0.5, 0.7)
                case "requantize":
                    return torch.quantize_per_tensor(
                        x.dequantize() * 0.5, scale, zero, torch.quint8
                    )
            return self.parts[other](x)

    return Network().eval()


def weighted(torch: Any, random: Random, kind: str, shape: Shape) -> tuple[Any, Shape]:
    """A layer with weights, some on one grid and some on one a channel, and its result's shape."""
    layers, fused = torch.ao.nn.quantized, torch.ao.nn.intrinsic.quantized
    channels, height, width = shape
    out, has_bias = random.choice([1, 4, 8, 16, 33]), random.random() < 0.8
    if kind == "linear":
        made = random.choice([layers.Linear, fused.LinearReLU])(width, out, has_bias)
        weights, shape = torch.randn(out, width), (channels, height, out)
    else:
        size, stride, groups = random.choice([1, 2, 3, 5]), random.choice([1, 1, 2]), 1
        padding = random.choice([0, size // 2])
        if kind == "filter":
            out = groups = channels
        maker = random.choice([layers.Conv2d, fused.ConvReLU2d])
        made = maker(channels, out, size, stride, padding, 1, groups, has_bias)
        weights = torch.randn(out, channels // groups, size, size)
        sizes = ((n + 2 * padding - size) // stride + 1 for n in (height, width))
        shape = out, *sizes  # type: ignore[assignment]  # three
    if random.random() < 0.5:
        steps, zeros = torch.rand(out).double() * 0.01 + 0.003, torch.zeros(out).long()
        packed = torch.quantize_per_channel(weights * 0.3, steps, zeros, 0, torch.qint8)
    else:
        packed = torch.quantize_per_tensor(weights * 0.3, 0.01, 0, torch.qint8)
    made.set_weight_bias(packed, torch.randn(out) if has_bias else None)
    return made, shape


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("exact_bytes")
@pytest.mark.parametrize("first", range(0, 5 * NETWORKS, NETWORKS))
def test_networks(first: int) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.ao.nn.quantized")
    for seed in range(first, first + NETWORKS):
        random = Random(seed)
        torch.manual_seed(seed)
        height = random.randint(3, 24)
        shape = random.choice([1, 3, 8, 16, 17]), height, height + random.choice([0, 5])
        made = network(torch, random, shape)
        x = torch.randn(random.choice([1, 2]), *shape) * 2
        with torch.no_grad():
            traced = torch.jit.trace(made, (x,), check_trace=False)
            expected = made(x).numpy()
        stored = io.BytesIO()
        torch.jit.save(traced, stored)
        stored.seek(0)
        run = ts.compile(ts.jit.load(stored), fallback="error", cache=False)
        found = np.asarray(run(x.numpy()))
        # What lies between two numbers of a grid may be rounded to either one; few are.
        apart = np.abs(found - expected)
        message = f"{seed}: {made.steps}"
        assert found.shape == expected.shape, message
        assert apart.max(initial=0.0) < 0.11 and (apart > 1e-4).mean() <= 0.03, message
