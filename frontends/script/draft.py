"""The draft of a function: what the emitter writes before it is SSA.

A draft is TorchScript's graph with extra node kinds: `Store` and `Load` of a variable by name, and
`Break`/`Continue`/`Return` where the program leaves early. `ssa.py` removes the first two,
`exits.py` the rest (there the body of a with statement is for a while a node of its own, `With`),
`cleanup.py` folds, and `lower.py` writes the result as `ts` operations. The
draft exists because those rewrites touch nearly every node, and a plain object costs a twentieth of
an xDSL operation.

Constants stand where they are read, but for the numbers that the program writes, which stand first
and once; `cleanup.py` pools them all. Their order is TorchScript's, and so that of graph texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Final

from xdsl.ir import Attribute

from tensorscript.base.records import dataclass
from tensorscript.base.schema import Schema
from tensorscript.base.source import Span
from tensorscript.dialects.ts.constants import EnumRef, ListLiteral
from tensorscript.dialects.ts.typing import Fulfils, nominal

LOAD: Final = "prim::Load"
STORE: Final = "prim::Store"
BREAK: Final = "prim::BreakStmt"
CONTINUE: Final = "prim::ContinueStmt"
RETURN: Final = "prim::ReturnStmt"
LEAVE_LOOP: Final = "prim::LoopContinuation"
IF: Final = "prim::If"
LOOP: Final = "prim::Loop"
FORK: Final = "prim::fork"
AWAITABLE: Final = "prim::awaitable"
TASKS: Final = (FORK, AWAITABLE)
"""Nodes whose block is called at another time: it becomes a function of its own."""
AWAIT: Final = "prim::awaitable_wait"
WAITS: Final = ("aten::wait", AWAIT)
"""Nodes that give what a task returned."""
RAISE: Final = "prim::RaiseException"
ENTER: Final = "prim::Enter"
EXIT: Final = "prim::Exit"
WITH: Final = "prim::With"
CONSTANT: Final = "prim::Constant"
CALL: Final = "prim::CallFunction"
UNINITIALIZED: Final = "prim::Uninitialized"

MAX_TRIPS: Final = 2**63 - 1


class Value:
    """An SSA value. `node` is None for block parameters and never changes after creation."""

    __slots__ = ("block", "name", "node", "type")

    def __init__(
        self, type: Attribute, node: Node | None = None, block: Block | None = None, name: str = ""
    ) -> None:
        self.type = type
        self.node = node
        self.block = block
        self.name = name


class Node:
    """One operation; `schema` is set for operators of the schema table. `scope` says in which
    submodule calls a traced one ran."""

    __slots__ = ("attributes", "blocks", "inputs", "kind", "outputs", "schema", "scope", "span")

    def __init__(
        self,
        kind: str,
        inputs: Sequence[Value] = (),
        types: Iterable[Attribute] = (),
        span: Span | None = None,
        schema: Schema | None = None,
        **attributes: object,
    ) -> None:
        self.kind = kind
        self.inputs = list(inputs)
        self.outputs = [Value(t, self) for t in types]
        self.blocks: list[Block] = []
        self.schema = schema
        self.span = span
        self.scope = ""
        self.attributes = attributes

    @property
    def output(self) -> Value:
        return self.outputs[0]

    def add_output(self, type: Attribute, name: str = "") -> Value:
        value = Value(type, self, name=name)
        self.outputs.append(value)
        return value

    def add_block(self) -> Block:
        block = Block(self)
        self.blocks.append(block)
        return block


class Block:
    """Nodes in order, with parameters in front and results behind."""

    __slots__ = ("nodes", "outputs", "owner", "params")

    def __init__(self, owner: Node | None = None) -> None:
        self.owner = owner
        self.params: list[Value] = []
        self.nodes: list[Node] = []
        self.outputs: list[Value] = []

    def add_param(self, type: Attribute, name: str = "") -> Value:
        value = Value(type, None, self, name)
        self.params.append(value)
        return value


@dataclass
class Draft:
    """One function being compiled.

    Attributes:
        fulfils: which objects may stand for an interface.
        literals: the numbers that the program writes, in its order.
    """

    block: Block = field(default_factory=Block)
    fulfils: Fulfils = nominal
    literals: dict[ConstantKey, Value] = field(default_factory=dict)

    def literal(self, value: complex, type: Attribute, span: Span | None = None) -> Value:
        """A number that the program writes: one value for the whole function."""
        made = constant(value, type, span)
        return self.literals.setdefault(constant_key(made.output), made.output)

    def place_literals(self) -> None:
        """Put the literals in front of all nodes, each before those that were there."""
        made = [value.node for value in self.literals.values() if value.node is not None]
        self.block.nodes[:0] = made[::-1]


ConstantKey = tuple[type, object, Attribute]


def constant(value: object, type: Attribute, span: Span | None = None) -> Node:
    """The node of a constant."""
    return Node(CONSTANT, (), (type,), span, value=value)


def constant_key(value: Value) -> ConstantKey:
    """What is equal for equal constants; members of enums equal none, as in TorchScript."""
    held = constant_of(value)
    if _holds_member(held):
        return (Value, id(value), value.type)
    # repr tells -0.0 from 0.0 and finds nan again.
    shown: object = repr(held) if isinstance(held, float | complex | tuple) else held
    return (held.__class__, shown, value.type)


def _holds_member(value: object) -> bool:
    return isinstance(value, EnumRef) or (
        isinstance(value, ListLiteral) and any(map(_holds_member, value.elements))
    )


def is_constant(value: Value) -> bool:
    return value.node is not None and value.node.kind == CONSTANT


def constant_of(value: Value) -> object:
    """The constant behind a value for which `is_constant` holds."""
    assert value.node is not None
    return value.node.attributes["value"]


def is_bool_constant(value: Value, wanted: bool) -> bool:
    return is_constant(value) and constant_of(value) is wanted


def clone_nodes(nodes: Iterable[Node], mapping: dict[Value, Value]) -> list[Node]:
    """Copies of `nodes`; `mapping` says what stands for old values and learns the new ones."""
    out: list[Node] = []
    for node in nodes:
        copy = Node(node.kind, [mapping.get(v, v) for v in node.inputs], (), node.span, node.schema)
        copy.attributes = dict(node.attributes)
        for old in node.outputs:
            mapping[old] = copy.add_output(old.type, old.name)
        for block in node.blocks:
            inner = copy.add_block()
            for param in block.params:
                mapping[param] = inner.add_param(param.type, param.name)
            inner.nodes = clone_nodes(block.nodes, mapping)
            inner.outputs = [mapping.get(v, v) for v in block.outputs]
        out.append(copy)
    return out
