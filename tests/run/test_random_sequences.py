"""Random programs over sequences compute natively what they compute in eager mode.

As `test_random_networks.py` for products, norms, softmaxes, reductions, views and attention, which
are fused with each other in forms that hang on their sizes.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import nn
from tensorscript.nn import functional as F

Shape = tuple[int, int, int]
Step = tuple[str, int, int]
"""What is done, to which value, and the module, the other value or the number that it takes."""
PROGRAMS = 16
ACTIVATIONS = ("relu", "gelu", "silu", "elu")
ALONG = ("softmax", "log_softmax", "scale", "center", "sums", "flip")
"""What keeps the shape, along a dimension."""
KINDS = (
    *ALONG, *ALONG, "linear", "linear", "linear", "norm", "activation", "add", "times", "where",
    "attention", "square", "outer", "apply", "turn", "convolve", "mean", "largest", "join",
    "halves", "gate", "pad", "groups", "look up", "first few",
)  # fmt: skip


class Program(nn.Module):
    """Up to eight random steps, each of one of the last three values."""

    def __init__(self, random: Random, first: Shape) -> None:
        super().__init__()
        self.parts = nn.ModuleList()
        self.steps: list[Step] = []
        self.shapes = [first]
        for _ in range(random.randint(2, 8)):
            at = random.randrange(max(0, len(self.shapes) - 3), len(self.shapes))
            self._step(random, random.choice(KINDS), at)

    def _step(self, random: Random, kind: str, at: int) -> None:
        """Take a step if the value's shape allows it."""
        batch, count, width = shape = self.shapes[at]
        other = 0
        if kind in ALONG:
            other = random.choice([1, 2])
        elif kind in ("linear", "norm", "convolve", "look up"):
            other = len(self.parts)
            shape = self._module(random, kind, shape)
        elif kind == "activation":
            other = random.randrange(len(ACTIVATIONS))
        elif kind in ("add", "times", "where"):
            other = random.choice([k for k, found in enumerate(self.shapes) if found == shape])
        elif kind == "attention":
            other = next(h for h in (4, 2, 1) if width % h == 0)
        elif kind == "square":
            shape = batch, count, count
        elif kind == "outer":
            shape = batch, width, width
        elif kind == "apply":
            fits = [k for k, found in enumerate(self.shapes) if found[1] == width]
            if not fits:
                return
            other = random.choice(fits)
            shape = batch, count, self.shapes[other][2]
        elif kind == "turn":
            shape = batch, width, count
        elif kind in ("mean", "largest"):
            other = random.choice([1, 2])
            shape = (batch, 1, width) if other == 1 else (batch, count, 1)
        elif kind == "join":
            other = random.choice([k for k, f in enumerate(self.shapes) if f[1] == count])
            shape = batch, count, width + self.shapes[other][2]
        elif kind in ("halves", "gate"):
            if width % 2:
                return
            shape = batch, count, width // 2
        elif kind == "pad":
            shape = batch, count, width + 3
        elif kind == "groups":
            other = next(g for g in (4, 2, 1) if count % g == 0)
            if width == 1:
                return
        elif kind == "first few":
            other = min(3, width)
            shape = batch, count, other
        if shape[1] <= 160 and shape[2] <= 160:
            self.steps.append((kind, at, other))
            self.shapes.append(shape)

    def _module(self, random: Random, kind: str, shape: Shape) -> Shape:
        batch, count, width = shape
        if kind == "norm":
            self.parts.append(nn.LayerNorm(width))
            return shape
        if kind == "look up":
            self.parts.append(nn.Embedding(20, 12))
            return batch, count, 12
        out = random.choice([8, 16, 17, 32, 64])
        if kind == "linear":
            self.parts.append(nn.Linear(width, out))
            return batch, count, out
        stride, size = random.choice([1, 2]), random.choice([1, 3, 5])
        self.parts.append(nn.Conv1d(width, out, size, stride, size // 2))
        return batch, (count - 1) // stride + 1, out

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        values = [x]
        for kind, at, other in self.steps:
            values.append(self._done(kind, values[at], other, values))
        return values[-1]

    def _done(self, kind: str, x: ts.Tensor, other: int, values: list[ts.Tensor]) -> ts.Tensor:
        batch, count, width = x.shape
        match kind:
            case "softmax" | "log_softmax":
                return getattr(F, kind)(x, other)
            case "scale":
                return x * ts.rsqrt((x * x).mean(other, keepdim=True) + 1)
            case "center":
                return x - x.amax(other, keepdim=True)
            case "sums":
                return x.cumsum(other) / 4
            case "flip":
                return x.flip(other)
            case "activation":
                return getattr(F, ACTIVATIONS[other])(x)
            case "add":
                return x + values[other]
            case "times":
                return x * ts.tanh(values[other])
            case "where":
                return ts.where(values[other] > 0, x, values[other] * 0.5)
            case "attention":
                q = x.view(batch, count, other, width // other).transpose(1, 2)
                y = F.scaled_dot_product_attention(q, q * 0.5, q)
                return y.transpose(1, 2).reshape(batch, count, width)
            case "square":
                return x @ x.transpose(1, 2) / width
            case "outer":
                return ts.einsum("btc,btd->bcd", x, x) / count
            case "apply":
                return ts.bmm(x, values[other]) / width
            case "turn":
                return x.transpose(1, 2)
            case "convolve":
                return self.parts[other](x.transpose(1, 2)).transpose(1, 2)
            case "mean":
                return x.mean(other, keepdim=True)
            case "largest":
                return x.max(other, keepdim=True)[0]
            case "join":
                return ts.cat([x, values[other]], 2)
            case "halves":
                left, right = x.chunk(2, 2)
                return left + right
            case "gate":
                return F.glu(x, 2)
            case "pad":
                return F.pad(x, [1, 2], mode="replicate")
            case "groups":
                return F.group_norm(x, other, eps=1.0)
            case "look up":
                return self.parts[other](x.argmax(2) % 20)
            case "first few":
                return x.topk(other, 2)[0]
        return self.parts[other](x)


@pytest.mark.parametrize("first", range(0, 5 * PROGRAMS, PROGRAMS))
def test_programs(first: int) -> None:
    for seed in range(first, first + PROGRAMS):
        random = Random(seed)
        ts.manual_seed(seed)
        shape = random.choice([1, 2]), random.choice([5, 8, 16, 33]), random.choice([8, 16, 24, 48])
        program = Program(random, shape).eval()
        x = ts.randn(*shape)
        expected = program(x).detach().numpy()
        traced = ts.jit.trace(program, (x,), check_trace=False)
        found = ts.compile(traced, fallback="error", cache=False)(x).detach().numpy()
        bound = 1e-4 * max(float(np.abs(expected).max()), 1.0)
        np.testing.assert_allclose(found, expected, 0, bound, err_msg=f"{seed}: {program.steps}")
