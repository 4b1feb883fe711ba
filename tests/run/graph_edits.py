"""Edits of graphs as PyTorch's users write them; each is run with our names and with PyTorch's.

An edit takes the module under test, ours or PyTorch's, and gives what both must agree on: texts of
graphs, which are compared without the names of values, and plain values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

TEXT = """
graph(%x : Tensor, %n : int):
  %1 : int = prim::Constant[value=3]()
  %2 : Tensor = aten::add(%x, %1, %1)
  %3 : Tensor = aten::mul(%2, %2)
  return (%3)
"""

BRANCHES = """
def program(x: Tensor, n: int):
    y = x + 1
    if n > 2:
        y = y * 2
    for i in range(n):
        y = torch.relu(y) + i
    return y
"""

TASKS = """
def task(x: Tensor):
    return x + 1

def program(x: Tensor):
    return torch.jit._wait(torch.jit._fork(task, x))
"""


def _graph(torch: Any, text: str = TEXT) -> Any:
    return torch._C.parse_ir(text)


def _run(torch: Any, graph: Any, *arguments: Any) -> Any:
    """What a graph gives, and its text."""
    made = torch._C._create_function_from_graph("edited", graph)
    result = made(*arguments)
    return result.tolist() if hasattr(result, "tolist") else result, str(graph)


def replace_an_operator(torch: Any) -> Any:
    graph = _graph(torch)
    old = graph.findNode("aten::mul")
    new = graph.create("aten::sub", [old.inputsAt(0), old.inputsAt(1), _one(graph)], 1)
    new.insertAfter(old)
    old.output().replaceAllUsesWith(new.output())
    old.destroy()
    graph.lint()
    return _run(torch, graph, torch.ones(2), 1)


def _one(graph: Any) -> Any:
    with graph.insert_point_guard(graph.findNode("aten::mul")):
        return graph.insertConstant(1)


def constant_by_parts(torch: Any) -> Any:
    graph = _graph(torch)
    node = graph.create("prim::Constant")
    node.i_("value", 7)
    node.output().setType(torch._C.IntType.get())
    graph.prependNode(node)
    graph.findNode("aten::add").replaceInput(1, node.output())
    return _run(torch, graph, torch.ones(2), 1), node.kindOf("value"), node.i("value")


def inputs_one_by_one(torch: Any) -> Any:
    graph = _graph(torch)
    add = graph.findNode("aten::add")
    one, other, scale = add.inputs()
    add.removeAllInputs()
    empty = repr(add), add.schema()
    for value in (other, one):
        add.addInput(value)
    add.replaceInputWith(other, one)
    add.addInput(scale)
    return empty, add.schema(), _run(torch, graph, torch.ones(2), 1)


def outputs_of_a_node(torch: Any) -> Any:
    graph = _graph(torch)
    add = graph.findNode("aten::add")
    add.addOutput()
    before = add.outputsSize(), add.hasMultipleOutputs()
    add.eraseOutput(1)
    return before, _run(torch, graph, torch.ones(2), 1)


def a_branch_by_parts(torch: Any) -> Any:
    graph = _graph(torch)
    x, n = graph.inputs()
    with graph.insert_point_guard(graph.return_node()):
        limit = graph.insertConstant(5)
        test = graph.insertNode(graph.create("aten::gt", [n, limit], 1)).output()
        test.setType(torch._C.BoolType.get())
        choice = graph.insertNode(graph.create("prim::If", [test], 1))
    true, false = choice.addBlock(), choice.addBlock()
    true.registerOutput(x)
    false.registerOutput(false.addNode("aten::neg", [x]).output())
    graph.eraseOutput(0)
    graph.registerOutput(choice.output())
    graph.lint()
    ran = _run(torch, graph, torch.ones(2), 9), _run(torch, graph, torch.ones(2), 1)
    return ran, [block.owningNode() == choice for block in choice.blocks()]


def arguments(torch: Any) -> Any:
    graph = _graph(torch)
    added = graph.addInput("scale")
    graph.findNode("aten::mul").replaceInput(1, added)
    graph.eraseInput(1)
    graph.permuteInputs([1, 0])
    return _run(torch, graph, torch.ones(2) * 5, torch.ones(2))


def several_outputs(torch: Any) -> Any:
    graph = _graph(torch)
    place = graph.registerOutput(graph.findNode("aten::add").output())
    graph.makeMultiOutputIntoTuple()
    made = torch._C._create_function_from_graph("pair", graph)
    return place, [each.tolist() for each in made(torch.ones(2), 1)], str(graph)


def a_graph_in_a_graph(torch: Any) -> Any:
    graph = _graph(torch)
    outputs = graph.insertGraph(_graph(torch), [*graph.outputs(), list(graph.inputs())[1]])
    graph.return_node().replaceInput(0, outputs[0])
    return _run(torch, graph, torch.ones(2), 1)


def a_clone_of_a_node(torch: Any) -> Any:
    graph = _graph(torch)
    x = next(graph.inputs())
    clone = graph.createClone(graph.findNode("aten::mul"), lambda value: x)
    graph.insertNode(clone)
    graph.return_node().replaceInput(0, clone.output())
    return _run(torch, graph, torch.ones(2) * 3, 1)


def an_operator_with_defaults(torch: Any) -> Any:
    graph = _graph(torch)
    x, n = graph.inputs()
    made = graph.insert("aten::add", [x, n])
    graph.return_node().replaceInput(0, made)
    return _run(torch, graph, torch.ones(2), 4)


def moves(torch: Any) -> Any:
    graph = _graph(torch)
    add, mul = graph.findNode("aten::add"), graph.findNode("aten::mul")
    before = add.isBefore(mul), add.isAfter(mul)
    node = graph.appendNode(graph.create("aten::relu", [next(graph.inputs())], 1))
    node.moveBefore(add)
    moved = str(graph)
    node.moveAfter(mul)
    return before, moved, node.isAfter(mul), str(graph)


def names(torch: Any) -> Any:
    graph = _graph(torch)
    first, second = graph.inputs()
    second.setDebugName("x")
    taken = first.debugName(), second.debugName()
    first.setDebugName("x")
    return taken, first.debugName(), second.debugName()


def attributes(torch: Any) -> Any:
    graph = _graph(torch)
    node = graph.create("some::thing", list(graph.inputs()), 1)
    node.i_("a", 1).f_("b", 1.5).s_("c", 'q"\n').is_("d", [1, 2]).ss_("e", ["x"])
    node.ty_("g", torch._C.ListType.ofInts()).tys_("h", [torch._C.IntType.get()])
    node.t_("k", torch.ones(2)).ival_("l", {"a": 1})
    graph.insertNode(node)
    kinds = [(name, node.kindOf(name)) for name in node.attributeNames()]
    got = node.i("a"), node.f("b"), node.s("c"), node.__getattribute__("is")("d"), node.ss("e")
    types = str(node.ty("g")), [str(each) for each in node.tys("h")]
    node.removeAttribute("a")
    return kinds, got, types, node.t("k").tolist(), node.ival("l"), str(graph)


def edited_function(torch: Any) -> Any:
    function = torch.jit.CompilationUnit(BRANCHES).program
    graph = function.graph
    for node in graph.findAllNodes("aten::relu"):
        node.replaceInput(0, next(graph.inputs()))
    for node in graph.findAllNodes("aten::mul"):
        new = graph.create("aten::neg", [node.inputsAt(0)], 1).insertBefore(node)
        node.replaceAllUsesWith(new)
        node.destroy()
    graph.lint()
    return function(torch.ones(2), 3).tolist(), str(function.graph)


def uses_after_a_node(torch: Any) -> Any:
    graph = _graph(torch)
    add, mul = graph.findNode("aten::add"), graph.findNode("aten::mul")
    relu = graph.create("aten::relu", [add.output()], 1).insertAfter(add)
    add.output().replaceAllUsesAfterNodeWith(relu, relu.output())
    uses = [(use.user.kind(), use.offset) for use in relu.output().uses()]
    return sorted(uses), mul.inputsAt(0) == relu.output(), str(graph)


def built_from_nothing(torch: Any) -> Any:
    graph = torch._C.Graph()
    x = graph.addInput("x")
    node = graph.appendNode(graph.create("aten::neg", [x]))
    graph.registerOutput(node.output())
    return _run(torch, graph, torch.ones(2)), repr(node), str(graph.param_node())


def a_copy(torch: Any) -> Any:
    graph = _graph(torch)
    copy = graph.copy()
    copy.insertConstant("only there")
    return str(graph), str(copy)


def types(torch: Any) -> Any:
    c = torch._C
    made = [
        c.IntType.get(), c.ListType(c.IntType.get()), c.OptionalType.ofTensor(),
        c.DictType(c.StringType.get(), c.FloatType.get()), c.NumberType.get(), c.NoneType.get(),
        c.TupleType([c.IntType.get(), c.BoolType.get()]), c.DeviceObjType.get(), c.AnyType.get(),
        c.UnionType([c.IntType.get(), c.StringType.get()]), c.FutureType(c.TensorType.get()),
    ]  # fmt: skip
    is_list = isinstance(c.ListType.ofFloats(), c.ListType)
    try:
        c.ListType(None)
    except RuntimeError as refused:
        made_of_none = str(refused)
    return [(str(t), t.str(), t.kind(), t.annotation_str) for t in made], is_list, made_of_none


def the_graph_of_a_task(torch: Any) -> Any:
    unit = torch.jit.CompilationUnit(TASKS)
    node = unit.program.graph.findNode("prim::fork")
    return node.attributeNames(), node.kindOf("Subgraph"), str(node.g("Subgraph"))


EDITS: tuple[Callable[[Any], Any], ...] = (
    replace_an_operator, constant_by_parts, inputs_one_by_one, outputs_of_a_node,
    a_branch_by_parts, arguments, several_outputs, a_graph_in_a_graph, a_clone_of_a_node,
    an_operator_with_defaults, moves, names, attributes, edited_function, uses_after_a_node,
    built_from_nothing, a_copy, types, the_graph_of_a_task,
)  # fmt: skip
