"""`graph.alias_db()` answers what PyTorch's does."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import tensorscript

PROGRAMS = {
    "views": """
def f(x: Tensor, n: int, l: List[int]):
    y = x[0]
    y.add_(1)
    l.append(n)
    z = x + y
    if n > 2:
        w = z
    else:
        w = y
    return w, [z, w], len(l)
""",
    "carried": """
def f(x: Tensor, n: int):
    a = torch.neg(x)
    b = torch.neg(x)
    for i in range(n):
        a = b[0]
        b.mul_(2)
    return a, b
""",
    "containers": """
def f(x: Tensor, words: Dict[str, List[int]]):
    fresh = [1, 2]
    held = [fresh]
    first = held[0]
    first.append(3)
    both = torch.cat([x, x + 1])
    got = words["a"]
    return both, got, (x, fresh)
""",
    "calls": """
def g(x: Tensor, l: List[Tensor]):
    l.append(x)
    return x

def f(x: Tensor):
    l = [x + 1]
    kept = [x + 2]
    y = g(x, l)
    return y, l, len(kept)
""",
    "tasks": """
def g(x: Tensor):
    x.add_(1)
    return x

def f(x: Tensor):
    a = torch.jit._fork(g, x)
    b = torch.jit._wait(a)
    return b + torch.neg(x)
""",
    "optionals": """
def f(x: Optional[Tensor], n: List[int]):
    out = [n]
    if x is not None:
        x.add_(1)
        return x, out
    return torch.ones(2), out
""",
}


def _unit(module: Any, text: str) -> Any:
    torch = module  # noqa: F841  # the programs name it so
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return module.jit.CompilationUnit(text)


def _values(block: Any) -> Iterator[Any]:
    """What can be written, in order; constants stand elsewhere here and there."""
    for node in block.nodes():
        if node.kind() != "prim::Constant":
            yield from node.outputs()
        for inner in node.blocks():
            yield from inner.inputs()
            yield from _values(inner)


def _answers(module: Any, name: str) -> tuple[list[bool], list[list[bool]]]:
    unit = _unit(module, PROGRAMS[name])  # What it calls lives as long as it does.
    graph = unit.f.graph
    values = [*graph.inputs(), *_values(graph)]
    db = graph.alias_db()
    pairs = [[db.may_contain_alias(a, b) for b in values] for a in values]
    return [db.has_writers(v) for v in values], pairs


@pytest.mark.parametrize("name", PROGRAMS)
def test_equals_torch(name: str) -> None:
    theirs = pytest.importorskip("torch")
    assert _answers(tensorscript, name) == _answers(theirs, name)


MOVES = """
def f(x: Tensor, y: Tensor):
    a = torch.neg(x)
    b = torch.abs(a)
    c = torch.relu(y)
    c.add_(1)
    d = torch.sigmoid(x)
    print(x)
    e = torch.tanh(b)
    return c, d, e
"""


def _moved(module: Any, first: str, second: str, before: bool) -> tuple[bool, list[str]]:
    graph = _unit(module, MOVES).f.graph.copy()
    db = graph.alias_db()
    word = "before" if before else "after"
    move = getattr(db, f"move_{word}_topologically_valid")
    nodes = [graph.findNode(f"aten::{name}") for name in (first, second)]
    done = move(*nodes)
    graph.lint()
    kinds = [node.kind() for node in graph.nodes()]
    return done, [kind for kind in kinds if kind != "prim::Constant"]


NAMES = ("neg", "abs", "relu", "add_", "sigmoid", "tanh")


@pytest.mark.parametrize("first", NAMES)
@pytest.mark.parametrize("before", [True, False])
def test_moves_as_torch_does(first: str, before: bool) -> None:
    theirs = pytest.importorskip("torch")
    for second in NAMES:
        expected = _moved(theirs, first, second, before)
        assert _moved(tensorscript, first, second, before) == expected, second


def test_a_move_carries_what_depends_on_it() -> None:
    done, kinds = _moved(tensorscript, "neg", "sigmoid", before=False)
    assert done
    assert kinds[:5] == ["aten::relu", "aten::add_", "aten::sigmoid", "aten::neg", "aten::abs"]
    assert not _moved(tensorscript, "add_", "relu", before=True)[0]


def test_its_text() -> None:
    graph = _unit(tensorscript, PROGRAMS["views"]).f.graph
    text = str(graph.alias_db())
    for line in (
        "%x.1 points to: WILDCARD for type Tensor",
        "%y.1 points to: %x.1",
        "%w.1 points to: %y.1, %z.1",
        "===3. Writes===",
    ):
        assert line in text
    dot = graph.alias_db().to_graphviz_str()
    assert dot.startswith("digraph alias_db {")
    assert '  "\\%y.1" -> "\\%x.1"\n' in dot
    assert '  "\\%x.1" -> "WILDCARD for Tensor"\n' in dot


def test_its_text_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    unit = _unit(tensorscript, PROGRAMS["calls"])
    graph = unit.f.graph
    graph.dump_alias_db()
    assert capsys.readouterr().out == f"{graph.alias_db()}\n"
