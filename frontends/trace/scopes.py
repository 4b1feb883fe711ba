"""From what submodule calls recorded to methods.

While tracing, the call of a submodule is a node with a block, parameters are free-standing
attributes, and any value may be read anywhere. Four steps make methods of that:

1. attributes are read from `self`, or passed in where they belong to another module;
2. a value that is read outside the block it is defined in becomes a result of that block;
3. several results become one tuple;
4. what a block reads from outside becomes an argument, and the block a method of its module.

    before                                  after
    %w = TracedAttr[conv.weight]            forward(self, x):
    TracedModuleForward[conv]:                %conv = prim::GetAttr[name="conv"](%self)
      %y = aten::_convolution(%x, %w, ..)     %y = prim::CallMethod[name="forward"](%conv, %x)
    %z = aten::relu(%y)                       %z = aten::relu(%y)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import Attribute

from tensorscript.base.records import dataclass
from tensorscript.dialects.ts.types import NONE, TENSOR, ClassType, TupleType
from tensorscript.frontends.script.draft import CONSTANT, Block, Node, Value

from .nesting import unshaped
from .tracer import ATTRIBUTE, SCOPE

Path = tuple[str, ...]


def path_of(node: Node) -> Path:
    path = node.attributes["path"]
    assert isinstance(path, tuple)
    return path


def _outer(node: Node) -> Block:
    """The block that the node of a submodule call stands in."""
    outer = node.attributes["outer"]
    assert isinstance(outer, Block)
    return outer


def _scopes(block: Block) -> list[Node]:
    return [n for n in block.nodes if n.kind == SCOPE]


# -- 1. attributes ----------------------------------------------------------------------------


@dataclass
class _Attributes:
    """Finds the way to attributes.

    Attributes:
        types: the type of every module, parameter and buffer by path.
        places: the value that stands for an attribute while tracing.
        complete: the type with sizes that a parameter or buffer has where it is passed in.
    """

    types: dict[Path, Attribute]
    places: dict[Path, Value]
    complete: Mapping[Path, Attribute]

    def give_self(self, block: Block) -> None:
        """Pass every submodule call its module."""
        for node in _scopes(block):
            path = path_of(node)
            node.inputs.insert(0, self.places[path])
            node.blocks[0].params.insert(0, Value(self.types[path], None, node.blocks[0], "self"))
            self.give_self(node.blocks[0])

    def resolve(self, block: Block, prefix: Path) -> list[Value]:
        """Read attributes of `prefix` from `self`; gives those that must be passed in."""
        known: dict[Value, Value] = {}
        wanted: list[Value] = []
        in_front: list[Node] = []

        def local(value: Value) -> Value:
            if value.node is None or value.node.kind != ATTRIBUTE:
                return value
            if value not in known:
                path = path_of(value.node)
                if path[: len(prefix)] == prefix:
                    chain = self._chain(block, prefix, path)
                    in_front[:0] = chain
                    known[value] = chain[-1].output if chain else block.params[0]
                else:
                    known[value] = block.add_param(self.complete.get(path, value.type), value.name)
                    wanted.append(value)
            return known[value]

        for node in _scopes(block):
            inner = self.resolve(node.blocks[0], path_of(node))
            node.inputs += [v if isinstance(v.type, ClassType) else local(v) for v in inner]
        for node in block.nodes:
            node.inputs = [local(v) for v in node.inputs]
        block.outputs = [local(v) for v in block.outputs]
        block.nodes[:0] = in_front
        return wanted

    def _chain(self, block: Block, prefix: Path, path: Path) -> list[Node]:
        """The `prim::GetAttr` nodes from `self` to `path`."""
        out: list[Node] = []
        current = block.params[0]
        for depth in range(len(prefix) + 1, len(path) + 1):
            name = path[depth - 1]
            node = Node("prim::GetAttr", [current], [self.types[path[:depth]]], None, name=name)
            current = node.output
            current.block = block
            current.name = name if name.isidentifier() else f"_{name}"
            out.append(node)
        return out


# -- 2. definitions reach their uses -------------------------------------------------------------


class _Lifting:
    """Makes results of values that are read outside the submodule call that defines them."""

    def __init__(self) -> None:
        self.lifted: dict[Value, Value] = {}

    def run(self, block: Block) -> None:
        """Nodes in order, results last: an inner call is done with before its results are read."""
        for node in block.nodes:
            node.inputs = [self.visible(v, block) for v in node.inputs]
            if node.kind == SCOPE:
                self.run(node.blocks[0])
        block.outputs = [self.visible(v, block) for v in block.outputs]

    def visible(self, value: Value, block: Block) -> Value:
        """The value that stands for `value` in `block`."""
        original = value
        value = self.lifted.get(value, value)
        around = _around(block)
        while value.block is not None and value.block not in around:
            inner = value.block
            owner = inner.owner
            assert owner is not None
            inner.outputs.append(value)
            outer = owner.add_output(value.type)
            outer.block = _outer(owner)
            value = outer
        self.lifted[original] = value
        return value


def _around(block: Block) -> list[Block]:
    """`block` and the blocks it stands in."""
    out = [block]
    while (owner := out[-1].owner) is not None:
        out.append(_outer(owner))
    return out


# -- 3. one result --------------------------------------------------------------------------------


def _one_result(block: Block) -> None:
    """Several results of a submodule call become a tuple, none becomes None."""
    nodes: list[Node] = []
    for node in block.nodes:
        nodes.append(node)
        if node.kind != SCOPE:
            continue
        inner = node.blocks[0]
        _one_result(inner)
        if len(inner.outputs) > 1:
            nodes.append(_tuple_result(node, inner))
        elif not inner.outputs:
            none = _placed(Node(CONSTANT, (), (NONE,), None, value=None), inner)
            inner.outputs = [none.output]
            node.add_output(NONE).block = block
    block.nodes = nodes


def _placed(node: Node, block: Block) -> Node:
    block.nodes.append(node)
    for value in node.outputs:
        value.block = block
    return node


def _tuple_result(node: Node, inner: Block) -> Node:
    """Pack the results inside; gives the node that unpacks them, with the old values."""
    type_ = TupleType.of(v.type for v in inner.outputs)
    packed = _placed(Node("prim::TupleConstruct", inner.outputs, [type_]), inner)
    inner.outputs = [packed.output]
    results, node.outputs = node.outputs, []
    whole = node.add_output(type_)
    whole.block = _outer(node)
    unpack = Node("prim::TupleUnpack", [whole])
    unpack.outputs = results
    for value in results:
        value.node = unpack
    return unpack


# -- 4. methods -----------------------------------------------------------------------------------

Define = Callable[[ClassType, Block], str]
"""Makes a method of a module's class out of a block; gives the method's name."""


def _capture(block: Block) -> None:
    """What a submodule call reads from outside becomes an argument, inner calls first."""
    for node in _scopes(block):
        inner = node.blocks[0]
        _capture(inner)
        captured: dict[Value, Value] = {}

        def argument(value: Value) -> Value:
            if value.block is inner:  # noqa: B023  # called before the loop goes on
                return value
            if value not in captured:  # noqa: B023
                made = inner.add_param(value.type, value.name)  # noqa: B023
                node.inputs.append(value)  # noqa: B023
                captured[value] = made  # noqa: B023
            return captured[value]  # noqa: B023

        for used in inner.nodes:
            used.inputs = [argument(v) for v in used.inputs]
        inner.outputs = [argument(v) for v in inner.outputs]


def _call_methods(block: Block, define: Define) -> None:
    """Replace submodule calls by calls of methods, innermost first."""
    for at, node in enumerate(block.nodes):
        if node.kind != SCOPE:
            continue
        inner = node.blocks[0]
        _call_methods(inner, define)
        module = inner.params[0].type
        assert isinstance(module, ClassType)
        method = define(module, inner)
        old = node.output
        call = Node("prim::CallMethod", node.inputs, (), None, method=method)
        call.outputs = [old]
        old.node, old.type, old.name = call, unshaped(old.type), ""
        block.nodes[at] = call


@dataclass
class Scopes:
    """The submodule calls of one traced method.

    Attributes:
        types: of every module, parameter and buffer by path; the traced module's path is ().
        places: what stood for attributes while tracing.
        complete: the types of parameters and buffers with their sizes.
    """

    types: dict[Path, Attribute]
    places: dict[Path, Value]
    complete: Mapping[Path, Attribute]

    def to_methods(self, body: Block, define: Define) -> None:
        """Make methods of the submodule calls in `body`, whose first parameter is `self`."""
        attributes = _Attributes(self.types, self.places, self.complete)
        attributes.give_self(body)
        attributes.resolve(body, ())
        _Lifting().run(body)
        _one_result(body)
        _capture(body)
        _call_methods(body, define)


def attribute_types(kinds: Sequence[tuple[Path, ClassType | None]]) -> dict[Path, Attribute]:
    """Types by path; None stands for a tensor."""
    return {path: TENSOR if kind is None else kind for path, kind in kinds}
