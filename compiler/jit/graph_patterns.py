"""Rewriting of graphs by patterns, as TorchScript's `SubgraphRewriter` does it.

A pattern is a graph. It is matched from its output backward: its inputs stand for any values, each
for one; other values have as many readers in the graph as in the pattern, so that nobody misses
what goes. A match lies in one block, and no two overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tensorscript.base.errors import GuardError

from .graph import Graph
from .graph_functions import parse_ir
from .graph_nodes import GraphBlock, Node, Value
from .module_core import ModuleCore


def rewrite_graph(
    pattern: str,
    fused_node_name: str,
    g: Graph,
    value_name_pairs: Sequence[tuple[str, str]] = (),
) -> None:
    """Replace what matches a pattern.

    Args:
        pattern: a graph in TorchScript's text.
        fused_node_name: the graph that comes for it, of as many inputs and outputs.
        g: the graph that is changed.
        value_name_pairs: accepted; it only decides to which line of the program a new node belongs.

    Raises:
        CompileError: a text is no graph.
        GuardError: the two graphs have not as many inputs and outputs.
    """
    wanted, replacement = parse_ir(pattern), parse_ir(fused_node_name)
    for what, a, b in (
        ("inputs", wanted.inputs(), replacement.inputs()),
        ("outputs", wanted.outputs(), replacement.outputs()),
    ):
        if len(list(a)) != len(list(b)):
            raise GuardError(f"the pattern and what comes for it have not as many {what}")
    taken: set[Node] = set()
    # One step for all matches after the other: what is put in is not matched, and what one match
    # reads another may make.
    placed = [match for match in list(_matches(wanted, g, taken)) if match.put(g, replacement)]
    for match in placed:
        match.reconnect()
    for match in placed:
        match.remove()


def rewrite_module(pattern: str, fused_node_name: str, module: ModuleCore) -> None:
    """As `rewrite_graph`, in each method of a module and of those inside it."""
    for name in module._method_names():
        rewrite_graph(pattern, fused_node_name, module._get_method(name).graph)


def _matches(pattern: Graph, graph: Graph, taken: set[Node]) -> Iterator[_Match]:
    last = next(iter(pattern.outputs())).node()
    for block in _blocks(graph):
        for anchor in block.nodes():
            match = _Match(pattern, block)
            if match.node(last, anchor) and taken.isdisjoint(match.nodes.values()):
                taken.update(match.nodes.values())
                yield match


def _blocks(block: GraphBlock) -> Iterator[GraphBlock]:
    yield block
    for node in block.nodes():
        for inner in node.blocks():
            yield from _blocks(inner)


class _Match:
    """What stands for the nodes and values of a pattern."""

    def __init__(self, pattern: Graph, block: GraphBlock) -> None:
        self._pattern = pattern
        self._block = block
        self._inputs = set(pattern.inputs())
        self._outputs = set(pattern.outputs())
        self.nodes: dict[Node, Node] = {}
        self._values: dict[Value, Value] = {}
        self._made: list[tuple[Value, Value]] = []

    def node(self, wanted: Node, found: Node) -> bool:
        """Whether a node is one of the pattern, with all that it reads."""
        if wanted in self.nodes:
            return self.nodes[wanted] == found
        if not (_is_alike(wanted, found) and found.owningBlock() == self._block):
            return False
        self.nodes[wanted] = found
        pairs = [
            *zip(wanted.inputs(), found.inputs(), strict=True),
            *zip(wanted.outputs(), found.outputs(), strict=True),
        ]
        return all(self._value(a, b) for a, b in pairs)

    def _value(self, wanted: Value, found: Value) -> bool:
        if wanted in self._values:
            return self._values[wanted] == found
        is_inner = wanted not in self._inputs and wanted not in self._outputs
        if is_inner and len(wanted.uses()) != len(found.uses()):
            return False
        self._values[wanted] = found
        return wanted in self._inputs or self.node(wanted.node(), found.node())

    def put(self, graph: Graph, replacement: Graph) -> bool:
        """Put the other graph beside what matched; whether that can be before all its readers."""
        inputs = [self._values[value] for value in self._pattern.inputs() if value in self._values]
        if len(inputs) != len(list(self._pattern.inputs())):
            raise GuardError("the pattern does not read all of its inputs")
        place = self._place(inputs)
        outputs = [self._values[value] for value in self._pattern.outputs()]
        if any(use.user.isBefore(place) for value in outputs for use in value.uses()):
            return False
        with graph.insert_point_guard(place):
            made = graph.insertGraph(replacement, inputs)
        self._made = list(zip(outputs, made, strict=True))
        return True

    def reconnect(self) -> None:
        """Let what read the outputs read the other graph's."""
        for old, new in self._made:
            new.setType(old.type())
            old.replaceAllUsesWith(new)

    def remove(self) -> None:
        """Take out the nodes that matched."""
        for node in reversed([n for n in self._pattern.nodes() if n in self.nodes]):
            self.nodes[node].destroy()

    def _place(self, inputs: Sequence[Value]) -> Node:
        """Behind the last input that is made in the block; else its first node."""
        first = next(iter([*self._block.nodes(), self._block.returnNode()]))
        made = [value.node() for value in inputs if value.node().kind() != "prim::Param"]
        here = [node for node in made if node.owningBlock() == self._block]
        place = first
        for node in here:
            behind = node.next()
            if behind is not None and not behind.isBefore(place):
                place = behind
        return place


def _is_alike(wanted: Node, found: Node) -> bool:
    """Whether two nodes are of one kind and shape, with equal attributes."""
    if found.kind() == "prim::Param" or wanted.kind() != found.kind():
        return False
    if wanted.outputsSize() != found.outputsSize() or wanted.inputsSize() != found.inputsSize():
        return False
    if any(wanted.blocks()) or any(found.blocks()):
        return False
    names = wanted.attributeNames()
    return names == found.attributeNames() and all(
        _is_equal_attribute(wanted, found, name) for name in names
    )


def _is_equal_attribute(wanted: Node, found: Node, name: str) -> bool:
    kind = wanted.kindOf(name)
    if kind != found.kindOf(name) or kind in ("t", "ts", "g"):
        return False
    return bool(wanted.attribute(name) == found.attribute(name))
