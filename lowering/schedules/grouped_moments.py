"""Where reductions of columns to means and squares of differences read each group of rows once."""

from __future__ import annotations

from itertools import combinations

from xdsl.ir import Block

from tensorscript.dialects.te.expr import Expr, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, StoreOp, UpdateOp

from ..schedule import Scheduler
from ..te import moments
from ..te.affine import accesses, coefficient, flat_index, known
from ..te.rebuild import substituting
from ..te.squares import SAME_SET
from .columns import cut_reductions, is_long, is_reduction_of_one
from .cpu_vectors import CPUParameters, loops_in

ROWS, FEW_ROWS = 16, 8
"""Rows of a group, whose vectors stay in registers: of 32 there are, or of 16. Rows that share
a set of the first cache are few, too: it holds 8 lines or a few more."""
LEAST_GROUPS = 2
LEAST_COLUMNS = 16
"""Fewer do not fill a vector."""


def group_moments(scheduler: Scheduler, block: Block, parameters: CPUParameters) -> None:
    """Have loops of a block that reduce the same columns, if any, read them once."""
    for first, second in combinations(list(loops_in(block)), 2):
        found = moments.moments_at(first, second)
        if isinstance(found, str):
            continue
        rows = _rows(scheduler, first, found.sums.reduction, parameters)
        if rows and moments.check(scheduler.nest, first.var, second.var, rows) is None:
            scheduler.do("moments", first.var, second.var, rows)


def cut_moments(scheduler: Scheduler, loop: ForOp, parameters: CPUParameters) -> Block | None:
    """The block of the loops that a loop over columns is cut into for them to be read once, or by
    stretches; None where they stay together."""
    reductions = [op for op in loop.block.ops if isinstance(op, ForOp)]
    if len(reductions) != 2 or not all(is_reduction_of_one(r) for r in reductions):
        return None
    if not all(isinstance(op, ForOp | AllocOp | StoreOp) for op in loop.block.ops):
        return None
    first, second = reductions
    element, square = (_update(r).value for r in reductions)
    if moments.centre_of(square, substituting({first.var: var(second.var)})(element)) is None:
        return None
    if _pitches(scheduler, loop, first) is None:
        return None
    if not _rows(scheduler, loop, first, parameters) and not is_long(loop, first):
        return None
    cut_reductions(scheduler, loop)
    return loop.parent


def _update(reduction: ForOp) -> UpdateOp:
    update = reduction.block.first_op
    assert isinstance(update, UpdateOp)  # the callers have looked
    return update


def _rows(scheduler: Scheduler, loop: ForOp, reduction: ForOp, parameters: CPUParameters) -> int:
    """Rows of a group; 0 where the columns do not lie side by side in a buffer of the function, are
    too few for vectors, or of too few rows for groups."""
    columns, depth = known(loop.extent), known(reduction.extent)
    if columns is None or columns < LEAST_COLUMNS or depth is None:
        return 0
    if (pitches := _pitches(scheduler, loop, reduction)) is None:
        return 0
    together = any(p.is_const and int(str(p)) % SAME_SET == 0 for p in pitches)
    rows = ROWS if parameters.vector_bytes >= 64 and not together else FEW_ROWS
    return rows if depth >= LEAST_GROUPS * rows else 0


def _pitches(scheduler: Scheduler, loop: ForOp, reduction: ForOp) -> list[Expr] | None:
    """The bytes from row to row of what a reduction reads; None where the columns do not lie side
    by side in buffers of the function."""
    found = []
    for name, indices in accesses(_update(reduction)):
        if (buffer := scheduler.nest.buffers.get(name)) is None:
            return None
        position = flat_index(buffer, indices)
        pitch, step = coefficient(position, reduction.var), coefficient(position, loop.var)
        if pitch is not None and pitch.is_int(0):
            continue
        if pitch is None or step is None or not step.is_int(1):
            return None
        found.append(pitch * buffer.dtype.itemsize)
    return found
