"""Steps that a schedule of any target starts with, and questions about loops."""

from __future__ import annotations

from xdsl.ir import Block

from tensorscript.dialects.te.ops import ForOp, FuncOp

from ..schedule import Scheduler
from ..te import collapse, unfuse


def collapse_all(scheduler: Scheduler, block: Block) -> None:
    """Collapse all loops that can be, in a block and what is inside it (innermost first)."""
    for op in list(block.ops):
        for region in op.regions:
            collapse_all(scheduler, region.block)
        if not isinstance(op, ForOp) or not isinstance(inner := op.block.first_op, ForOp):
            continue
        if collapse.check(scheduler.nest, op.var, inner.var) is None:
            scheduler.do("collapse", op.var, inner.var)


def unfuse_all(scheduler: Scheduler) -> None:
    """Two loops for each whose variable is divided by a size that the program finds."""
    if not scheduler.func.scalars:
        return
    left = list(scheduler.nest.loops)
    while left:
        name = left.pop()
        if name in scheduler.nest.loops and unfuse.check(scheduler.nest, name) is None:
            before = set(scheduler.nest.loops)
            scheduler.do("unfuse", name)
            left += set(scheduler.nest.loops) - before


def outer_loops(func: FuncOp) -> tuple[list[ForOp], Block]:
    """The loops around all of a function's work, outermost first, and the inner one's block."""
    loops: list[ForOp] = []
    block = func.block
    while True:
        only = list(block.ops)
        if len(only) != 1 or not isinstance(only[0], ForOp) or only[0].is_reduction:
            return loops, block
        loops.append(only[0])
        block = only[0].block
