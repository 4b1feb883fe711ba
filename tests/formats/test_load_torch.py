"""Archives that PyTorch writes now: loaded here and there, the two agree."""

import enum
import io
import re
import warnings
from collections.abc import Callable
from typing import Any, Dict, List, NamedTuple, Optional, Tuple  # noqa: UP035 - as programs write

import numpy as np
import pytest

import tensorscript as ts

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
nn = torch.nn


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Pair(NamedTuple):
    value: torch.Tensor
    count: int  # type: ignore[assignment]  # tuple.count


def scaled(x: torch.Tensor, k: int) -> torch.Tensor:
    return x * k


class Plain(nn.Module):  # type: ignore[misc]  # torch is an optional import
    """Enums, containers, devices, forks, contexts and refinement in one module."""

    pair: Pair

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        self.color = Color.BLUE
        self.table: Dict[str, int] = {"a": 1}  # noqa: UP006
        self.nested: List[List[int]] = [[1, 2], [3]]  # noqa: UP006
        self.pair = Pair(torch.ones(2), 3)
        self.place = torch.device("cpu")
        self.name = "caf\u00e9"

    def forward(
        self,
        x: torch.Tensor,
        color: Color = Color.RED,
        extra: Optional[torch.Tensor] = None,  # noqa: UP045
    ) -> Tuple[torch.Tensor, List[float], int, bool, str]:  # noqa: UP006
        task = torch.jit.fork(scaled, x, 3)
        with torch.no_grad():
            y = self.layers(torch.jit.wait(task))
        rows: List[float] = y[0].tolist()  # noqa: UP006
        if color == self.color:
            y = y + self.pair.value.sum() * self.pair.count
        if extra is not None:
            y = y + extra
        total = 0
        for inner in self.nested:
            total += len(inner)
        self.table["calls"] = self.table["a"] + total
        return y, rows, self.table["calls"], x.device == self.place, self.name


class Stateful(nn.Module):  # type: ignore[misc]  # as above
    """Tied parameters, a buffer that is a view, a custom state."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = nn.Linear(3, 3)
        self.b.weight = self.a.weight
        base = torch.arange(6.0)
        self.register_buffer("base", base)
        self.register_buffer("tail", base[3:])
        self.register_buffer("hidden", torch.ones(3), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.base.add_(1)
        return self.b(self.a(x)) + self.tail + self.hidden


class Packed(nn.Module):  # type: ignore[misc]  # as above
    """`__getstate__` and `__setstate__` in script."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = 2.0
        self.weight = torch.arange(3.0)
        self.training = False

    @torch.jit.export
    def __getstate__(self) -> Tuple[torch.Tensor, float, bool]:  # noqa: UP006
        return self.weight * 10, self.scale, self.training

    @torch.jit.export
    def __setstate__(self, state: Tuple[torch.Tensor, float, bool]) -> None:  # noqa: UP006
        self.weight = state[0] / 10
        self.scale = state[1]
        self.training = state[2]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight * self.scale


class Step(nn.Module):  # type: ignore[misc]  # as above
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    torch.jit.interface(Step)


class Double(nn.Module):  # type: ignore[misc]  # as above
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


class WithInterface(nn.Module):  # type: ignore[misc]  # as above
    step: Step

    def __init__(self) -> None:
        super().__init__()
        self.step = Double()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.step.forward(x) + 1


