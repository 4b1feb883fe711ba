"""Which operations `.code` writes inside their readers.

A value is written inside its reader if that is its only reader, it has no name of its own, and the
order of evaluation stays. Constants always are.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from .ops import (
    ConstantOp,
    EnterOp,
    ExitOp,
    FuncOp,
    GetAttrOp,
    IsInstanceOp,
    LoopOp,
    ModuleContainerIndexOp,
    ReturnOp,
    TaskOp,
    YieldOp,
)
from .value_names import hint_of

_NEVER = IsInstanceOp | EnterOp | ExitOp | TaskOp | ModuleContainerIndexOp


def name_of(value: SSAValue) -> str | None:
    """The name that a value brings; a numbered child of a container brings `_` and its number."""
    owner = value.owner
    if isinstance(owner, GetAttrOp) and owner.attribute.data.isdigit():
        return f"_{owner.attribute.data}"
    return hint_of(value)


def inlined(function: FuncOp) -> set[Operation]:
    """The operations of `function` that are written inside their readers."""
    return _Inliner(function).inline


class _Inliner:
    """Finds the operations that are written inside their readers."""

    def __init__(self, function: FuncOp) -> None:
        self.inline: set[Operation] = set()
        self.block(function.block)

    def block(self, block: Block) -> None:
        for op in reversed(list(block.ops)):
            self.op(op)

    def op(self, op: Operation) -> None:
        if op in self.inline:
            return
        for region in op.regions:
            self.block(region.block)
        self.operands(op, self.before(op))

    def operands(self, op: Operation, point: Operation | None) -> Operation | None:
        for operand in reversed(op.operands):
            owner = operand.owner
            if isinstance(owner, ConstantOp):
                self.inline.add(owner)
            elif owner is point and isinstance(owner, Operation) and self.fits(operand):
                point = self.operands(owner, self.before(owner))
                self.inline.add(owner)
        return point

    def before(self, op: Operation) -> Operation | None:
        found = op.prev_op
        while isinstance(found, ConstantOp):
            found = found.prev_op
        return found

    def fits(self, value: SSAValue) -> bool:
        owner = value.owner
        if not isinstance(owner, Operation) or len(owner.results) != 1 or owner.regions:
            return False
        uses = list(value.uses)
        if len(uses) != 1 or isinstance(owner, _NEVER):
            return False
        user = uses[0].operation
        if name_of(value) is not None and not isinstance(user, ReturnOp | YieldOp):
            return False
        # What a task is given is computed where it is made, not where its body runs. TorchScript
        # writes it into the body of an awaitable, which then sees what was written in between.
        return not (isinstance(user, LoopOp) and uses[0].index >= 2) and not isinstance(
            user, TaskOp
        )
