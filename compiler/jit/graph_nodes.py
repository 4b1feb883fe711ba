"""Nodes, values and blocks of a graph, as `torch._C.Node`, `Value` and `Block` are used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from tensorscript.base.errors import GuardError
from tensorscript.base.schema import Schema, overloads, parse_schema
from tensorscript.base.schema import schema as schema_of
from tensorscript.base.source import Span
from tensorscript.dialects.ts.graph_text import node_text
from tensorscript.dialects.ts.locations import scope_of, span_of
from tensorscript.dialects.ts.ops import (
    ConstantOp,
    FuncOp,
    OperatorOp,
    ReturnOp,
    TSOp,
    YieldOp,
)
from tensorscript.frontends.trace.facts import type_of
from tensorscript.lowering.ts.aliases import is_random

from .graph_fields import field_of
from .graph_node_edits import NodeEdits
from .graph_ranges import shows_source_ranges
from .graph_state import GraphState, block_of, comes_before
from .graph_types import Type, shown_type


class Use:
    """One place where a value is read.

    Attributes:
        user: the node that reads it.
        offset: as which of its inputs.
    """

    def __init__(self, user: Node, offset: int) -> None:
        self.user = user
        self.offset = offset

    def isAfter(self, other: Use) -> bool:
        """Whether this reads the value after `other` does."""
        if self.user == other.user:
            return self.offset > other.offset
        return self.user.isAfter(other.user)


class Value:
    """A value of a graph."""

    def __init__(self, state: GraphState, value: SSAValue) -> None:
        self.state = state
        self._cell = state.value_cell(value)

    @property
    def value(self) -> SSAValue:
        """The value of the dialect."""
        return self._cell.held

    def debugName(self) -> str:
        """Its name in the graph's text, without `%`."""
        return self.state.names.define(self.value)

    def setDebugName(self, name: str) -> Value:
        """Name it; a value that has the name gets a number behind it. Gives this value.

        Raises:
            GuardError: the name is a number.
        """
        self.state.names.rename(self.value, name)
        return self

    def type(self) -> Type:
        return shown_type(self.value.type)

    def setType(self, type: Type) -> Value:
        """Give it a type; gives this value."""
        self.state.set_type(self.value, type.attribute)
        return self

    def setTypeAs(self, other: Value) -> Value:
        """Give it the type of another value; gives this one."""
        return self.setType(other.type())

    def inferTypeFrom(self, tensor: Any) -> None:
        """Give it the type of a tensor, with sizes and strides."""
        self.state.set_type(self.value, type_of(tensor))

    def copyMetadata(self, other: Value) -> Value:
        """Take over the type and the name of another value; gives this one."""
        self.setTypeAs(other)
        if not (name := other.debugName()).isdigit():
            self.setDebugName(name)
        return self

    def node(self) -> Node:
        """The node that makes it; of an argument the node of its block's arguments."""
        owner = self.value.owner
        return ParamNode(self.state, owner) if isinstance(owner, Block) else Node(self.state, owner)

    def uses(self) -> list[Use]:
        """Where it is read, in the order in which the reads were made."""
        found = [Use(Node(self.state, use.operation), use.index) for use in self.value.uses]
        return found[::-1]

    def replaceAllUsesWith(self, other: Value) -> None:
        """Let what reads this value read another one."""
        self.state.replace_uses(self.value, other.value)

    def replaceAllUsesAfterNodeWith(self, node: Node, other: Value) -> None:
        """Let what reads this value after `node` read another one."""
        self.state.replace_uses(self.value, other.value, node.op)

    def unique(self) -> int:
        """Its place among the values of the graph."""
        name = self.debugName()
        return int(name) if name.isdigit() else list(self.state.names.names).index(self.value)

    def offset(self) -> int:
        """Its place among the results of its node, or among the arguments of its block."""
        return self.value.index  # type: ignore[no-any-return, attr-defined]  # of both kinds

    def requiresGrad(self) -> bool | None:
        """Whether it requires a gradient, if that is known; only of tensors."""
        return self.type().required_grad()

    requires_grad = requiresGrad

    def isCompleteTensor(self) -> bool:
        """Whether dtype, device, sizes and strides of a tensor are known."""
        return self.type().is_complete()

    def toIValue(self) -> Any:
        """The value of a constant; None for others."""
        owner = self.value.owner
        if not isinstance(owner, ConstantOp):
            return None
        return self.state.interpreter.constant(owner.value.data, self.value.type)

    def __repr__(self) -> str:
        return f"{self.debugName()} defined in ({self.node()})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and other.value is self.value

    def __hash__(self) -> int:
        return hash(self._cell)


