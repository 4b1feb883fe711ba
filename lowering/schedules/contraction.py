"""Blocked matrix products for the CPU, after Goto and van de Geijn, "Anatomy of High-Performance
Matrix Multiplication" (2008), and BLIS.

```
for each task, a block of rows and a run of column panels (parallel):
    for each block of depth KC:
        pack the rows of X into panels xp[m / MR][k][MR]          (stays in the L2 cache)
        for each column panel:
            pack it from Y into yp[k][NR]                         (stays in the L1 cache)
            for each row panel:
                tile[MR][NR] in registers = xp[.., k, :] outer yp[k, :]   over the depth block
                add the tile to the sums, on the last depth block through the epilogue
```
Either packing may be done once before the tasks, or left out where a factor can be read as it lies
(`contraction_plan.py`). A tile starts at zero in each depth block: the rounding errors of a sum
grow with the length of its chains of additions. Blocks differ by a panel at most, so that no thread
waits for another's larger one.
Panels are padded with zeros, so the inner loop has no edges; stores are guarded where a size does
not divide. The tile uses all vector registers but those for one row of Y and the broadcast of X.
While a packed panel of columns is multiplied, the next one is fetched from memory. A task keeps its
sums to itself, where the next one that its thread does finds them cached, and tile by tile: rows a
power of two apart would push each other out of the caches.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Operation

from tensorscript.base.dtypes import DType
from tensorscript.dialects.te.buffers import make_buffer
from tensorscript.dialects.te.expr import Expr, binary, cast, const, load, mul, select, var
from tensorscript.dialects.te.ops import (
    AllocOp,
    ForOp,
    FuncOp,
    IfOp,
    LetOp,
    PrefetchOp,
    StoreOp,
    UpdateOp,
)
from tensorscript.dialects.te.rewriting import substitute

from ..te.affine import known
from ..te.nest import Nest, copy_fresh
from .contraction_factors import FoundRows, PackedFactors
from .contraction_plan import (
    FEW_PANELS,
    SUMS_BYTES,
    Packing,
    hides_fetching,
    is_streamed,
    lines,
)
from .contraction_shape import SUM_DTYPES, Product, results
from .contraction_tile import (
    TILE_COST,
    Blocking,
    ceil_div,
    divides,
    loops_around,
    many,
    part,
)

STEPS_AHEAD = 8
"""Of the depth, in which a line comes from the second cache to the first."""
PANELS_AHEAD = 2
"""Panels of columns that are streamed: the line beside the one at hand comes with it by itself."""
NEAR_SUMS = 1 << 13
"""Bytes of sums that stay in the first cache, beside factors."""


class BlockedProduct(PackedFactors):
    """Writes the blocked nest of one product."""

    rows_kind = "unroll"
    """How the rows of a tile are gone over."""

    def __init__(
        self,
        func: FuncOp,
        product: Product,
        blocking: Blocking,
        dtype: DType,
        whole: bool,
        found_rows: FoundRows | None = None,
    ) -> None:
        super().__init__(func, product, blocking, dtype, whole, found_rows)
        # Lines of columns that are read from afar as they lie are asked for long before.
        self.streams = self.plan.y == "none" and is_streamed(product, dtype)
        # A thread reads on and on in them, as far as its sums stay in the second cache.
        self.sweeps = self.streams and self.tasks > 1 and self.blocks.is_int(1)
        tile, rows = self.tile, self.kept_panels
        self.most_columns = ceil_div(self.panels_n, self.chunks)
        if self.sweeps:
            row_bytes = (known(rows) or 1) * tile.rows * tile.columns * dtype.itemsize
            self.most_columns = binary("min", self.panels_n, max(1, SUMS_BYTES // row_bytes))
        self.sums = make_buffer("sums", dtype, [self.most_columns, rows, tile.rows, tile.columns])

    @property
    def first_column_panel(self) -> Expr:
        if not self.sweeps:
            return super().first_column_panel
        return var("tb") + var("tc") * self.most_columns

    @property
    def column_panels_here(self) -> Expr:
        """Column panels that a task goes over."""
        if not self.sweeps:
            end = part(self.chunk + 1, self.panels_n, const(self.chunks))
            return end - self.first_column_panel
        return binary("min", self.most_columns, var("tn") - var("tc") * self.most_columns)

    def task_storage(self) -> list[Operation]:
        """What a task keeps for all of its tiles."""
        return []

    def _side(self, way: Packing, start: Expr, size: Expr, tile: int) -> tuple[Expr, Expr | None]:
        """Where a tile starts along a side, and the first position that it stores, None for all
        that there are: where a factor is read as it lies, the last tile is moved back."""
        if way != "none" or divides(size, tile):
            return start, None
        return binary("min", start, size - tile), start

    def _rows(self) -> tuple[Expr, Expr | None]:
        if self.found_rows is None:
            return self._rows_of_tile()
        return var("row"), None if self._rows_of_tile()[1] is None else var("new")

    def _rows_of_tile(self) -> tuple[Expr, Expr | None]:
        start = (self.first_panel + var("iq")) * self.tile.rows
        return self._side(self.plan.x, start, self.m, self.tile.rows)

    def _names_of_tile(self) -> list[Operation]:
        """What would be computed in every step from a number of rows that the program finds."""
        if self.found_rows is None:
            return []
        row, new = self._rows_of_tile()
        return [LetOp("row", row), *([] if new is None else [LetOp("new", new)])]

    def _columns(self) -> tuple[Expr, Expr | None]:
        return self._side(self.plan.y, var("jq") * self.tile.columns, self.n, self.tile.columns)

    def _over_tile(self, suffix: str, body: list[Operation]) -> Operation:
        """Loop over the tile, columns as vectors."""
        columns = ForOp("j" + suffix, self.tile.columns, body, "vector")
        return ForOp("i" + suffix, self.tile.rows, [columns], self.rows_kind)

    def _store_tile(self) -> Operation:
        """The sums go through the epilogue, those beyond the matrix left out."""
        (row, first_row), (column, first_column) = self._rows(), self._columns()
        row, column = row + var("i4t"), column + var("j4t")
        inner = self._results(row, column)
        if not divides(self.n, self.tile.columns):
            new = column < self.n if first_column is None else column >= first_column
            inner = [IfOp(new, inner)]
        rows: list[Operation] = [ForOp("j4t", self.tile.columns, inner, "vector")]
        if not divides(self.m, self.tile.rows):
            rows = [IfOp(row < self.m if first_row is None else row >= first_row, rows)]
        return ForOp("i4t", self.tile.rows, rows, self.rows_kind)

    def micro_kernel(self) -> list[Operation]:
        tile = make_buffer("tile", self.dtype, [self.tile.rows, self.tile.columns])
        clear = StoreOp("tile", [var("i0t"), var("j0t")], self.first_sum(var("j0t")))
        steps, value = self.steps()
        step = UpdateOp("tile", [var("i2t"), var("j2t")], "add", value)
        first, fetch = self._fetch_next()
        body = [self._over_tile("2t", [step]), *self._fetch_rows(), *fetch]
        return [
            *self._names_of_tile(),
            AllocOp(tile, "reg"),
            self._over_tile("0t", [clear]),
            *self._fetch_sums(),
            *first,
            ForOp("kt", steps, body, reduction=True),
            *self._finish(),
        ]

    def first_sum(self, column: Expr) -> Expr:
        """Where the sums of a column of a tile start."""
        return const(0, self.dtype)

    def _fetch_next(self) -> tuple[list[Operation], list[Operation]]:
        """The next panel of columns comes into the second cache, row by row.

        Returns:
            What stands before the loop over the depth, and what each of its steps does.
        """
        if self.streams:
            column = (var("jq") + PANELS_AHEAD) * self.tile.columns
            k = self.first_k + var("kt")
            ahead = lines(self.tile.columns, self.dtype)
            return [], [PrefetchOp(self.columns.value(column + j, k)) for j in ahead]
        if (
            self.plan.y != "before"
            or not hides_fetching(self.tile, self.dtype)
            or self.panels_n.is_int(1)
        ):
            return [], []
        columns = lines(self.tile.columns, self.dtype)
        fetched = [self.packed_column(self.y_slot + 1, const(j)) for j in columns]
        panels, steps = known(ceil_div(self.panels_m, self.blocks)), known(self.most_turns)
        if panels is None or steps is None or panels == 1:
            return [], [PrefetchOp(line) for line in fetched]
        return self._fetch_parts(fetched, panels, steps)

    def _fetch_parts(
        self, fetched: list[Expr], panels: int, steps: int
    ) -> tuple[list[Operation], list[Operation]]:
        """Each panel of rows asks for its part of the next panel of columns: the first one would
        wait for all of it. Parts are a power of two, so that a step takes no division."""
        parts = 1 << (panels.bit_length() - 1)
        first = binary("min", var("iq"), parts - 1) * -(-steps // parts)
        slot, row, *_ = fetched[0].args
        place = slot * self.yp.shape[1] + substitute(row, {"kt": first})
        row = var("ahead") + var("kt") // parts
        ops: list[Operation] = [
            PrefetchOp(load("yp", [const(0), row, *e.args[2:]], e.dtype)) for e in fetched
        ]
        return [LetOp("ahead", place)], ops

    def _fetch_rows(self) -> list[Operation]:
        """Packed rows that the tile takes some steps later, and behind its last step those of the
        next one, come into the first cache: a panel is read once for each panel of columns, and
        the columns with it push it out."""
        if self.plan.x == "none" or not hides_fetching(self.tile, self.dtype):
            return []
        step = self.packed_k(self.plan.x) + STEPS_AHEAD
        places = [[self.x_slot, step, const(i)] for i in lines(self.packer.width, self.dtype)]
        return [PrefetchOp(load("xp", place, self.dtype), 1) for place in places]

    def _fetch_sums(self) -> list[Operation]:
        """The sums that the tile will be added to come near while it multiplies, unless all that a
        task keeps stay near."""
        is_far = many(*self.sums.shape, least=NEAR_SUMS // self.dtype.itemsize)
        if self.single or not is_far or not hides_fetching(self.tile, self.dtype):
            return []
        return [
            PrefetchOp(load("sums", [*self._sums_of_tile, const(i), const(j)], self.dtype), 1)
            for i in range(self.tile.rows)
            for j in lines(self.tile.columns, self.dtype)
        ]

    def steps(self) -> tuple[Expr, Expr]:
        """How many steps a tile takes over a block of the depth, and what each adds to it."""
        k = self.first_k + var("kt")
        if self.plan.x == "none":
            a = self.packer.value(self._rows()[0] + var("i2t"), k)
        else:
            a = load("xp", [self.x_slot, self.packed_k(self.plan.x), var("i2t")], self.dtype)
        if self.plan.y == "none":
            b = self.columns.value(self._columns()[0] + var("j2t"), k)
        else:
            b = self.packed_column(self.y_slot, var("j2t"))
        return self.depth_extent(), a * b

    def packed_column(self, slot: Expr, column: Expr) -> Expr:
        """An element of a packed panel of columns, at the step of the depth."""
        return load("yp", [slot, self.packed_k(self.plan.y), column], self.dtype)

    def packed_k(self, way: Packing) -> Expr:
        """The step of the depth in a packed factor."""
        return self.first_k + var("kt") if way == "before" else var("kt")

    @property
    def most_turns(self) -> Expr:
        """Steps of a tile over the longest block of the depth."""
        return self.depth_block

    @property
    def x_slot(self) -> Expr:
        """Where the panel of the tile's rows is packed."""
        return self.first_panel + var("iq") if self.plan.x == "before" else var("iq")

    @property
    def y_slot(self) -> Expr:
        """Where the panel of the tile's columns is packed."""
        first = self.packed_batch.first(self.panels_n)
        return first + var("jq") if self.plan.y == "before" else const(0)

    def _finish(self) -> list[Operation]:
        final = self._store_tile()
        if self.single:
            return [final]
        first = binary("eq", var("kb"), 0)
        last = binary("eq", var("kb"), self.depth_blocks - 1)
        keep = self._keep("1t", False)
        if self.depth_blocks.is_int(2):
            return [IfOp(first, [keep], [final])]
        return [IfOp(last, [final], [IfOp(first, [keep], [self._keep("3t", True)])])]

    def _keep(self, suffix: str, more: bool) -> Operation:
        """The tile becomes its sums, or is added to them."""
        place = self._sum_place(suffix)
        total = load("tile", place[2:], self.dtype)
        if more:
            total = load("sums", place, self.dtype) + total
        return self._over_tile(suffix, [StoreOp("sums", place, total)])

    @property
    def _sums_of_tile(self) -> list[Expr]:
        """Where a task keeps the sums of a tile: the tiles one after the other, as it goes over
        them."""
        return [var("jq") - self.first_column_panel, var("iq")]

    def _sum_place(self, suffix: str) -> list[Expr]:
        return [*self._sums_of_tile, var("i" + suffix), var("j" + suffix)]

    def total(self) -> Expr:
        """An element of the whole sum, behind the last block of the depth."""
        total = load("tile", [var("i4t"), var("j4t")], self.dtype)
        if self.single:
            return total
        added = load("sums", self._sum_place("4t"), self.dtype) + total
        only = binary("eq", var("kb"), 0)  # of a depth that is not known, the last may be first
        return added if self.depth_blocks.is_const else select(only, total, added)

    def _results(self, row: Expr, column: Expr) -> list[Operation]:
        return list(results(self.p, self.buffers, row, column, self.total()))

    def build(self) -> list[Operation]:
        packed, nest = self.parts()
        return [*packed, *nest]

    def parts(self) -> tuple[list[Operation], list[Operation]]:
        """The packing of the columns, where it is the same for all products, and the rest."""
        xp = AllocOp(self.xp, "stack")
        task = [*self.names_of_task(), *self.task_storage()]
        block: list[Operation] = []
        packing: list[Operation] = []
        before: list[Operation] = []
        hoisted: list[Operation] = []
        columns: list[Operation] = []
        if self.plan.y == "before":
            alone = self.y_hoisted or not self.p.batch.names
            (columns if alone else before).extend(self.y_for_all())
        elif self.plan.y == "task":
            task.extend(self.y_for_task())
            packing = self.y_for_tiles()
        if self.plan.x == "before":
            (hoisted if self.x_hoisted else before).extend([xp, self.pack_all_x()])
        elif self.plan.x == "task":
            task.append(xp)
            block.append(self.pack_x())
        block.append(self._over_panels(packing))
        if not self.single:
            task.append(AllocOp(self.sums, "stack"))
        task.append(ForOp("kb", self.depth_blocks, block))
        before.append(self._tasks(task))
        return columns, [*self.names, *hoisted, *loops_around(self.p.batch, before)]

    def _over_panels(self, packing: list[Operation]) -> Operation:
        """All tiles of a task: down each panel of columns, which is packed before, or along each
        panel of rows."""
        tiles, start = self.micro_kernel(), self.first_column_panel
        if self.by_rows:
            along = ForOp("jq", self.column_panels_here, tiles, start=start)
            return ForOp("iq", self.panels_here(), [along])
        down = ForOp("iq", self.panels_here(), tiles)
        return ForOp("jq", self.column_panels_here, [*packing, down], start=start)

    def _tasks(self, task: list[Operation]) -> Operation:
        """The loop over what threads do."""
        if self.sweeps:
            runs = ForOp("tc", ceil_div(var("tn"), self.most_columns), task)
            grain = -(-(known(self.panels_n) or 1) // self.tasks)
            return ForOp("tb", self.panels_n, [runs], "parallel", grain=grain, chunk="tn")
        kind, grain_ = ("serial", None) if self.tasks == 1 else ("parallel", 1)
        return ForOp("tb", mul(self.blocks, const(self.chunks)), task, kind, grain=grain_)


def blocked_product(
    func: FuncOp, product: Product, blocking: Blocking, whole: bool = False
) -> list[Operation]:
    """The blocked nest of a product.

    Args:
        whole: pack all of Y before, even where every panel of it is used by one task only.
    """
    dtype = SUM_DTYPES[product.target.value.dtype]
    product = replace(product, x=cast(product.x, dtype), y=cast(product.y, dtype))
    if known(product.rows.size) is None:
        return _by_height(func, product, blocking, dtype, whole)
    return BlockedProduct(func, product, blocking, dtype, whole).build()


HEIGHTS = (1, 2, 4, 8)
"""Of tiles for fewer rows than fill one; the highest also for rows that it wastes less of, as many
as there are where the columns are packed anyway."""


def _by_height(
    func: FuncOp, product: Product, blocking: Blocking, dtype: DType, whole: bool
) -> list[Operation]:
    """For a number of rows that the program finds: tiles as high as fit, the last of which is moved
    back to where the rows end, so that rows are read as they lie.

    ```
    if rows >= 14 and 8 waste more { if 13 waste less { tiles of 13 } else { tiles of 14 } }
    else { if rows >= 8 { tiles of 8 } else { .. tiles of 1 } }
    ```
    """
    nest, rows, most = Nest(func), product.rows.size, blocking.rows
    packed: list[Operation] = []

    def tiles(height: int, few: bool) -> list[Operation]:
        lower = replace(blocking, rows=height)
        writer = BlockedProduct(func, product, lower, dtype, whole, FoundRows(few))
        columns, made = writer.parts()
        if whole:  # what constants are packed to is the same for all heights, and stands before
            packed[:] = columns
        else:
            made = [*columns, *made]
        return made if height == most else copy_fresh(nest, made, f"_{height}")

    made: list[Operation] = []
    lower = [h for h in HEIGHTS if h < most]
    for height in lower:
        low = tiles(height, not (whole and height == lower[-1]))
        made = [IfOp(rows >= height, low, made)] if made else low
    tall, cost = tiles(most, False), _cost(rows, most)
    if most - 1 not in HEIGHTS and most > 1:
        tall = [IfOp(_cost(rows, most - 1) < cost, tiles(most - 1, False), tall)]
        cost = binary("min", cost, _cost(rows, most - 1))
    if not made:
        return [*packed, *tall]
    repays = cost < _cost(rows, lower[-1])
    if not whole:
        repays = binary("or", repays, rows > FEW_PANELS * lower[-1])
    return [*packed, IfOp(binary("and", rows >= most, repays), tall, made)]


def _cost(rows: Expr, height: int) -> Expr:
    """Of so many rows in tiles of that height, in halves of a row of one."""
    return ceil_div(rows, height) * int(2 * (height + TILE_COST))
