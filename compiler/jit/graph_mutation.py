"""Writes become new values, where nobody sees the difference.

    %y = aten::clone(%x)                   %y = aten::clone(%x)
    %1 = aten::add_(%y, %a, %b)     -->    %1 = aten::add(%y, %a, %b)     (%1 is read for %y now)

    %l = prim::ListConstruct(%x)           %l = prim::ListConstruct(%x, %y)
    %2 = aten::append(%l, %y)

What is written has to be made for this function alone, by a node that can stand directly before the
write: then nobody reads or keeps the old value in between. That is also so of what both branches
of an `if` make and do nothing else with.
"""

from __future__ import annotations

from collections.abc import Iterator

from tensorscript.dialects.ts.node_forms import overload_for
from tensorscript.dialects.ts.ops import OperatorOp
from tensorscript.dialects.ts.types import TensorType
from tensorscript.frontends.script import draft
from tensorscript.frontends.script.dead_code import has_side_effects
from tensorscript.lowering.ts.aliases import schema_of

from .alias_db import AliasDb
from .graph import Graph
from .graph_nodes import GraphBlock, Node, Value

_FILLED = {"aten::fill_": "aten::full_like", "aten::zero_": "aten::zeros_like"}
"""Operators whose functional form takes the size alone of what they write."""

_OTHERWISE = frozenset({"aten::normal_"})
"""Operators whose functional form is another operator."""


def remove_mutation(graph: Graph) -> bool:
    """Replace writes to tensors by functional operators, and appending to lists by longer lists;
    whether there were any."""
    removed = [_extend(graph, node) or _replace(graph, node) for node in _nodes(graph)]
    return any(removed)


def _nodes(block: GraphBlock) -> Iterator[Node]:
    """The nodes of a block as it was, those inside others before them."""
    for node in list(block.nodes()):
        for inner in node.blocks():
            yield from _nodes(inner)
        yield node


def _replace(graph: Graph, node: Node) -> bool:
    """Compute a new value instead of writing one."""
    functional = _functional(node)
    if not functional or not _is_made_for(graph, node.inputsAt(0), node):
        return False
    if node.kind() in _FILLED:
        with graph.insert_point_guard(node):
            made = graph.insert(functional, list(node.inputs())).node()
    else:
        made = graph.create(functional, list(node.inputs()), 1).insertBefore(node)
    made.copyMetadata(node)
    made.output().setType(node.output().type())
    node.inputsAt(0).replaceAllUsesAfterNodeWith(node, made.output())
    node.output().replaceAllUsesWith(made.output())
    node.destroy()
    return True


def _functional(node: Node) -> str:
    """The operator that computes what `node` writes; "" if it writes nothing, or there is none."""
    kind = node.kind()
    schema = schema_of(node.op) if isinstance(node.op, OperatorOp) else None
    if schema is None or not kind.endswith("_") or kind.endswith("__") or kind in _OTHERWISE:
        return ""
    written = [at for at, argument in enumerate(schema.arguments) if argument.is_write]
    if written != [0]:
        return ""
    if kind in _FILLED:
        is_number = not isinstance(node.op.operands[-1].type, TensorType)
        return _FILLED[kind] if is_number or kind == "aten::zero_" else ""
    functional = kind.removesuffix("_")
    given = [value.value.type for value in node.inputs()]
    return functional if overload_for(functional, given) is not None else ""


def _extend(graph: Graph, node: Node) -> bool:
    """Put what a list is given where the list is made."""
    if node.kind() not in ("aten::append", "aten::insert", "aten::_set_item"):
        return False
    held, *places, added = node.inputs()
    operands = list(held.node().op.operands)
    at = places[0].toIValue() if places else len(operands)
    if held.node().kind() != "prim::ListConstruct" or not isinstance(at, int):
        return False
    is_exchanged = node.kind() == "aten::_set_item"
    if is_exchanged and not -len(operands) <= at < len(operands):
        return False
    if not _is_made_for(graph, held, node):
        return False
    if is_exchanged:
        operands[at] = added.value
    else:
        operands.insert(at, added.value)
    graph.state.set_operands(held.node().op, operands)
    for output in node.outputs():
        output.replaceAllUsesWith(held)
    node.destroy()
    return True


def _is_made_for(graph: Graph, value: Value, node: Node) -> bool:
    """Whether a value is made for this function alone, by a node that now stands before `node`."""
    memory, maker = AliasDb(graph.state, ""), value.node()
    made = [value]
    if maker.kind() == "prim::If":
        at = list(maker.outputs()).index(value)
        made = [list(block.outputs())[at] for block in maker.blocks()]
        if any(len(each.uses()) > 1 for each in made):
            return False
    is_new = all(_is_new(memory, each) for each in made)
    return is_new and memory.move_before_topologically_valid(maker, node)


def _is_new(memory: AliasDb, value: Value) -> bool:
    """Whether a value is neither given to its node nor a part of what is."""
    maker = value.node()
    kind = maker.kind()
    if kind in ("prim::Param", "prim::Constant") or any(maker.blocks()):
        return False
    if has_side_effects(draft.Node(kind)):
        return False
    is_list = kind == "prim::ListConstruct"
    return is_list or not any(memory.may_contain_alias(given, value) for given in maker.inputs())
