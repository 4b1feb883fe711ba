"""How the factors of a blocked product (`contraction.py`) are packed, and what a task reads of
them.

What is packed before the tasks is packed by all threads: rows panel by panel, columns that lie
along memory some steps of the depth at a time, so that what they lie in is read on and on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from xdsl.ir import Operation

from tensorscript.base.dtypes import DType
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import make_buffer
from tensorscript.dialects.te.expr import Expr, binary, const, mul, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, FuncOp, LetOp

from ..te.affine import all_buffers, known
from .contraction_batch import PackedBatch
from .contraction_columns import ColumnPacker
from .contraction_pack import RowPacker
from .contraction_plan import (
    FEW_PANELS,
    Packing,
    Plan,
    Sizes,
    best_plan,
    plain_factors,
    scattered_cost,
)
from .contraction_shape import Product
from .contraction_tile import (
    DEPTH_STEP,
    TASKS,
    Blocking,
    ceil_div,
    divides,
    many,
    part,
    repays_threads,
    takes_threads,
)

STRIP = 8
"""Steps of the depth that are packed of each panel of columns in turn: what they lie in is read on
and on, and a page is not looked up for each line."""
FAR_RESULTS, NEAR_COLUMNS = 1 << 21, 1 << 20
"""Bytes of results that leave second caches, also those of two threads, and of columns that stay in
one."""
SMALL_COLUMNS = 1 << 15
"""Bytes of columns that stay in the first cache beside a panel of rows."""
LEAST_ROWS_ALONG = 512
"""Rows that repay columns which another thread has packed."""
MANY_PANELS = 16
"""Of rows, where these may be many."""
LEAST_SHARED_PACKING = 1 << 16
"""Elements whose packing repays threads."""


@dataclass(frozen=True)
class FoundRows:
    """A number of rows that the program finds: a whole tile's at least.

    Attributes:
        few: and no more than `FEW_PANELS` tiles'.
    """

    few: bool


class PackedFactors:
    """The sizes and the plan of a blocked product, and what packs its factors."""

    depth_step = DEPTH_STEP
    """Blocks of the depth are whole ones of so many steps."""
    packs_batches = True
    """Constant second factors of a batch are packed before all of it."""
    most_tasks = TASKS
    """Tasks that a product is cut into for the threads, if it is."""

    def __init__(
        self,
        func: FuncOp,
        product: Product,
        blocking: Blocking,
        dtype: DType,
        whole: bool,
        found_rows: FoundRows | None = None,
    ) -> None:
        self.func, self.p, self.dtype, self.found_rows = func, product, dtype, found_rows
        self.blocking, self.tile = blocking, blocking.tile
        tile = self.tile
        self.buffers = all_buffers(func)
        self.m, self.n, self.k = product.rows.size, product.columns.size, product.depth.size
        self.names: list[Operation] = []
        """Of sizes that take divisions."""
        # A size that the program finds may be 0: one block of nothing still stores the sums.
        depth = self.k if self.k.is_const else binary("max", self.k, 1)
        blocks = ceil_div(depth, blocking.depth)
        self.depth_block = ceil_div(ceil_div(depth, blocks), self.depth_step) * self.depth_step
        if known(self.k) is None:
            self.depth_block = self._named("depth", self.depth_block)
        self.depth_blocks = ceil_div(depth, self.depth_block)
        if known(self.k) is None:
            self.depth_blocks = self._named("depths", self.depth_blocks)
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
        if known(self.m) is None:
            self.panels_m = self._named("panels", self.panels_m)
        self.blocks = const(self.plan.blocks) if self.plan.blocks else self._unknown_blocks()
        self.chunks = self.plan.chunks
        x_kept = self.panels_m if self.plan.x == "before" else self.kept_panels
        y_kept = self.panels_n if self.plan.y == "before" else const(1)
        x_depth, y_depth = (
            self.k if self.single or way == "before" else self.depth_block
            for way in (self.plan.x, self.plan.y)
        )
        self.packer = RowPacker(
            product.x, product.rows, product.depth, self.buffers, dtype, tile.rows, tile.lanes
        )
        y_kept = mul(self.packed_batch.count, y_kept)
        self.yp = make_buffer("yp", dtype, [y_kept, y_depth, tile.columns])
        self.xp = make_buffer("xp", dtype, [x_kept, x_depth, self.packer.width])

    def _named(self, name: str, value: Expr) -> Expr:
        self.names.append(LetOp(name, value))
        return var(name)

    def _repays_threads(self) -> bool:
        return repays_threads(self.m, self.n, self.k)

    def _plan(self, whole: bool) -> Plan:
        if self.found_rows is not None:
            return self._plan_of_found(self.found_rows, whole)
        if not all(known(e) for e in (self.m, self.n, self.k)):
            return Plan(None, 1, "before" if self.x_hoisted else "task", "before")
        found = best_plan(self._sizes(whole))
        if not self.by_rows:
            return found
        blocks = min(known(self.panels_m) or 1, self.tasks)
        return replace(found, blocks=blocks, chunks=1, y="before" if found.y == "task" else found.y)

    def _plan_of_found(self, rows: FoundRows, whole: bool) -> Plan:
        """Runs of columns take the threads: rows that are packed are packed before, for all. Where
        nobody knows how many columns there are, blocks of many rows do, which pack their own."""
        plain, columns = self._plain(), known(self.panels_n)
        x: Packing = "task" if columns is None and not rows.few else "before"
        if self.x_hoisted:
            x = "before"
        elif "x" in plain:
            x = "none"
        y: Packing = "none" if rows.few and not whole and "y" in plain else "before"
        runs = self.tasks if columns is None and rows.few else min(columns or 1, self.tasks)
        return Plan(1 if rows.few else None, 1 if self.by_rows else runs, x, y)

    @property
    def by_rows(self) -> bool:
        """Whether a task goes along the rows, whose results leave the caches, rather than down
        panels of columns, all of which stay near: what it writes lies side by side then."""
        m, n, k = (known(e) or 0 for e in (self.m, self.n, self.k))
        if self.found_rows is not None:  # which may be many
            small = 0 < n * k * self.dtype.itemsize <= SMALL_COLUMNS
            return self.single and small and not self.found_rows.few
        results, columns = m * n * self.p.target.value.dtype.itemsize, n * k * self.dtype.itemsize
        near = 0 < columns <= NEAR_COLUMNS and m >= LEAST_ROWS_ALONG
        return self.single and results >= FAR_RESULTS and near

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
        if self.found_rows is not None and not self.found_rows.few:
            panels = MANY_PANELS
        return plain_factors(self.p, self.buffers, self.tile, steps, panels)

    def _unknown_blocks(self) -> Expr:
        block = const(self.blocking.panels)
        if self.tasks > 1 and self.plan.chunks == 1:  # no runs of columns take the threads
            block = binary("min", block, binary("max", ceil_div(self.panels_m, TASKS), 1))
        return self._named("blocks", ceil_div(self.panels_m, block))

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
        return self._block_start(self.block) if self.blocks.is_const else var("first")

    @property
    def first_column_panel(self) -> Expr:
        return part(self.chunk, self.panels_n, const(self.chunks))

    @property
    def first_k(self) -> Expr:
        """Of the block of the depth."""
        return var("kb") * self.depth_block

    def panels_here(self) -> Expr:
        """Row panels of a task's block."""
        size, blocks = known(self.panels_m), known(self.blocks)
        if size is not None and blocks is not None and size % blocks == 0:
            return const(size // blocks)
        if not self.blocks.is_const:
            return var("here")
        return self._block_start(self.block + 1) - self.first_panel

    def names_of_task(self) -> list[Operation]:
        """Where a task's block begins, and its panels, where divisions tell."""
        if self.blocks.is_const:
            return []
        here = self._block_start(self.block + 1) - var("first")
        return [LetOp("first", self._block_start(self.block)), LetOp("here", here)]

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
            slot = self._first_packed + var("jp")
            return self.by_strips(self.k, partial(self.columns.steps, "yp", slot, var("jp")))
        if self.columns.is_even:
            panel = self.pack_panel(var("jp"), self._first_packed + var("jp"), const(0), self.k)
            return self.shared_packing("jp", self.panels_n, panel, self.n, 2)
        step = self.columns.step("yp", var("kp"), self._first_packed)
        return self.shared_packing("kp", self.k, step, self.n, 8)

    @property
    def kept_panels(self) -> Expr:
        """Row panels of the largest block."""
        if self.found_rows is not None and self.found_rows.few:
            return const(FEW_PANELS)
        return ceil_div(self.panels_m, self.blocks)

    @property
    def _first_packed(self) -> Expr:
        """Where the panels of the factor that is packed begin."""
        return self.packed_batch.packed_first(self.panels_n)

    def by_strips(self, steps: Expr, pack: Callable[[Expr, Expr], list[Operation]]) -> Operation:
        """Some of so many steps of every panel `jp` after the other; `pack` takes the first, and
        where they end."""
        start = var("strip") * STRIP
        end = start + STRIP
        if not divides(steps, STRIP):
            end = binary("min", end, steps)
        panels = ForOp("jp", self.panels_n, pack(start, end))
        return self.shared_packing("strip", ceil_div(steps, STRIP), [panels], self.n, 2)

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
