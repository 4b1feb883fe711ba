"""How long columns are reduced: the arguments of `stretch` for a loop over columns.

| columns | steps |
|---|---|
| more than fit a row in the first cache | stretches of them, one after the other or by threads |
| fewer | whole rows, which is memory from end to end; threads take parts of the rows |
"""

from __future__ import annotations

from tensorscript.dialects.te.ops import ForOp, FuncOp

from ..te import stretch
from ..te.affine import known

STRETCH = 2048
"""Columns of a stretch: a few pages of reading, well inside the first cache."""
MOST_COLUMNS = 4096
"""Columns that are one stretch, if there are no more."""
LEAST_STRETCH = 256
"""Shorter rows and reductions stay in registers."""
ROWS, ROWS_OF_MEMORY = 4, 8
"""Rows added at once, so that the partial row is read and written that much less often; more keep
more of memory under way where the columns lie in no cache."""
CACHED = 1 << 24
"""Bytes that the last cache keeps."""
FEW_GROUPS = 64
PARTS = 8
"""Of the rows, for the threads."""


def stretch_arguments(loop: ForOp, lanes: int) -> tuple[int, ...] | None:
    """The arguments of `stretch` for a loop whose iterations each reduce a column; None where it is
    another loop, or too short a one."""
    if (column := stretch.column_of(loop)) is None:
        return None
    columns, depth = known(loop.extent), known(column.reduction.extent)
    if any(size is not None and size < LEAST_STRETCH for size in (columns, depth)):
        return None
    size = (columns or 0) * (depth or 0) * column.total.dtype.itemsize
    rows = ROWS_OF_MEMORY if size > CACHED else ROWS
    alone = isinstance(loop.parent_op(), FuncOp)  # no loop around takes the threads
    if not alone or not columns or not depth or columns > MOST_COLUMNS or depth % (PARTS * rows):
        return lanes, STRETCH, rows, _partial_sums(column, (depth or LEAST_STRETCH**2) // rows)
    return lanes, MOST_COLUMNS, rows, _partial_sums(column, depth // rows // PARTS), PARTS


def _partial_sums(column: stretch.Column, groups: int) -> int:
    """Groups of rows in a partial sum: as many as there are partial sums. None are needed for few
    groups, or where rounding does not add up."""
    if column.update.combiner != "add" or not column.update.value.dtype.is_floating_point:
        return 0
    return 0 if groups <= FEW_GROUPS else 1 << max(3, groups.bit_length() // 2)
