"""A function of the dialect while its graph is looked at and edited from Python.

Nodes and values that Python holds stay the same through edits, although an edit may replace the op
behind them: Python's faces hold cells, and the cell of an op moves to what takes the op's place.
An edit leaves an op of the dialect wherever the node still is one, and a `ts.node` elsewhere, so at
any time the function prints, verifies, and runs as far as it makes sense.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Generic, TypeVar

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import Rewriter

from tensorscript.base.errors import GuardError
from tensorscript.base.records import dataclass
from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts.graph_function import returned_type, unused_name
from tensorscript.dialects.ts.graph_text import value_names
from tensorscript.dialects.ts.node_forms import fits, opened, whole
from tensorscript.dialects.ts.types import TENSOR
from tensorscript.dialects.ts.typing import is_subtype
from tensorscript.dialects.ts.value_names import ValueNames
from tensorscript.runtime.interpreter import Interpreter

from .boundary import Classes

T = TypeVar("T", Operation, SSAValue)

_CALLS = (ts.CallOp, ts.TaskOp, ts.PythonOp, ts.ModuleContainerIndexOp)
"""What they call, or make, is no attribute or input that a node could show."""

_TAKES_ANY = (*_CALLS, ts.ReturnOp, ts.YieldOp, ts.NodeOp)
"""Ops whose operands may be any."""


@dataclass(eq=False)
class Cell(Generic[T]):
    """Where the op or value behind a face is found."""

    held: T


def _nothing() -> None:
    pass


@dataclass
class GraphState:
    """A function whose graph is looked at.

    Attributes:
        function: the function.
        interpreter: of its module: what it calls, and constants.
        graph_of: a graph of its own of a function of the module, by name.
        classes: Python classes beside the script classes of the module.
        on_change: called after the function was changed.
        is_edited: the function was changed here.
        insert_before: where new nodes go; None is the end of the function.
    """

    function: ts.FuncOp
    interpreter: Interpreter
    graph_of: Callable[[str], Any]
    classes: Classes = field(default_factory=Classes)
    on_change: Callable[[], None] = _nothing
    is_edited: bool = False
    insert_before: Cell[Operation] | None = None
    _ops: dict[Operation, Cell[Operation]] = field(default_factory=dict)
    _values: dict[SSAValue, Cell[SSAValue]] = field(default_factory=dict)

    @cached_property
    def names(self) -> ValueNames:
        """What the values are called."""
        return value_names(self.function)

    def op_cell(self, op: Operation) -> Cell[Operation]:
        return self._ops.setdefault(op, Cell(op))

    def value_cell(self, value: SSAValue) -> Cell[SSAValue]:
        return self._values.setdefault(value, Cell(value))

    @property
    def insert_point(self) -> Operation:
        """The op before which new nodes go."""
        return self.function.return_op if self.insert_before is None else self.insert_before.held

    # -- edits -----------------------------------------------------------------------------------

    def changed(self) -> None:
        """Note that the function was changed, for who has compiled it."""
        self.is_edited = True
        self._sync_result()
        self.on_change()

    def create(self, kind: str, inputs: Sequence[SSAValue], outputs: int) -> Operation:
        """A node that is not in the graph yet."""
        _ = self.names  # What is there is numbered before what is new.
        made = self.settle(ts.NodeOp(kind, inputs, [TENSOR] * outputs))
        for result in made.results:
            self.names.define(result)
        return made

    def insert(self, op: Operation, before: Operation | None = None) -> None:
        """Put an op that is in no block before another; by default at the insert point."""
        before = self.insert_point if before is None else before
        block_of(before).insert_op_before(op, before)
        self.changed()

    def set_operands(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        """Let an op read other values."""
        if not isinstance(op, _TAKES_ANY):
            op = self.open(op)
        op.operands = list(operands)
        self.settle(op)
        self.changed()

    def replace_uses(self, old: SSAValue, new: SSAValue, after: Operation | None = None) -> None:
        """Let what reads `old` read `new`; only what comes after an op, if one is given."""
        users = [use.operation for use in old.uses]
        if after is None:
            hint = new.name_hint
            old.replace_all_uses_with(new)
            new.name_hint = hint
        else:
            readers = {user for user in users if comes_before(after, user)}
            old.replace_uses_with_if(new, lambda use: use.operation in readers)
        for user in users:
            if user.parent is not None:
                self.settle(user)
        self.changed()

    def set_type(self, value: SSAValue, type: Attribute) -> None:
        """Give a value another type."""
        if value.type == type:
            return
        made = Rewriter.replace_value_with_new_type(value, type)
        cell = self._moved(value, made)
        if isinstance(made.owner, Operation):
            self.settle(made.owner)
        for use in list(cell.held.uses):
            self.settle(use.operation)
        self.changed()

    def set_field(self, op: Operation, name: str, held: Attribute | None) -> None:
        """Give a node an attribute; None takes it away."""
        node = self.open(op)
        fields = {key: old for key, old in node.fields.data.items() if key != name}
        if held is not None:
            fields[name] = held
        node.properties["fields"] = DictionaryAttr(fields)
        self.settle(node)
        self.changed()

    def set_outputs(self, op: Operation, wanted: Sequence[SSAValue | Attribute]) -> None:
        """Let a node have these outputs: some that it has, and new ones of a type."""
        node = self.open(op)
        types = [each.type if isinstance(each, SSAValue) else each for each in wanted]
        regions = [node.detach_region(region) for region in list(node.regions)]
        made = ts.NodeOp(node.kind.data, list(node.operands), types, node.fields.data, regions)
        moved: list[SSAValue | None] = [None] * len(node.results)
        for each, result in zip(wanted, made.results, strict=True):
            if isinstance(each, OpResult):
                moved[each.index] = result
        self._swap(node, made, moved)
        for result in made.results:
            self.names.define(result)
        self.settle(made)
        self.changed()

    def add_block(self, op: Operation) -> Block:
        """Give a node one more block."""
        node = self.open(op)
        block = Block([ts.YieldOp([])])
        node.add_region(Region(block))
        self.settle(node)
        self.changed()
        return block

    def open(self, op: Operation) -> ts.NodeOp:
        """Make a `ts.node` of an op, whose parts may be changed.

        Raises:
            GuardError: a call, or a node that has no parts.
        """
        if isinstance(op, ts.NodeOp):
            return op
        if isinstance(op, _CALLS) or not isinstance(op, ts.TSOp) or not op.node_kind:
            raise GuardError("attributes and outputs of a call or of a return cannot be changed")
        made = opened(op)
        self._swap(op, made, made.results)
        return made

    def settle(self, op: Operation) -> Operation:
        """After an op was changed: make of it what it is now."""
        if isinstance(op, ts.YieldOp):
            parent = op.parent_op()
            assert parent is not None
            self.settle(parent)
            return op
        if not isinstance(op, ts.NodeOp):
            if fits(op):
                return op
            op = self.open(op)
        if (made := whole(op)) is None:
            return op
        self._swap(op, made, made.results)
        return made

    def erase(self, op: Operation) -> None:
        """Take a node out of the graph for good.

        Raises:
            GuardError: something still reads an output of it.
        """
        for result in op.results:
            if result.first_use is not None:
                name = self.names.define(result)
                raise GuardError(f"cannot destroy the node of %{name}: its value is still used")
        if op.parent is not None:
            op.detach()
        op.erase()
        self._ops.pop(op, None)
        self.changed()

    # -- what an edit moves ----------------------------------------------------------------------

    def _swap(self, old: Operation, new: Operation, moved: Sequence[SSAValue | None]) -> None:
        """Put `new` in the place of `old`, whose results become those of `moved` that are there."""
        new.location = old.location
        new.attributes = dict(old.attributes)
        if (block := old.parent_block()) is not None:
            block.insert_op_before(new, old)
            old.detach()
        for result, made in zip(old.results, moved, strict=True):
            if made is not None:
                result.replace_all_uses_with(made)
                made.name_hint = result.name_hint
                self._moved(result, made)
        old.erase()
        if (cell := self._ops.pop(old, None)) is not None:
            cell.held = new
            self._ops[new] = cell

    def _moved(self, old: SSAValue, new: SSAValue) -> Cell[SSAValue]:
        self.names.replace(old, new)
        cell = self._values.pop(old, None) or Cell(new)
        cell.held = new
        self._values[new] = cell
        return cell

    # -- the function's own ----------------------------------------------------------------------

    def add_input(self, name: str) -> SSAValue:
        """One more argument at the end, a tensor."""
        value = self.add_argument(self.function.block)
        if name:
            self.names.rename(value, name)
        formals = [formal.data for formal in self.function.argument_names]
        wanted = name.partition(".")[0] or f"argument_{len(formals)}"
        own = self.function.properties
        own["argument_names"] = ArrayAttr(map(StringAttr, [*formals, unused_name(wanted, formals)]))
        own["defaults"] = ArrayAttr([*self.function.defaults, UnitAttr()])
        self.changed()
        return value

    def add_argument(self, block: Block) -> SSAValue:
        """One more argument of a block, a tensor."""
        _ = self.names  # What is there is numbered before what is new.
        value = block.insert_arg(TENSOR, len(block.args))
        self.names.define(value)
        return value

    def keep_inputs(self, order: Sequence[int]) -> None:
        """Let the function have some of its arguments, in this order.

        Raises:
            GuardError: one that goes is read.
        """
        function, block = self.function, self.function.block
        old = list(block.args)
        for at, value in enumerate(old):
            if at not in order and value.first_use is not None:
                name = self.names.define(value)
                raise GuardError(f"cannot erase input %{name}: its value is still used")
        made = [block.insert_arg(old[at].type, len(block.args)) for at in order]
        for at, value in zip(order, made, strict=True):
            hint = old[at].name_hint
            old[at].replace_all_uses_with(value)
            value.name_hint = hint
            self._moved(old[at], value)
        for value in old:
            block.erase_arg(value)
        for name in ("argument_names", "defaults"):
            held = function.properties[name]
            assert isinstance(held, ArrayAttr)
            function.properties[name] = ArrayAttr([held.data[at] for at in order])
        self.changed()

    def _sync_result(self) -> None:
        """The declared result is what is returned: several values as a tuple of them."""
        found = returned_type(self.function.return_op.values)
        if not is_subtype(found, self.function.return_type):
            self.function.properties["return_type"] = found


def block_of(op: Operation) -> Block:
    """The block that an op is in.

    Raises:
        GuardError: it is in none.
    """
    if (block := op.parent_block()) is None:
        raise GuardError("the node is not in a graph; insert it first")
    return block


def comes_before(first: Operation, second: Operation) -> bool:
    """Whether `first` runs before `second`, which may be in a block further in, or out."""
    chain = {block_of(op): op for op in _with_owners(first)}
    for other in _with_owners(second):
        if (own := chain.get(block_of(other))) is not None:
            return own is not other and own.is_before_in_block(other)
    return False


def _with_owners(op: Operation) -> list[Operation]:
    """An op and the ops whose blocks it is in, up to the function."""
    found = [op]
    while isinstance(parent := found[-1].parent_op(), Operation):
        if isinstance(parent, ts.FuncOp):
            break
        found.append(parent)
    return found
