"""Frozen modules compute what the module did; what they keep, drop and refuse."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import nn
from tensorscript.compiler.jit.module import RecursiveScriptModule


def values(*shape: int) -> ts.Tensor:
    return ts.from_numpy(np.sin(np.arange(np.prod(shape), dtype=np.float32) + 1.0).reshape(shape))


class Layer(nn.Module):
    """A convolution with batch norm and dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(values(4, 3, 3, 3))
        self.scale, self.shift = nn.Parameter(values(4)), nn.Parameter(values(4) * 2)
        self.register_buffer("mean", values(4))
        self.register_buffer("var", values(4).abs() + 0.5)
        self.register_buffer("count", ts.tensor(0))

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        if self.training:
            self.count.add_(1)
        y = ts.conv2d(x, self.weight, None)
        y = ts.batch_norm(
            y, self.scale, self.shift, self.mean, self.var, self.training, 0.1, 1e-5, True
        )
        return ts.dropout(ts.relu(y), 0.5, self.training)


class Net(nn.Module):
    """Its number `hits` and buffer `seen` change, `k` does not."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = Layer()
        self.head_weight = nn.Parameter(values(2, 4))
        self.register_buffer("seen", ts.zeros(4))
        self.hits, self.k = 0, 3

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        y = self.layer(x).mean([2, 3])
        self.hits += 1
        self.seen.add_(y.sum(0))
        return ts.linear(y, self.head_weight, None) * self.k + self.hits + self.seen.sum()

    @ts.jit.export
    def head(self, x: ts.Tensor) -> ts.Tensor:
        return ts.linear(x, self.head_weight, None)


X = values(2, 3, 6, 6)


def scripted() -> RecursiveScriptModule:
    made: RecursiveScriptModule = ts.jit.script(Net().eval())
    return made


def kinds(module: RecursiveScriptModule) -> list[str]:
    lines = (line.split(" = ")[1] for line in str(module.graph).split("\n") if " = " in line)
    return [line.partition("(")[0].partition("[")[0] for line in lines if "Constant" not in line]


def close(found: ts.Tensor, wanted: ts.Tensor) -> None:
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-5)


def test_same_results_and_folded_layers() -> None:
    module, frozen = scripted(), ts.jit.freeze(scripted())
    for _ in range(2):
        close(frozen(X), module(X))
    assert "aten::batch_norm" not in kinds(frozen) and "aten::dropout" not in kinds(frozen)
    assert "prim::CallMethod" not in kinds(frozen)


def test_only_what_changes_is_left() -> None:
    frozen = ts.jit.freeze(scripted())
    assert sorted(frozen._script_object.attributes) == ["hits", "seen"]
    assert list(frozen.state_dict()) == ["seen"]
    assert not list(frozen.parameters()) and not hasattr(frozen, "k")
    assert not hasattr(frozen, "head") and not hasattr(frozen, "training")
    frozen(X)
    assert frozen.hits == 1 and frozen.original_name == "Net"


def test_what_is_preserved() -> None:
    # Buffers that change are shared with the module that was frozen.
    module, frozen = scripted(), ts.jit.freeze(scripted(), ["head", "k", "layer.scale"])
    frozen.k = 5
    module.k = 5
    close(frozen(X), module(X))
    close(frozen.head(values(2, 4)), module.head(values(2, 4)))
    assert list(dict(frozen.named_parameters())) == ["layer.scale"]
    assert "aten::batch_norm" in kinds(frozen)


def test_a_whole_submodule_is_preserved() -> None:
    frozen = ts.jit.freeze(scripted(), preserved_attrs=["layer"])
    close(frozen.layer(X), scripted().layer(X))


class Helped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = Layer()
        self.inner = nn.ModuleList([Helper()])

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        y: ts.Tensor = self.layer(x)
        for helper in self.inner:
            y = helper(y)
        return y


class Helper(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.factor = 2.0
        self.unread = 3
        self.register_buffer("seen", ts.zeros(1))

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        return self.scaled(x) + 1

    def scaled(self, x: ts.Tensor) -> ts.Tensor:
        return x * self.factor

    @ts.jit.export
    def count(self, x: ts.Tensor) -> ts.Tensor:
        self.seen += x.numel()
        return self.seen * self.factor


def held(module: Any) -> list[str]:
    names = ("factor", "unread", "seen", "training", "forward", "scaled", "count")
    return [name for name in names if hasattr(module, name)]


def test_the_methods_of_a_submodule_are_preserved_frozen() -> None:
    module = ts.jit.script(Helped().eval())
    frozen = ts.jit.freeze(module, ["inner.0.scaled", "inner.0.count", "inner.0.count"])
    close(frozen(X), module(X))
    helper = getattr(frozen.inner, "0")
    close(helper.scaled(X), X * 2.0)
    assert held(helper) == ["seen", "scaled", "count"] and not hasattr(frozen, "layer")
    again = ts.jit.load(io.BytesIO(frozen.save_to_buffer()))
    for call in (1, 2):
        wanted = 2.0 * call * X.numel()
        assert float(helper.count(X)) == float(getattr(again.inner, "0").count(X)) == wanted


def test_attributes_of_submodules_are_preserved_alone() -> None:
    module = ts.jit.script(Helped().eval())
    frozen = ts.jit.freeze(module, ["inner.0.unread"])
    assert held(getattr(frozen.inner, "0")) == ["unread"]
    whole = ts.jit.freeze(module, ["inner.0.count", "inner.0"])
    helper = getattr(whole.inner, "0")
    assert helper.unread == 3 and float(helper.count(X)) == 2 * X.numel()
    for name in ("inner.0.nothing", "inner.1.scaled", "layer.weight.scaled", ""):
        with pytest.raises(RuntimeError, match=f"Unknown name: {name}"):
            ts.jit.freeze(module, preserved_attrs=[name])


def test_numerics_are_left_alone_when_asked() -> None:
    frozen = ts.jit.freeze(scripted(), optimize_numerics=False)
    assert "aten::batch_norm" in kinds(frozen)
    ts.jit.run_frozen_optimizations(frozen)
    assert "aten::batch_norm" not in kinds(frozen)
    close(frozen(X), scripted()(X))


def test_the_original_is_left_alone() -> None:
    module = scripted()
    before, code = str(module.graph), module.code
    frozen = ts.jit.freeze(module)
    frozen(X)
    assert (str(module.graph), module.code, module.hits) == (before, code, 0)


def test_for_inference() -> None:
    fast = ts.jit.optimize_for_inference(scripted(), ["head"])
    assert "aten::linear" not in kinds(fast) and "aten::matmul" in kinds(fast)
    close(fast(X), scripted()(X))
    close(fast.head(values(2, 4)), scripted().head(values(2, 4)))


def test_frozen_modules_are_saved() -> None:
    module = scripted()
    frozen = ts.jit.freeze(module, ["head"])
    file = io.BytesIO()
    ts.jit.save(frozen, file)
    again = ts.jit.load(file.getvalue())
    assert again.save_to_buffer() == file.getvalue()
    for _ in range(2):
        close(again(X), module(X))


def test_compiled_modules_are_folded() -> None:
    module = scripted()
    native, strict = ts.compile(module.layer), ts.compile(module.layer, strict=True)
    close(native(X), module.layer(X))
    close(strict(X), module.layer(X))
    assert "sqrt" not in native.ir("te") and "sqrt" in strict.ir("te")


def test_compiled_modules_keep_what_changes() -> None:
    module, other = scripted(), scripted()
    native = ts.compile(module)
    for _ in range(2):
        close(native(X), other(X))
    assert module.hits == other.hits == 2


class Shared(nn.Module):
    """Two names for one memory: one is written."""

    def __init__(self) -> None:
        super().__init__()
        base = ts.arange(6.0)
        self.register_buffer("base", base)
        self.register_buffer("tail", base[3:])

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        self.base.add_(1)
        return x + self.tail.sum()


def test_what_shares_memory_with_something_written_stays() -> None:
    frozen = ts.jit.freeze(ts.jit.script(Shared().eval()))
    assert [frozen(ts.zeros(1)).item() for _ in range(2)] == [15.0, 18.0]


def task(layer: ts.Tensor, x: ts.Tensor) -> ts.Tensor:
    return x * layer


class Forking(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(values(3))

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        future = ts.jit.fork(task, self.weight, x)
        with ts.no_grad():
            y = x + 1
        return ts.jit.wait(future) + y


def test_forks_and_contexts() -> None:
    module = ts.jit.script(Forking().eval())
    close(ts.jit.freeze(module)(values(3)), module(values(3)))


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(values(3))
        self.k = 2
        self.shown = values(3)

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        return x * self.weight * self.k

    @ts.jit.export
    def show(self, x: ts.Tensor) -> ts.Tensor:
        return self.shown


class ForkingMethods(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.sub = Scaled()
        self.other = Scaled()
        self.bias = values(3)

    @ts.jit.export
    def nested(self, x: ts.Tensor) -> ts.Tensor:
        return ts.jit.wait(ts.jit.fork(self.other, x)) + self.bias

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        first = ts.jit.fork(self.sub, x)
        second = ts.jit.fork(self.nested, x)
        return ts.jit.wait(first) + ts.jit.wait(second)


def test_forked_methods_are_frozen() -> None:
    module = ts.jit.script(ForkingMethods().eval())
    frozen = ts.jit.freeze(module)
    close(frozen(values(3)), module(values(3)))
    assert not any(hasattr(frozen, name) for name in ("sub", "other", "bias"))
    text = str(frozen.graph)
    assert "GetAttr" not in text and "CallMethod" not in text
    kept = ts.jit.freeze(module, ["sub.k"])
    assert kept.sub.k == 2 and not hasattr(kept.sub, "weight")
    kept.sub.k = 5
    module.sub.k = 5
    close(kept(values(3)), module(values(3)))
    saved = io.BytesIO()
    ts.jit.save(frozen, saved)
    saved.seek(0)
    module.sub.k = 2
    close(ts.jit.load(saved)(values(3)), module(values(3)))


class WritingResults(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.sub = Scaled()

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        return ts.jit.wait(ts.jit.fork(self.sub.show, x)).add_(x)


def test_what_a_task_returns_may_be_written() -> None:
    module = ts.jit.script(WritingResults().eval())
    frozen = ts.jit.freeze(module)
    start = module.sub.shown.clone()
    for turn in (1, 2):
        close(frozen(values(3)), start + turn * values(3))
    assert not hasattr(frozen.sub, "weight")


def test_modules_of_the_older_form() -> None:
    with pytest.warns(DeprecationWarning):

        class Older(ts.jit.ScriptModule):
            def __init__(self) -> None:
                super().__init__()
                self.weight = ts.nn.Parameter(ts.ones(2) * 3)

            @ts.jit.script_method
            def forward(self, x: ts.Tensor) -> ts.Tensor:
                return x * self.weight

    module: Any = Older().eval()
    frozen = ts.jit.freeze(module)
    assert not frozen.state_dict()
    assert frozen(ts.ones(2)).tolist() == [3.0, 3.0]
    assert ts.jit.optimize_for_inference(module)(ts.ones(2)).tolist() == [3.0, 3.0]
    with pytest.warns(UserWarning, match="already a ScriptModule"):
        assert ts.jit.trace(module, ts.ones(2)) is module


def test_refusals() -> None:
    with pytest.raises(RuntimeError, match="Freezing expects a ScriptModule as input"):
        ts.jit.freeze(Net())  # type: ignore[arg-type]  # the mistake
    with pytest.raises(RuntimeError, match="only implemented for modules in eval mode"):
        ts.jit.freeze(ts.jit.script(Net()))
    with pytest.raises(RuntimeError, match="Unknown name: zzz"):
        ts.jit.freeze(scripted(), preserved_attrs=["zzz"])
    with pytest.raises(RuntimeError, match="optimize_for_inference expects a ScriptModule"):
        ts.jit.optimize_for_inference(Net())  # type: ignore[arg-type]  # the mistake
