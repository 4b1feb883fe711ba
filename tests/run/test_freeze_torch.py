"""Frozen graphs have the operations of PyTorch's frozen graphs, and compute what it computes."""

from __future__ import annotations

import io
import re
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import tensorscript as ts

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")
nn = torch.nn


class Head(nn.Module):  # type: ignore[misc]  # torch is an optional import
    def __init__(self) -> None:
        super().__init__()
        self.fc, self.bn = nn.Linear(4, 3), nn.BatchNorm1d(3)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.drop(self.bn(self.fc(x.mean([2, 3]))))


class Counting(nn.Module):  # type: ignore[misc]  # as above
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.calls, self.k = nn.Conv2d(3, 4, 1), 0, 2

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        if self.training:
            x = x + 1
        return self.conv(x) * self.k + self.calls


class Rows(nn.Module):  # type: ignore[misc]  # as above
    """Asks for the same sizes again and again."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.GRUCell(64, 4), nn.GRUCell(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.reshape(x.size(0) * x.size(1), x.size(2) * x.size(3))
        h = self.second(self.first(flat), torch.zeros(x.size(0) * x.size(1), 4))
        return h.view(x.size(0), x.size(1), -1)


class Scaled(nn.Module):  # type: ignore[misc]  # as above
    """Sums and products go into convolutions, and stay behind linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 4, 1), nn.Linear(8, 2)
        self.by, self.norm = nn.Parameter(torch.rand(2)), nn.BatchNorm2d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(self.norm(self.conv(x) * 2 + 1)) * self.by + 3


def tower() -> Any:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.5),
        nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4), nn.MaxPool2d(2), nn.Flatten(), nn.LazyLinear(3),
    )  # fmt: skip


MODULES = {
    "tower": tower,
    "head": lambda: nn.Sequential(nn.Conv2d(3, 4, 1), Head()),
    "counting": Counting,
    "rows": Rows,
    "scaled": Scaled,
}


def made(name: str, traced: bool) -> tuple[Any, Any, Any]:
    """PyTorch's module, an input, and the archive."""
    torch.manual_seed(0)
    x = torch.randn(2, 3, 8, 8)
    module = MODULES[name]()
    module(x)
    for layer in module.modules():
        if hasattr(layer, "running_mean"):
            layer.running_mean.uniform_(-1, 1)
            layer.running_var.uniform_(0.5, 2)
    module.eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        script = (
            torch.jit.trace(module, x, check_trace=False) if traced else torch.jit.script(module)
        )
    file = io.BytesIO()
    torch.jit.save(script, file)
    return torch.jit.load(io.BytesIO(file.getvalue())), x, file.getvalue()


def kinds(graph: object) -> Counter[str]:
    found = re.findall(r"= (\w+::\w+)", str(graph))
    return Counter(kind for kind in found if kind != "prim::Constant")


@pytest.mark.parametrize("traced", [False, True], ids=["scripted", "traced"])
@pytest.mark.parametrize("name", MODULES)
def test_same_operations_and_results(name: str, traced: bool) -> None:
    theirs, x, data = made(name, traced)
    frozen, ours = torch.jit.freeze(theirs), ts.jit.freeze(ts.jit.load(data))
    if name == "rows" and traced:  # PyTorch merges not all of a trace's sizes
        assert kinds(ours.graph) <= kinds(frozen.graph)
    else:
        assert kinds(ours.graph) == kinds(frozen.graph)
    assert sorted(ours.state_dict()) == sorted(frozen.state_dict())
    with torch.no_grad():
        wanted = theirs(x) if name != "counting" or traced else frozen(x)
    found = torch.from_numpy(ours(ts.from_numpy(x.numpy())).numpy())
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_pytorch_loads_what_was_frozen(tmp_path: Path) -> None:
    theirs, x, data = made("tower", traced=False)
    ts.jit.freeze(ts.jit.load(data)).save(tmp_path / "frozen.pt")
    loaded = torch.jit.load(tmp_path / "frozen.pt")
    with torch.no_grad():
        torch.testing.assert_close(loaded(x), theirs(x), rtol=1e-4, atol=1e-5)
    assert not list(loaded.parameters())


class Vocabulary(nn.Module):  # type: ignore[misc]  # as above
    def __init__(self) -> None:
        super().__init__()
        self.ids: dict[str, int] = {"a": 1, "b'": 2}
        self.spans: dict[int, list[int]] = {0: [1, 2], 3: [4]}

    def forward(self, words: list[str]) -> torch.Tensor:
        found = [self.ids.get(word, 9) for word in words]
        return torch.tensor(found + self.spans[0])


