"""What `.graph` and `.schema` give: TorchScript's view of a function, to read and to edit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tensorscript.base.errors import GuardError
from tensorscript.base.schema import overloads
from tensorscript.base.stack import with_room
from tensorscript.compiler.folding import NotConstant, literal_of
from tensorscript.dialects.ts.constants import TensorLiteral
from tensorscript.dialects.ts.graph_function import graph_function
from tensorscript.dialects.ts.graph_text import graph_text
from tensorscript.dialects.ts.lint import lint
from tensorscript.dialects.ts.node_forms import result_types
from tensorscript.dialects.ts.ops import ConstantOp, FuncOp, ReturnOp
from tensorscript.dialects.ts.type_text import ir_text
from tensorscript.dialects.ts.types import TupleType
from tensorscript.dialects.walks import walk_ops
from tensorscript.eager.tensor import Tensor
from tensorscript.frontends.script.signature import constant_type, signature_of
from tensorscript.frontends.trace.facts import type_of
from tensorscript.runtime.interpreter import Interpreter

from .alias_db import AliasDb
from .boundary import Classes
from .graph_nodes import GraphBlock, Node, Value
from .graph_ranges import shows_source_ranges
from .graph_state import GraphState
from .graph_types import shown_type
from .inlined import inlined


class Graph(GraphBlock):
    """TorchScript's graph of a function; `str` is its text. `Graph()` is a new one.

    What is changed here is changed in the function: the next call runs it. A function that was
    compiled before and has taken in this one keeps what it took in.

    Args:
        op: the function.
        interpreter: of its module: what it calls.
        classes: Python classes beside the script classes of the module.
        on_change: called after each edit.
    """

    def __init__(
        self,
        op: FuncOp | None = None,
        interpreter: Interpreter | None = None,
        classes: Classes | None = None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        op = graph_function("graph", Block([ReturnOp([])]), []) if op is None else op
        interpreter = Interpreter(ModuleOp([op])) if interpreter is None else interpreter
        state = GraphState(op, interpreter, self._graph_of, classes or Classes(), on_change)
        super().__init__(state, op.block)

    @property
    def op(self) -> FuncOp:
        """The function."""
        return self.state.function

    @property
    def interpreter(self) -> Interpreter:
        return self.state.interpreter

    @property
    def names(self) -> Mapping[SSAValue, str]:
        """What its values are called."""
        return self.state.names.names

    def _graph_of(self, name: str) -> Graph:
        callee = self.interpreter.functions[name]
        return Graph(callee, self.interpreter, self.state.classes).copy()

    def block(self) -> GraphBlock:
        """The block of its nodes."""
        return GraphBlock(self.state, self.op.block)

    @property
    def is_edited(self) -> bool:
        """Whether the function was changed here."""
        return self.state.is_edited

    def inlined(self) -> Graph:
        """This graph with every call replaced by the body of what it calls."""
        state = self.state
        return Graph(inlined(self.op, state.interpreter), state.interpreter, state.classes)

    def copy(self) -> Graph:
        """A graph of its own with the same nodes."""
        values: dict[SSAValue, SSAValue] = {}
        made = Graph(self.op.clone(values), self.interpreter, self.state.classes)
        made.state.names = self.state.names.copied(values)
        return made

    def alias_db(self, isFrozen: bool = False, descend_function_calls: bool = False) -> AliasDb:
        """Which values may lie in the same memory, and what writes it.

        Args:
            isFrozen: accepted; attributes are taken for what any module may hold.
            descend_function_calls: accepted; a call may write whatever it is given.
        """
        return AliasDb(self.state, self.text())

    def dump_alias_db(self) -> None:
        """Print `alias_db()`."""
        self.alias_db().dump()

    def lint(self) -> None:
        """Verify the graph.

        Raises:
            GuardError: a value is read before it is there, or a node lacks what its kind asks for.
        """
        lint(self.op, self.state.names)

    def require_one_output(self) -> None:
        """Refuse a graph that cannot be called.

        Raises:
            GuardError: it has no output, or several.
        """
        if len(self.op.return_op.values) != 1:
            raise GuardError(
                "Method (but not graphs in general) require a single output. Use None/Tuple for 0 "
                "or 2+ outputs"
            )

    def param_node(self) -> Node:
        return self.paramNode()

    def return_node(self) -> Node:
        return self.returnNode()

    # -- edits -----------------------------------------------------------------------------------

    def create(
        self, kind: str, inputs: Sequence[Value] | int = (), outputs: int | None = None
    ) -> Node:
        """A new node, which is not in the graph before it is inserted.

        Args:
            kind: `aten::add`, `prim::Constant`, ...
            inputs: what it reads; or the number of its outputs, if it reads nothing.
            outputs: how many outputs it has, one by default; they are tensors until they are given
                another type.
        """
        if isinstance(inputs, int):
            return Node(self.state, self.state.create(kind, [], inputs))
        given = [value.value for value in inputs]
        return Node(self.state, self.state.create(kind, given, 1 if outputs is None else outputs))

    def createClone(self, node: Node, value_map: Callable[[Value], Value]) -> Node:
        """A copy of a node that reads what `value_map` gives for each of its inputs."""
        mapped = {value.value: value_map(value).value for value in node.inputs()}
        return Node(self.state, self._named(node.op.clone(dict(mapped))))

    def _named(self, op: Operation) -> Operation:
        for inner in (op, *walk_ops(op)):
            for value in (*inner.results, *(a for r in inner.regions for a in r.block.args)):
                value.name_hint = None
                self.state.names.define(value)
        return op

    def insertNode(self, node: Node) -> Node:
        """Put a new node at the insert point: by default the end."""
        self.state.insert(node.op)
        return node

    def appendNode(self, node: Node) -> Node:
        """Put a new node at the end."""
        self.state.insert(node.op, self.op.return_op)
        return node

    def prependNode(self, node: Node) -> Node:
        """Put a new node at the beginning."""
        return node.insertAfter(self.param_node())

    def insert(self, kind: str, inputs: Sequence[Value]) -> Value:
        """A new node at the insert point, with the defaults of arguments that are not given.

        Returns:
            Its output.

        Raises:
            GuardError: no overload of `kind` takes the inputs.
        """
        return self.insertNode(self._operator(kind, list(inputs))).output()

    def _operator(self, kind: str, inputs: list[Value]) -> Node:
        given = [value.value.type for value in inputs]
        for signature in map(signature_of, overloads(kind)):
            rest = signature.arguments[len(inputs) :]
            types = [*given, *(formal.type for formal in rest)]
            is_taken = all(formal.has_default for formal in rest)
            if is_taken and signature.schema and result_types(signature.schema, types) is not None:
                added = [self._constant(formal.default, formal.type) for formal in rest]
                return self.create(kind, [*inputs, *added], len(signature.returns))
        raise GuardError(f"no overload of {kind} takes {', '.join(map(ir_text, given))}")

    def _constant(self, held: object, wanted: Attribute) -> Value:
        is_tensor = isinstance(held, TensorLiteral)
        made = ConstantOp(held, wanted if is_tensor else constant_type(held, wanted))
        _ = self.names  # What is there is numbered before what is new.
        self.state.insert(made)
        return Value(self.state, made.result)

    def insertConstant(self, value: Any) -> Value:
        """A constant at the insert point.

        Raises:
            GuardError: nothing that a constant can hold.
        """
        try:
            held = literal_of(value)
            type_ = type_of(value) if isinstance(value, Tensor) else constant_type(held)
        except (NotConstant, TypeError):
            raise GuardError(f"{value!r:.200} cannot be a constant of a graph") from None
        return self._constant(held, type_)

    def insertGraph(
        self,
        callee: Graph,
        inputs: Sequence[Value],
        value_map: Mapping[Value, Value] | None = None,
    ) -> list[Value]:
        """Copy the nodes of another graph to the insert point.

        Args:
            inputs: what the copied nodes read for its inputs.
            value_map: what they read for other values of it.

        Returns:
            What is its outputs here.
        """
        mapped = {own.value: given.value for own, given in (value_map or {}).items()}
        pairs = zip(callee.inputs(), inputs, strict=True)
        mapped |= {own.value: given.value for own, given in pairs}
        for node in callee.nodes():
            self.state.insert(self._named(node.op.clone(mapped)))
        outputs = [value.value for value in callee.outputs()]
        return [Value(self.state, mapped.get(value, value)) for value in outputs]

    def addInput(self, name: str = "") -> Value:
        """One more input, a tensor."""
        return Value(self.state, self.state.add_input(name))

    def eraseInput(self, index: int) -> None:
        """Take an input away.

        Raises:
            GuardError: it is read.
        """
        count = len(self.op.block.args)
        self.state.keep_inputs([at for at in range(count) if at != index])

    def permuteInputs(self, order: Sequence[int]) -> None:
        """Put the inputs into another order."""
        self.state.keep_inputs(order)

    def eraseOutput(self, index: int) -> None:
        """Return one value less."""
        self.return_node().removeInput(index)

    def makeMultiOutputIntoTuple(self) -> None:
        """Return several values, or none, as one tuple; None for none."""
        outputs = list(self.outputs())
        if len(outputs) == 1:
            return
        made = self._tuple_of(outputs) if outputs else self.insertConstant(None)
        self.return_node().removeAllInputs()
        self.registerOutput(made)

    def _tuple_of(self, values: list[Value]) -> Value:
        node = self.appendNode(self.create("prim::TupleConstruct", values))
        types = [value.value.type for value in values]
        return node.output().setType(shown_type(TupleType.of(types)))

    def setInsertPoint(self, place: Node | GraphBlock) -> None:
        """Let new nodes go before a node, or to the end of a block."""
        node = place.returnNode() if isinstance(place, GraphBlock) else place
        self.state.insert_before = self.state.op_cell(node.op)

    def insertPoint(self) -> Node:
        """The node before which new ones go."""
        return Node(self.state, self.state.insert_point)

    @contextmanager
    def insert_point_guard(self, place: Node | GraphBlock) -> Iterator[None]:
        """Within, new nodes go before a node, or to the end of a block."""
        before = self.state.insert_before
        self.setInsertPoint(place)
        try:
            yield
        finally:
            self.state.insert_before = before

    # -- text ------------------------------------------------------------------------------------

    def text(self, print_source_ranges: bool = True) -> str:
        """The text, with or without the places in the program."""
        state, shown = self.state, print_source_ranges
        return with_room(
            lambda: graph_text(self.op, shown, state.interpreter.functions, state.names)
        )

    def __str__(self) -> str:
        return self.text(shows_source_ranges())

    __repr__ = __str__
    str = text
