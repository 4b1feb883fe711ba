"""Who reads a value last: storage of a tensor that nothing reads any more may be written again, and
a list that its owner holds for long enough needs no reference."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation, OpResult, SSAValue

from tensorscript.dialects.tg.lists import ListOp
from tensorscript.dialects.tg.ops import IfOp, KernelOp, LoopOp, ScatterOp
from tensorscript.dialects.tg.types import ListType

from .kernel import scatter_base


class Order:
    """Positions of ops in their blocks."""

    def __init__(self) -> None:
        self._known: dict[Block, dict[Operation, int]] = {}

    def position(self, op: Operation) -> int:
        block = op.parent_block()
        assert block is not None
        if block not in self._known:
            self._known[block] = {child: number for number, child in enumerate(block.ops)}
        return self._known[block][op]

    def dies_at(self, value: SSAValue, op: Operation) -> bool:
        """Nothing reads `value` after `op`, which stands in its block or in branches inside it.

        What `op` itself reads, in its regions too, does not count.
        """
        home = value.owner.parent_block() if isinstance(value, OpResult) else value.owner
        here = op
        while True:
            block = here.parent_block()
            assert block is not None
            for use in value.uses:
                reader = block.find_ancestor_op_in_block(use.operation)
                if reader is not None and self.position(reader) > self.position(here):
                    return False
            if block is home:
                return True
            above = block.parent_op()
            if not isinstance(above, IfOp):  # the body of a loop runs again
                return False
            here = above

    def is_borrowed(self, fetched: ListOp) -> bool:
        """A list fetched from another one needs no reference of its own: it is used in its block
        only, and never stored, and up to the last use nothing takes a list out of another one."""
        (result,) = fetched.outputs
        last = self.position(fetched)
        for use in result.uses:
            user = use.operation
            if not isinstance(user, ListOp) or use.index != 0 or user.parent is not fetched.parent:
                return False
            last = max(last, self.position(user))
        return not any(map(_moves_lists, self._between(fetched, last)))

    def _between(self, first: Operation, last: int) -> Iterator[Operation]:
        """Ops of the block after `first` up to number `last`, and what is in them."""
        op = first.next_op
        while op is not None and self.position(op) <= last:
            yield from op.walk()
            op = op.next_op


def _moves_lists(op: Operation) -> bool:
    """An action that changes which lists a list holds."""
    if not isinstance(op, ListOp) or not op.writes:
        return False
    type_ = op.arguments[0].type
    return isinstance(type_, ListType) and type_.depth > 1


def read_once(value: SSAValue, op: Operation) -> bool:
    """`op` reads `value` as one operand, and nothing in its regions does."""
    inside = [use for use in value.uses if op.is_ancestor(use.operation)]
    return len(inside) == 1 and inside[0].operation is op


def origin(value: SSAValue, inside: Operation) -> SSAValue:
    """The tensor from outside of `inside` whose storage `value` has if what is written into it in
    there is written in place."""
    while isinstance(value, OpResult) and inside.is_ancestor(op := value.owner):
        if isinstance(op, ScatterOp) and not op.extents.data:
            value = op.base
        elif isinstance(op, KernelOp) and (number := scatter_base(op)) is not None:
            value = op.inputs[number]
        elif isinstance(op, LoopOp):
            value = op.carried[value.index]
        elif isinstance(op, IfOp):
            found = {origin(last.operands[value.index], inside) for last in ends(op)}
            if len(found) != 1:
                return value
            (value,) = found
        else:
            return value
    return value


def ends(op: IfOp) -> list[Operation]:
    """The terminators of both branches."""
    found = [region.block.last_op for region in op.regions]
    return [last for last in found if last is not None]
