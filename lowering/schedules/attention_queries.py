"""The queries of a panel: which rows these are, and where the first product reads them.

The last panel of a block begins earlier where it would reach beyond the last query: some rows are
computed twice, with the same results, and none is asked whether it is there. Where a panel may not
begin earlier, rows beyond the last query repeat it, and are not stored.
```
x[i, k] = q(first + i, k)                                   where rows lie along the depth
for i, k { qp[i, k] = q(first + i, k) };  x[i, k] = qp[i, k]                 elsewhere
```
"""

from __future__ import annotations

from collections import Counter

from xdsl.ir import Operation

from tensorscript.base.dtypes import DType
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer, make_buffer
from tensorscript.dialects.te.expr import Expr, binary, load, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, StoreOp
from tensorscript.dialects.te.rewriting import substitute

from ..te.affine import coefficient, flat_index, known
from ..te.lanes import vectorize_map
from .attention_shape import Attention
from .attention_tile import AttentionBlocking
from .contraction_tile import ceil_div, divides

LINE_BYTES = 64
WAY_BYTES = 1 << 12
"""Of a first cache: lines that lie so far apart share a set. Caches that are looked up while an
address is translated have ways as large as a page."""
LINES_OF_A_SET = 4
"""That the rows of a panel may take; sets have 8 lines or 12."""


@dataclass(frozen=True)
class Queries:
    """The rows of panels, `first` being the first one of a panel."""

    a: Attention
    buffers: dict[str, Buffer]
    dtype: DType
    blocking: AttentionBlocking

    @property
    def _count(self) -> int | None:
        return known(self.a.row.size)

    @property
    def are_whole(self) -> bool:
        """All rows of each panel are queries: the last block has rows enough for one panel."""
        if (count := self._count) is None:
            return False
        return (count - 1) % self.blocking.queries + 1 >= self.blocking.rows

    def first(self, block: Expr, panel: Expr) -> Expr:
        """The first row of a panel of a block."""
        rows, size = self.blocking.rows, self.a.row.size
        at = block * self.blocking.queries + panel * rows
        if not self.are_whole or divides(size, rows):
            return at
        return binary("min", at, size - rows)

    def panels(self, block: Expr) -> Expr:
        """Panels of a block."""
        most, left = self.blocking.queries, self.a.row.size - block * self.blocking.queries
        return ceil_div(binary("min", left, most), self.blocking.rows)

    def row(self, first: Expr, within: Expr) -> Expr:
        """A row of a panel, or the last query instead of what lies beyond."""
        row = first + within
        return row if self.are_whole else binary("min", row, self.a.row.size - 1)

    @property
    def are_read_in_place(self) -> bool:
        """Rows lie along the depth, and not all of them in the same few sets of the first cache."""
        q, a = self.a.q, self.a
        if q.op != "load" or not self.are_whole:
            return False
        buffer = self.buffers[str(q.value)]
        position = flat_index(buffer, q.args)
        step, row = coefficient(position, a.depth.names[0]), coefficient(position, a.row.names[0])
        if buffer.dtype is not self.dtype or step is None or not step.is_int(1):
            return False
        if row is None or (apart := known(row)) is None:
            return False
        at = [i * apart * self.dtype.itemsize for i in range(self.blocking.rows)]
        sets = Counter(place % WAY_BYTES // LINE_BYTES for place in at)
        return max(sets.values()) <= LINES_OF_A_SET

    def at(self, first: Expr, within: Expr, k: Expr) -> Expr:
        """What the first product reads of a row."""
        if self.are_read_in_place:
            return self._value(first, within, k)
        return load("qp", [within, k], self.dtype)

    def _value(self, first: Expr, within: Expr, k: Expr) -> Expr:
        at = {self.a.row.names[0]: self.row(first, within), self.a.depth.names[0]: k}
        return substitute(self.a.q, at)

    def pack(self, first: Expr) -> list[Operation]:
        """The panel's rows, converted and side by side."""
        if self.are_read_in_place:
            return []
        rows, depth = self.blocking.rows, int(str(self.a.depth.size))
        value = self._value(first, var("iw"), var("rw"))
        loop = ForOp("rw", depth, [StoreOp("qp", [var("iw"), var("rw")], value)])
        copy = vectorize_map(loop, min(2 * self.blocking.lanes, max(4, depth)))
        queries = make_buffer("qp", self.dtype, (rows, depth))
        return [AllocOp(queries, "stack"), ForOp("iw", rows, copy)]
