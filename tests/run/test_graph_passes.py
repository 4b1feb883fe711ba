"""Passes over graphs leave what PyTorch's passes of that name leave."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from graph_texts import canonical

import tensorscript
from tensorscript import _C, jit, nn, ones
from tensorscript.base.errors import GuardError

PROGRAMS = {
    "branches": """
def f(x: Tensor, n: int):
    k = 2 * 3
    if k > 5:
        y = x + k
    else:
        y = x - 1
    for i in range(n):
        y = y * (i * 1 + 0)
    return y
""",
    "calls": """
def inner(x: Tensor, flag: bool):
    if flag:
        return x * 2
    return x + 1

def f(x: Tensor, n: int):
    return inner(x, n > 2) + inner(inner(x, True), False)
""",
    "twice": """
def f(x: Tensor, n: int):
    a = torch.neg(x) + n * 2
    b = torch.neg(x) + n * 2
    c = x.size(0) + x.size(0)
    return a + b + c
""",
    "texts": """
def f(x: Tensor, n: int):
    words = ["a", "b"]
    pair = (n + 0, "c" + "d")
    if x is None:
        words.append("never")
    return len(words), pair[1], n // 1, [1, 2][1], 1 * n
""",
    "tasks": """
def task(x: Tensor, n: int):
    return x * n

def f(x: Tensor, n: int):
    a = torch.jit._fork(task, x, n)
    b = torch.jit._fork(task, x, n + 1)
    return torch.jit._wait(a) + torch.jit._wait(b)
""",
    "optionals": """
def f(x: Optional[Tensor], n: int):
    if x is None:
        return torch.ones(n)
    values: List[Optional[Tensor]] = [x, None]
    return x + len(values)
""",
    "containers": """
def f(x: Tensor, n: int):
    beams = [(0.0, [0])]
    beams.append((1.0, [1, 2]))
    marks = [True, False] * n
    pairs = {"a": 1}
    x[torch.tensor([0])] = 1.0
    rows = [[1]] * 2
    return beams, marks, pairs["a"], rows[0] + [n], torch.ones([2, 3]) + x
""",
    "dead": """
def f(x: Tensor, n: int):
    total = 0
    for i in range(n):
        total += i
    seen = False
    while seen:
        seen = True
    words: List[int] = []
    words.append(n)
    return x
""",
    "formats": """
def twice(n: int) -> int:
    return n * 2

def f(x: Tensor, n: int):
    return "{}".format(2.5), "%d%%" % 3, str(1e17), twice(3) + n
""",
    "turns": """
def f(x: Tensor, n: int):
    total = 0
    for i in range(10):
        total += i * n
    for j in range(n):
        x = x + j
        total -= 1
    while total > 100:
        total -= 1
    return x, total
""",
    "products": """
def f(x: Tensor, n: int):
    a = torch.addmm(x, torch.ones(1, 3), torch.ones(3, 2))
    return a + torch.addmm(x, torch.ones(1, 3), torch.ones(3, 2), beta=n), (x, 1)
""",
    "nested": """
def f(x: Tensor, n: int):
    pair = ((x, n), 2.0)
    if n > 2:
        pair = ((x + 1, n + 1), 3.0)
    for i in range(n):
        pair = ((pair[0][0] * 2, i), pair[1])
    (y, m), z = pair
    return (y, m + n), z
""",
    "dynamic": """
def f(x: Tensor, n: int) -> Tuple[Any, Optional[Dict[str, int]], Union[List[int], List[str]]]:
    d: Optional[Dict[str, int]] = {"b": 2}
    u: Union[List[int], List[str]] = ["s"]
    return "a", d, u
""",
}

PASSES = (
    "inline", "dce", "dce_graph", "constant_propagation", "constant_propagation_immutable_types",
    "constant_pooling", "cse", "peephole", "canonicalize", "erase_shape_information",
    "inline_fork_wait", "loop_unrolling", "constant_loop_unrolling",
)  # fmt: skip


def left(module: Any, program: str, name: str) -> list[str]:
    """The graph of a program after a pass."""
    torch = module  # noqa: F841  # the programs name it so
    unit = module.jit.CompilationUnit(PROGRAMS[program])  # What it calls lives as long as it does.
    graph = unit.f.graph.copy()
    made = getattr(module._C, f"_jit_pass_{name}")(graph)
    return canonical(str(made if name == "canonicalize" else graph))


@pytest.mark.filterwarnings("ignore:.torch.jit.:DeprecationWarning")
@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_equals_torch(program: str, name: str) -> None:
    theirs = pytest.importorskip("torch")
    assert left(tensorscript, program, name) == left(theirs, program, name)


@pytest.mark.filterwarnings("ignore:.torch.jit.:DeprecationWarning")
@pytest.mark.parametrize("program", ["branches", "calls", "twice", "texts", "optionals"])
def test_tuples_are_lowered_as_in_torch(program: str) -> None:
    theirs = pytest.importorskip("torch")
    assert left(tensorscript, program, "lower_all_tuples") == left(
        theirs, program, "lower_all_tuples"
    )


def test_tuples_are_lowered_through_branches_and_loops() -> None:
    torch = tensorscript  # noqa: F841  # the programs name it so
    unit: Any = jit.CompilationUnit("""
