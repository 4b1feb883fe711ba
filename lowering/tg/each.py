"""The walk that the passes over single operations share."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Block, Operation


def each(block: Block, rewrite: Callable[[Block, Operation], bool]) -> bool:
    """Ask `rewrite` of the operations of a block in order, of those inside one before that one.

    It may erase the operation that it is asked of. True if it changed anything.
    """
    changed = False
    for op in list(block.ops):
        for region in op.regions:
            for inner in region.blocks:
                changed |= each(inner, rewrite)
        changed |= rewrite(block, op)
    return changed
