"""Blocked products of bfloat16 and of bytes on a matrix unit, which multiplies whole tiles.

The nest is that of products of groups (`contraction_groups.py`), but for its tile: 16 rows and
columns, or a few times that, lie in the unit's registers, and one step of it takes 64 bytes of the
depth of each row and 16 groups of each column.

```
acc[R][C] = 0, or the sums of the blocks of the depth before
for kt in 0 .. depth / step:
    for i in 0 .. R matrix, j in 0 .. C matrix, g in 0 .. 16 matrix, u in 0 .. count matrix:
        acc[i, j] += xp[.., i, kt * step + g * count + u] * yp[.., kt * 16 + g, j, u]
tile = acc, which the epilogue reads; or the sums are, for the next block
```
Bytes of either sign are multiplied as they are. Factors are padded with zeros to whole steps.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Operation

from tensorscript.base.dtypes import DType, bfloat16, int8
from tensorscript.dialects.te.buffers import make_buffer
from tensorscript.dialects.te.expr import Expr, binary, cast, const, load, var
from tensorscript.dialects.te.ops import (
    AllocOp,
    ForOp,
    IfOp,
    PrefetchOp,
    StoreOp,
    UpdateOp,
)

from ..te.affine import known
from .contraction_groups import GroupedProduct, GroupsProduct, worth_grouping
from .contraction_plan import Costs, Lie, Sizes, lines
from .contraction_shape import Product
from .contraction_tile import BLOCK_BYTES, Blocking, divides, many

SIDE = 16
"""Rows and columns of a tile register, and groups of a step."""
ROW_BYTES = 64
"""Of a tile register."""
REGISTERS = 8
ROWS, COLUMNS = 32, 32
"""Of sums: four registers for these and four for factors, each of which is used twice."""
FEW_COLUMNS = 64
"""The same where one register has all rows: most registers for what is read once."""
FEW_READERS = range(2, 5)
"""Panels of rows, which read columns so few times that these are waited for if nobody asks; one
panel reads on and on."""
FEW_PANELS = 2
"""Of columns, which read rows so few times that copying them does not pay."""
DEPTH = 128
"""Groups of four bytes in a block of the depth: a panel of columns takes a third of the first
cache, and stays there while rows pass through."""
COSTS = Costs(pack=0.5, pack_rows=0.5, leaving=0.1, read=0.1, far=0.0, share=0.3, multiply=1 / 256)
"""As measured on an Intel Granite Rapids; what is read lies mostly far, and counts as that."""
LEAST_ROWS = 2
"""Of a product on the unit: one row waits for the other factor, which vectors read as well."""
LEAST_SHARED_WORK = 1 << 21
"""Multiply-adds that repay threads: sixteen times as fast as those of vectors."""


def worth_tiles(form: GroupedProduct, units: frozenset[DType], fixed: frozenset[str]) -> bool:
    """A unit multiplies these dtypes (int8 stands for bytes of either sign), and enough rows read
    what has to be packed of the columns."""
    multiplied = bfloat16 if form.x.dtype is bfloat16 else int8 if form.count == 4 else None
    if multiplied not in units:
        return False
    rows = known(form.product.rows.size)
    return worth_grouping(form, fixed) and (rows is None or rows >= LEAST_ROWS)


def tiles_blocking(product: Product) -> Blocking:
    """The blocking of a product on a matrix unit."""
    rows = known(product.rows.size) or ROWS
    columns = known(product.columns.size) or COLUMNS
    low, narrow = rows <= SIDE, columns <= SIDE
    tall = SIDE if low else ROWS
    wide = SIDE if narrow else FEW_COLUMNS if low and columns > COLUMNS else COLUMNS
    panels = max(1, BLOCK_BYTES // (tall * DEPTH * 4))
    return Blocking(tall, wide, SIDE, DEPTH, panels)


def tiles_misfit(rows: int, columns: int, lanes: int, depth: int, panels: int) -> str | None:
    """Why a blocking is none of a matrix unit."""
    if min(rows, columns, depth, panels) < 1 or lanes != SIDE:
        return f"all parameters are positive, and a tile has {SIDE} lanes"
    if rows % SIDE or columns % SIDE:
        return f"a tile has a multiple of {SIDE} rows and columns"
    tall, wide = rows // SIDE, columns // SIDE
    if tall * wide + min(tall, wide) + 1 > REGISTERS:
        return f"{rows} rows and {columns} columns leave no register for the factors"
    return None if depth % SIDE == 0 else f"a block of the depth has a multiple of {SIDE} groups"


class TilesProduct(GroupsProduct):
    """Writes the blocked nest of one product on a matrix unit, of known depth."""

    depth_step = ROW_BYTES
    rows_kind = "serial"
    most_tasks = 4

    @property
    def step(self) -> int:
        return SIDE * self.count

    def _plain(self) -> frozenset[str]:
        """Rows that lie along the depth, of whole steps, where few panels of columns read them:
        unless they begin at a line, each row of a register lies in two."""
        x, rows = Lie.of(self.form.x, self.buffers, self.p.rows, self.p.depth), known(self.m) or 0
        whole = divides(self.k, self.step) and rows >= self.tile.rows
        few = (known(self.panels_n) or 0) <= FEW_PANELS
        return frozenset(["x"] if few and whole and x and x.depth == x.itemsize else [])

    def _sizes(self, whole: bool) -> Sizes:
        return replace(super()._sizes(whole), costs=COSTS)

    def _repays_threads(self) -> bool:
        return many(self.m, self.n, self.k, least=LEAST_SHARED_WORK)

    def task_storage(self) -> list[Operation]:
        shape = [self.tile.rows, self.tile.columns]
        registers = make_buffer("acc", self.dtype, shape)
        return [
            AllocOp(registers, "tile"),
            AllocOp(make_buffer("tile", self.dtype, shape), "stack"),
        ]

    def _moved(self, suffix: str, buffer: str, place: list[Expr], value: Expr) -> Operation:
        """All registers filled or emptied."""
        columns = ForOp(f"j{suffix}", self.tile.columns, [StoreOp(buffer, place, value)], "matrix")
        return ForOp(f"i{suffix}", self.tile.rows, [columns], "matrix")

    def _acc(self, suffix: str) -> list[Expr]:
        return [var(f"i{suffix}"), var(f"j{suffix}")]

    def micro_kernel(self) -> list[Operation]:
        clear = self._moved("0t", "acc", self._acc("0t"), const(0, self.dtype))
        start: list[Operation] = [clear]
        if not self.single:
            kept = load("sums", self._sum_place("5t"), self.dtype)
            again = self._moved("5t", "acc", self._acc("5t"), kept)
            start = [IfOp(binary("eq", var("kb"), 0), [clear], [again])]
        first, fetch = self._fetch_next()
        step = [self._multiply(), *fetch]
        return [*start, *first, ForOp("kt", self.turns, step, reduction=True), *self._finish()]

    def _fetch_next(self) -> tuple[list[Operation], list[Operation]]:
        """The next panel of columns, step by step, where few panels of rows read it from afar."""
        if self.plan.y != "before" or known(self.panels_m) not in FEW_READERS:
            return [], []
        group, dtype = self.first_group + var("kt") * SIDE, self.form.y.dtype
        columns = [j // self.count for j in lines(self.tile.columns * self.count, dtype)]
        places = [
            [self.y_slot + 1, group + g, const(j), const(0)] for g in range(SIDE) for j in columns
        ]
        return [], [PrefetchOp(load("yp", place, dtype)) for place in places]

    def _multiply(self) -> Operation:
        i, j, g, u = (var(f"{name}2t") for name in "ijgu")
        number = g * self.count + u
        k = var("kt") * self.step + number
        if self.plan.x == "none":
            a = self._at(self.form.x, self.p.rows, self._rows()[0] + i, self.first_k + k)
        else:
            first = self.first_k if self.plan.x == "before" else const(0)
            a = load("xp", [self.x_slot, i, first + k], self.form.x.dtype)
        group = self.first_group + var("kt") * SIDE + g
        b = load("yp", [self.y_slot, group, j, u], self.form.y.dtype)
        value = cast(a, self.dtype) * cast(b, self.dtype)
        body: Operation = UpdateOp("acc", [i, j], "add", value)
        body = ForOp("u2t", self.count, [body], "matrix", reduction=True)
        body = ForOp("g2t", SIDE, [body], "matrix", reduction=True)
        body = ForOp("j2t", self.tile.columns, [body], "matrix")
        return ForOp("i2t", self.tile.rows, [body], "matrix")

    def _finish(self) -> list[Operation]:
        out = self._moved("3t", "tile", self._acc("3t"), load("acc", self._acc("3t"), self.dtype))
        final = [out, self._store_tile()]
        if self.single:
            return final
        kept = load("acc", self._acc("1t"), self.dtype)
        keep = self._moved("1t", "sums", self._sum_place("1t"), kept)
        return [IfOp(binary("eq", var("kb"), self.depth_blocks - 1), final, [keep])]

    def total(self) -> Expr:
        return load("tile", self._acc("4t"), self.dtype)
