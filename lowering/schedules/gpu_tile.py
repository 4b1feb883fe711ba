"""Sizes of a product on a GPU: what a block of threads computes, and what each thread of it does.

A block has `rows` by `columns` of the result and goes over the depth in steps of `depth`; a thread
has `thread_rows` by `thread_columns` of it in registers. A larger tile reads each factor less often
from global memory (a factor is read once for each tile of the other side), a smaller one makes more
blocks, so that a small product keeps more multiprocessors busy.
"""

from __future__ import annotations

from dataclasses import astuple
from math import ceil

from tensorscript.base.dtypes import DType
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.warps import WARP

from ..te.affine import known
from .contraction_shape import SUM_DTYPES, Product

MOST_THREADS = 1024
VECTOR_BYTES = 16
"""The most that a thread loads or stores at once."""
SHARED_LIMIT = 48 * 1024
"""Bytes that a block may have without asking the driver."""
MOST_SUMS = 64
"""Sums of a thread: with what they are made of they stay below 255 registers."""


@dataclass(frozen=True)
class BlockTile:
    """The sizes, all of them powers of two; see the module."""

    rows: int
    columns: int
    depth: int
    thread_rows: int
    thread_columns: int

    @property
    def across(self) -> int:
        """Threads side by side along the columns."""
        return self.columns // self.thread_columns

    @property
    def threads(self) -> int:
        return self.rows // self.thread_rows * self.across

    def shared_bytes(self, dtype: DType) -> int:
        """Of both factors, twice: one stage is read while the next is written."""
        padding = 2 * (VECTOR_BYTES // dtype.itemsize)
        return 2 * self.depth * (self.rows + self.columns + padding) * dtype.itemsize


def tile_misfit(*sizes: int) -> str | None:
    """Why there is no such tile, None if there is."""
    if min(sizes) < 1 or any(size & (size - 1) for size in sizes):
        return "all sizes are powers of two"
    tile = BlockTile(*sizes)
    if tile.thread_rows > tile.rows or tile.thread_columns > tile.columns:
        return "a thread has no more rows and columns than its block"
    if tile.thread_rows * tile.thread_columns > MOST_SUMS:
        return f"a thread has {MOST_SUMS} sums at most"
    if not WARP <= tile.threads <= MOST_THREADS:
        return f"a block has {WARP} to {MOST_THREADS} threads, not {tile.threads}"
    if min(tile.rows, tile.columns) * tile.depth < tile.threads:
        return "each thread brings an element of both factors, at least"
    return None


def tile_unfit(product: Product, *sizes: int) -> str | None:
    """Why a product cannot have that tile, None if it can."""
    used = BlockTile(*sizes).shared_bytes(SUM_DTYPES[product.target.value.dtype])
    if used > SHARED_LIMIT:
        return f"a block has {SHARED_LIMIT} bytes of shared memory, the factors take {used}"
    return None


TILES = tuple(
    BlockTile(*sizes)
    for sizes in (
        (128, 128, 8, 8, 8),
        (128, 64, 8, 8, 4),
        (64, 128, 8, 4, 8),
        (64, 64, 16, 4, 4),
        (32, 64, 16, 4, 4),
        (64, 32, 16, 4, 4),
        (32, 32, 16, 2, 2),
        (16, 64, 16, 2, 4),
        (64, 16, 16, 4, 2),
        (16, 16, 16, 1, 1),
    )
)
MULTIPROCESSORS = 128
"""Of a GPU, about: an A100 has 108, an H200 132. A tile is chosen for all of them alike."""
STEP_COST = 2.0
"""Of bringing a row or a column of a tile one step on, in multiply-adds of a thread."""
UNKNOWN = 1 << 10
"""What a size that is not known counts as."""


LEAST_SIDE = 4
"""Rows and columns of a product in tiles; of fewer ones most of a tile would be padding."""


def worth_tiles(product: Product) -> bool:
    """Whether a product has rows and columns enough for tiles."""
    sides = known(product.rows.size), known(product.columns.size)
    return all(size is None or size >= LEAST_SIDE for size in sides)


def tile_for(product: Product) -> BlockTile:
    """The tile whose blocks take the least time by a rough count: the turns that multiprocessors
    take, each one as long as its multiply-adds and what a thread loads for them. Nothing of it was
    measured on a GPU."""
    sizes = (product.batch.size, product.rows.size, product.columns.size)
    batch, rows, columns = (UNKNOWN if (n := known(size)) is None else n for size in sizes)
    fitting = [t for t in TILES if tile_unfit(product, *astuple(t)) is None]
    return min(fitting, key=lambda tile: _cost(tile, batch, rows, columns))


def _cost(tile: BlockTile, batch: int, rows: int, columns: int) -> float:
    blocks = batch * ceil(rows / tile.rows) * ceil(columns / tile.columns)
    each = 1 + STEP_COST * (1 / tile.thread_rows + 1 / tile.thread_columns)
    return ceil(blocks / MULTIPROCESSORS) * tile.rows * tile.columns * each
