"""The steps of freezing under the names of PyTorch's binary module."""

from __future__ import annotations

import pytest

import tensorscript as ts
from tensorscript import nn


class Tower(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)
        self.fc, self.flat = nn.Linear(5, 4), nn.BatchNorm2d(4)

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        return self.flat(self.fc(self.norm(self.conv(x) * 2.0 + 1.0)))


PASSES = {
    "fold_frozen_conv_mul_or_div": "aten::mul",
    "fold_frozen_conv_add_or_sub": "aten::add",
    "fold_frozen_conv_bn": "aten::batch_norm",
    "fold_frozen_linear_bn": "aten::batch_norm",
    "transpose_frozen_linear": "aten::linear",
}


def test_each_pass_removes_one_kind_of_operator() -> None:
    x = ts.ones(2, 3, 4, 5)
    module = ts.jit.trace(Tower().eval(), x)  # without checks of ranks, which read the layers, too
    frozen = ts.jit.freeze(module, optimize_numerics=False)
    graph = frozen.graph
    for name, kind in PASSES.items():
        before = len(graph.findAllNodes(kind))
        assert getattr(ts._C, f"_jit_pass_{name}")(graph)
        assert len(graph.findAllNodes(kind)) == before - 1
        assert not getattr(ts._C, f"_jit_pass_{name}")(graph)
        ts.testing.assert_close(frozen(x), module(x), rtol=1e-4, atol=1e-5)


def test_modules_in_training_keep_their_tensors() -> None:
    core = ts._C._freeze_module(ts.jit.script(Tower())._c)
    assert core.norm.training and not core.hasattr("training")
    assert core.conv.hasattr("weight") and core.norm.hasattr("running_mean")
    kept = ts._C._freeze_module(ts.jit.script(Tower().eval())._c, preserveParameters=True)
    assert kept.fc.hasattr("weight") and not kept.norm.hasattr("training")
    assert not hasattr(kept, "nothing")
    assert kept.forward(ts.ones(2, 3, 4, 5)).shape == (2, 4, 4, 4)
    with pytest.raises(AttributeError, match="does not have a field with name 'nothing'"):
        _ = kept.nothing


def test_traced_modules_are_frozen() -> None:
    x = ts.ones(2, 3, 4, 5)
    module = Tower().eval()
    frozen = ts.jit.freeze(ts.jit.trace(module, x))
    ts.testing.assert_close(frozen(x), module(x), rtol=1e-4, atol=1e-5)


class Container(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(2, 2)

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        return self.a(x)


def test_the_core_of_a_module_may_be_set() -> None:
    module = ts.jit.script(Container().eval())
    wanted = module(ts.ones(1, 2))
    module._c = ts._C._freeze_module(module._c)
    assert not list(module.parameters())
    ts.testing.assert_close(module(ts.ones(1, 2)), wanted)
