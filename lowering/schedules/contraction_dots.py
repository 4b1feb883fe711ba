"""Products of few rows or columns whose factors lie along the depth: tiles of dot products.

```
for each panel of the longer side (parallel):
    for each panel of the shorter side:
        for each block of the depth:
            sums[R][C] += partial sums of x[r, k..] * y[c, k..], a vector of them each, in registers
        out = epilogue(sums)
```
Nothing is packed: where one side is short, a packed element would be read too few times. A vector
of a factor is used for all rows or columns of the tile. A short side is copied before where it lies
across the depth; panels are moved back to the end of a side that they do not divide.
"""

from __future__ import annotations

from dataclasses import astuple

from xdsl.ir import Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer, make_buffer
from tensorscript.dialects.te.expr import Expr, binary, const, load, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, FuncOp, IfOp, StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import replace_loads

from ..te.affine import all_buffers, coefficient, flat_index, known
from ..te.lanes import vectorize_reduction
from .contraction_shape import Axis, Product, Spots, made_of, memory_of, product_of
from .contraction_tile import (
    LEAST_SUMS,
    TILE_ROWS,
    block_for,
    ceil_div,
    divides,
    loops_around,
    repays_threads,
    takes_threads,
)

MOST_SIDE = 8
"""Rows or columns of a tile."""
DEPTH_VECTORS = 256
"""Vectors of a chain of additions."""
LEAST_VECTORS = 4
"""Of the depth; shorter dot products are mostly the sum of a vector."""
LOAD = 0.75
"""Cycles to load a vector; two of a side may come from the first cache in one."""
ACROSS = 12
"""Cycles that the sum of a vector takes."""
PACK = 0.4
"""Cycles to pack an element, and to copy one of a side that lies across the depth."""
PACK_ALONE = 2.0
"""The same where a side is no whole panel, whose elements are packed one by one."""
TASK_WORK = 1 << 17
"""Multiply-adds that repay the start of a thread's task."""
MOST_SHORT = 32
"""Rows or columns of the shorter side."""
MOST_COPIED = 16
"""Rows or columns of a side that may be copied."""


@dataclass(frozen=True)
class DotTile:
    """Rows and columns of a tile, and elements of a vector of partial sums."""

    rows: int
    columns: int
    lanes: int


@dataclass(frozen=True)
class Dots:
    """A product of floats whose sizes are known, and the sides that are copied: "x", "y"."""

    product: Product
    rows: int
    columns: int
    depth: int
    copied: frozenset[str]


def dots_of(func: FuncOp) -> Dots | None:
    """The product that a function computes, as dot products; None if it has no such form."""
    product = product_of(func)
    return None if product is None else as_dots(product, all_buffers(func))


def as_dots(p: Product, buffers: dict[str, Buffer]) -> Dots | None:
    """A product, if one side is short and its factors lie along the depth or are shorter."""
    if not p.target.value.dtype.is_floating_point:
        return None
    sizes = [known(axis.size) for axis in (p.rows, p.columns, p.depth)]
    if len(p.depth.names) != 1 or any(size is None for size in sizes):
        return None
    rows, columns, depth = (size or 0 for size in sizes)
    if min(rows, columns) > MOST_SHORT:
        return None
    across = frozenset(
        name for name, factor in (("x", p.x), ("y", p.y)) if not _lies_along(factor, p, buffers)
    )
    short = {name for name, size in (("x", rows), ("y", columns)) if size <= MOST_COPIED}
    if not across <= short:
        return None
    return Dots(p, rows, columns, depth, across)


def _lies_along(factor: Expr, p: Product, buffers: dict[str, Buffer]) -> bool:
    if (memory := memory_of(factor)) is None:
        return False
    position = flat_index(buffers[str(memory.value)], memory.args)
    step = coefficient(position, p.depth.names[0])
    return step is not None and step.is_int(1)


