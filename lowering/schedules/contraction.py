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
    PrefetchOp,
    StoreOp,
    UpdateOp,
)
from tensorscript.dialects.te.rewriting import replace_loads

from ..te.affine import all_buffers, known
from .contraction_batch import PackedBatch
from .contraction_columns import ColumnPacker
from .contraction_pack import RowPacker
from .contraction_plan import (
    Packing,
    Plan,
    Sizes,
    best_plan,
    hides_fetching,
    is_streamed,
    lines,
    plain_factors,
    scattered_cost,
)
from .contraction_shape import SUM_DTYPES, Product, Spots
from .contraction_tile import (
    DEPTH_STEP,
    TASKS,
    Blocking,
    ceil_div,
    divides,
    loops_around,
    many,
    part,
    repays_threads,
    takes_threads,
)

STEPS_AHEAD = 8
"""Of the depth, in which a line comes from the second cache to the first."""
PANELS_AHEAD = 2
"""Panels of columns that are streamed: the line beside the one at hand comes with it by itself."""
STRIP = 8
"""Steps of the depth that are packed of each panel of columns in turn: what they lie in is read on
and on, and a page is not looked up for each line."""
NEAR_SUMS = 1 << 13
"""Bytes of sums that stay in the first cache, beside factors."""
LEAST_SHARED_PACKING = 1 << 16
"""Elements whose packing repays threads."""


