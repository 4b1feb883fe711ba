"""What `.graph` and `.schema` give: TorchScript's view of a function, for reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tensorscript.base.errors import GuardError
from tensorscript.base.schema import Schema, parse_schema
from tensorscript.base.schema import schema as schema_of
from tensorscript.base.source import Span
from tensorscript.base.stack import with_room
from tensorscript.dialects.ts.constants import FunctionRef, TensorLiteral
from tensorscript.dialects.ts.graph_text import graph_text, value_names
from tensorscript.dialects.ts.locations import span_of
from tensorscript.dialects.ts.ops import (
    ConstantOp,
    FuncOp,
    IfOp,
    LoopOp,
    OperatorOp,
    ReturnOp,
    TSOp,
    YieldOp,
)
from tensorscript.frontends.script.signature import Signature, signature_text
from tensorscript.runtime.interpreter import Interpreter

from .graph_types import Type
from .inlined import inlined

_locations: ContextVar[bool] = ContextVar("locations", default=True)


@contextmanager
def hide_source_ranges() -> Iterator[None]:
    """Within, graphs print without the places their nodes came from."""
    token = _locations.set(False)
    try:
        yield
    finally:
        _locations.reset(token)


class Value:
    """A value of a graph."""

    def __init__(self, graph: Graph, value: SSAValue) -> None:
        self.graph = graph
        self.value = value

    def debugName(self) -> str:
        """Its name in the graph's text, without `%`."""
        return self.graph.names[self.value]

    def type(self) -> Type:
        return Type(self.value.type)

    def node(self) -> Node | None:
        """The node that makes it; None for an argument."""
        owner = self.value.owner
        return None if isinstance(owner, Block) else Node(self.graph, owner)

    def uses(self) -> list[Node]:
        """The nodes that read it."""
        return [Node(self.graph, use.operation) for use in self.value.uses]

    def unique(self) -> int:
        """Its place among the values of the graph."""
        return list(self.graph.names).index(self.value)

    def offset(self) -> int:
        """Its place among the results of its node, or among the arguments of its block."""
        return self.value.index  # type: ignore[no-any-return, attr-defined]  # of both kinds

    def requiresGrad(self) -> bool | None:
        """Whether it requires a gradient, if that is known; only of tensors."""
        return self.type().required_grad()

    def isCompleteTensor(self) -> bool:
        """Whether dtype, device, sizes and strides of a tensor are known."""
        return self.type().is_complete()

    def toIValue(self) -> Any:
        """The value of a constant; None for others."""
        owner = self.value.owner
        if not isinstance(owner, ConstantOp):
            return None
        return self.graph.interpreter.constant(owner.value.data, self.value.type)

    def __repr__(self) -> str:
        return f"{self.debugName()} defined in ({self.node() or 'arguments'})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and other.value is self.value

    def __hash__(self) -> int:
        return hash(self.value)


