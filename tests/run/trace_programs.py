"""Programs to trace: text that runs with either library as `torch`, and the shapes of its inputs.

Inputs are called x, y, z in order. A text of one line is the result; one of several lines is the
body of a function.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class TracedProgram:
    """A program; `shapes` are of its float32 inputs, `l` in front of one makes it int64."""

    name: str
    text: str
    shapes: tuple[str, ...] = ("2 3",)

    def inputs(self) -> list[np.ndarray]:
        """The same example inputs each time."""
        rng = np.random.default_rng(7)
        out: list[np.ndarray] = []
        for shape in self.shapes:
            sizes = [int(n) for n in shape.removeprefix("l").split()]
            if shape.startswith("l"):
                out.append(rng.integers(0, 2, sizes))
            else:
                out.append(np.asarray(rng.random(sizes, dtype=np.float32) + np.float32(0.25)))
        return out

    def source(self) -> str:
        names = ", ".join("xyz"[: len(self.shapes)])
        lines = self.text.strip().splitlines()
        body = "".join(f"    {line}\n" for line in lines) if len(lines) > 1 else ""
        return f"def program({names}):\n{body or f'    return {self.text}'}\n"

    def function(self, library: Any, filename: str) -> Any:
        """The program over `library` (a module named `torch` in the text)."""
        space: dict[str, Any] = {
            "torch": library,
            "F": library.nn.functional,
            "__name__": "programs",
        }
        exec(compile(self.source(), filename, "exec"), space)
        return space["program"]


def _one(text: str, *shapes: str) -> TracedProgram:
    return TracedProgram(text, text, shapes or ("2 3",))


_EXPRESSIONS = [
    "2 * x + y; 3; 3", "1 - x", "2 / x", "x / 2", "x // 2", "x % 2", "2 % x", "3 // x", "x ** 2",
    "2 ** x", "True // x; l2 3", "torch.add(1, x)", "torch.div(2.5, x); l2 3", "x * True", "x - 1",
    "-x", "abs(x)", "x @ x.t()", "x > 1", "x == 1", "x * 2.5", "x + 1.5; l2 3",
    "x / 2; l2 3", "x & 1; l2 3", "x | x; l2 3", "x ^ 1; l2 3", "1 << x; l2 3", "x << 1; l2 3",
    "~x; l2 3", "x * 0.5; ", "x.float()", "x.double()", "x.to(torch.float64)",
    "x.type(torch.float64)", "x.sum() + x.sum() / 2 + x.sum().int() * 0.5",
    "x.sum().bfloat16() * 0.25", "1.5 + x.sum().half()",
    "x.half()", "x.bool()", "x.int()", "x.long()", "x.to(x)", "x.contiguous()", "x.detach()", "x.T",
    "x.norm()", "torch.norm(x, dim=1)", "x.std()", "x.var(0)", "x.mean()", "x.mean(1)", "x.sum()",
    "x.sum(1, keepdim=True)", "x.max()", "x.max(1)[0]", "torch.max(x, x)", "x.argmax(1)",
    "x.topk(2)[0]", "x.sort()[0]", "torch.cumsum(x, 0)", "x.clamp(0, 1)", "x.clamp(min=0)", "x[0]",
    "x[:, 1:2]", "x[None]", "x[..., 0]", "x[x > 0.5]", "x[:, None]", "x[1, 2]", "x[-1]",
    "x[:, [0, 2]]", "x[::2]", "x[x.shape[0] - 1]", "x[:x.shape[0] - 1]", "x.view(3, -1)",
    "x.view(x.size(0) * x.size(1))", "x.reshape(x.size(0), -1)", "x.flatten()", "x.flatten(1)",
    "x.permute(1, 0)", "x.transpose(0, 1)", "x.unsqueeze(0)", "x.squeeze()", "x.expand(2, 2, 3)",
    "x.repeat(1, x.size(1))", "x.select(0, 1)", "x.narrow(0, 0, 1)", "x.chunk(2)[1]",
    "torch.split(x, [1, 1])[0]", "x.split(1)[0]", "x.unbind()[0]", "torch.cat([x, x], 1)",
    "torch.stack([x, x])", "x.roll(1)", "x.flip(0)", "x.masked_fill(x > 0, 1.)",
    "torch.where(x > 0, x, x)", "torch.tril(x)", "torch.zeros(2, 3)", "torch.zeros_like(x)",
    "torch.ones_like(x)", "torch.full((2, 3), 1.5)", "torch.full((2,), x.shape[0])",
    "torch.arange(x.size(1))", "torch.arange(1, 5)", "torch.linspace(0, 1, 3)", "torch.eye(2)",
    "x.new_zeros(x.shape[0] // 2, 3)", "x.new_full((2,), 1.)", "torch.zeros(x.shape)",
    "torch.outer(x[0], x[0])", "torch.einsum('ij,kj->ik', x, x)", "torch.matmul(x, x.t())",
    "torch.addmm(x[:, :2], x, x.t())", "x + x.shape[1]", "x.numel() + x", "x / x.shape[1]",
    "F.relu(x)", "F.gelu(x)", "F.gelu(x, approximate='tanh')", "F.silu(x)", "F.elu(x)",
    "F.softplus(x)", "F.leaky_relu(x)", "F.hardtanh(x)", "F.relu6(x)", "F.softmax(x, 1)",
    "F.log_softmax(x, -1)", "F.layer_norm(x, (3,))", "F.linear(x, y, z); 2 3; 4 3; 4",
    "F.dropout(x, 0.5, False)", "F.embedding(x, y); l3; 5 2", "F.mse_loss(x, y); 2 3; 2 3",
    "F.cross_entropy(x, y); 2 3; l2", "F.normalize(x)",
    "F.batch_norm(x, None, None, training=True)", "F.conv2d(x, y, padding=1); 1 2 4 4; 3 2 3 3",
    "F.conv1d(x, y, z); 1 2 3; 4 2 1; 4", "F.conv_transpose2d(x, y); 1 2 3 3; 2 1 2 2",
    "F.max_pool2d(x, 2); 1 2 4 4", "F.avg_pool2d(x, 2); 1 2 4 4",
    "F.adaptive_avg_pool2d(x, (1, 1)); 1 2 4 4", "F.pad(x, (1, 1))",
    "F.interpolate(x, scale_factor=2.); 1 2 4 4", "F.group_norm(x, 1); 2 2 3", "F.glu(x); 2 4",
    "F.interpolate(x, size=(4, 4), mode='bilinear'); 1 1 3 3", "F.pixel_shuffle(x, 2); 1 4 2 2",
    "F.scaled_dot_product_attention(x, x, x); 1 2 3", "F.one_hot(x, 3); l2", "x.abs_()",
    "torch.tril_indices(x.size(0), x.size(0))", "torch.eye(x.size(1), x.size(1))",
    "x.roll(x.size(0), 0)", "x.unfold(1, x.size(0), x.size(0))", "x.split(x.size(1), 1)[0]",
    "torch.split(x, x.size(0) // 2)[1]", "torch.matrix_power(x @ x.t(), 2)",
    "F.max_pool2d(x, 2, stride=x.size(2) // 2); 1 1 4 4", "F.local_response_norm(x, 2); 1 2 3",
    "F.local_response_norm(x, 2); 1 2 3 2", "F.multilabel_soft_margin_loss(x, y); 2 3; 2 3",
    "x.zero_()", "(x, x + 1)", "(x, (x + 1, x * 2))", "x.unbind(0)",
]  # fmt: skip

_BODIES = {
    "sizes": "n = x.shape[0]\nm = x.size(1)\nreturn x.view(n * m).reshape(m, n) + n",
    "in place": "y = x * 2\ny += 1\ny.relu_()\nreturn y",
    "index put": "y = x.clone()\ny[0] = 1\ny[:, 1] = x[:, 0]\ny[x > 0.5] = 0\nreturn y",
    "dead": "y = x * 3\nz = x.clone()\nz.add_(1)\ntorch.rand(3)\nreturn x + 1",
    "unpack": "a, b = x.split(1)\nc = x.chunk(2, 0)\nd, e = torch.unbind(x)\nv, i = x.max(1)\n"
    "return a + b + c[0] + d + e, torch.stack([a, b]), v, i",
    "loop": "result = x[0]\nfor i in range(x.size(0)):\n    result = result * x[i]\nreturn result",
    "out": "y = torch.zeros(2, 3)\ntorch.add(x, x, out=y)\nreturn y",
    "out of creations": "o = torch.empty(2)\ntorch.arange(x.size(0), out=o)\n"
    "p = torch.empty(2, 2)\ntorch.eye(2, out=p)\nreturn o + p.sum(), torch.ones(2, out=p[0])",
    "cast by autocast": "with torch.autocast('cpu', dtype=torch.bfloat16):\n"
    "    return torch.mm(x, x.t()), F.linear(x, x * 2)",
    "data of a list": "y = x.tolist()\nreturn x * y[0][1]",
    "counts": "n = x.shape.numel()\nreturn x.numel() * x, torch.numel(x) * x, torch.zeros(n)",
    "operands as they are": "a, b = torch.broadcast_tensors(x, x)\nreturn F.mse_loss(x, x), a, x",
    "masks without dimensions": "y = x.sum()\nz = x.clone()\nz[True] = 1\n"
    "return y[y > 0], z[False]",
    "dead lists": "y = x * 2\nfor row in y:\n    pass\ny.fill_(2)\nreturn x + 1",
    "places of elements": "y = (x > 0.5).nonzero()\nreturn y.float() * 2",
    "a constant": "y = x + torch.tensor([[-1.0], [2.5]])\nreturn y, x * torch.tensor([[1], [20]])",
    "augmented": "y = x.clone()\ny[:, 0] += 1\nreturn y",
    "initialised": "w = torch.empty(2, x.size(1))\ntorch.nn.init.constant_(w, 0.5)\n"
    "b = torch.nn.init.zeros_(torch.empty(2))\ntorch.nn.init.ones_(b)\n"
    "return F.linear(x, w, b)",
    "drawn": "w = torch.nn.init.uniform_(torch.empty(2, 3))\ntorch.nn.init.normal_(w)\n"
    "torch.nn.init.xavier_uniform_(w)\nreturn x + w * 0",
    "detached in place": "y = torch.matmul(x, x.t())\ny.detach_()\nreturn y * 2, y",
    "plus": "y = +x\nreturn y * 2, x + y",
    "fork": "f = torch.jit.fork(torch.relu, x)\ny = x * 2\nreturn torch.jit.wait(f) + y",
    "forks": "two = [torch.jit.fork(lambda a, b: (a + b, a), x, k) for k in (1, 2)]\n"
    "a, b = [torch.jit.wait(f) for f in two]\nreturn a[0] + b[1]",
    "fork in a fork": "def inner(a):\n    return a + 1\ndef outer(a):\n"
    "    f = torch.jit.fork(inner, a)\n    return [torch.jit.wait(f) * 2, a]\n"
    "one, two = torch.jit.wait(torch.jit.fork(outer, x))\nreturn one + two",
    "fork of a computed value": "y = x + 1\nf = torch.jit.fork(lambda: y.relu() - x)\n"
    "return torch.jit.wait(f)",
}

PROGRAMS = [
    *(_one(*text.split("; ")) for text in _EXPRESSIONS),
    *(TracedProgram(name, text) for name, text in _BODIES.items()),
]
