"""Walks over nested ops."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation


def walk_ops(top: Operation | Block) -> Iterator[Operation]:
    """The ops inside an op or a block, outer before inner, in program order.

    A walk of nested generators passes each op through all that are around it; this one takes the
    same time for each op, however deeply it stands. The caller may detach the op it was given.
    """
    pending = _first_ops(top)
    while pending:
        op = pending.pop()
        if (following := op.next_op) is not None:
            pending.append(following)
        yield op
        pending += _first_ops(op)


def _first_ops(top: Operation | Block) -> list[Operation]:
    """The first op of each block, the first block's last."""
    blocks = [top] if isinstance(top, Block) else [b for r in top.regions for b in r.blocks]
    return [block.first_op for block in reversed(blocks) if block.first_op is not None]