class Recurrent(nn.Module):  # type: ignore[misc]  # as above
    """Calls a recurrent layer, which has overloads instead of one `forward`."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[0]


def saved(module: Any) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = torch.jit.script(module)
        out = io.BytesIO()
        torch.jit.save(made, out)
    return out.getvalue()


def reloaded(data: bytes) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.load(io.BytesIO(data))


def plain(value: Any) -> Any:
    if hasattr(value, "detach"):
        return np.round(value.detach().numpy(), 4).tolist()
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value


def both(data: bytes, x: Any, calls: int = 2) -> None:
    theirs, ours = reloaded(data), ts.jit.load(data)
    for _ in range(calls):
        assert plain(ours(ts.from_numpy(x.numpy()))) == plain(theirs(x))
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert repr(ours) == repr(theirs)
    for name, value in theirs.state_dict().items():
        assert plain(ours.state_dict()[name]) == plain(value)


X = torch.arange(6.0).reshape(2, 3) / 10


@pytest.mark.parametrize("make", [Plain, Stateful, Packed, WithInterface])
def test_modules(make: Callable[[], Any]) -> None:
    torch.manual_seed(0)
    both(saved(make()), X)


def test_tied_tensors_stay_tied() -> None:
    ours = ts.jit.load(saved(Stateful()))
    assert ours.a.weight is ours.b.weight
    assert len(list(ours.parameters())) == 3
    ours.base.fill_(9)
    assert ours.tail.tolist() == [9.0] * 3


def test_attributes_of_every_kind() -> None:
    ours = ts.jit.load(saved(Plain()))
    assert (ours.table, ours.nested, ours.name) == ({"a": 1}, [[1, 2], [3]], "caf\u00e9")
    assert str(ours.place) == "cpu"
    assert (ours.pair.count, ours.pair.value.tolist()) == (3, [1.0, 1.0])
    assert ours.color.name == "BLUE" and ours.color.value == 2
    out = ours(ts.from_numpy(X.numpy()), ours.color)
    theirs = reloaded(saved(Plain()))
    assert len(out) == 5 and theirs is not None


def test_functions_are_saved_as_modules() -> None:
    data = saved(scaled)
    assert ts.jit.load(data)(ts.ones(2), 4).tolist() == [4.0, 4.0]


MODULES: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "linear": (lambda: nn.Linear(3, 4), (2, 3)),
    "conv": (lambda: nn.Conv2d(3, 4, 3, padding=1, groups=1), (2, 3, 6, 6)),
    "norm": (lambda: nn.BatchNorm2d(3), (2, 3, 4, 4)),
    "lstm": (lambda: Recurrent(nn.LSTM(3, 4, 2, bidirectional=True)), (5, 2, 3)),
    "gru": (lambda: Recurrent(nn.GRU(3, 4, batch_first=True)), (2, 5, 3)),
    "transformer": (lambda: nn.TransformerEncoderLayer(8, 2, 16).eval(), (4, 2, 8)),
    "pool": (lambda: nn.Sequential(nn.MaxPool2d(2), nn.Flatten(), nn.GELU()), (2, 1, 4, 4)),
}


def test_a_layer_of_overloads_is_not_callable() -> None:
    with pytest.raises(AttributeError, match="object has no attribute 'forward'"):
        ts.jit.load(saved(nn.GRU(3, 4)))(ts.ones(2, 1, 3))


@pytest.mark.parametrize("name", MODULES)
def test_layers(name: str) -> None:
    make, shape = MODULES[name]
    torch.manual_seed(0)
    both(saved(make()), torch.randn(*shape), calls=1)


class Viewing(nn.Module):  # type: ignore[misc]  # as above
    def forward(self, x: torch.Tensor, n: int) -> torch.Tensor:
        if n > 2:
            return x.view(n, -1)
        return x


class Failing(nn.Module):  # type: ignore[misc]  # as above
    def __init__(self) -> None:
        super().__init__()
        self.inner = Viewing()

    def forward(self, x: torch.Tensor, n: int) -> torch.Tensor:
        return self.inner(x + 1, n) * 2


def test_failures_show_the_original_source() -> None:
    data = saved(Failing())
    with pytest.raises(RuntimeError) as theirs:
        reloaded(data)(torch.ones(4), 3)
    with pytest.raises(RuntimeError) as ours:
        ts.jit.load(data)(ts.ones(4), 3)
    mark = "Traceback of TorchScript, original code (most recent call last):"
    assert mark in str(ours.value) and str(ours.value).count("serialized code") == 1
    assert str(ours.value).partition(mark)[2] == str(theirs.value).partition(mark)[2]


def test_graphs_show_the_original_places() -> None:
    data = saved(Failing())

    def places(graph: object) -> list[str]:
        return re.findall(r"= (\S+?)[\[(].* # (\S+:\d+:\d+)$", str(graph), re.MULTILINE)

    theirs, ours = reloaded(data).inlined_graph, ts.jit.load(data).inlined_graph
    assert len(places(theirs)) > 4
    assert sorted(places(ours)) == sorted(places(theirs))


def test_archives_saved_again_show_the_same_original_source() -> None:
    data = saved(Failing())
    told = []
    for archive in (data, ts.jit.load(data).save_to_buffer()):
        with pytest.raises(RuntimeError, match="serialized code") as failure:
            ts.jit.load(archive)(ts.ones(4), 3)
        told.append(str(failure.value).partition("original code")[2])
    assert told[0] and told[0] == told[1]
