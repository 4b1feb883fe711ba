"""Traced modules: submodule calls are methods, tensors are shared, and a second trace agrees."""

from __future__ import annotations

import copy
import re

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import nn
from tensorscript.nn import functional as F


class Linear(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(ts.arange(inputs * outputs).float().view(outputs, inputs) / 7)
        self.bias = nn.Parameter(ts.ones(outputs))

    def forward(self, input):
        return F.linear(input, self.weight, self.bias)


class Relu(nn.Module):
    def forward(self, input):
        return F.relu(input)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seq = nn.Sequential(Linear(4, 4), Relu(), Linear(4, 4))
        self.w = nn.Parameter(ts.ones(4))
        self.register_buffer("b", ts.zeros(4))
        self.lin = Linear(4, 4)
        self.k = 3

    def forward(self, x):
        y = self.seq(x)
        y = self.seq(y) * self.w + self.b * self.k
        return y + self.lin(x) + self.lin.weight.sum()

    def other(self, x):
        return self.w * x


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", ts.zeros(1))

    def forward(self, x):
        self.count += 1
        return x + self.count


class Pair(nn.Module):
    def forward(self, x):
        return x + 1, x * 2


class Unpacks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pair = Pair()

    def forward(self, x):
        a, b = self.pair(x)
        return a * b


def example() -> ts.Tensor:
    return ts.arange(8).float().view(2, 4) / 5


def lines(graph: object) -> str:
    return re.sub(r"(, scope: \S+)? # .*", "", str(graph))


def test_submodule_calls_become_methods() -> None:
    traced = ts.jit.trace(Net(), example())
    assert traced.code == (
        "def forward(self,\n    x: Tensor) -> Tensor:\n"
        "  lin = self.lin\n  weight = lin.weight\n  lin0 = self.lin\n  b = self.b\n"
        "  w = self.w\n  seq = self.seq\n"
        "  _0 = torch.mul((seq).forward1((seq).forward(x, ), ), w)\n"
        "  y = torch.add(_0, torch.mul(b, CONSTANTS.c0))\n"
        "  _1 = torch.add(torch.add(y, (lin0).forward(x, )), torch.sum(weight))\n"
        "  return _1\n"
    )
    assert traced.seq.code == (
        "def forward(self,\n    x: Tensor) -> Tensor:\n"
        '  _2 = getattr(self, "2")\n  _1 = getattr(self, "1")\n  _0 = getattr(self, "0")\n'
        "  _3 = (_2).forward((_1).forward((_0).forward(x, ), ), )\n"
        "  return _3\n"
    )


def test_a_traced_module_computes_and_compiles_as_the_module_does() -> None:
    net, x = Net(), example()
    traced = ts.jit.trace(net, x)
    wanted = net(x)
    np.testing.assert_array_equal(traced(x).numpy(), wanted.detach().numpy())
    native = ts.compile(traced, (x,), fallback="error")
    np.testing.assert_allclose(native(x).numpy(), wanted.detach().numpy(), rtol=1e-5)


def test_a_traced_module_shares_tensors_and_has_their_names() -> None:
    net = Net()
    traced = ts.jit.trace(net, example())
    assert [n for n, _ in traced.named_parameters()] == [n for n, _ in net.named_parameters()]
    assert list(traced.state_dict()) == list(net.state_dict())
    assert traced.original_name == "Net" and traced.training
    traced.eval()
    assert not traced.training and not traced.seq.training
    with ts.no_grad():
        net.w.fill_(0.0)
    assert float(traced.w.sum()) == 0.0


def test_the_tree_prints_its_original_names() -> None:
    assert repr(ts.jit.trace(Unpacks(), example())) == (
        "Unpacks(\n  original_name=Unpacks\n  (pair): Pair(original_name=Pair)\n)"
    )


def test_several_results_of_a_submodule_are_a_tuple() -> None:
    traced = ts.jit.trace(Unpacks(), example())
    assert "prim::TupleUnpack" in str(traced.graph)
    np.testing.assert_array_equal(traced(example()).numpy(), Unpacks()(example()).numpy())


def test_a_module_that_gives_what_its_last_submodule_gives() -> None:
    net = nn.Sequential(Linear(4, 4), nn.Sequential(Linear(4, 4), Relu()), Relu())
    traced, x = ts.jit.trace(net, example()), example()
    np.testing.assert_array_equal(traced(x).detach().numpy(), net(x).detach().numpy())


class Exporting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.k = 2
        self.w = nn.Parameter(ts.ones(4))

    def forward(self, x):
        return x * self.w

    @ts.jit.export
    def chosen(self, x, n: int):
        if n > 1:
            return x + self.w
        return x * self.k


def test_exported_methods_are_scripted() -> None:
    traced = ts.jit.trace(nn.Sequential(Exporting(), Relu()), example())
    inner, x = getattr(traced, "0"), example()
    np.testing.assert_array_equal(inner.chosen(x, 2).detach().numpy(), (x + 1).numpy())
    np.testing.assert_array_equal(inner.chosen(x, 1).detach().numpy(), (x * 2).numpy())
    assert "if " in inner.chosen.code and "if " not in inner.code


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.factor = Linear(4, 4), 3

    def forward(self, x):
        return self.inner(x) * self.factor


class Helped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scaled, self.n = Scaled(), 4

    @staticmethod
    def twice(x):
        return x * 2

    @property
    def more(self) -> int:
        return self.n + 1

    def helper(self, x):
        return self.twice(self.scaled(x)) + self.n

    def forward(self, x):
        return self.helper(x)

    @ts.jit.export
    def chosen(self, x, n: int):
        return self.helper(x) * n if n > 1 else x * self.more


def test_exported_methods_call_what_their_module_has() -> None:
    net, x = Helped(), example()
    for traced in (ts.jit.trace(net, x), getattr(ts.jit.trace(nn.Sequential(net), x), "0")):
        for n in (1, 2):
            found, wanted = traced.chosen(x, n), net.chosen(x, n)
            np.testing.assert_array_equal(found.detach().numpy(), wanted.detach().numpy())
        assert "(scaled).forward1(" in traced.code
        assert "(scaled).forward(" in traced.helper.code


class Stacked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.both = nn.Sequential(Linear(4, 4), nn.Linear(4, 4, bias=False))
        self.layers = nn.ModuleList([Scaled(), Scaled()])
        self.register_parameter("shift", None)

    def helper(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.both(x) if self.shift is None else x

    def forward(self, x):
        return self.helper(x)

    @ts.jit.export
    def counted(self, x):
        return self.helper(x) * len(self.layers)


def test_exported_methods_run_containers() -> None:
    net, x = Stacked(), example()
    traced = ts.jit.trace(net, x)
    np.testing.assert_array_equal(traced(x).detach().numpy(), net(x).detach().numpy())
    wanted = net.counted(x).detach().numpy()
    np.testing.assert_array_equal(traced.counted(x).detach().numpy(), wanted)


class CallsItself(Linear):
    @ts.jit.export
    def again(self, x):
        return self(self(x))


def test_a_method_is_either_scripted_or_recorded() -> None:
    with pytest.raises(RuntimeError, match=r"method '.*CallsItself\.forward' already defined\."):
        ts.jit.trace(CallsItself(4, 4), example())
    traced = getattr(ts.jit.trace(nn.Sequential(CallsItself(4, 4)), example()), "0")
    assert hasattr(traced, "forward1"), "called as a submodule"


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = Linear(4, 4), Linear(4, 4)
        self.b.weight = self.a.weight
        self.c = self.a

    def forward(self, x):
        return self.c(self.b(self.a(x)))


def test_what_is_shared_is_passed() -> None:
    net, x = Tied(), example()
    traced = ts.jit.trace(net, x)
    assert "(b).forward(weight, (a).forward(x, ), )" in traced.code
    assert "(a).forward1(" in traced.code
    np.testing.assert_array_equal(traced(x).detach().numpy(), net(x).detach().numpy())


class Padded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("width", ts.tensor(4))
        self.register_buffer("step", ts.tensor(3))

    def forward(self, x):
        filled = ts.ceil((x.size(-1) + self.width) / self.step).to(ts.int64) * self.step
        return nn.functional.pad(x, (self.width, filled - x.size(-1) - self.width))


def test_sizes_made_of_buffers_are_read_first() -> None:
    net, x = nn.Sequential(Padded(), Padded()), ts.ones(1, 5)
    traced = ts.jit.trace(net, x, check_trace=False)
    assert traced.code.count(" = int(width") == 2
    assert traced(x).shape == net(x).shape == (1, 15)
    compiled = ts.compile(traced, fallback="error", cache=False)
    np.testing.assert_array_equal(compiled(x).numpy(), net(x).numpy())
    assert 'f32[1, 15]"' in compiled.ir("tg").rpartition("tg.return")[2]


def test_only_the_traced_module_itself_is_called() -> None:
    traced = ts.jit.trace(Net(), example())
    with pytest.raises(RuntimeError, match="Trace submodules cannot be called"):
        traced.seq(example())


def test_trace_module_records_each_method() -> None:
    net = Net()
    traced = ts.jit.trace_module(net, {"forward": example(), "other": ts.ones(4)})
    assert "torch.mul(w, x)" in traced.other.code
    assert str(traced.forward.schema).endswith("Tensor x) -> Tensor")
    np.testing.assert_array_equal(traced.other(ts.ones(4)).numpy(), np.ones(4))


@pytest.mark.filterwarnings("ignore::tensorscript.jit.TracerWarning")
def test_buffers_change_in_place() -> None:
    traced = ts.jit.trace(Counting(), example(), check_trace=False)
    assert "aten::add_" in str(traced.graph)
    before = float(traced.count)
    traced(example())
    assert float(traced.count) == before + 1


def test_a_traced_module_is_saved_loaded_and_copied(tmp_path) -> None:
    traced, x = ts.jit.trace(Net(), example()), example()
    traced.save(tmp_path / "net.pt")
    loaded = ts.jit.load(tmp_path / "net.pt")
    for other in (loaded, copy.deepcopy(traced)):
        np.testing.assert_array_equal(other(x).detach().numpy(), traced(x).detach().numpy())
    assert loaded.code == traced.code


def test_the_bound_forward_is_the_module() -> None:
    net = Net()
    assert ts.jit.trace(net.forward, example()).code == ts.jit.trace(net, example()).code
    with pytest.raises(AttributeError, match="Please use trace_module"):
        ts.jit.trace(net.other, ts.ones(4))


def test_refusals() -> None:
    with pytest.raises(AttributeError, match=r"expected torch\.nn\.Module as the first argument"):
        ts.jit.trace_module(lambda x: x, {"forward": example()})
    with pytest.raises(AttributeError, match=r"expected a dictionary of \(method_name, input\)"):
        ts.jit.trace_module(Net(), example())
    with pytest.raises(NameError, match=r"'q' is not in forward\(\) method's arguments"):
        ts.jit.trace(Net(), example_kwarg_inputs={"q": example()})
    traced = ts.jit.trace(Net(), example())
    with pytest.warns(UserWarning, match="already a ScriptModule, tracing it is a no-op"):
        assert ts.jit.trace(traced, example()) is traced


def test_a_parameter_twice_in_one_module_is_refused() -> None:
    net = Relu()
    net.a = nn.Parameter(ts.ones(2))
    net.b = net.a
    with pytest.raises(ValueError, match="TracedModules don't support parameter sharing"):
        ts.jit.trace(net, example())


def test_keywords_name_the_inputs() -> None:
    traced = ts.jit.trace(Net(), example_kwarg_inputs={"x": example()})
    np.testing.assert_array_equal(traced(x=example()).numpy(), traced(example()).numpy())


class Again(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Sequential(Linear(4, 4)), nn.Sequential(Linear(4, 4))
        self.b[0] = self.a[0]
        self.c = self.a

    def forward(self, x):
        return self.c(self.b(self.a(x)))


def test_what_is_below_a_second_place_is_in_the_first() -> None:
    net, x = Again(), example()
    traced = ts.jit.trace(net, x)
    assert "self.c" not in traced.code
    np.testing.assert_array_equal(traced(x).detach().numpy(), net(x).detach().numpy())


def test_a_traced_module_is_no_container() -> None:
    traced = ts.jit.trace(nn.Sequential(Linear(4, 4)), example())
    with pytest.raises(TypeError, match="'TopLevelTracedModule' object is not iterable"):
        iter(traced)
    with pytest.raises(AttributeError, match="'RecursiveScriptModule' object has no attribute"):
        traced.missing  # noqa: B018  # the look-up is what fails


def test_example_inputs_are_kept_if_they_are_to_be() -> None:
    x = example()
    kept = ts.jit.trace(Linear(4, 4), x)._c._retrieve_traced_inputs()
    assert list(kept) == ["forward"]
    assert kept["forward"][0].tolist() == x.tolist()
    traced = ts.jit.trace(Linear(4, 4), x, _store_inputs=False)
    assert traced._c._retrieve_traced_inputs() == {}
