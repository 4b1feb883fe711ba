"""How a node of a graph is changed and moved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from xdsl.ir import Operation

from tensorscript.base.errors import GuardError
from tensorscript.dialects.ts.locations import put_in_scope, scope_of
from tensorscript.dialects.ts.types import TENSOR

from .graph_fields import Fields
from .graph_state import block_of


class NodeEdits(Fields):
    """The edits; inputs and outputs are the values that the node's face gives."""

    def inputs(self) -> Iterator[Any]:
        raise NotImplementedError

    def outputs(self) -> Iterator[Any]:
        raise NotImplementedError

    def addInput(self, value: Any) -> Any:
        """Read one more value; gives it."""
        self._read([*self.inputs(), value])
        return value

    def replaceInput(self, index: int, value: Any) -> Any:
        """Read another value as input `index`; gives the old one."""
        given = list(self.inputs())
        old, given[index] = given[index], value
        self._read(given)
        return old

    def replaceInputWith(self, old: Any, new: Any) -> None:
        """Read `new` wherever `old` was read."""
        self._read([new if value == old else value for value in self.inputs()])

    def removeInput(self, index: int) -> None:
        given = list(self.inputs())
        del given[index]
        self._read(given)

    def removeAllInputs(self) -> None:
        self._read([])

    def _read(self, values: list[Any]) -> None:
        self.state.set_operands(self.op, [value.value for value in values])

    def addOutput(self) -> Any:
        """One more output, a tensor."""
        self.state.set_outputs(self.op, [*self.op.results, TENSOR])
        return list(self.outputs())[-1]

    def eraseOutput(self, index: int) -> None:
        """Take an output away.

        Raises:
            GuardError: it is read.
        """
        results = list(self.op.results)
        if results[index].first_use is not None:
            raise GuardError(f"output %{self.outputsAt(index).debugName()} is still used")
        del results[index]
        self.state.set_outputs(self.op, results)

    def replaceAllUsesWith(self, other: Any) -> None:
        """Let what reads the outputs of this node read those of another one.

        Raises:
            GuardError: they have not equally many.
        """
        if self.outputsSize() != other.outputsSize():
            raise GuardError("the nodes have different numbers of outputs")
        for own, new in zip(self.outputs(), other.outputs(), strict=True):
            own.replaceAllUsesWith(new)

    def insertBefore(self, other: Any) -> Self:
        """Put this new node before another one; gives this node."""
        self.state.insert(self.op, other.op)
        return self

    def insertAfter(self, other: Any) -> Self:
        """Put this new node after another one; gives this node."""
        self.state.insert(self.op, other._following())
        return self

    def moveBefore(self, other: Any) -> None:
        self._leave()
        self.insertBefore(other)

    def moveAfter(self, other: Any) -> None:
        self._leave()
        self.insertAfter(other)

    def _leave(self) -> None:
        block_of(self.op).detach_op(self.op)

    def _following(self) -> Operation:
        """The op before which what is to come right after this node goes.

        Raises:
            GuardError: nothing can come after it.
        """
        if (after := self.op.next_op) is None:
            raise GuardError("nothing comes after the return of a block")
        return after

    def destroy(self) -> None:
        """Take the node out of its graph for good.

        Raises:
            GuardError: an output of it is still read.
        """
        self.state.erase(self.op)

    def copyMetadata(self, other: Any) -> Self:
        """Take over the place in the program and the scope of another node; gives this one."""
        self.op.location = other.op.location
        if scope := scope_of(other.op):
            put_in_scope(self.op, scope)
        return self