class Node(NodeEdits):
    """A node of a graph."""

    def __init__(self, state: GraphState, op: Operation) -> None:
        self.state = state
        self._cell = state.op_cell(op)

    @property
    def op(self) -> Operation:
        """The op of the dialect."""
        return self._cell.held

    # -- what it is ------------------------------------------------------------------------------

    def kind(self) -> str:
        """`aten::add`, `prim::If`, ..."""
        if isinstance(self.op, ReturnOp | YieldOp):
            return "prim::Return"
        assert isinstance(self.op, TSOp)
        return self.op.node_kind

    def inputs(self) -> Iterator[Value]:
        return iter([Value(self.state, v) for v in self.op.operands])

    def outputs(self) -> Iterator[Value]:
        return iter([Value(self.state, v) for v in self.op.results])

    def input(self, index: int = 0) -> Value:
        return list(self.inputs())[index]

    def inputsAt(self, index: int) -> Value:
        return list(self.inputs())[index]

    def outputsAt(self, index: int) -> Value:
        return list(self.outputs())[index]

    def namedInput(self, name: str) -> Value:
        """The input for the argument `name` of the operator's schema.

        Raises:
            GuardError: there is no such argument.
        """
        found = self._schema()
        for at, argument in enumerate(found.arguments if found is not None else ()):
            if argument.name == name:
                return self.inputsAt(at)
        raise GuardError(f"{self.kind()} has no argument '{name}'")

    def output(self) -> Value:
        """The only output."""
        (made,) = self.outputs()
        return made

    def inputsSize(self) -> int:
        return len(self.op.operands)

    def outputsSize(self) -> int:
        return len(self.op.results)

    def hasMultipleOutputs(self) -> bool:
        return len(self.op.results) > 1

    def hasUses(self) -> bool:
        """Whether a result of it is read."""
        return any(v.uses() for v in self.outputs())

    def blocks(self) -> Iterator[GraphBlock]:
        """The branches of an if, the body of a loop."""
        return iter([GraphBlock(self.state, region.block) for region in self.op.regions])

    def owningBlock(self) -> GraphBlock:
        """The block that it is in.

        Raises:
            GuardError: it was not inserted yet.
        """
        return GraphBlock(self.state, block_of(self.op))

    def attribute(self, name: str) -> Any:
        """The attribute `name`.

        Raises:
            GuardError: there is none.
        """
        return field_of(self.state, self.op, self.kindOf(name), name)

    def mustBeNone(self) -> bool:
        """Whether it is the constant None."""
        return isinstance(self.op, ConstantOp) and self.op.value.data is None

    def isNondeterministic(self) -> bool:
        """Whether it may compute something else of the same inputs: random numbers."""
        return isinstance(self.op, OperatorOp) and is_random(self.op)

    def prev(self) -> Node | None:
        """The node before it in its block; None for the first one."""
        before = self.op.prev_op
        return None if before is None else Node(self.state, before)

    def next(self) -> Node | None:
        """The node after it in its block, the last of which is the return."""
        after = self.op.next_op
        return None if after is None else Node(self.state, after)

    def isBefore(self, other: Node) -> bool:
        return comes_before(self.op, other.op)

    def isAfter(self, other: Node) -> bool:
        return comes_before(other.op, self.op)

    def matches(self, schema: str) -> bool:
        """Whether it calls the operator with this schema, whatever the overload is called."""
        found = self._schema()
        if found is None:
            return False
        wanted = parse_schema(schema)
        return wanted.name == found.name and _shape(wanted) == _shape(found)

    def _schema(self) -> Schema | None:
        if not isinstance(self.op, OperatorOp) or not overloads(self.kind()):
            return None
        return schema_of(self.op.schema.data)

    def schema(self) -> str:
        """The schema of an operator; `(no schema)` for other nodes."""
        found = self._schema()
        return "(no schema)" if found is None else str(found)

    def sourceRange(self) -> str:
        """The place in the program, with the line underlined."""
        span: Span | None = span_of(self.op)
        return "" if span is None else span.highlight()

    def scopeName(self) -> str:
        """The submodule calls of a trace that it ran in."""
        return scope_of(self.op)

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        return next((n for b in self.blocks() for n in nodes_of_kind(b, kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        return [n for b in self.blocks() for n in nodes_of_kind(b, kind, recurse)]

    def addBlock(self) -> GraphBlock:
        """One more block, empty."""
        return GraphBlock(self.state, self.state.add_block(self.op))

    def __repr__(self) -> str:
        if isinstance(self.op, ReturnOp | YieldOp):
            return f" = prim::Return({', '.join(f'%{v.debugName()}' for v in self.inputs())})\n"
        assert isinstance(self.op, TSOp)
        return node_text(self.state.function, self.op, self.state.names, shows_source_ranges())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and other._cell is self._cell

    def __hash__(self) -> int:
        return id(self._cell)


class ParamNode(Node):
    """The node that a block's arguments are outputs of."""

    def __init__(self, state: GraphState, block: Block) -> None:
        owner = block.parent_op()
        assert owner is not None
        super().__init__(state, owner)
        self.block = block

    def kind(self) -> str:
        return "prim::Param"

    def inputs(self) -> Iterator[Value]:
        return iter(())

    def outputs(self) -> Iterator[Value]:
        return iter([Value(self.state, v) for v in self.block.args])

    def outputsSize(self) -> int:
        return len(self.block.args)

    def inputsSize(self) -> int:
        return 0

    def blocks(self) -> Iterator[GraphBlock]:
        return iter(())

    def addOutput(self) -> Value:
        return GraphBlock(self.state, self.block).addInputToBlock()

    def _following(self) -> Operation:
        first = self.block.first_op
        assert first is not None
        return first

    def __repr__(self) -> str:
        made = ", ".join(f"%{v.debugName()} : {v.type().str()}" for v in self.outputs())
        return f"{made} = prim::Param()\n"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ParamNode) and other.block is self.block

    def __hash__(self) -> int:
        return hash(self.block)


def _shape(schema: Schema) -> tuple[object, object]:
    """What of a schema a node is matched by."""
    arguments = [(a.name, a.type) for a in schema.arguments]
    return arguments, [r.type for r in schema.returns]


class GraphBlock:
    """The nodes between a graph's or a branch's inputs and outputs."""

    def __init__(self, state: GraphState, block: Block) -> None:
        self.state = state
        self._block = block

    def nodes(self) -> Iterator[Node]:
        for op in self._block.ops:
            if not isinstance(op, ReturnOp | YieldOp):
                yield Node(self.state, op)

    def inputs(self) -> Iterator[Value]:
        return (Value(self.state, v) for v in self._block.args)

    def outputs(self) -> Iterator[Value]:
        return self.returnNode().inputs()

    def paramNode(self) -> Node:
        """The node that the inputs are outputs of."""
        return ParamNode(self.state, self._block)

    def returnNode(self) -> Node:
        """The node that the outputs are inputs of."""
        last = self._block.last_op
        assert isinstance(last, ReturnOp | YieldOp)
        return Node(self.state, last)

    def owningNode(self) -> Node | None:
        """The node whose block it is; None for a graph."""
        owner = self._block.parent_op()
        assert owner is not None
        return None if isinstance(owner, FuncOp) else Node(self.state, owner)

    def addNode(self, kind: str, inputs: list[Value]) -> Node:
        """A new node at the end of the block."""
        made = self.state.create(kind, [value.value for value in inputs], 1)
        self.state.insert(made, self._block.last_op)
        return Node(self.state, made)

    def addInputToBlock(self) -> Value:
        """One more input, a tensor."""
        return Value(self.state, self.state.add_argument(self._block))

    def registerOutput(self, value: Value) -> int:
        """One more output; gives its place."""
        last = self.returnNode()
        last.addInput(value)
        return last.inputsSize() - 1

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """The first node of a kind."""
        return next(nodes_of_kind(self, kind, recurse), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """All nodes of a kind, in order."""
        return list(nodes_of_kind(self, kind, recurse))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GraphBlock) and other._block is self._block

    def __hash__(self) -> int:
        return hash(self._block)


def nodes_of_kind(block: GraphBlock, kind: str, recurse: bool) -> Iterator[Node]:
    """The nodes of a kind in a block, and in the blocks of its nodes."""
    for node in block.nodes():
        if node.kind() == kind:
            yield node
        if recurse:
            for inner in node.blocks():
                yield from nodes_of_kind(inner, kind, recurse)
