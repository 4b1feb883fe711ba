"""`module._c` and `_get_trace_graph` tell of a module what PyTorch's tell."""

from __future__ import annotations

import importlib.util
import re
from typing import Any

import pytest
from graph_texts import canonical

import tensorscript
from tensorscript import jit, nn, ones
from tensorscript.base.errors import GuardError

SOURCE = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 3)
        self.norm = nn.BatchNorm1d(3)
        self.count = 3
        self.register_buffer("scale", torch.ones(3))
        self.table = {"a": 1}

    def forward(self, x, y: Optional[torch.Tensor] = None):
        z = self.norm(torch.relu(self.inner(x))) * self.scale
        if y is not None:
            z = z + y
        return z, z.sum()

    @torch.jit.export
    def extra(self):
        return self.scale + self.count
"""


def network(torch: Any, tmp_path: Any) -> Any:
    """The module of `SOURCE`, with our names or PyTorch's."""
    path = tmp_path / f"net_{torch.__name__}.py"
    head = f"import {torch.__name__} as torch\nfrom typing import Optional\nnn = torch.nn\n"
    path.write_text(head + SOURCE)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    return module.Net()


def members(torch: Any, tmp_path: Any) -> Any:
    core = torch.jit.script(network(torch, tmp_path))._c
    core.setattr("count", 5)
    return (
        core._method_names(), core._has_method("extra"), core._has_method("none"),
        core._get_method("extra")().tolist(), core.getattr("count"), core.getattr("table"),
        core.hasattr("inner"), core.hasattr("none"), core.getattr("inner").hasattr("weight"),
        core._type().kind(), core._type().name(), core._get_forward_hooks(),
    )  # fmt: skip


def dumps(torch: Any, tmp_path: Any) -> Any:
    core = torch.jit.script(network(torch, tmp_path))._c
    text = core.dump_to_str(False, True, True) + core.dump_to_str(False, False, False)
    text = re.sub(r"net_\w+\.|__\w+\.| at 0x\w+", "", text)
    return [re.sub(r" +$", "", line) for line in text.split("\n")]


def trace_graphs(torch: Any, tmp_path: Any) -> Any:
    # In training PyTorch's normalization warns of itself.
    net, x, y = network(torch, tmp_path).eval(), torch.ones(4, 2), torch.ones(3)
    trace = torch.jit._get_trace_graph
    plain = trace(net, x)
    copied = trace(net, (x, y), return_inputs=True)
    states = trace(net, (x,), {}, _return_inputs_states=True)
    function = trace(lambda pair, n: pair[0].add_(pair[1]) * n, ((x, x), 3))
    outplace = trace(lambda a: a.mul_(2), (ones_of(torch),), _force_outplace=True)
    graphs = [canonical(str(found[0])) for found in (plain, copied, states, function, outplace)]
    shapes = [tuple(t.shape) for t in copied[2]]
    return graphs, shapes, len(plain), plain[1][0].shape == (4, 3), len(states[2])


def ones_of(torch: Any) -> Any:
    return torch.ones(2)


@pytest.mark.filterwarnings("ignore:.torch.jit.:DeprecationWarning")
@pytest.mark.parametrize("told", [members, dumps, trace_graphs])
def test_equals_torch(told: Any, tmp_path: Any) -> None:
    torch = pytest.importorskip("torch")
    assert told(tensorscript, tmp_path) == told(torch, tmp_path)


def test_what_a_module_has_not_is_refused() -> None:
    core = jit.script(nn.Linear(2, 2))._c
    with pytest.raises(AttributeError, match="does not have a field with name 'none'"):
        core.getattr("none")
    with pytest.raises(GuardError, match="does not have an attribute with name 'none'"):
        core.setattr("none", 1)
    with pytest.raises(GuardError, match="Method 'none' is not defined"):
        core._get_method("none")


def test_a_traced_graph_runs_as_a_function() -> None:
    layer = nn.Linear(2, 3)
    graph, result = jit._get_trace_graph(layer, (ones(1, 2),))
    function = tensorscript._C._create_function_from_graph("layer", graph)
    assert function(ones(1, 2), layer.weight, layer.bias).tolist() == result.tolist()


def test_keywords_are_refused() -> None:
    with pytest.raises(TypeError, match="without keywords, but got 'k'"):
        jit._get_trace_graph(lambda x, k: x, ones(1), {"k": 1})


class _Holder(nn.Module):
    def __init__(self, value: Any, child: nn.Module | None = None) -> None:
        super().__init__()
        self.value = value
        self.child = nn.Identity() if child is None else child

    def forward(self, x: tensorscript.Tensor) -> tensorscript.Tensor:
        return self.child(x)  # type: ignore[no-any-return]


_CHILD = nn.Linear(2, 2)


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (_Holder(1), _Holder(2), True),
        (_Holder(1), _Holder("a"), False),
        (_Holder(1, _CHILD), _Holder(1, nn.Linear(2, 2)), True),
        (_Holder(1, _CHILD), _Holder(1, nn.Linear(2, 3)), False),
        (_Holder(1, nn.ReLU()), _Holder(1, nn.Tanh()), False),
        (_Holder(len), _Holder(len), True),
        (nn.Linear(2, 2), nn.Linear(2, 2, bias=False), False),
    ],
)
def test_modules_that_are_compiled_apart_share_a_type(
    left: nn.Module, right: nn.Module, equal: bool
) -> None:
    one, other = jit.script(left)._c._type(), jit.script(right)._c._type()
    assert (one == other) is equal
    assert not equal or hash(one) == hash(other)


def test_traces_share_no_type() -> None:
    def traced() -> Any:
        return jit.trace(nn.Linear(2, 2), (ones(1, 2),))

    made = traced()
    assert made._c._type() == made._c._type() != traced()._c._type()