def dot_tile(d: Dots, vector_bytes: int) -> DotTile:
    """The tile with the least cost."""
    lanes = vector_bytes // d.product.target.value.dtype.itemsize
    sums = 2 * TILE_ROWS.get(vector_bytes, 6) - LEAST_SUMS
    tiles = (
        DotTile(rows, columns, lanes)
        for rows in range(1, min(d.rows, MOST_SIDE) + 1)
        for columns in range(1, min(d.columns, MOST_SIDE) + 1)
        if rows * columns <= sums
    )
    best = min(tiles, key=lambda tile: _cost(d, tile, lanes))
    while lanes < 64 and best.rows * best.columns * lanes < LEAST_SUMS * best.lanes:
        lanes *= 2
    return DotTile(best.rows, best.columns, lanes)


def _cost(d: Dots, tile: DotTile, lanes: int) -> float:
    """In cycles of vectors of `lanes`, and what is copied before."""
    sums = tile.rows * tile.columns
    step = max(sums / 2, LOAD * (tile.rows + tile.columns))
    tiles = -(-d.rows // tile.rows) * -(-d.columns // tile.columns)
    copied = d.depth * sum({"x": d.rows, "y": d.columns}[side] for side in d.copied)
    return tiles * (step * d.depth / lanes + ACROSS * sums) + PACK_ALONE * copied


def worth_dots(d: Dots, vector_bytes: int, fixed: frozenset[str], steps: int = 1) -> bool:
    """Whether dot products cost less than packed panels do, an instruction of which takes so many
    `steps` of the depth."""
    p = d.product
    lanes = vector_bytes // p.target.value.dtype.itemsize
    if d.depth < LEAST_VECTORS * lanes or min(d.rows, d.columns) < 1:
        return False
    if d.rows == 1 or d.columns == 1:
        return not d.copied and not made_of(p.y, fixed)
    sizes = p.rows.size, p.columns.size, p.depth.size
    blocking = block_for(p.target.value.dtype, vector_bytes, *sizes)
    rows, columns = (
        -(-size // side) * side
        for size, side in ((d.rows, blocking.rows), (d.columns, blocking.columns))
    )
    packing = 0.0
    if not made_of(p.y, fixed):
        packing = (PACK if d.columns >= blocking.columns else PACK_ALONE) * columns * d.depth
    blocked = (rows * columns * d.depth / (2 * lanes) + packing) / steps
    return _cost(d, dot_tile(d, vector_bytes), lanes) < blocked


class _DotProducts:
    """Writes the nest of one product."""

    def __init__(self, func: FuncOp, d: Dots, tile: DotTile) -> None:
        self.d, self.p, self.tile = d, d.product, tile
        self.dtype = self.p.target.value.dtype
        self.buffers = all_buffers(func)
        self.depth_block = min(d.depth, DEPTH_VECTORS * tile.lanes)
        self.whole = self.depth_block == d.depth

    def build(self) -> list[Operation]:
        p, tile = self.p, self.tile
        sides = [
            ("id", ceil_div(p.rows.size, tile.rows)),
            ("jd", ceil_div(p.columns.size, tile.columns)),
        ]
        if self.d.rows < self.d.columns:
            sides.reverse()
        (outer, panels), (inner, turns) = sides
        body: list[Operation] = [ForOp(inner, turns, self._tile())]
        shared = repays_threads(p.rows.size, p.columns.size, p.depth.size)
        if shared and not takes_threads(p.batch):
            work = self.d.rows * self.d.columns * self.d.depth // (known(panels) or 1)
            grain = max(1, TASK_WORK // max(work, 1))
            loop = ForOp(outer, panels, body, "parallel", grain=grain)
        else:
            loop = ForOp(outer, panels, body)
        return loops_around(p.batch, [*self._copies(), loop])

    def _copies(self) -> list[Operation]:
        """The sides that lie across the depth, along it."""
        out: list[Operation] = []
        for side in sorted(self.d.copied):
            axis, factor = (self.p.rows, self.p.x) if side == "x" else (self.p.columns, self.p.y)
            place = [var(f"{side}m"), var(f"{side}k")]
            store = StoreOp(f"{side}along", place, self._at(factor, axis, *place))
            steps = ForOp(f"{side}k", self.p.depth.size, [store])
            along = make_buffer(f"{side}along", self.dtype, [axis.size, self.p.depth.size])
            out += [AllocOp(along, "stack"), ForOp(f"{side}m", axis.size, [steps])]
        return out

    def _at(self, factor: Expr, axis: Axis, index: Expr, k: Expr) -> Expr:
        return Spots(self.buffers, ((axis, index), (self.p.depth, k))).expression(factor)

    def _factor(self, side: str, index: Expr, k: Expr) -> Expr:
        if side in self.d.copied:
            return load(f"{side}along", [index, k], self.dtype)
        axis, factor = (self.p.rows, self.p.x) if side == "x" else (self.p.columns, self.p.y)
        return self._at(factor, axis, index, k)

    def _start(self, panel: str, size: int, side: int) -> Expr:
        start = var(panel) * side
        return start if size % side == 0 else binary("min", start, const(size - side))

    def _tile(self) -> list[Operation]:
        rows, columns = self.tile.rows, self.tile.columns
        first_row = self._start("id", self.d.rows, rows)
        first_column = self._start("jd", self.d.columns, columns)
        start = const(0) if self.whole else var("kd") * self.depth_block
        updates: list[Operation] = [
            UpdateOp(
                "dots", [const(i), const(j)], "add",
                self._factor("x", first_row + i, start + var("ks"))
                * self._factor("y", first_column + j, start + var("ks")),
            )
            for i in range(rows)
            for j in range(columns)
        ]  # fmt: skip
        left = self.p.depth.size - start
        extent = const(self.depth_block)
        if not divides(self.p.depth.size, self.depth_block):
            extent = binary("min", extent, left)
        steps = vectorize_reduction(ForOp("ks", extent, updates, reduction=True), self.tile.lanes)
        if not self.whole:
            blocks = ceil_div(self.p.depth.size, self.depth_block)
            steps = [ForOp("kd", blocks, steps, reduction=True)]
        zeros: list[Operation] = [
            StoreOp("dots", [const(i), const(j)], const(0, self.dtype))
            for i in range(rows)
            for j in range(columns)
        ]
        sums = make_buffer("dots", self.dtype, [rows, columns])
        return [AllocOp(sums, "stack"), *zeros, *steps, self._results(first_row, first_column)]

    def _results(self, first_row: Expr, first_column: Expr) -> Operation:
        row, column = first_row + var("ie"), first_column + var("je")
        body = self._stores(row, column)
        if self.d.columns % self.tile.columns:
            body = [IfOp(column >= var("jd") * self.tile.columns, body)]
        if self.d.rows % self.tile.rows:
            body = [IfOp(row >= var("id") * self.tile.rows, body)]
        columns = ForOp("je", self.tile.columns, body, "unroll")
        return ForOp("ie", self.tile.rows, [columns], "unroll")

    def _stores(self, row: Expr, column: Expr) -> list[Operation]:
        target = self.p.target
        total = load("dots", [var("ie"), var("je")], self.dtype)
        spots = Spots(self.buffers, ((self.p.rows, row), (self.p.columns, column)))
        if not self.p.epilogue:
            return [StoreOp(target.buffer, spots.indices(target.buffer, target.indices), total)]
        return [
            StoreOp(
                s.buffer,
                spots.indices(s.buffer, s.indices),
                replace_loads(
                    spots.expression(s.value),
                    lambda n: total if n.value == target.buffer else None,
                ),
            )
            for s in self.p.epilogue
        ]


def dot_products(func: FuncOp, d: Dots, rows: int, columns: int, lanes: int) -> list[Operation]:
    """The nest of a product as tiles of dot products."""
    return _DotProducts(func, d, DotTile(rows, columns, lanes)).build()


def dot_parameters(d: Dots, vector_bytes: int) -> tuple[int, ...]:
    return astuple(dot_tile(d, vector_bytes))
