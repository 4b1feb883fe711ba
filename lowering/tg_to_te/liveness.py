"""Who reads a value last: storage of a tensor that nothing reads any more may be written again, and
a list that its owner holds for long enough needs no reference.

Every question is answered without a walk through the function, so that the lowering of deeply
nested branches stays linear in their number.
"""

from __future__ import annotations

from bisect import bisect_right

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tensorscript.dialects.tg.lists import ListOp
from tensorscript.dialects.tg.ops import IfOp
from tensorscript.dialects.tg.types import ListType


class Order:
    """The order of the ops under a block.

    Ops are numbered as they are printed, so that an op and what is inside it have the numbers of
    one interval.
    """

    def __init__(self, block: Block) -> None:
        self._number: dict[Operation, int] = {}
        self._end: dict[Operation, int] = {}
        self._moves: list[int] = []
        self._readers: dict[SSAValue, dict[Block, Operation]] = {}
        self._kept: dict[tuple[SSAValue, Block], bool] = {}
        self._count(block)

    def _count(self, block: Block) -> None:
        for op in block.ops:
            number = self._number[op] = len(self._number)
            if _moves_lists(op):
                self._moves.append(number)
            for region in op.regions:
                for inner in region.blocks:
                    self._count(inner)
            self._end[op] = len(self._number) - 1

    def is_inside(self, value: SSAValue, op: Operation) -> bool:
        """Whether a value is made in the regions of `op`."""
        home = _home(value)
        return home is not None and self._holds(op, home.parent_op())

    def _holds(self, op: Operation, inner: Operation | None) -> bool:
        return inner in self._number and self._number[op] <= self._number[inner] <= self._end[op]

    def dies_at(self, value: SSAValue, op: Operation) -> bool:
        """Nothing reads `value` after `op`, which stands in its block or in branches inside it.

        What `op` itself reads, in its regions too, does not count.
        """
        block = op.parent_block()
        assert block is not None
        last = self._last_readers(value).get(block)
        if last is not None and self._number[last] > self._number[op]:
            return False
        return not self._is_kept(value, block)

    def _is_kept(self, value: SSAValue, block: Block) -> bool:
        """Something may read `value` after a block has ended."""
        above: list[Block] = []
        kept = False
        while block is not _home(value):
            if (known := self._kept.get((value, block))) is not None:
                kept = known
                break
            above.append(block)
            parent = block.parent_op()
            if not isinstance(parent, IfOp):  # the body of a loop runs again
                kept = True
                break
            outer = parent.parent_block()
            assert outer is not None
            last = self._last_readers(value).get(outer)
            if last is not None and self._is_behind(last, parent):
                kept = True
                break
            block = outer
        self._kept |= {(value, inner): kept for inner in above}
        return kept

    def _is_behind(self, op: Operation, other: Operation) -> bool:
        return self._number[op] > self._number[other]

    def _last_readers(self, value: SSAValue) -> dict[Block, Operation]:
        """For each block that reads a value, its last op that does so, inside it or itself."""
        if (known := self._readers.get(value)) is not None:
            return known
        home, last = _home(value), dict[Block, Operation]()
        for use in value.uses:
            reader, block = use.operation, use.operation.parent_block()
            while block is not None:
                known_reader = last.get(block)
                if known_reader is None or self._is_behind(reader, known_reader):
                    last[block] = reader
                above = block.parent_op()
                if known_reader is not None or block is home or above is None:
                    break  # an op around this block has been seen as a reader already
                reader, block = above, above.parent_block()
        self._readers[value] = last
        return last

    def read_once(self, value: SSAValue, op: Operation) -> bool:
        """`op` reads `value` as one operand, and nothing in its regions does."""
        inside = [use.operation for use in value.uses if self._holds(op, use.operation)]
        return len(inside) == 1 and inside[0] is op

    def is_borrowed(self, fetched: ListOp) -> bool:
        """A list fetched from another one needs no reference of its own: it is used in its block
        only, and never stored, and up to the last use nothing takes a list out of another one.

        The box of a tensor is used to the end of the block: the tensor lies in it.
        """
        (result,) = fetched.outputs
        block = fetched.parent_block()
        assert block is not None and block.last_op is not None
        last: Operation = fetched
        for use in result.uses:
            user: Operation = use.operation
            if not isinstance(user, ListOp) or use.index != 0 or user.parent is not block:
                return False
            if user.action == "unbox":
                user = block.last_op
            if self._is_behind(user, last):
                last = user
        first = bisect_right(self._moves, self._number[fetched])
        return first == len(self._moves) or self._moves[first] > self._end[last]


def _home(value: SSAValue) -> Block | None:
    return value.owner if isinstance(value, BlockArgument) else value.owner.parent_block()


def _moves_lists(op: Operation) -> bool:
    """An action that changes which lists a list holds."""
    if not isinstance(op, ListOp) or not op.writes:
        return False
    type_ = op.arguments[0].type
    return isinstance(type_, ListType) and type_.depth > 1
