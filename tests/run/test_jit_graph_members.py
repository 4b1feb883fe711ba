"""Members of graphs, nodes, values and types: what PyTorch's say of the same programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensorscript
from tensorscript import jit, ones
from tensorscript.base.errors import GuardError

TEXT = """
def program(x: Tensor, n: int, values: List[int], table: Dict[str, float],
            maybe: Optional[Tensor], pair: Tuple[int, str]):
    y = x + 1.5
    if n > 2:
        y = y * 2
    return y
"""


def told(thing: Any, name: str) -> Any:
    """The answer of a member as text; how it refuses, where there is none."""
    try:
        return str(getattr(thing, name)())
    except (AttributeError, RuntimeError) as error:
        return isinstance(error, AttributeError)


def types_of(module: Any) -> Any:
    values = list(module.jit.CompilationUnit(TEXT).program.graph.inputs())
    names = (
        "kind", "getElementType", "getKeyType", "getValueType", "elements", "containedTypes",
        "dtype", "scalarType", "sizes", "strides", "dim", "device", "requires_grad",
    )  # fmt: skip
    types = [value.type() for value in values]
    single = [[told(type_, name) for name in names] for type_ in types]
    pairs = [[a.isSubtypeOf(b) for b in types] for a in types]
    return single, pairs, [v.unique() for v in values], [v.offset() for v in values]


def nodes_of(module: Any) -> Any:
    graph = module.jit.CompilationUnit(TEXT).program.graph
    graph.lint()
    add = graph.findNode("aten::add")
    constant = add.inputsAt(1).node()
    return (
        constant.kindOf("value"), constant.f("value"), constant.mustBeNone(), add.hasUses(),
        add.matches("aten::add(Tensor self, Scalar other, Scalar alpha) -> Tensor"),
        add.matches("aten::mul(Tensor self, Scalar other) -> Tensor"),
        add.outputsAt(0).requiresGrad(), add.outputsAt(0).isCompleteTensor(),
        add.inputsAt(1).toIValue(),
    )  # fmt: skip


def traced(module: Any) -> Any:
    value = next(module.jit.trace(lambda x: x * 2, module.ones(2, 3)).graph.inputs())
    type_ = value.type()
    names = ("dtype", "scalarType", "sizes", "strides", "dim", "device", "requires_grad", "kind")
    return [str(getattr(type_, n)()) for n in names], value.requiresGrad(), value.isCompleteTensor()


@pytest.mark.filterwarnings("ignore:.torch.jit.:DeprecationWarning")
@pytest.mark.parametrize("members", [types_of, nodes_of, traced])
def test_equals_torch(members: Callable[[Any], Any]) -> None:
    torch = pytest.importorskip("torch")
    assert members(tensorscript) == members(torch)


def test_what_is_not_there_is_refused() -> None:
    graph: Any = jit.CompilationUnit(TEXT).program.graph
    constant = graph.findNode("aten::add").inputsAt(1).node()
    with pytest.raises(GuardError, match="attribute 'other' is undefined"):
        constant.f("other")
    with pytest.raises(GuardError, match="attribute 'value' has the wrong type"):
        constant.i("value")
    with pytest.raises(GuardError, match="IntType is not the type of a tensor"):
        list(graph.inputs())[1].type().sizes()


def test_nodes_know_the_one_before() -> None:
    first, second, *_ = jit.CompilationUnit(TEXT).program.graph.nodes()
    assert second.prev() == first
    assert first.prev() is None


def test_a_known_type() -> None:
    value = next(jit.trace(lambda x: x * 2, ones(2, 3)).graph.inputs())
    assert value.type().sizes() == [2, 3]
    assert value.type().kind() == "TensorType"


def test_what_a_node_has_is_gone_through_once() -> None:
    graph = jit.CompilationUnit(
        "def f(x, n: int):\n  for i in range(n):\n    x = x + x\n  return x"
    ).f.graph
    loop = graph.findNode("prim::Loop")
    assert loop is not None
    block = next(loop.blocks())
    added = next(block.nodes())
    assert next(loop.inputs()) == loop.inputsAt(0)
    assert next(added.outputs()) == added.output()
    x = added.inputsAt(0)
    assert [(use.user, use.offset) for use in x.uses()] == [(added, 0), (added, 1)]


def test_places_that_are_hidden_are_shown_on_demand() -> None:
    graph = jit.CompilationUnit("def f(x):\n  return x + x").f.graph
    with jit._hide_source_ranges():
        assert "#" not in repr(graph) and "#" not in str(graph)
        assert "#" in graph.str() and "#" not in graph.str(print_source_ranges=False)
    assert "#" in repr(graph)


def test_types_with_some_sizes() -> None:
    (value,) = jit.CompilationUnit("def f(x):\n  return x").f.graph.inputs()
    some = value.type().with_sizes([2, None])
    assert (some.dim(), some.sizes(), some.strides(), some.str()) == (2, None, None, "Tensor(2, *)")
    assert value.type().with_sizes([2, 3]).strides() == [3, 1]
