"""Who reads a tensor last: storage that nothing reads any more may be written again."""

from __future__ import annotations

from xdsl.ir import Block, Operation, OpResult, SSAValue

from tensorscript.dialects.tg.ops import IfOp, LoopOp, ScatterOp


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


def read_once(value: SSAValue, op: Operation) -> bool:
    """`op` reads `value` as one operand, and nothing in its regions does."""
    inside = [use for use in value.uses if op.is_ancestor(use.operation)]
    return len(inside) == 1 and inside[0].operation is op


def origin(value: SSAValue) -> SSAValue:
    """The tensor whose storage `value` has if every element written into it is written in place."""
    while isinstance(value, OpResult):
        op = value.owner
        if isinstance(op, ScatterOp) and not op.extents.data:
            value = op.base
        elif isinstance(op, LoopOp):
            value = op.carried[value.index]
        elif isinstance(op, IfOp):
            found = {origin(last.operands[value.index]) for last in ends(op)}
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
