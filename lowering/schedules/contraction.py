"""Blocked matrix products for the CPU, after Goto and van de Geijn, "Anatomy of High-Performance
Matrix Multiplication" (2008), and BLIS.

```
pack Y into panels yp[n / NR][k][NR]                                  (once, all threads)
for each block of rows (parallel), for each block of depth KC:
    pack X into panels xp[m / MR][k][MR]                              (stays in the L2 cache)
    for each column panel, for each row panel:
        tile[MR][NR] in registers += xp[.., k, :] outer yp[.., k, :]  over the depth block
        store the tile: to the sums, or on the last depth block through the epilogue
```
Panels are padded with zeros, so the inner loop has no edges; stores are guarded where a size does
not divide. The tile uses all vector registers but those for one row of Y and the broadcast of X.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xdsl.ir import Operation

from tensorscript.base.dtypes import DType
from tensorscript.dialects.te.buffers import make_buffer
from tensorscript.dialects.te.expr import (
    Expr,
    all_of,
    binary,
    cast,
    const,
    load,
    mul,
    replace_loads,
    select,
    var,
)
from tensorscript.dialects.te.ops import AllocOp, ForOp, FuncOp, IfOp, StoreOp, UpdateOp

from ..te.affine import all_buffers, coefficient, flat_index, known
from ..te.lanes import vectorize_map
from .contraction_pack import RowPacker
from .contraction_shape import SUM_DTYPES, Axis, Product, Spots, at, memory_of
from .contraction_tile import TASKS, Tile, ceil_div, loops_around, tile_for

DEPTH_BLOCK = 1024
LEAST_WORK = 1 << 15
"""Products below this many multiply-adds do not repay packing."""


def _guard(conditions: list[Expr], body: list[Operation]) -> list[Operation]:
    condition = all_of(conditions)
    return body if condition.is_const else [IfOp(condition, body)]


def _divides(size: Expr, by: int) -> bool:
    return size.is_const and int(str(size)) % by == 0


class _Blocked:
    """Writes the blocked nest of one product."""

    def __init__(self, func: FuncOp, product: Product, tile: Tile, dtype: DType) -> None:
        self.func, self.p, self.tile, self.dtype = func, product, tile, dtype
        self.buffers = all_buffers(func)
        self.m, self.n, self.k = product.rows.size, product.columns.size, product.depth.size
        self.depth_blocks = ceil_div(self.k, DEPTH_BLOCK)
        self.single = self.depth_blocks.is_int(1)
        self.lanes = tile.columns
        self.panels_n = ceil_div(self.n, tile.columns)
        self.panels_m = ceil_div(self.m, tile.rows)
        self.block_panels = self._block_panels()
        self.yp = make_buffer("yp", dtype, [self.panels_n, self.k, tile.columns])
        self.blocks = ceil_div(self.panels_m, self.block_panels)
        # What a batch does not change (the weights of a convolution) is packed once before it.
        batch = set(product.batch.names)
        self.hoisted = bool(batch) and not batch & product.x.free
        depth = self.k if self.single or self.hoisted else const(DEPTH_BLOCK)
        panels = mul(self.blocks, self.block_panels) if self.hoisted else self.block_panels
        self.packer = RowPacker(
            product.x, product.rows, product.depth, self.buffers, dtype, tile.rows, tile.lanes
        )
        self.xp = make_buffer("xp", dtype, [panels, depth, self.packer.width])
        self.sums = make_buffer("sums", dtype, [self.m, self.n])

    def _block_panels(self) -> Expr:
        per_block = ceil_div(self.panels_m, TASKS)
        return per_block if not per_block.is_const else const(min(16, int(str(per_block))))

    def pack_y(self) -> list[Operation]:
        if not self._y_is_even():
            return [self.pack_y_by_rows()]
        if self._y_lies_across():
            return self.pack_y_across()
        panel = self._pack_panel(var("jp"), "p", const(0))
        return [ForOp("jp", self.panels_n, [panel], "parallel", grain=2)]

    def _y_at(self, column: Expr, k: Expr) -> Expr:
        return self._spots((self.p.columns, column), (self.p.depth, k)).expression(self.p.y)

    def _spots(self, *places: tuple[Axis, Expr]) -> Spots:
        return Spots(self.buffers, places)

    def _pack_panel(self, panel: Expr, suffix: str, start: Expr) -> ForOp:
        """One panel from depth `start` on, a row of it at a time; `suffix` names its loops."""
        k, lane = start + var(f"k{suffix}"), var(f"j{suffix}v")
        column = panel * self.tile.columns + lane
        value = self._y_at(column, k)
        if not _divides(self.n, self.tile.columns):
            value = select(column < self.n, value, const(0, self.dtype))
        store = StoreOp("yp", [panel, k, lane], value)
        inner = ForOp(f"j{suffix}v", self.tile.columns, [store], "vector")
        return ForOp(f"k{suffix}", self.k - start, [inner])

    def _y_is_even(self) -> bool:
        """All columns follow one another in Y's memory."""
        y, columns = memory_of(self.p.y), self.p.columns
        if sum(not extent.is_int(1) for extent in columns.extents) < 2:
            return True
        return y is not None and columns.is_even(flat_index(self.buffers[str(y.value)], y.args))

    def _y_lies_across(self) -> bool:
        """Memory runs along the depth, not along the columns, and squares of it fit."""
        y, side = memory_of(self.p.y), self.tile.lanes
        if y is None or side < 4 or (known(self.k) or side) < side or len(self.p.depth.names) > 1:
            return False
        position = flat_index(self.buffers[str(y.value)], y.args)
        step = coefficient(position, self.p.depth.names[-1])
        return step is not None and step.is_int(1)

    def pack_y_across(self) -> list[Operation]:
        """Squares of `side` columns and `side` steps of depth, transposed in registers; the rest of
        the depth, and the last panel if the columns do not fill it, go the plain way."""
        side = self.tile.lanes
        whole = self.n // self.tile.columns
        column = var("jp") * self.tile.columns + var("js") * side
        k = var("ks") * side + var("ku")
        store = StoreOp("yp", [var("jp"), k, var("js") * side + var("jv")],
                        self._y_at(column + var("jv"), k))  # fmt: skip
        square = ForOp("ku", side, [ForOp("jv", side, [store], "vector")], "vector")
        squares = ForOp("js", self.tile.columns // side, [square], "unroll")
        panel: list[Operation] = [ForOp("ks", self.k // side, [squares])]
        if not _divides(self.k, side):
            panel.append(self._pack_panel(var("jp"), "r", self.k // side * side))
        out: list[Operation] = [ForOp("jp", whole, panel, "parallel", grain=2)]
        if not _divides(self.n, self.tile.columns):
            last = self._pack_panel(var("jl"), "l", const(0))
            out.append(ForOp("jl", self.panels_n - whole, [last], start=whole))
        return out

    def pack_y_by_rows(self) -> Operation:
        """Columns of several loops (an image): walk them as they lie in memory into one row, then
        cut the row into panels. Indices stay affine, so that the walk is vector loads."""
        place = self.p.depth.unflatten(var("kp"))
        flat = const(0)
        for name, extent in zip(self.p.columns.names, self.p.columns.extents, strict=True):
            flat = mul(flat, extent) + var(name)
        walk: list[Operation] = [StoreOp("row", [flat], at(self.p.y, place))]
        loops = list(zip(self.p.columns.names, self.p.columns.extents, strict=True))
        for depth, (name, extent) in enumerate(reversed(loops)):
            loop = ForOp(name, extent, walk)
            lanes = self.lanes
            while lanes > 4 and extent.is_const and lanes // 2 >= int(str(extent)):
                lanes //= 2
            walk = vectorize_map(loop, lanes) if depth == 0 else [loop]
        column = var("jp") * self.tile.columns + var("jv")
        value = load("row", [column], self.dtype)
        if not _divides(self.n, self.tile.columns):
            value = select(column < self.n, value, const(0, self.dtype))
        cut = ForOp(
            "jv", self.tile.columns, [StoreOp("yp", [var("jp"), var("kp"), var("jv")], value)],
            "vector",
        )  # fmt: skip
        row = AllocOp(make_buffer("row", self.dtype, [self.n]), "stack")
        panels = ForOp("jp", self.panels_n, [cut])
        return ForOp("kp", self.k, [row, *walk, panels], "parallel", grain=8)

    def pack_all_x(self) -> Operation:
        """Pack every row panel over the whole depth."""
        panel = var("ip")
        body = self.packer.panel("xp", panel, panel * self.tile.rows, const(0), self.k)
        return ForOp("ip", mul(self.blocks, self.block_panels), body, "parallel", grain=4)

    def pack_x(self) -> Operation:
        """Pack the row panels of a block over a block of the depth."""
        first = (var("ib") * self.block_panels + var("ip")) * self.tile.rows
        k = var("kb") * DEPTH_BLOCK
        body = self.packer.panel("xp", var("ip"), first, k, self.depth_extent())
        return ForOp("ip", self.block_panels, body)

    def depth_extent(self) -> Expr:
        if self.single:
            return self.k
        if _divides(self.k, DEPTH_BLOCK):
            return const(DEPTH_BLOCK)
        return binary("min", const(DEPTH_BLOCK), self.k - var("kb") * DEPTH_BLOCK)

    def _row(self, suffix: str) -> Expr:
        panel = var("ib") * self.block_panels + var("iq")
        return panel * self.tile.rows + var("i" + suffix)

    def _column(self, suffix: str) -> Expr:
        return var("jq") * self.tile.columns + var("j" + suffix)

    def each(
        self, suffix: str, body: Callable[[Expr, Expr], list[Operation]], guarded: bool
    ) -> Operation:
        """Loop over the tile, rows unrolled and columns as vectors."""
        row, column = self._row(suffix), self._column(suffix)
        inner = body(row, column)
        if guarded and not _divides(self.n, self.tile.columns):
            inner = [IfOp(column < self.n, inner)]
        rows: list[Operation] = [ForOp("j" + suffix, self.tile.columns, inner, "vector")]
        if guarded and not _divides(self.m, self.tile.rows):
            rows = [IfOp(row < self.m, rows)]
        return ForOp("i" + suffix, self.tile.rows, rows, "unroll")

    def micro_kernel(self) -> list[Operation]:
        tile = make_buffer("tile", self.dtype, [self.tile.rows, self.tile.columns])
        zero = const(0, self.dtype)

        def clear(row: Expr, column: Expr) -> list[Operation]:
            return [StoreOp("tile", [var("i0t"), var("j0t")], zero)]

        def resume(row: Expr, column: Expr) -> list[Operation]:
            return [
                StoreOp("tile", [var("i1t"), var("j1t")], load("sums", [row, column], self.dtype))
            ]

        k = var("kb") * DEPTH_BLOCK + var("kt")
        where = [var("iq"), var("kt"), var("i2t")]
        if self.hoisted:
            where = [var("ib") * self.block_panels + var("iq"), k, var("i2t")]
        a = load("xp", where, self.dtype)
        b = load("yp", [var("jq"), k, var("j2t")], self.dtype)
        step = UpdateOp("tile", [var("i2t"), var("j2t")], "add", a * b)
        outer = ForOp(
            "i2t",
            self.tile.rows,
            [ForOp("j2t", self.tile.columns, [step], "vector")],
            "unroll",
        )
        start: list[Operation] = [self.each("0t", clear, False)]
        if not self.single:
            first = binary("eq", var("kb"), 0)
            start = [IfOp(first, start, [self.each("1t", resume, True)])]
        return [
            AllocOp(tile, "reg"),
            *start,
            ForOp("kt", self.depth_extent(), [outer], reduction=True),
            *self._finish(),
        ]

    def _finish(self) -> list[Operation]:
        def keep(row: Expr, column: Expr) -> list[Operation]:
            total = load("tile", [var("i3t"), var("j3t")], self.dtype)
            return [StoreOp("sums", [row, column], total)]

        final = self.each("4t", self._store_final, True)
        if self.single:
            return [final]
        last = binary("eq", var("kb"), self.depth_blocks - 1)
        return [IfOp(last, [final], [self.each("3t", keep, True)])]

    def _store_final(self, row: Expr, column: Expr) -> list[Operation]:
        total = cast(load("tile", [var("i4t"), var("j4t")], self.dtype), self.p.target.value.dtype)
        spots = self._spots((self.p.rows, row), (self.p.columns, column))
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
        tiles = ForOp(
            "jq",
            self.panels_n,
            [ForOp("iq", self._panels_here(), self.micro_kernel())],
        )
        own = [] if self.hoisted else [self.pack_x()]
        block: list[Operation] = [ForOp("kb", self.depth_blocks, [*own, tiles])]
        if not self.hoisted:
            block.insert(0, AllocOp(self.xp, "stack"))
        body: list[Operation] = [AllocOp(self.yp, "stack")]
        if not self.single:
            body.append(AllocOp(self.sums, "stack"))
        body += [*self.pack_y(), ForOp("ib", self.blocks, block, "parallel", grain=1)]
        before: list[Operation] = []
        if self.hoisted:
            before = [AllocOp(self.xp, "stack"), self.pack_all_x()]
        return [*before, *loops_around(self.p.batch, body)]

    def _panels_here(self) -> Expr:
        left = self.panels_m - var("ib") * self.block_panels
        known = self.block_panels
        if known.is_const and _divides(self.panels_m, int(str(known))):
            return known
        return binary("min", self.block_panels, left)


def worth_blocking(product: Product, fixed: frozenset[str]) -> bool:
    """The product is large enough, and square enough, to repay packing; one with few rows is if its
    other factor is a constant, which is packed once (`prepack.py`)."""
    sizes = [product.rows.size, product.columns.size, product.depth.size]
    rows, columns, depth = (int(str(s)) if s.is_const else 64 for s in sizes)
    y = memory_of(product.y)
    is_fixed = y is not None and str(y.value) in fixed
    return (rows >= 4 or is_fixed) and columns >= 8 and rows * columns * depth >= LEAST_WORK


def blocked_product(func: FuncOp, product: Product, vector_bytes: int) -> list[Operation]:
    """The blocked nest of a product, for vectors of so many bytes (64 for AVX-512)."""
    dtype = SUM_DTYPES[product.target.value.dtype]
    product = replace(product, x=cast(product.x, dtype), y=cast(product.y, dtype))
    tile = tile_for(dtype, vector_bytes, product.rows.size)
    return _Blocked(func, product, tile, dtype).build()
