"""Loaded modules as Python sees them: attributes, the tree, state, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import jit

FOLDER = Path(__file__).parents[1] / "formats" / "samples"


@pytest.fixture
def cnn() -> Any:
    return jit.load(FOLDER / "s02_small_cnn_scripted.pt")


@pytest.fixture
def ema() -> Any:
    return jit.load(FOLDER / "s11_mutating_buffers_scripted.pt")


def test_the_tree(cnn: Any) -> None:
    assert [name for name, _ in cnn.named_children()] == ["features", "drop", "head"]
    assert [name for name, _ in cnn.named_modules()][:3] == ["", "features", "features.0"]
    assert len(list(cnn.modules())) == 10
    assert cnn.features is cnn.features
    assert len(cnn.features) == 6
    assert repr(cnn.head) == "RecursiveScriptModule(original_name=Linear)"
    assert repr(cnn).splitlines()[:4] == [
        "RecursiveScriptModule(",
        "  original_name=Cifar",
        "  (features): RecursiveScriptModule(",
        "    original_name=Sequential",
    ]


def test_parameters_and_buffers(cnn: Any) -> None:
    names = [name for name, _ in cnn.named_parameters()]
    assert names[0] == "features.0.weight" and names[-1] == "head.bias"
    assert "features.1.running_mean" in dict(cnn.named_buffers())
    state = cnn.state_dict()
    assert set(state) == {*names, *dict(cnn.named_buffers())}
    assert list(cnn.head.state_dict(prefix="head.")) == ["head.weight", "head.bias"]
    state["head.bias"].fill_(1.0)
    assert cnn.head.bias.detach().numpy().tolist() == [1.0] * len(cnn.head.bias)


def test_load_state_dict(cnn: Any) -> None:
    changed = {k: v + 1 if v.dtype.is_floating_point else v for k, v in cnn.state_dict().items()}
    other = jit.load(FOLDER / "s02_small_cnn_scripted.pt")
    other.load_state_dict(changed)
    for name, value in other.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), changed[name].numpy())
    with pytest.raises(RuntimeError, match=r"Missing key\(s\) in state_dict"):
        other.load_state_dict({})
    with pytest.raises(RuntimeError, match=r'Unexpected key\(s\) in state_dict: "zzz"'):
        other.load_state_dict({**changed, "zzz": ts.ones(1)})
    with pytest.raises(RuntimeError, match=r"size mismatch for head\.bias"):
        other.load_state_dict({**changed, "head.bias": ts.ones(1)})
    other.load_state_dict({}, strict=False)


def test_attributes(ema: Any) -> None:
    assert ema.hits == 0 and ema.original_name == "Ema"
    ema.hits = 5
    ema(ts.ones(2, 3))
    assert ema.hits == 6
    ema.avg = ts.zeros(3)
    assert ema.report()[1].tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(RuntimeError, match="Could not cast attribute 'hits' to type int"):
        ema.hits = "text"
    ema.remark = "only in Python"
    assert ema.remark == "only in Python"
    with pytest.raises(AttributeError, match="Module' object has no attribute 'zzz'"):
        _ = ema.zzz
    assert {"hits", "avg", "report", "forward"} <= set(dir(ema))


def test_constants_and_containers() -> None:
    module = jit.load(FOLDER / "s04_gru_tagger_scripted.pt")
    assert (module.g.hidden_size, module.g.mode) == (5, "GRU")
    with pytest.raises(AttributeError, match="Cannot mutate TorchScript constant value: 'mode'"):
        module.g.mode = "LSTM"
    names = module.g._flat_weights_names
    names.append("mine")
    assert "mine" not in module.g._flat_weights_names, "containers are copies"


def test_modes_and_conversions(cnn: Any) -> None:
    assert cnn.training is False and cnn.train().features.training is True
    assert cnn.eval() is cnn and cnn.head.training is False
    assert cnn.to("cpu") is cnn and cnn.cpu() is cnn
    cnn.to(ts.float64)
    assert cnn.head.weight.dtype is ts.float64
    assert cnn.features.__getattr__("1").num_batches_tracked.dtype is ts.int64
    assert cnn(ts.zeros(1, 3, 16, 16, dtype=ts.float64)).dtype is ts.float64
    with pytest.raises(RuntimeError, match="there is no device xpu"):
        cnn.to("xpu")
    seen: list[str] = []
    cnn.apply(lambda module: seen.append(module.original_name))
    assert seen[-1] == "Cifar" and len(seen) == 10
    cnn.requires_grad_(False)
    assert not any(p.requires_grad for p in cnn.parameters())


def test_texts(ema: Any) -> None:
    assert ema.code.startswith("def forward(s,\n    x: Tensor) -> Tensor:\n  hits = s.hits\n")
    assert str(ema.report.schema) == "report(__torch__.Ema s) -> ((int, Tensor))"
    assert 'prim::GetAttr[name="hits"](%s.1)' in str(ema.graph)
    assert "ScriptMethod" in repr(ema.forward)


@pytest.mark.parametrize("name", ["register_forward_hook", "compile", "to_empty"])
def test_what_script_modules_do_not_have(cnn: Any, name: str) -> None:
    with pytest.raises(RuntimeError, match=f"{name} is not supported on ScriptModules"):
        getattr(cnn, name)()


def test_what_cannot_be_added(cnn: Any) -> None:
    with pytest.raises(RuntimeError, match="Can't add a new parameter after ScriptModule"):
        cnn.register_buffer("more", ts.ones(1))
    with pytest.raises(RuntimeError, match="Can't add a new parameter after ScriptModule"):
        cnn.more = ts.nn.Parameter(ts.ones(1))
    with pytest.raises(RuntimeError, match="Cannot re-assign modules in a ScriptModule"):
        cnn.add_module("more", ts.nn.Module())
    with pytest.raises(RuntimeError, match="cannot delete methods or parameters"):
        del cnn.head


def test_native_code_follows_the_state() -> None:
    module = jit.load(FOLDER / "s11_mutating_buffers_scripted.pt")
    with jit.executor("native"):
        counts = []
        for _ in range(3):
            module(ts.ones(2, 3))
            counts.append(module.report()[0])
        module.hits = 77
        assert [*counts, module.report()[0]] == [1, 2, 3, 77]


def test_compile_takes_archives_and_modules(cnn: Any) -> None:
    x = np.linspace(-1, 1, 3 * 16 * 16, dtype=np.float32).reshape(1, 3, 16, 16)
    wanted = cnn(ts.from_numpy(x)).numpy()
    for program in (cnn, str(FOLDER / "s02_small_cnn_scripted.pt")):
        compiled = ts.compile(program)
        np.testing.assert_allclose(compiled(x), wanted, rtol=1e-4, atol=1e-5)
        assert compiled.stats.is_native, compiled.stats


class Named:
    class Sequential(ts.nn.ModuleDict):
        """A user's container of that name, which has keys."""

        def forward(self, x: ts.Tensor) -> ts.Tensor:
            for layer in self.values():
                x = layer(x)
            return x * len(self)


def test_a_users_container_is_what_it_derives_from() -> None:
    net = Named.Sequential({"a": ts.nn.ReLU(), "b": ts.nn.Tanh()})
    x = ts.tensor([-1.0, 2.0])
    assert jit.script(net)(x).tolist() == net(x).tolist()