class Node:
    """A node of a graph."""

    def __init__(self, graph: Graph, op: Operation) -> None:
        self.graph = graph
        self.op = op

    def kind(self) -> str:
        """`aten::add`, `prim::If`, ..."""
        if isinstance(self.op, ReturnOp | YieldOp):
            return "prim::Return"
        assert isinstance(self.op, TSOp)
        return self.op.node_kind

    def inputs(self) -> list[Value]:
        return [Value(self.graph, v) for v in self.op.operands]

    def outputs(self) -> list[Value]:
        return [Value(self.graph, v) for v in self.op.results]

    def input(self, index: int = 0) -> Value:
        return self.inputs()[index]

    def inputsAt(self, index: int) -> Value:
        return self.inputs()[index]

    def outputsAt(self, index: int) -> Value:
        return self.outputs()[index]

    def output(self) -> Value:
        """The only output."""
        (made,) = self.outputs()
        return made

    def inputsSize(self) -> int:
        return len(self.op.operands)

    def outputsSize(self) -> int:
        return len(self.op.results)

    def blocks(self) -> list[GraphBlock]:
        """The branches of an if, the body of a loop."""
        return [GraphBlock(self.graph, region.block) for region in self.op.regions]

    def attributes(self) -> Mapping[str, Any]:
        """What stands in brackets in the text."""
        if isinstance(self.op, ConstantOp):
            held = self.op.value.data
            if isinstance(held, FunctionRef):
                return {"name": held.qualified_name.rpartition(".")[2]}
            return {} if held is None else {"value": held}
        names = {"attribute": "name", "method": "name"}
        return {
            names[key]: held.data
            for key, held in self.op.properties.items()
            if key in names and isinstance(held, StringAttr)
        }

    def attributeNames(self) -> list[str]:
        return list(self.attributes())

    def hasAttribute(self, name: str) -> bool:
        return name in self.attributes()

    def attribute(self, name: str) -> Any:
        """The attribute `name`.

        Raises:
            KeyError: there is none.
        """
        return self.attributes()[name]

    def kindOf(self, name: str) -> str:
        """Which accessor gives the attribute: `i` (also of bools), `f`, `c`, `s`, `t` or `ival`.

        Raises:
            GuardError: there is no such attribute.
        """
        if name not in self.attributes():
            raise GuardError(f"required keyword attribute '{name}' is undefined")
        return _attribute_kind(self.attributes()[name])

    def _of_kind(self, kind: str, name: str) -> Any:
        if self.kindOf(name) != kind:
            raise GuardError(f"required keyword attribute '{name}' has the wrong type")
        return self.graph.interpreter.constant(self.attributes()[name])

    def i(self, name: str) -> int:
        """The attribute `name`, a number; likewise `f`, `c`, `s`, `t`, and `ival` of containers.

        Raises:
            GuardError: there is none, or it is of another kind.
        """
        return int(self._of_kind("i", name))

    def f(self, name: str) -> float:
        return float(self._of_kind("f", name))

    def c(self, name: str) -> complex:
        return complex(self._of_kind("c", name))

    def s(self, name: str) -> str:
        return str(self._of_kind("s", name))

    def t(self, name: str) -> Any:
        return self._of_kind("t", name)

    def ival(self, name: str) -> Any:
        return self._of_kind("ival", name)

    def mustBeNone(self) -> bool:
        """Whether it is the constant None."""
        return isinstance(self.op, ConstantOp) and self.op.value.data is None

    def hasUses(self) -> bool:
        """Whether a result of it is read."""
        return any(v.uses() for v in self.outputs())

    def prev(self) -> Node | None:
        """The node before it in its block; None for the first one."""
        before = self.op.prev_op
        return None if before is None else Node(self.graph, before)

    def matches(self, schema: str) -> bool:
        """Whether it calls the operator with this schema, whatever the overload is called."""
        if not isinstance(self.op, OperatorOp):
            return False
        wanted, own = parse_schema(schema), schema_of(self.op.schema.data)
        return wanted.name == own.name and _shape(wanted) == _shape(own)

    def schema(self) -> str:
        """The schema of an operator; `(no schema)` for other nodes."""
        if isinstance(self.op, OperatorOp):
            return str(schema_of(self.op.schema.data))
        return "(no schema)"

    def sourceRange(self) -> str:
        """The place in the program, with the line underlined."""
        span: Span | None = span_of(self.op)
        return "" if span is None else span.highlight()

    def scopeName(self) -> str:
        return ""

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        return next((n for b in self.blocks() for n in _nodes(b, kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        return [n for b in self.blocks() for n in _nodes(b, kind, recurse)]

    def __repr__(self) -> str:
        left = ", ".join(f"%{v.debugName()} : {v.type()}" for v in self.outputs())
        right = ", ".join(f"%{v.debugName()}" for v in self.inputs())
        return f"{left} = {self.kind()}({right})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and other.op is self.op

    def __hash__(self) -> int:
        return hash(self.op)


def _shape(schema: Schema) -> tuple[object, object]:
    """What of a schema a node is matched by."""
    arguments = [(a.name, a.type) for a in schema.arguments]
    return arguments, [r.type for r in schema.returns]


def _attribute_kind(value: object) -> str:
    return next((letter for kind, letter in _ATTRIBUTE_KINDS if isinstance(value, kind)), "ival")


_ATTRIBUTE_KINDS: tuple[tuple[type, str], ...] = (
    (int, "i"), (float, "f"), (complex, "c"), (str, "s"), (TensorLiteral, "t"),
)  # fmt: skip


class GraphBlock:
    """The nodes between a graph's or a branch's inputs and outputs."""

    def __init__(self, graph: Graph, block: Block) -> None:
        self.graph = graph
        self.block = block

    def nodes(self) -> Iterator[Node]:
        for op in self.block.ops:
            if not isinstance(op, ReturnOp | YieldOp):
                yield Node(self.graph, op)

    def inputs(self) -> Iterator[Value]:
        arguments: Sequence[BlockArgument] = self.block.args
        return (Value(self.graph, v) for v in arguments)

    def outputs(self) -> Iterator[Value]:
        last = self.block.last_op
        assert isinstance(last, ReturnOp | YieldOp)
        return (Value(self.graph, v) for v in last.values)


def _nodes(block: GraphBlock, kind: str, recurse: bool) -> Iterator[Node]:
    for node in block.nodes():
        if node.kind() == kind:
            yield node
        if recurse and isinstance(node.op, IfOp | LoopOp):
            for inner in node.blocks():
                yield from _nodes(inner, kind, recurse)


class Graph(GraphBlock):
    """TorchScript's graph of a function, for reading; `str` is its text.

    Args:
        op: the function.
        interpreter: of its module: what it calls.
    """

    def __init__(self, op: FuncOp, interpreter: Interpreter) -> None:
        super().__init__(self, op.block)
        self.op = op
        self.interpreter = interpreter
        self._names: dict[SSAValue, str] | None = None

    @property
    def names(self) -> Mapping[SSAValue, str]:
        if self._names is None:
            self._names = value_names(self.op)
        return self._names

    def inlined(self) -> Graph:
        """This graph with every call replaced by the body of what it calls."""
        return Graph(inlined(self.op, self.interpreter), self.interpreter)

    def copy(self) -> Graph:
        return Graph(self.op.clone(), self.interpreter)

    def lint(self) -> None:
        """Verify the graph.

        Raises:
            VerifyException: an op is not as its dialect says.
        """
        self.op.verify()

    def return_node(self) -> Node:
        return Node(self, self.op.return_op)

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """The first node of a kind."""
        return next(_nodes(self, kind, recurse), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """All nodes of a kind, in order."""
        return list(_nodes(self, kind, recurse))

    def text(self, print_source_ranges: bool = True) -> str:
        """The text, with or without the places in the program."""
        shown = print_source_ranges and _locations.get()
        return with_room(lambda: graph_text(self.op, shown, self.interpreter.functions))

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__
    str = text


class FunctionSchema:
    """A signature that prints as TorchScript's: `f(Tensor x, int y=3) -> Tensor`."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature

    @property
    def name(self) -> str:
        return self.signature.name

    @property
    def arguments(self) -> list[Argument]:
        return [Argument(f.name, Type(f.type), f.has_default) for f in self.signature.arguments]

    @property
    def returns(self) -> list[Argument]:
        return [Argument("", Type(t), False) for t in self.signature.returns]

    def __str__(self) -> str:
        return signature_text(self.signature)

    __repr__ = __str__


class Argument:
    """An argument or result of a schema."""

    def __init__(self, name: str, type: Type, has_default: bool) -> None:
        self.name = name
        self.type = type
        self._has_default = has_default

    def has_default_value(self) -> bool:
        return self._has_default