class BlockedProduct:
    """Writes the blocked nest of one product."""

    depth_step = DEPTH_STEP
    """Blocks of the depth are whole ones of so many steps."""
    rows_kind = "unroll"
    """How the rows of a tile are gone over."""
    packs_batches = True
    """Constant second factors of a batch are packed before all of it."""
    most_tasks = TASKS
    """Tasks that a product is cut into for the threads, if it is."""

    def __init__(
        self, func: FuncOp, product: Product, blocking: Blocking, dtype: DType, whole: bool
    ) -> None:
        self.func, self.p, self.dtype = func, product, dtype
        self.blocking, self.tile = blocking, blocking.tile
        tile = self.tile
        self.buffers = all_buffers(func)
        self.m, self.n, self.k = product.rows.size, product.columns.size, product.depth.size
        # A size that the program finds may be 0: one block of nothing still stores the sums.
        depth = self.k if self.k.is_const else binary("max", self.k, 1)
        blocks = ceil_div(depth, blocking.depth)
        self.depth_block = ceil_div(ceil_div(depth, blocks), self.depth_step) * self.depth_step
        self.depth_blocks = ceil_div(depth, self.depth_block)
        self.single = self.depth_blocks.is_int(1)
        self.panels_n = ceil_div(self.n, tile.columns)
        self.panels_m = ceil_div(self.m, tile.rows)
        # What a batch does not change (the weights of a convolution) is packed once before it.
        batch = set(product.batch.names)
        self.packed_batch = PackedBatch.of(product, whole and self.packs_batches)
        y = self.packed_batch.factor(product.y)
        self.x_hoisted = bool(batch) and not batch & product.x.free
        self.y_hoisted = bool(batch) and not batch & y.free
        self.columns = ColumnPacker(y, product.columns, product.depth, self.buffers, dtype, tile)
        shared = self._repays_threads() and not takes_threads(product.batch)
        self.tasks = self.most_tasks if shared else 1
        self.plan = self._plan(whole)
        self.blocks = const(self.plan.blocks) if self.plan.blocks else self._unknown_blocks()
        self.chunks = self.plan.chunks
        x_kept = self.panels_m if self.plan.x == "before" else ceil_div(self.panels_m, self.blocks)
        y_kept = self.panels_n if self.plan.y == "before" else const(1)
        x_depth, y_depth = (
            self.k if self.single or way == "before" else self.depth_block
            for way in (self.plan.x, self.plan.y)
        )
        # Lines of columns that are read from afar as they lie are asked for long before.
        self.streams = self.plan.y == "none" and is_streamed(product, dtype)
        self.packer = RowPacker(
            product.x, product.rows, product.depth, self.buffers, dtype, tile.rows, tile.lanes
        )
        y_kept = mul(self.packed_batch.count, y_kept)
        self.yp = make_buffer("yp", dtype, [y_kept, y_depth, tile.columns])
        self.xp = make_buffer("xp", dtype, [x_kept, x_depth, self.packer.width])
        kept = [ceil_div(self.panels_n, self.chunks), ceil_div(self.panels_m, self.blocks)]
        self.sums = make_buffer("sums", dtype, [*kept, tile.rows, tile.columns])

    def _repays_threads(self) -> bool:
        return repays_threads(self.m, self.n, self.k)

    def _plan(self, whole: bool) -> Plan:
        if not all(known(e) for e in (self.m, self.n, self.k)):
            return Plan(None, 1, "before" if self.x_hoisted else "task", "before")
        return best_plan(self._sizes(whole))

    def _sizes(self, whole: bool) -> Sizes:
        rows, columns, depth = (known(e) or 0 for e in (self.m, self.n, self.k))
        shared = {"x": self.x_hoisted, "y": self.y_hoisted or whole}
        free = frozenset(name for name in shared if shared[name])
        kept = 0 if self.single else self.dtype.itemsize
        return Sizes(
            rows, columns, depth, self.tile, self.blocking.panels, self.tasks, kept,
            self._plain(), scattered_cost(self.p, self.buffers), free,
            frozenset([] if self.columns.is_even else ["y"]),
        )  # fmt: skip

    def _plain(self) -> frozenset[str]:
        """The factors that a tile can take as they lie in memory."""
        steps, panels = known(self.depth_block) or 0, known(self.panels_m) or 0
        return plain_factors(self.p, self.buffers, self.tile, steps, panels)

    def _unknown_blocks(self) -> Expr:
        block = binary("max", ceil_div(self.panels_m, TASKS), 1)
        return ceil_div(self.panels_m, block)

    def shared_packing(
        self, name: str, extent: Expr, body: list[Operation], side: Expr, grain: int
    ) -> ForOp:
        """A loop that packs a factor with that many rows or columns for all tasks."""
        if self.tasks == 1 or not many(side, self.k, least=LEAST_SHARED_PACKING):
            return ForOp(name, extent, body)
        return ForOp(name, extent, body, "parallel", grain=grain)

    def _block_start(self, block: Expr) -> Expr:
        return part(block, self.panels_m, self.blocks)

    @property
    def block(self) -> Expr:
        """The block of rows of a task: neighbouring tasks, which one thread does, read the same
        columns."""
        return const(0) if self.blocks.is_int(1) else var("tb") % self.blocks

    @property
    def chunk(self) -> Expr:
        """The run of column panels of a task."""
        return const(0) if self.chunks == 1 else var("tb") // self.blocks

    @property
    def first_panel(self) -> Expr:
        return self._block_start(self.block)

    @property
    def first_column_panel(self) -> Expr:
        return part(self.chunk, self.panels_n, const(self.chunks))

    @property
    def first_k(self) -> Expr:
        """Of the block of the depth."""
        return var("kb") * self.depth_block

    def task_storage(self) -> list[Operation]:
        """What a task keeps for all of its tiles."""
        return []

    def y_for_all(self) -> list[Operation]:
        """What all tasks read of Y."""
        return [AllocOp(self.yp, "stack"), self.packed_batch.around(self.pack_all_y())]

    def y_for_task(self) -> list[Operation]:
        """Where a task packs the panel of columns at hand."""
        return [AllocOp(self.yp, "stack")]

    def y_for_tiles(self) -> list[Operation]:
        """What the tiles of a panel of columns read of Y, over a block of the depth."""
        return self.pack_panel(var("jq"), const(0), self.first_k, self.depth_extent())

    def pack_all_y(self) -> Operation:
        if self.columns.runs_along:
            return self._pack_strips()
        if self.columns.is_even:
            panel = self.pack_panel(var("jp"), self._first_packed + var("jp"), const(0), self.k)
            return self.shared_packing("jp", self.panels_n, panel, self.n, 2)
        step = self.columns.step("yp", var("kp"), self._first_packed)
        return self.shared_packing("kp", self.k, step, self.n, 8)

    @property
    def _first_packed(self) -> Expr:
        """Where the panels of the factor that is packed begin."""
        return self.packed_batch.packed_first(self.panels_n)

    def _pack_strips(self) -> Operation:
        """Some steps of the depth of every panel after the other."""
        start = var("strip") * STRIP
        end = start + STRIP
        if not divides(self.k, STRIP):
            end = binary("min", end, self.k)
        slot = self._first_packed + var("jp")
        steps = self.columns.steps("yp", slot, var("jp"), start, end)
        panels = ForOp("jp", self.panels_n, steps)
        return self.shared_packing("strip", ceil_div(self.k, STRIP), [panels], self.n, 2)

    def pack_panel(self, panel: Expr, slot: Expr, first: Expr, depth: Expr) -> list[Operation]:
        """Fill `yp[slot]` with `depth` steps of a column panel from `first` on."""
        return self.columns.panel("yp", slot, panel, first, depth)

    def pack_all_x(self) -> Operation:
        """Pack every row panel over the whole depth."""
        panel = var("ip")
        body = self.packer.panel("xp", panel, panel * self.tile.rows, const(0), self.k)
        return self.shared_packing("ip", self.panels_m, body, self.m, 4)

    def pack_x(self) -> Operation:
        """Pack the row panels of a block over a block of the depth."""
        first = (self.first_panel + var("ip")) * self.tile.rows
        body = self.packer.panel("xp", var("ip"), first, self.first_k, self.depth_extent())
        return ForOp("ip", self.panels_here(), body)

    def depth_extent(self) -> Expr:
        if self.single:
            return self.k
        if (known_block := known(self.depth_block)) and divides(self.k, known_block):
            return self.depth_block
        return binary("min", self.depth_block, self.k - self.first_k)

    def _side(self, way: Packing, start: Expr, size: Expr, tile: int) -> tuple[Expr, Expr | None]:
        """Where a tile starts along a side, and the first position that it stores, None for all
        that there are: where a factor is read as it lies, the last tile is moved back."""
        if way != "none" or divides(size, tile):
            return start, None
        return binary("min", start, size - tile), start

    def _rows(self) -> tuple[Expr, Expr | None]:
        start = (self.first_panel + var("iq")) * self.tile.rows
        return self._side(self.plan.x, start, self.m, self.tile.rows)

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
        body = [self._over_tile("2t", [step]), *self._fetch_rows(), *self._fetch_next()]
        return [
            AllocOp(tile, "reg"),
            self._over_tile("0t", [clear]),
            *self._fetch_sums(),
            ForOp("kt", steps, body, reduction=True),
            *self._finish(),
        ]

    def first_sum(self, column: Expr) -> Expr:
        """Where the sums of a column of a tile start."""
        return const(0, self.dtype)

    def _fetch_next(self) -> list[Operation]:
        """The next panel of columns comes into the second cache, row by row."""
        if self.streams:
            first = (var("jq") + PANELS_AHEAD) * self.tile.columns
            k = self.first_k + var("kt")
            ahead = lines(self.tile.columns, self.dtype)
            return [PrefetchOp(self.columns.value(first + j, k)) for j in ahead]
        if (
            self.plan.y != "before"
            or not hides_fetching(self.tile, self.dtype)
            or self.panels_n.is_int(1)
        ):
            return []
        return [
            PrefetchOp(self.packed_column(self.y_slot + 1, const(j)))
            for j in lines(self.tile.columns, self.dtype)
        ]

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
        total = cast(self.total(), self.p.target.value.dtype)
        spots = Spots(self.buffers, ((self.p.rows, row), (self.p.columns, column)))
        target = self.p.target
        if not self.p.epilogue:
            return [StoreOp(target.buffer, spots.indices(target.buffer, target.indices), total)]

        def through(n: Expr) -> Expr | None:
            return total if n.value == target.buffer else None

        return [
            StoreOp(
                s.buffer,
                spots.indices(s.buffer, s.indices),
                replace_loads(spots.expression(s.value), through),
            )
            for s in self.p.epilogue
        ]

    def build(self) -> list[Operation]:
        chunks, start = const(self.chunks), self.first_column_panel
        count = part(self.chunk + 1, self.panels_n, chunks) - start
        tiles = ForOp("iq", self.panels_here(), self.micro_kernel())
        xp = AllocOp(self.xp, "stack")
        task = self.task_storage()
        block: list[Operation] = []
        sweep: list[Operation] = [tiles]
        before: list[Operation] = []
        hoisted: list[Operation] = []
        if self.plan.y == "before":
            (hoisted if self.y_hoisted else before).extend(self.y_for_all())
        elif self.plan.y == "task":
            task.extend(self.y_for_task())
            sweep = [*self.y_for_tiles(), tiles]
        if self.plan.x == "before":
            (hoisted if self.x_hoisted else before).extend([xp, self.pack_all_x()])
        elif self.plan.x == "task":
            task.append(xp)
            block.append(self.pack_x())
        block.append(ForOp("jq", count, sweep, start=start))
        if not self.single:
            task.append(AllocOp(self.sums, "stack"))
        task.append(ForOp("kb", self.depth_blocks, block))
        kind, grain = ("serial", None) if self.tasks == 1 else ("parallel", 1)
        before.append(ForOp("tb", mul(self.blocks, chunks), task, kind, grain=grain))
        return [*hoisted, *loops_around(self.p.batch, before)]

    def panels_here(self) -> Expr:
        """Row panels of a task's block."""
        size, blocks = known(self.panels_m), known(self.blocks)
        if size is not None and blocks is not None and size % blocks == 0:
            return const(size // blocks)
        return self._block_start(self.block + 1) - self.first_panel


def blocked_product(
    func: FuncOp, product: Product, blocking: Blocking, whole: bool = False
) -> list[Operation]:
    """The blocked nest of a product.

    Args:
        whole: pack all of Y before, even where every panel of it is used by one task only.
    """
    dtype = SUM_DTYPES[product.target.value.dtype]
    product = replace(product, x=cast(product.x, dtype), y=cast(product.y, dtype))
    return BlockedProduct(func, product, blocking, dtype, whole).build()
