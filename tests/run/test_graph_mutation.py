"""Writes that become new values: the pass leaves what PyTorch's leaves, and the same results."""

from __future__ import annotations

from typing import Any

import pytest
from graph_texts import canonical

import tensorscript
from tensorscript import _C, Tensor, arange, jit

PROGRAMS = {
    "chain": "  y = x.clone()\n  y.add_(1)\n  y.relu_()\n  return y",
    "input": "  x.add_(1)\n  y = x + 1\n  y.mul_(2)\n  z = y.view(-1)\n  y.add_(1)\n  return y, z",
    "branches": "  if n > 1:\n    y = x + 1\n  else:\n    y = x + 2\n  y.add_(3)\n  return y",
    "given_branch": "  if n > 1:\n    y = x + 1\n  else:\n    y = x\n  y.add_(3)\n  return y",
    "read_before": "  a = x + 1\n  b = a * 2\n  a.add_(b)\n  return a, b",
    "view": "  a = x + 1\n  b = a.view(-1)\n  a.add_(1)\n  return b",
    "turns": "  for i in range(n):\n    y = x + i\n    y.mul_(2)\n    x = y\n  return x",
    "element": "  y = x + 1\n  y[0] = 3\n  return y",
    "results": "  y = x + 1\n  z = y.add_(1).mul_(2)\n  return y, z",
    "copied": "  y = x + 1\n  y.copy_(x)\n  return y",
    "in_turns": "  l = [1]\n  for i in range(n):\n    l.append(i)\n  return l",
    "place_unknown": "  l = [x, x]\n  l.insert(n, x)\n  return l",
    "lists": "  l = [x]\n  l.append(x)\n  l.insert(0, x + 1)\n  l.insert(-1, x + 2)\n  return l",
    "exchanged": "  l = [1, 2, 3]\n  l[-1] = n\n  return l",
    "length": "  l = [x]\n  k = len(l)\n  l.append(x)\n  return l, k",
}

FILLED = "  a = x.clone()\n  a.fill_(3)\n  b = x + 1\n  b.zero_()\n  return a, b"


def function(module: Any, body: str) -> Any:
    return module.jit.CompilationUnit(f"def f(x, n: int):\n{body}\n").f


def plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.tolist()
    return [plain(part) for part in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("body", [*PROGRAMS.values(), FILLED], ids=[*PROGRAMS, "filled"])
def test_results_stay(body: str) -> None:
    f, changed = function(tensorscript, body), function(tensorscript, body)
    _C._jit_pass_remove_mutation(changed.graph)
    changed.graph.lint()
    for n in (1, 2):
        given, other = arange(3.0), arange(3.0)
        assert plain(changed(given, n)) == plain(f(other, n))
        assert given.tolist() == other.tolist()


@pytest.mark.filterwarnings("ignore:.torch.jit.:DeprecationWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_equals_torch(name: str) -> None:
    torch = pytest.importorskip("torch")

    def left(module: Any) -> list[str]:
        graph = function(module, PROGRAMS[name]).graph
        module._C._jit_pass_remove_mutation(graph)
        return canonical(str(graph))

    assert left(tensorscript) == left(torch)


def test_filled_tensors_are_made_anew() -> None:
    graph = function(tensorscript, FILLED).graph
    assert _C._jit_pass_remove_mutation(graph)
    kinds = [node.kind() for node in graph.nodes()]
    assert "aten::full_like" in kinds and "aten::zeros_like" in kinds
    assert not any(kind.endswith("_") for kind in kinds)


def test_what_stays() -> None:
    graph = function(tensorscript, "  y = x + 1\n  y.normal_()\n  y[0] = 2\n  return y").graph
    assert not _C._jit_pass_remove_mutation(graph)


def test_lists_of_one_function_do_not_grow_between_calls() -> None:
    f = jit.CompilationUnit("def f(n: int):\n  l = [1]\n  l.append(n)\n  return l\n").f
    assert _C._jit_pass_remove_mutation(f.graph)
    assert [f(2), f(3)] == [[1, 2], [1, 3]]
