"""What the nests of all products share: the register tile, and loops around a product."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, prod

from xdsl.ir import Operation

from tensorscript.base.dtypes import DType
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, binary, const
from tensorscript.dialects.te.ops import ForOp

from ..te.affine import known
from .contraction_shape import Axis

TILE_ROWS = {64: 14, 32: 6, 16: 6}
"""Rows of the register tile by vector bytes: AVX-512 has 32 registers, AVX2 and SSE 16."""
VECTORS_PER_ROW = 2
LEAST_SUMS = 8
"""Vectors of sums that hide the latency of one multiply-add."""
TILE_COST = 1.5
"""Of a step of a tile beside its multiply-adds, in rows."""
WORTH_FITTING = 0.08
"""Of the columns: as many lanes less repay a tile that multiplies less often with what it loads."""
BATCH_TASKS = 4
"""A batch of this many products gives every thread whole products."""
DEPTH_BLOCK = 256
"""Most of the chains of additions."""
LEAST_FIRST_CACHE = 1 << 15
"""Bytes of the first cache of data of a processor that is not known."""
FEW_READERS = 4
"""Panels of rows, which read columns so few times that these need not stay in the first cache."""
DEPTH_STEP = 16
"""Depth blocks are whole squares of a transposing packer."""
REGISTERS = {64: 32, 32: 16, 16: 16}
MOST_VECTORS = 8
"""Of a row of the tile: a product of few rows reads so much of the other factor in a stretch."""
WASTED = 1 / 8
"""Of the columns, so much may be padding of a wider tile."""
FAR_BYTES = 1 << 21
FAR_ROWS = 6
MOST_FAR_ROWS = 64
"""Of a product with up to so many rows, whose other factor lies beyond the second cache as it is,
tiles are lower and wider: longer stretches of memory at a time are worth more than what registers
save."""
TALL_ROWS = {64: 28, 32: 12, 16: 12}
"""Rows of a tile of one vector a row by vector bytes: it goes over what it streams from afar half
as often as one of two."""
STREAMED_VECTORS = 4
"""Of a row of such a tile: lines of several panels have to stay in the second cache."""
FEW_ROWS = 2
WAITING_READERS, NEAR_BYTES = 3, 1 << 20
DEPTH_OF_FEW = 64
"""The same for products of so few rows, or panels of rows that read so large a factor, which wait
for it: there shorter chains of additions, whose rounding errors are smaller, cost no time."""
DEPTH_OF_STREAMS = 32
"""The same where columns are streamed: each step of the depth is a run of memory of its own, which
processors fetch by themselves if there are few."""
ROWS_OF_DOTS, HALF_BLOCK = 15, DEPTH_BLOCK // 2
"""Up to so many rows others take dots of vectors, whose chains are short: a depth that is cut
anyhow is cut shorter."""
BLOCK_BYTES = 280 << 10
"""Of the row panels of a block, so that they stay in the second cache."""
TASKS = 8
"""Blocks a product is cut into for the threads."""
LEAST_SHARED_WORK = 1 << 17
"""Multiply-adds that repay threads, about 2.5 us: handing them out takes 0.2 us, and what they have
read and written crosses to other cores."""
LEAST_ROWS = 2
"""Rows that a product counts as having: to read an element of the columns from the second cache
takes as long as two multiply-adds."""


@dataclass(frozen=True)
class Tile:
    """Register tile: `rows` x `columns` elements, in vectors of `lanes`."""

    rows: int
    columns: int
    lanes: int


def _steps(size: int, rows: int) -> float:
    """What a product of `size` rows costs in tiles of `rows`, those included that are padding: 16
    rows are 8 + 8 rather than 14 + 2, and 197 are 18 panels of 11 rather than 15 of 14."""
    return ceil(size / rows) * (rows + TILE_COST)


def _best_rows(size: int, most: int) -> int:
    """Of a tile, for a product of `size` rows."""
    return min(range(1, min(most, size) + 1), key=lambda rows: (_steps(size, rows), -rows))


def tile_for(
    dtype: DType, vector_bytes: int, size: Expr, most: int = max(TILE_ROWS.values())
) -> Tile:
    """The register tile of a dtype on a machine, for a product of `size` rows; it has `most`."""
    lanes = vector_bytes // dtype.itemsize
    most = min(most, TILE_ROWS.get(vector_bytes, 6))
    have = int(str(size)) if size.is_const else most
    rows = _best_rows(have, most)
    return Tile(rows, lanes * max(VECTORS_PER_ROW, LEAST_SUMS // rows), lanes)


@dataclass(frozen=True)
class Blocking:
    """How a product is blocked.

    Attributes:
        rows, columns: of the register tile (BLIS's mr and nr).
        lanes: of its vectors.
        depth: most steps of the depth between two visits of a tile (kc).
        panels: most panels of `rows` rows in a block (mc / mr).
    """

    rows: int
    columns: int
    lanes: int
    depth: int
    panels: int

    @property
    def tile(self) -> Tile:
        return Tile(self.rows, self.columns, self.lanes)


def fitted(tile: Tile, columns: Expr) -> Tile:
    """A tile of one vector a row, where two waste many lanes on a product of so many columns."""
    count, two = known(columns), VECTORS_PER_ROW * tile.lanes
    if count is None or tile.columns != two or tile.rows < LEAST_SUMS:
        return tile
    saved = -(-count // two) * two - -(-count // tile.lanes) * tile.lanes
    return replace(tile, columns=tile.lanes) if saved >= WORTH_FITTING * count else tile


def widened(tile: Tile, columns: Expr, registers: int, most: int = MOST_VECTORS) -> Tile:
    """A tile of few rows with more vectors a row, where registers and columns are left for them."""
    if (count := known(columns)) is None:
        return tile
    while (wide := 2 * tile.columns) <= most * tile.lanes:
        vectors = wide // tile.lanes
        padding = -(-count // wide) * wide - count
        if (tile.rows * vectors + min(tile.rows, vectors) + 1 >= registers) or (
            padding > WASTED * count
        ):
            break
        tile = replace(tile, columns=wide)
    return tile


def block_for(
    dtype: DType,
    vector_bytes: int,
    rows: Expr,
    columns: Expr,
    depth: Expr,
    far: bool = False,
    first_cache: int = LEAST_FIRST_CACHE,
) -> Blocking:
    """The blocking of a dtype on a machine, for a product of these sizes, whose second factor is
    `far` if it is read from memory as it lies."""
    lower = far and (known(rows) or MOST_FAR_ROWS + 1) <= MOST_FAR_ROWS
    tile = (
        tile_for(dtype, vector_bytes, rows, FAR_ROWS)
        if lower
        else tile_for(dtype, vector_bytes, rows)
    )
    tile = widened(fitted(tile, columns), columns, REGISTERS.get(vector_bytes, 16))
    sizes = known(rows), known(columns), known(depth)
    return _blocking(dtype, tile, depth_for(dtype, tile, *sizes, first_cache))


def streamed_block_for(dtype: DType, vector_bytes: int, rows: int, columns: Expr) -> Blocking:
    """The same for a product of few rows whose columns are streamed from afar as they lie."""
    lanes, most = vector_bytes // dtype.itemsize, TALL_ROWS.get(vector_bytes, 12)
    if rows > TILE_ROWS.get(vector_bytes, 6):
        tile = Tile(_best_rows(rows, most), lanes, lanes)
    else:
        tile = tile_for(dtype, vector_bytes, const(rows))
        tile = widened(tile, columns, REGISTERS.get(vector_bytes, 16), STREAMED_VECTORS)
    return _blocking(dtype, tile, DEPTH_OF_STREAMS)


def _blocking(dtype: DType, tile: Tile, depth: int) -> Blocking:
    panels = BLOCK_BYTES // (tile.rows * depth * dtype.itemsize)
    return Blocking(tile.rows, tile.columns, tile.lanes, depth, panels)


def depth_for(
    dtype: DType,
    tile: Tile,
    rows: int | None,
    columns: int | None,
    depth: int | None,
    first_cache: int,
) -> int:
    """Steps of the depth over which a panel of columns stays in the first cache while two of rows
    pass through, where so many rows read columns again; fewer where that costs no time."""
    if rows is not None and rows <= FEW_ROWS:
        return DEPTH_OF_FEW
    if rows is None or rows > FEW_READERS * tile.rows:
        bytes_a_step = (tile.columns + 2 * tile.rows) * dtype.itemsize
        return min(DEPTH_BLOCK, first_cache // bytes_a_step // DEPTH_STEP * DEPTH_STEP)
    if not dtype.is_floating_point or columns is None or depth is None:
        return DEPTH_BLOCK
    if columns * depth * dtype.itemsize > NEAR_BYTES and rows <= WAITING_READERS * tile.rows:
        return DEPTH_OF_FEW
    return HALF_BLOCK if rows <= ROWS_OF_DOTS and depth > DEPTH_BLOCK else DEPTH_BLOCK


def divides(size: Expr, by: int) -> bool:
    count = known(size)
    return count is not None and count % by == 0


def ceil_div(size: Expr, by: Expr | int) -> Expr:
    if isinstance(by, Expr) and by.is_int(1):
        return size
    return binary("floordiv", size + (by - 1), by)


def part(number: Expr, size: Expr, parts: Expr) -> Expr:
    """Where the part of that number starts when `size` is cut into parts that differ by 1."""
    whole, count = known(size), known(parts)
    if whole is not None and count is not None and whole % count == 0:
        return number * (whole // count)
    if count == 1:
        return number * size
    return (number * size) // parts


def many(*sizes: Expr, least: int) -> bool:
    """Sizes whose product is not known to be less than that."""
    return prod(known(size) or least for size in sizes) >= least


def repays_threads(rows: Expr, columns: Expr, depth: Expr) -> bool:
    """Whether a product of these sizes is worth handing to other threads."""
    size = known(rows)
    counted = rows if size is None else const(max(size, LEAST_ROWS))
    return many(counted, columns, depth, least=LEAST_SHARED_WORK)


def takes_threads(axis: Axis, least: int = BATCH_TASKS) -> bool:
    """Whether the outermost of independent loops has turns enough for the threads."""
    return bool(axis.extents) and (known(axis.extents[0]) or least) >= least


def loops_around(axis: Axis, body: list[Operation], least: int = BATCH_TASKS) -> list[Operation]:
    """Independent loops around `body`; the outermost takes the threads if it has `least` turns."""
    for position, extent in reversed(list(enumerate(axis.extents))):
        several = position == 0 and takes_threads(axis, least)
        kind, grain = ("parallel", 1) if several else ("serial", None)
        body = [ForOp(axis.names[position], extent, body, kind, grain=grain)]
    return body
