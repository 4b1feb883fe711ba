"""Modules: weights become constants, updated buffers become arguments and results."""

from __future__ import annotations

import numpy as np
import pytest

from tensorscript.base import dtypes
from tensorscript.dialects.ts.constants import TensorLiteral
from tensorscript.frontends.script.api import compile_module
from tensorscript.frontends.script.live import World
from tensorscript.frontends.script.modules import ModuleTypes
from tensorscript.frontends.script.program import Program
from tensorscript.lowering.tg.evaluate import evaluate
from tensorscript.lowering.ts_to_tg.specialise import Specialised, specialise
from tensorscript.lowering.ts_to_tg.specs import TensorSpec
from tensorscript.lowering.ts_to_tg.values import ObjectValue

torch = pytest.importorskip("torch")
nn = torch.nn


def object_of(module, types: ModuleTypes) -> ObjectValue:
    attributes: dict[str, object] = dict(vars(module))
    for name, t in [*module._parameters.items(), *module._buffers.items()]:
        dtype = None if t is None else dtypes.BY_NAME[str(t.dtype).removeprefix("torch.")]
        attributes[name] = TensorLiteral(t.detach().numpy(), dtype) if dtype else None
    for name, child in module._modules.items():
        attributes[name] = object_of(child, types)
    return ObjectValue(types.info(module).name, attributes)


def lowered(module, shape: tuple[int | str, ...]) -> Specialised:
    types = ModuleTypes(World(Program()))
    compiled = compile_module(module, types)
    spec = TensorSpec(dtypes.float32, shape)
    out = specialise(
        compiled.module, f"{compiled.info.name}.forward", [object_of(module, types), spec]
    )
    out.module.verify()
    return out


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.rest = nn.Sequential(nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout())
        self.out = nn.Linear(36, 2)

    def forward(self, x):
        y = self.rest(self.norm(self.conv(x)))
        return torch.nn.functional.softmax(self.out(y), -1)


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("last", torch.zeros(3))

    def forward(self, x):
        self.total += x
        self.last = x * 2
        return self.total - self.last


def test_network() -> None:
    torch.manual_seed(0)
    net = Net().eval()
    for shape in ((2, 3, 6, 6), ("N", 3, 6, 6)):
        out = lowered(net, shape)
        assert not out.plan.state_updates
        x = torch.randn(2, 3, 6, 6)
        (got,) = evaluate(out.function, [x.numpy()])
        np.testing.assert_allclose(got, net(x).detach().numpy(), rtol=1e-4, atol=1e-6)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.project = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = self.project(self.norm(x)).split(c, 2)
        q = q.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        k = k.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        v = v.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).contiguous().view(b, t, c))


def test_attention_block() -> None:
    torch.manual_seed(0)
    layer = Attention(8, 2).eval()
    x = torch.randn(2, 3, 8)
    want = layer(x).detach().numpy()
    for shape in ((2, 3, 8), ("N", "T", 8)):
        out = lowered(layer, shape)
        (got,) = evaluate(out.function, [x.numpy()])
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_state() -> None:
    module = Counter()
    out = lowered(module, (3,))
    assert set(out.plan.state_inputs) == {"total", "last"}
    x = np.arange(3, dtype=np.float32)
    ones, zeros = np.ones(3, np.float32), np.zeros(3, np.float32)
    given = {"x": x, "self.total": ones, "self.last": zeros}
    results = evaluate(out.function, [given[name] for name in out.plan.inputs])
    np.testing.assert_array_equal(results[0], 1 - x)
    ((path, leaf),) = out.plan.state_updates
    np.testing.assert_array_equal(results[leaf], x + 1)
    assert path == "total", "written in place"
    ((path, tree),) = out.plan.state_assigned
    np.testing.assert_array_equal(results[tree.leaf], x * 2)
    assert path == "last", "set to another tensor"
