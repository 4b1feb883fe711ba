"""Graphs are rewritten by patterns as PyTorch rewrites them."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from graph_texts import canonical

import tensorscript
from tensorscript import _C, jit, ones
from tensorscript.base.errors import GuardError

PROGRAM = """
def f(x: Tensor, y: Tensor, b: Tensor, n: int):
    z = torch.mm(x, y) + b
    w = torch.add(torch.mm(x, y), b, alpha=2)
    kept = torch.mm(x, y)
    v = kept + b + kept
    for i in range(n):
        u = torch.mm(v, y)
        v = torch.relu(u + b) * 1
    v = torch.relu(torch.relu(v))
    return z, w, v
"""

RULES = {
    "a_constant_that_others_read": (
        """graph(%a, %b, %c):
  %k : int = prim::Constant[value=1]()
  %m = aten::mm(%a, %b)
  %r = aten::add(%m, %c, %k)
  return (%r)""",
        """graph(%a, %b, %c):
  %r = my::fused(%a, %b, %c)
  return (%r)""",
    ),
    "in_a_loop": (
        """graph(%a, %b, %k):
  %m = aten::add(%a, %b, %k)
  %r = aten::relu(%m)
  return (%r)""",
        """graph(%a, %b, %k):
  %r = my::fused(%a, %b, %k)
  return (%r)""",
    ),
    "with_a_constant": (
        """graph(%a, %b, %c):
  %k : int = prim::Constant[value=2]()
  %m = aten::mm(%a, %b)
  %r = aten::add(%m, %c, %k)
  return (%r)""",
        """graph(%a, %b, %c):
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %r = aten::addmm(%c, %a, %b, %two, %one)
  return (%r)""",
    ),
    "overlapping": (
        """graph(%a):
  %b = aten::relu(%a)
  return (%b)""",
        """graph(%a):
  %b = aten::relu(%a)
  %c = aten::relu(%b)
  return (%c)""",
    ),
    "in_a_chain": (
        """graph(%a):
  %b = aten::relu(%a)
  %c = aten::relu(%b)
  return (%c)""",
        """graph(%a):
  %b = aten::neg(%a)
  return (%b)""",
    ),
    "one_value_twice": (
        """graph(%a, %k):
  %b = aten::add(%a, %a, %k)
  return (%b)""",
        """graph(%a, %k):
  %b = aten::mul(%a, %k)
  return (%b)""",
    ),
}


FUSED = (
    """graph(%a, %b, %c, %k):
  %m = aten::mm(%a, %b)
  %r = aten::add(%m, %c, %k)
  return (%r)""",
    """graph(%a, %b, %c, %k):
  %r = my::fused(%a, %b, %c, %k)
  return (%r)""",
)


def _unit(module: Any) -> Any:
    torch = module  # noqa: F841  # the programs name it so
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return module.jit.CompilationUnit(PROGRAM)


def _rewritten(module: Any, name: str) -> list[str]:
    graph = _unit(module).f.graph.copy()
    module._C._jit_pass_custom_pattern_based_rewrite_graph(*RULES[name], graph)
    return canonical(str(graph))


@pytest.mark.parametrize("name", RULES)
def test_equals_torch(name: str) -> None:
    theirs = pytest.importorskip("torch")
    assert _rewritten(tensorscript, name) == _rewritten(theirs, name)


def test_what_is_rewritten_runs() -> None:
    function = _unit(tensorscript).f
    arguments = (ones(2, 2), ones(2, 2), ones(2), 1)
    before = function(*arguments)
    _C._jit_pass_custom_pattern_based_rewrite_graph(*RULES["with_a_constant"], function.graph)
    assert "aten::addmm" in str(function.graph)
    assert [part.tolist() for part in function(*arguments)] == [part.tolist() for part in before]


def test_a_node_inside_that_others_read_stays() -> None:
    graph = _unit(tensorscript).f.graph
    _C._jit_pass_custom_pattern_based_rewrite_graph(*FUSED, graph)
    assert len(graph.findAllNodes("my::fused")) == 3
    assert len(graph.findAllNodes("aten::mm")) == 1


def test_graphs_of_other_shape_are_refused() -> None:
    pattern, _ = FUSED
    with pytest.raises(GuardError, match="not as many inputs"):
        _C._jit_pass_custom_pattern_based_rewrite_graph(
            pattern, "graph(%a):\n  return (%a)", _unit(tensorscript).f.graph
        )


class Layer(tensorscript.nn.Module):
    def forward(self, x):  # type: ignore[no-untyped-def]  # as scripts are written
        return tensorscript.relu(tensorscript.relu(x))


def test_a_module() -> None:
    module = jit.script(Layer())
    _C._jit_pass_custom_pattern_based_rewrite(*RULES["in_a_chain"], module._c)
    assert module(ones(1)).tolist() == [-1.0]
