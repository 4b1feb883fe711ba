"""Maps that read across the direction they write in: by squares, or interleaved where few."""

from __future__ import annotations

from tensorscript.dialects.te.ops import ForOp

from ..schedule import Scheduler
from ..te.affine import accesses, known
from ..te.interleave import interleaves
from ..te.nest import only_child
from ..te.squares import Crossing
from .cpu_vectors import CPUParameters

FEW_SQUARES = 8
"""Of columns, whose loop would be too short to be shared between threads."""
HIGH, LONG = 8, 32
"""Squares along the columns and along the rows of a block: its lines, of 128 rows that are read and
512 that are written, stay in a second cache, and their pages in the table of those in use."""


def in_squares(scheduler: Scheduler, found: Crossing) -> None:
    """Schedule a perfect nest that reads across.

    Squares follow the rows that are read: those run on, as memory likes best, and what is written
    waits for nobody. The other way round, each square's lines are in pages of their own.
    """
    row, column = found.row.var, found.loops[-1].var
    scheduler.do("squares", row, column, found.side)
    rows, columns = (_squares(loop, found.side) for loop in (found.row, found.loops[-1]))
    if columns is not None and columns < FEW_SQUARES:
        return
    order = [f"{column}_o", f"{row}_o"]
    if rows and columns and not rows % LONG and not columns % HIGH:
        sizes = (HIGH, LONG)
        blocks = (scheduler.do("split", *each, "exact") for each in zip(order, sizes, strict=True))
        order = [loop for level in zip(*blocks, strict=True) for loop in level]
    scheduler.do("reorder", *order)


def _squares(loop: ForOp, side: int) -> int | None:
    """How many whole squares lie along a loop; None where that is not known."""
    size = known(loop.extent)
    return None if size is None else size // side


def put_together(scheduler: Scheduler, loop: ForOp, parameters: CPUParameters) -> bool:
    """Interleave a perfect nest whose last loop is short; False where it is another."""
    row, inner = None, loop
    while isinstance(below := only_child(inner.block), ForOp):
        row, inner = inner, below
    if row is None or not interleaves(row, inner, scheduler.nest.buffers):
        return False
    lanes = parameters.vector_bytes // max(4, _narrowest(scheduler, inner))
    if (known(row.extent) or lanes) < lanes:
        return False
    scheduler.do("interleave", row.var, inner.var, lanes)
    return True


def _narrowest(scheduler: Scheduler, loop: ForOp) -> int:
    return min(scheduler.nest.buffers[name].dtype.itemsize for name, _ in accesses(loop))
