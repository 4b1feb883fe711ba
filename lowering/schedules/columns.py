"""How long columns are reduced: the arguments of `stretch` for a loop over columns.

| columns | steps |
|---|---|
| more than fit a row in the first cache | stretches of them, one after the other or by threads |
| fewer | whole rows, which is memory from end to end; threads take parts of the rows |
| so few that stretches would be short | several rows are one (`fold`); then as above |
"""

from __future__ import annotations

from tensorscript.dialects.te.ops import AllocOp, ForOp, FuncOp, StoreOp, UpdateOp

from ..schedule import Scheduler
from ..te import stretch
from ..te.affine import known
from ..te.fold import strided

STRETCH = 2048
"""Columns of a stretch: a few pages of reading, well inside the first cache."""
MOST_COLUMNS = 4096
"""Columns that are one stretch, if there are no more."""
LEAST_STRETCH = 256
"""Shorter rows stay in registers."""
LEAST_DEPTH = 32
"""So do shorter reductions."""
ROWS, MANY_ROWS = 4, 8
"""Rows added at once, so that the partial row is read and written that much less often; more keep
more of memory under way where the columns lie in no cache, and widen fewer sums."""
CACHED = 1 << 24
"""Bytes that the last cache keeps."""
FEW_GROUPS = 64
PARTS = 8
"""Of the rows, for the threads."""
LEAST_SHARED = 2 * PARTS
"""Times that rows are added, at least, for threads to take parts."""
WIDTH, LEAST_WIDTH = 512, 64
"""Elements of a row that folds make at least: for threads and stretches, and of small tensors, for
the vectors in flight."""
SMALL = 1 << 15
"""Elements of a tensor that one thread reduces in no time."""


def stretch_arguments(loop: ForOp, lanes: int) -> tuple[int, ...] | None:
    """The arguments of `stretch` for a loop whose iterations each reduce a column; None where it is
    another loop, or too short a one."""
    if (column := stretch.column_of(loop)) is None:
        return None
    if not is_long(loop, column.reduction):
        return None
    columns, depth = known(loop.extent), known(column.reduction.extent)
    size = (columns or 0) * (depth or 0) * column.total.dtype.itemsize
    widens = column.total.dtype.itemsize > column.update.value.dtype.itemsize
    rows = MANY_ROWS if size > CACHED or widens else ROWS
    alone = isinstance(loop.parent_op(), FuncOp)  # no loop around takes the threads
    if (
        not alone
        or not columns
        or columns > MOST_COLUMNS
        or not depth
        or depth < LEAST_SHARED * rows
    ):
        return lanes, STRETCH, rows, _partial_sums(column, (depth or LEAST_STRETCH**2) // rows)
    return lanes, MOST_COLUMNS, rows, _partial_sums(column, depth // rows // PARTS), PARTS


def is_long(loop: ForOp, reduction: ForOp) -> bool:
    """Rows do not stay in registers: neither they nor the reduction is known to be short."""
    columns, depth = known(loop.extent), known(reduction.extent)
    long_rows = columns is None or columns >= LEAST_STRETCH
    return long_rows and (depth is None or depth >= LEAST_DEPTH)


def _partial_sums(column: stretch.Column, groups: int) -> int:
    """Groups of rows in a partial sum: as many as there are partial sums. None are needed for few
    groups, or where rounding does not add up."""
    if column.update.combiner != "add" or not column.update.value.dtype.is_floating_point:
        return 0
    return 0 if groups <= FEW_GROUPS else 1 << max(3, groups.bit_length() // 2)


def folded_rows(loop: ForOp) -> int:
    """How many rows of the columns that a loop reduces to make one; 0 where they stay."""
    columns, depth = known(loop.extent), None
    for op in loop.block.ops:
        if isinstance(op, ForOp):
            size = known(op.extent)
            if not is_reduction_of_one(op) or depth not in (None, size):
                return 0
            depth = size
        elif not isinstance(op, AllocOp | StoreOp):
            return 0
    if not columns or not depth:
        return 0
    width = WIDTH if columns * depth >= SMALL else LEAST_WIDTH
    rows = 1
    while rows * columns < width and 2 * LEAST_GROUPS * rows <= depth:
        rows *= 2
    return rows if rows > 1 else 0


LEAST_GROUPS = 4
"""Long rows that there are at least."""


def is_reduction_of_one(loop: ForOp) -> bool:
    """A reduction loop from 0 with one update in it."""
    first = loop.block.first_op
    alone = isinstance(first, UpdateOp) and first.next_op is None
    return loop.is_reduction and alone and loop.start.is_int(0)


def fold_columns(scheduler: Scheduler, loop: ForOp) -> list[str]:
    """Fold each reduction in a loop over few columns; the loops that there are then, in order: none
    where they are not that few, do not lie one after the other, or the loop stays as it is."""
    if not (rows := folded_rows(loop)):
        return []
    for op in loop.block.ops:
        if not isinstance(op, ForOp):
            continue
        update = op.block.first_op
        assert isinstance(update, UpdateOp)  # `folded_rows` has seen it
        if strided(scheduler.nest, loop, op, update) is not None:
            return []
    pieces = cut_reductions(scheduler, loop)
    if pieces == [loop.var] and stretch.column_of(loop) is None:
        return []
    made = []
    for name in pieces:
        if stretch.column_of(scheduler.nest.loops[name]) is None:
            made.append(name)
            continue
        block = scheduler.nest.loops[name].parent
        new = scheduler.do("fold", name, rows)
        made += [n for n in new if scheduler.nest.loops[n].parent is block] + [name]
    return made


def cut_reductions(scheduler: Scheduler, loop: ForOp) -> list[str]:
    """A loop with several reductions as one for each, and one for what is between and behind."""
    if stretch.column_of(loop) is not None:
        return [loop.var]
    for op in list(loop.block.ops):
        if isinstance(op, AllocOp):
            scheduler.do("expand", op.buffer.name, loop.var)
    body = list(loop.block.ops)
    cuts = set()
    for place, op in enumerate(body):
        if isinstance(op, ForOp):
            cuts |= {place - 1, place + 1}
    places = sorted(cuts - {0, len(body)})
    return [loop.var, *(scheduler.do("distribute", loop.var, *places) if places else ())]