def test_dicts_that_became_constants_are_written() -> None:
    frozen = ts.jit.freeze(ts.jit.script(Vocabulary().eval()))
    again = torch.jit.load(io.BytesIO(frozen.save_to_buffer()))
    assert again(["b'", "c"]).tolist() == frozen(["b'", "c"]).tolist() == [2, 9, 1, 2]


def test_a_frozen_module_is_frozen_again_after_eval() -> None:
    _, _, data = made("head", traced=False)
    for lib, frozen in (
        (torch, torch.jit.freeze(torch.jit.load(io.BytesIO(data)))),
        (ts, ts.jit.freeze(ts.jit.load(data))),
    ):
        with pytest.raises(AttributeError, match="has no attribute 'training'"):
            lib.jit.freeze(frozen)
        assert kinds(lib.jit.freeze(frozen.eval()).graph) == kinds(frozen.graph)


class Normed(nn.Module):  # type: ignore[misc]  # as above
    """Norms behind layers, behind an activation, and of other features than the layer's."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.behind = nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)
        self.fc, self.other, self.last = nn.Linear(8, 5), nn.BatchNorm2d(4), nn.BatchNorm2d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.other(self.fc(self.behind(self.conv(x)))).relu())


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
def test_norms_of_traces_are_folded_as_in_evaluation(training: bool) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 8, 8)
    trace = torch.jit.trace(Normed().train(training), x, check_trace=False)
    file = io.BytesIO()
    torch.jit.save(trace, file)
    theirs = torch.jit.freeze(torch.jit.load(io.BytesIO(file.getvalue())).eval())
    ours = ts.jit.freeze(ts.jit.load(file.getvalue()).eval())
    native = ts.compile(ours)
    assert kinds(ours.graph)["aten::batch_norm"] == kinds(theirs.graph)["aten::batch_norm"] == 2
    with torch.no_grad():
        wanted = theirs(x)
    for run in (ours, native):
        found = torch.from_numpy(run(ts.from_numpy(x.numpy())).numpy())
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
    assert native.stats.is_native


class Whole(nn.Module):  # type: ignore[misc]  # as above
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 1)
        self.two = torch.tensor([2])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.conv(x.detach()) + self.two).detach()


def test_whole_numbers_go_into_convolutions_and_detach_goes() -> None:
    torch.manual_seed(0)
    module, x = Whole().eval(), torch.randn(2, 3, 4, 4)
    ours, theirs = (lib.jit.freeze(lib.jit.script(module)) for lib in (ts, torch))
    assert kinds(ours.graph) == kinds(theirs.graph) == Counter({"aten::conv2d": 1})
    found = ours(ts.from_numpy(x.numpy())).numpy()
    torch.testing.assert_close(torch.from_numpy(found), theirs(x), rtol=1e-4, atol=1e-5)


def interfaces(exchanged: bool) -> Any:
    @torch.jit.interface
    class Step(nn.Module):  # type: ignore[misc]  # as above
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            pass

    class First(nn.Module):  # type: ignore[misc]  # as above
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1

    class Uses(nn.Module):  # type: ignore[misc]  # as above
        __annotations__ = {"step": Step}

        def __init__(self) -> None:
            super().__init__()
            self.step, self.other = First(), First()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.step(x)

    class Exchanges(Uses):
        __annotations__ = {"step": Step}

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.step = self.other
            return self.step(x)

    return Exchanges() if exchanged else Uses()


class Overlapping(nn.Module):  # type: ignore[misc]  # as above
    def __init__(self) -> None:
        super().__init__()
        self.a = torch.arange(6)
        self.b = [self.a, torch.tensor([10])]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.b[0][0] += 10
        return self.a.sum()


class Parts(nn.Module):  # type: ignore[misc]  # as above
    """Views of one storage, some of which overlap, are no attributes that hold each other's."""

    def __init__(self) -> None:
        super().__init__()
        whole = torch.arange(12.0)
        self.first, self.second = whole[:2], whole[1:3]
        self.third = whole[8:10]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.first + self.second + self.third


class ListOfPart(Parts):
    def __init__(self) -> None:
        super().__init__()
        self.listed = [self.third]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.first + self.listed[0]


