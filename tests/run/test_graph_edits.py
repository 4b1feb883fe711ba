"""Graphs that are edited from Python print, verify and run as PyTorch's do."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import pytest
from graph_edits import EDITS, TASKS, TEXT
from graph_texts import canonical

import tensorscript
from tensorscript import _C, jit, ones
from tensorscript.base.errors import CompileError, GuardError


def comparable(found: Any) -> Any:
    """What an edit gives, with graph texts without the names of values."""
    if isinstance(found, str):
        return canonical(found) if found.lstrip().startswith(("graph(", "%")) else found
    if isinstance(found, tuple | list):
        return [comparable(each) for each in found]
    return found


@pytest.mark.filterwarnings("ignore:.torch.jit.:DeprecationWarning")
@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_edit_equals_torch(edit: Callable[[Any], Any]) -> None:
    torch = pytest.importorskip("torch")
    assert comparable(edit(tensorscript)) == comparable(edit(torch))


def test_a_replaced_operator_runs_in_the_function() -> None:
    function: Any = jit.CompilationUnit("def f(x):\n    return x * 2\n").f
    before = function(ones(2)).tolist()
    node = function.graph.findNode("aten::mul")
    new = function.graph.create("aten::neg", [node.inputsAt(0)], 1).insertBefore(node)
    node.replaceAllUsesWith(new)
    node.destroy()
    assert before == [2.0, 2.0]
    assert function(ones(2)).tolist() == [-1.0, -1.0]
    assert "aten::neg" in str(function.graph)
    assert "torch.neg(x)" in function.code


def test_native_code_is_made_again_after_an_edit() -> None:
    function: Any = jit.CompilationUnit("def f(x):\n    return x * 2\n").f
    with jit.executor("native"):
        before = function(ones(2)).tolist()
        node = function.graph.findNode("aten::mul")
        node.replaceInput(1, function.graph.insertConstant(5))
        node.inputsAt(1).node().moveBefore(node)
        after = function(ones(2)).tolist()
    assert (before, after) == ([2.0, 2.0], [5.0, 5.0])


def test_nodes_stay_what_they_are_through_edits() -> None:
    graph = _C.parse_ir(TEXT)
    add = graph.findNode("aten::add")
    assert add is not None
    output = add.output()
    add.removeAllInputs()
    assert add == graph.findNode("aten::add")
    assert output == add.output()
    assert output.debugName() == add.output().debugName()


def lint_text(change: Callable[[Any], None]) -> str:
    graph = _C.parse_ir(TEXT)
    change(graph)
    with pytest.raises(GuardError) as refused:
        graph.lint()
    return str(refused.value)


def test_strings_are_read_as_they_are_printed() -> None:
    def f(x: str) -> str:
        return x + "a\x7f\x00\n\t\"'\\é1"

    made = jit.script(f)
    assert 'value="a\\177\\000\\n' in str(made.graph)
    again = _C._create_function_from_graph("f", _C.parse_ir(str(made.graph)))
    assert again("b") == f("b")


def test_lint_finds_a_value_that_is_read_too_early() -> None:
    text = lint_text(lambda g: g.findNode("aten::add").moveAfter(g.findNode("aten::mul")))
    assert text == "%3 not in scope"


class Color(Enum):
    RED = 1


@jit.interface
class Runs:
    def run(self) -> int:  # type: ignore[empty-body]  # the only body of a declaration
        pass


class One:
    def __init__(self) -> None:
        pass

    def run(self) -> int:
        return 1


def test_lint_takes_enums_and_interfaces() -> None:
    def f(color: Color) -> tuple[int, bool, int]:
        runs: list[Runs] = []
        runs.append(One())  # type: ignore[arg-type]  # an interface asks for its methods alone
        table: dict[str, Runs] = {}
        table["a"] = One()  # type: ignore[assignment]  # as above
        return color.value, color == Color.RED, runs[0].run() + table["a"].run()

    jit.script(f).graph.lint()


def test_lint_finds_an_operator_without_its_inputs() -> None:
    text = lint_text(lambda g: g.findNode("aten::add").removeInput(2))
    assert text.startswith("aten::add(%x, %")


def test_lint_finds_a_branch_without_blocks() -> None:
    def change(graph: Any) -> None:
        graph.appendNode(graph.create("prim::If", [list(graph.inputs())[1]], 1)).addBlock()

    assert lint_text(change).startswith("prim::If(%n)")


def test_a_value_that_is_read_is_not_destroyed() -> None:
    graph = _C.parse_ir(TEXT)
    with pytest.raises(GuardError, match="still used"):
        graph.findNode("aten::add").destroy()  # type: ignore[union-attr]  # it is there
    with pytest.raises(GuardError, match="still used"):
        graph.eraseInput(0)


def test_what_no_operator_is_called_fails_when_it_runs() -> None:
    graph = _C.parse_ir("graph(%x : Tensor):\n  %y : Tensor = foo::bar[a=1](%x)\n  return (%y)")
    function = _C._create_function_from_graph("f", graph)
    with pytest.raises(RuntimeError, match="We don't have an op for foo::bar"):
        function(ones(1))


def test_a_graph_with_two_outputs_is_not_called() -> None:
    graph = _C.parse_ir("graph(%x : Tensor):\n  return (%x, %x)")
    with pytest.raises(GuardError, match="require a single output"):
        _C._create_function_from_graph("f", graph)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graph(%x : Tensor):\n  %y = aten::relu(%z)\n  return (%y)",
         "Cannot find a variable with name 'z'"),
        ("graph(%x : Foo):\n  return (%x)", "unknown type specifier 'Foo'"),
        ("graph(%x : Tensor)\n  return (%x)", "expected : but found 'return' here"),
        ("graph(%x : Tensor):\n  return %x", r"expected \( but found '%x' here"),
        ("graph(%x : Tensor):\n  %y : int = aten::neg(%x)\n  return (%y)",
         "Annotated type int does not match schema type Tensor for operator aten::neg"),
        ("graph():\n  %y : Tensor = prim::Constant[value={3}]()\n  return (%y)",
         "`parse_tensor_constants` is set to false"),
    ],
)  # fmt: skip
def test_text_that_is_no_graph(text: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        _C.parse_ir(text)


def test_the_graph_of_a_task_is_a_copy() -> None:
    torch = tensorscript  # noqa: F841  # the program names it so
    function: Any = jit.CompilationUnit(TASKS).program
    node = function.graph.findNode("prim::fork")
    node.g("Subgraph").insertConstant("only there")
    assert "only there" not in str(function.graph)
    with pytest.raises(GuardError, match="wrong type"):
        node.gs("Subgraph")
    with pytest.raises(GuardError, match="cannot be changed"):
        node.removeAttribute("Subgraph")
