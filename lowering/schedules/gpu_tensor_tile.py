"""Sizes of a product on tensor cores: what a block of threads computes, and what each warp of it.

A warp's tile is cut into products of 16 by 8 results and 16 steps of the depth, of which it keeps
the sums in registers, and reads each of its fragments once for all of those that need it.
"""

from __future__ import annotations

from math import ceil

from tensorscript.base.dtypes import DType, bfloat16, float16
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, const, select
from tensorscript.dialects.te.warps import WARP

from ..te.affine import known
from .contraction_shape import Product
from .gpu_tile import MOST_THREADS, MULTIPROCESSORS, SHARED_LIMIT, UNKNOWN

STEPS = 16
"""Of the depth, in one product."""
MOST_SUMS = 64


@dataclass(frozen=True)
class TensorTile:
    """The sizes, all of them powers of two; see the module."""

    rows: int
    columns: int
    depth: int
    warp_rows: int
    warp_columns: int

    @property
    def across(self) -> int:
        """Warps side by side along the columns."""
        return self.columns // self.warp_columns

    @property
    def threads(self) -> int:
        return self.rows // self.warp_rows * self.across * WARP


def half_factor(factor: Expr) -> Expr | None:
    """A factor as the numbers of 16 bits that it is made of, perhaps 0 in places; None if it is
    none, or is computed further."""
    if factor.op == "cast" and factor.args[0].dtype in (float16, bfloat16):
        return factor.args[0]
    if factor.op != "select" or not _is_zero(factor.args[2]):
        return None
    inner = half_factor(factor.args[1])
    return None if inner is None else select(factor.args[0], inner, const(0, inner.dtype))


def _is_zero(e: Expr) -> bool:
    return e.is_const and e.value == 0 and str(e.value) != "-0.0"


def tensor_dtype(product: Product) -> DType | None:
    """float16 or bfloat16, if both factors are of it; None if tensor cores do not multiply them."""
    halves = [half_factor(factor) for factor in (product.x, product.y)]
    dtypes = {half.dtype for half in halves if half is not None}
    return dtypes.pop() if None not in halves and len(dtypes) == 1 else None


def tensor_misfit(*sizes: int) -> str | None:
    """Why there is no such tile, None if there is."""
    if min(sizes) < STEPS or any(size & (size - 1) for size in sizes):
        return f"all sizes are powers of two, {STEPS} at least"
    tile = TensorTile(*sizes)
    if tile.warp_rows > tile.rows or tile.warp_columns > tile.columns:
        return "a warp has no more rows and columns than its block"
    if tile.warp_rows * tile.warp_columns > MOST_SUMS * WARP:
        return f"a thread has {MOST_SUMS} sums at most"
    if tile.threads > MOST_THREADS:
        return f"a block has {MOST_THREADS} threads at most, not {tile.threads}"
    if min(tile.rows, tile.columns) * tile.depth < tile.threads:
        return "each thread brings an element of both factors, at least"
    used = 2 * 2 * tile.depth * (tile.rows + tile.columns)
    if used > SHARED_LIMIT:
        return f"a block has {SHARED_LIMIT} bytes of shared memory, the factors take {used}"
    return None


TENSOR_TILES = tuple(
    TensorTile(*sizes)
    for sizes in (
        (128, 128, 32, 64, 32),
        (128, 64, 32, 32, 32),
        (64, 128, 32, 32, 32),
        (64, 64, 32, 32, 32),
        (32, 64, 32, 16, 32),
        (64, 32, 32, 32, 16),
        (32, 32, 32, 16, 16),
        (16, 64, 32, 16, 16),
        (16, 32, 32, 16, 16),
    )
)
STEP_COST = 16.0
"""Of bringing a row or a column of a warp's tile one step on, in multiply-adds of a warp."""


def tensor_tile_for(product: Product) -> TensorTile:
    """The tile whose blocks take the least time by the count of `gpu_tile.tile_for`, which nobody
    measured either."""
    sizes = (product.batch.size, product.rows.size, product.columns.size)
    batch, rows, columns = (UNKNOWN if (n := known(size)) is None else n for size in sizes)
    return min(TENSOR_TILES, key=lambda tile: _cost(tile, batch, rows, columns))


def _cost(tile: TensorTile, batch: int, rows: int, columns: int) -> float:
    blocks = batch * ceil(rows / tile.rows) * ceil(columns / tile.columns)
    each = 1 + STEP_COST * (1 / tile.warp_rows + 1 / tile.warp_columns)
    return ceil(blocks / MULTIPROCESSORS) * tile.rows * tile.columns * each