class Restated(nn.Module):  # type: ignore[misc]  # as above
    """A copy holds what `__setstate__` makes of what `__getstate__` says."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.packed = torch.ones(2) * 2, torch.zeros(0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.packed if self.packed.numel() > 0 else x - self.weight

    @torch.jit.export
    def __getstate__(self) -> tuple[torch.Tensor, bool]:
        return self.weight + 1, self.training

    @torch.jit.export
    def __setstate__(self, state: tuple[torch.Tensor, bool]) -> None:
        self.weight, self.training = state[0], state[1]
        self.packed = state[0] * 10


class HoldsRestated(nn.Module):  # type: ignore[misc]  # as above
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(Restated())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x) + 1


class Apart(Overlapping):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.a[0] += 10
        return self.b[0].sum()


REFUSED = {
    "SetAttr is attempted on 'step'": lambda: interfaces(exchanged=True),
    "module contains attributes values that overlaps": Overlapping,
}


@pytest.mark.parametrize("why", REFUSED)
def test_refused_as_pytorch_refuses(why: str) -> None:
    for lib in (torch, ts):
        with pytest.raises(RuntimeError, match=why):
            lib.jit.freeze(lib.jit.script(REFUSED[why]().eval()))


@pytest.mark.parametrize("preserved", [[], ["inner"]])
def test_copies_are_made_as_they_say(preserved: list[str]) -> None:
    for lib in (torch, ts):
        module = lib.jit.script(HoldsRestated().eval())
        frozen = lib.jit.freeze(module, preserved)
        assert frozen(lib.ones(2)).tolist() == [31.0, 31.0]
        assert module(lib.ones(2)).tolist() == [0.0, 0.0], "the module is as it was"


def test_a_module_that_returns_itself_is_refused() -> None:
    for lib in (torch, ts):
        module = lib.jit.script(lib.nn.Module())
        module.define("def forward(self, x):\n    return self\n")
        with pytest.raises(RuntimeError, match="a module that return itself"):
            lib.jit.freeze(module.eval())


@pytest.mark.parametrize("make", [Apart, lambda: interfaces(exchanged=False)])
def test_what_is_near_a_refusal_is_frozen(make: Any) -> None:
    frozen = [lib.jit.freeze(lib.jit.script(make().eval())) for lib in (ts, torch)]
    for _ in range(2):
        ours, theirs = frozen[0](ts.ones(2)), frozen[1](torch.ones(2))
        assert ours.tolist() == theirs.tolist()


def loaded(lib: Any, module: Any) -> Any:
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(module.eval()), file)
    return lib.jit.load(io.BytesIO(file.getvalue()))


def test_views_of_one_storage_are_frozen_and_lists_of_them_refused() -> None:
    for lib in (ts, torch):
        frozen = lib.jit.freeze(loaded(lib, Parts()))
        assert frozen(lib.ones(2)).tolist() == [9.0, 12.0]
        with pytest.raises(RuntimeError, match="attributes values that overlaps"):
            lib.jit.freeze(loaded(lib, ListOfPart()))


def sized(lib: Any) -> Any:
    class Sized(lib.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = lib.nn.Linear(3, 4)

        def forward(self, x: Any) -> Any:
            y = self.layer(x).relu()
            return y.reshape(y.size(1), y.size(0)), y * 2

    return lib.jit.trace(Sized().eval(), lib.ones(5, 3))


def node_types(frozen: Any) -> list[str]:
    """What the nodes of a graph are, with the types of their results and without their names."""
    found = re.findall(r"^ *%\S+ : (.*?) = (\w+::\w+)", str(frozen.graph), re.M)
    return sorted(" ".join(each) for each in found)


@pytest.mark.parametrize("how", ["freeze", "optimize_for_inference"])
def test_a_frozen_trace_forgets_the_sizes_of_its_example(how: str) -> None:
    ours, theirs = (getattr(lib.jit, how)(sized(lib)) for lib in (ts, torch))
    assert node_types(ours) == node_types(theirs)
    weight = "Float(4, strides=[1], requires_grad=0, device=cpu) prim::Constant"
    assert weight in node_types(ours)
    assert "x : Tensor)" in str(ours.graph)
    assert [tuple(y.shape) for y in ours(ts.ones(7, 3))] == [(4, 7), (7, 4)]


@pytest.mark.parametrize("lib", [ts, torch], ids=["ours", "theirs"])
def test_constants_are_called_by_their_paths(lib: Any) -> None:
    layers = lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.ReLU()).eval()
    for module in (lib.jit.script(layers), lib.jit.trace(layers, lib.ones(2, 3))):
        names = [value.debugName() for value in values_of_constants(lib.jit.freeze(module))]
        assert {"self.0.weight", "self.0.bias"} <= set(names)


def values_of_constants(frozen: Any) -> list[Any]:
    nodes = frozen.graph.nodes()
    return [node.output() for node in nodes if node.kind() == "prim::Constant"]


def test_constants_of_a_frozen_graph_stand_first_and_once() -> None:
    frozen = ts.jit.freeze(sized(ts))
    kinds = [node.kind() for node in frozen.graph.nodes()]
    constants = [kind == "prim::Constant" for kind in kinds]
    assert constants == sorted(constants, reverse=True)
    held = values_of_constants(frozen)
    numbers = [value.toIValue() for value in held if str(value.type()) == "int"]
    assert sorted(numbers) == sorted(set(numbers)) == [0, 1]
