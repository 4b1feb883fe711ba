"""Products whose rows are read right behind them, as by a softmax or a norm.

```
for each task, a block of rows (parallel):
    the blocked product of these rows and all columns, into block[rows][columns]
    for each of the rows: its readers
```
A block of rows is in the caches when its readers come, and what only they want of it is never
written to memory. The form is made by `lowering/tg/product_rows.py`; the product is blocked as
others are (`contraction.py`), and what reads the rows is scheduled as other rows are
(`cpu_rows.py`).
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Operation

from tensorscript.base.dtypes import DType
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import make_buffer
from tensorscript.dialects.te.expr import Expr, binary, cast, load, var
from tensorscript.dialects.te.ops import (
    AllocOp,
    ForOp,
    FuncOp,
    StoreOp,
)
from tensorscript.dialects.te.rewriting import replace_loads

from ..te.affine import all_buffers, known
from ..te.rebuild import copy_all
from .contraction import BlockedProduct
from .contraction_plan import Plan
from .contraction_shape import (
    SUM_DTYPES,
    Axis,
    Product,
    Spots,
    perfect_loops,
    product_in_row,
    rows_apart,
)
from .contraction_tile import Blocking, ceil_div, divides

ROW = "ir"
"""The loop over the rows of a block."""
BLOCK_BYTES = 1 << 16
"""Of a block of rows: it is in a near cache when its readers come."""


@dataclass(frozen=True)
class ProductWithRows:
    """A product and what reads its rows.

    Attributes:
        kept: whether its sums are for the readers only.
        readers: of one row.
    """

    product: Product
    kept: bool
    readers: tuple[Operation, ...]


def product_with_rows(func: FuncOp) -> ProductWithRows | None:
    """The form that a logical function has, None if it has another."""
    loops, body = perfect_loops(func)
    first = body[0] if body else None
    summed = first.buffer.name if isinstance(first, AllocOp) else None
    if summed is not None:
        body = body[1:]
    if len(body) < 2:
        return None
    rows = Axis([loop.var for loop in loops], [loop.extent for loop in loops])
    if (product := product_in_row(rows, body[0])) is None:
        return None
    if summed not in (None, product.target.buffer):
        return None
    product = rows_apart(product, all_buffers(func))
    return ProductWithRows(product, summed is not None, tuple(body[1:]))


class _WithRows(BlockedProduct):
    """Writes the nest of one product and the readers of its rows."""

    def __init__(
        self, func: FuncOp, form: ProductWithRows, blocking: Blocking, dtype: DType, whole: bool
    ) -> None:
        self.form = form
        columns = known(form.product.columns.size) or 1
        row_bytes = columns * form.product.target.value.dtype.itemsize
        self.most_panels = max(1, min(blocking.panels, BLOCK_BYTES // (row_bytes * blocking.rows)))
        super().__init__(func, form.product, blocking, dtype, whole)
        most = self.most_panels if known(self.m) is None else self._most_panels_here()
        stored = self.p.target.value.dtype
        self.block_rows = make_buffer("block", stored, [most * self.tile.rows, self.n])

    def _most_panels_here(self) -> int:
        return -(-(known(self.panels_m) or 1) // (known(self.blocks) or 1))

    @property
    def by_rows(self) -> bool:
        return False

    def _plan(self, whole: bool) -> Plan:
        """Tasks have whole rows, some that stay near, so that columns are packed before them."""
        found = super()._plan(whole)
        if (panels := known(self.panels_m)) is None:
            return found
        blocks = max(-(-panels // self.most_panels), min(panels, self.tasks))
        y = "before" if found.y == "task" else found.y
        return replace(found, blocks=blocks, chunks=1, y=y)

    def _unknown_blocks(self) -> Expr:
        return ceil_div(self.panels_m, self.most_panels)

    def _results(self, row: Expr, column: Expr) -> list[Operation]:
        if not self.form.kept:
            return super()._results(row, column)
        total = cast(self.total(), self.p.target.value.dtype)
        return [StoreOp("block", [row - self._first_row, column], total)]

    @property
    def _first_row(self) -> Expr:
        return self.first_panel * self.tile.rows

    def _tasks(self, task: list[Operation]) -> Operation:
        kept = [AllocOp(self.block_rows, "stack")] if self.form.kept else []
        body = [*kept, *task, self._readers()]
        if self.tasks == 1:
            return ForOp("tb", self.blocks, body)
        grain = max(1, (known(self.blocks) or 1) // self.tasks)
        return ForOp("tb", self.blocks, body, "parallel", grain=grain)

    def _readers(self) -> Operation:
        """The readers of each of the task's rows."""
        count = self.panels_here() * self.tile.rows
        if not divides(self.m, self.tile.rows):
            count = binary("min", count, self.m - self._first_row)
        spots = Spots(self.buffers, ((self.p.rows, self._first_row + var(ROW)),))
        summed = self.p.target.buffer

        def through(n: Expr) -> Expr | None:
            if n.value != summed or not self.form.kept:
                return None
            return load("block", [var(ROW), n.args[-1]], n.dtype)

        readers = copy_all(self.form.readers, lambda e: replace_loads(spots.expression(e), through))
        return ForOp(ROW, count, readers)


def product_before_rows(
    func: FuncOp, form: ProductWithRows, blocking: Blocking, whole: bool = False
) -> list[Operation]:
    """The nest of a product and the readers of its rows.

    Args:
        whole: the second factor is packed when the program is compiled.
    """
    dtype = SUM_DTYPES[form.product.target.value.dtype]
    product = form.product
    product = replace(product, x=cast(product.x, dtype), y=cast(product.y, dtype))
    return _WithRows(func, replace(form, product=product), blocking, dtype, whole).build()