def f(given: Tuple[int, Tuple[float, int]], n: int):
    pair = ((n, 2), given[1])
    if n > 2:
        pair = ((n + 1, 5), (3.0, n))
    for i in range(n):
        pair = ((pair[0][0] * 2, i), pair[1])
    return pair[0][0] + pair[1][1], given[0], pair[1:]
""")
    graph = unit.f.graph.copy()
    _C._jit_pass_lower_all_tuples(graph)
    graph.lint()
    assert "Tuple" not in str(graph)
    assert [str(value.type()) for value in graph.inputs()] == ["int", "float", "int", "int"]
    graph.makeMultiOutputIntoTuple()
    flat = _C._create_function_from_graph("flat", graph)
    first, second, ((third, fourth),) = unit.f((1, (2.0, 3)), 4)
    assert [*flat(1, 2.0, 3, 4)] == [first, second, third, fourth]


@pytest.mark.parametrize("name", [p for p in PASSES if p != "canonicalize"])
@pytest.mark.parametrize("program", ["branches", "calls", "twice", "texts", "turns", "products"])
def test_the_function_computes_the_same(program: str, name: str) -> None:
    torch = tensorscript  # noqa: F841  # the programs name it so
    function: Any = jit.CompilationUnit(PROGRAMS[program]).f
    before = str(function(ones(2), 3))
    getattr(_C, f"_jit_pass_{name}")(function.graph)
    function.graph.lint()
    assert str(function(ones(2), 3)) == before


class P(NamedTuple):
    a: int
    b: list[int]


def pairs(n: int):  # type: ignore[no-untyped-def]  # as scripts are written
    ps = [P(1, [2]), P(3, [4])]
    return ps[1], ps[0].b[0] + n


def test_a_named_tuple_that_is_folded_is_one_still() -> None:
    function: Any = jit.script(pairs)
    assert _C._jit_pass_constant_propagation(function.graph)
    assert "ListConstruct" not in str(function.graph)
    last, total = function(1)
    assert last.b == [4] and total == 3


def test_products_with_sums_are_taken_apart() -> None:
    torch = tensorscript  # noqa: F841  # the programs name it so
    unit: Any = jit.CompilationUnit(PROGRAMS["products"])
    given = tensorscript.tensor([1.0, 2.0]), 3
    before = unit.f(*given)[0].tolist()
    _C._jit_pass_decompose_ops(unit.f.graph)
    kinds = [node.kind() for node in unit.f.graph.nodes()]
    assert kinds.count("aten::addmm") == 1 and kinds.count("aten::mm") == 1
    assert unit.f(*given)[0].tolist() == before


def test_types_of_tuples_follow_what_they_hold() -> None:
    graph = _C.parse_ir("""
graph(%a : Float(123), %b : Float(4, 5, 6)):
  %c : (Tensor, Tensor) = prim::TupleConstruct(%a, %b)
  return (%c)""")
    _C._jit_pass_refine_tuple_types(graph)
    found = graph.findNode("prim::TupleConstruct")
    assert found is not None and "(Float(123), Float(4, 5, 6))" in str(found.output())


def test_an_edit_and_a_pass() -> None:
    function: Any = jit.CompilationUnit(PROGRAMS["branches"]).f
    graph = function.graph
    for node in graph.findAllNodes("aten::add"):
        graph.setInsertPoint(node)
        node.replaceInput(1, graph.insertConstant(1))
    _C._jit_pass_constant_pooling(graph)
    graph.lint()
    assert function(ones(2), 0).tolist() == [2.0, 2.0]


class Dropping(nn.Module):
    def forward(self, x):  # type: ignore[no-untyped-def]  # as scripts are written
        return tensorscript.dropout(x, 0.5, False) * 2


def test_dropout_is_removed_in_evaluation() -> None:
    module = jit.script(Dropping().eval())
    _C._jit_pass_remove_dropout(module._c)
    assert "dropout" not in str(module.graph)
    with pytest.raises(GuardError, match="training mode is not yet supported"):
        _C._jit_pass_remove_dropout(module.train()._c)


def test_the_switch_of_the_executor() -> None:
    assert _C._get_graph_executor_optimize()
    assert _C._get_graph_executor_optimize(False)
    try:
        assert not _C._get_graph_executor_optimize()
    finally:
        assert not _C._get_graph_executor_optimize(True)
