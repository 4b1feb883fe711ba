"""A product of matrices by blocks of threads, each with a register tile of the result.

```
multiply:  for step in 0 .. depth {
             sums[i, j] add= xs[stage, step, row i] * ys[stage, step, column j] }
```
`gpu_staged_product.py` shows what is around. A warp has `WARP_ACROSS` threads side by side and the
others below them, and a thread takes its rows and columns by vectors that are dealt in turn: the
threads that read shared memory at once read vectors that lie side by side, or the same one.

After Volkov and Demmel, "Benchmarking GPUs to tune dense linear algebra" (SC 2008), and NVIDIA's
CUTLASS, whose arrangement of threads this is.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.dialects.te.expr import Expr, cast, const, load, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, FuncOp, StoreOp, UpdateOp
from tensorscript.dialects.te.warps import WARP

from .contraction_shape import SUM_DTYPES, Product
from .gpu_staged_product import StagedProduct, over, register
from .gpu_staging import THREAD, StagedFactor
from .gpu_tile import VECTOR_BYTES, BlockTile

WARP_ACROSS = 8
"""Threads of a warp side by side: eight vectors of 16 bytes are all banks."""


class TiledProduct(StagedProduct):
    """Writes the nest of one product, its sums in the dtype that the CPU sums in."""

    def __init__(self, func: FuncOp, product: Product, tile: BlockTile) -> None:
        dtype = SUM_DTYPES[product.target.value.dtype]
        x, y = cast(product.x, dtype), cast(product.y, dtype)
        super().__init__(func, product, tile, x, y, dtype)
        self.tile = tile

    def places(self) -> dict[str, Expr]:
        across = min(WARP_ACROSS, self.tile.across)
        thread, warp = var(THREAD) % WARP, var(THREAD) // WARP
        warps_across = self.tile.across // across
        column = warp % warps_across * across + thread % across
        row = warp // warps_across * (WARP // across) + thread // across
        return {
            "x_thread": row * self._vector(self.tile.thread_rows),
            "y_thread": column * self._vector(self.tile.thread_columns),
        }

    def registers(self) -> list[AllocOp]:
        rows, columns = self.tile.thread_rows, self.tile.thread_columns
        return [
            register("sums", self.dtype, rows, columns),
            register("xr", self.dtype, rows),
            register("yr", self.dtype, columns),
        ]

    def _vector(self, elements: int) -> int:
        """Rows or columns of a thread that lie side by side."""
        return min(elements, VECTOR_BYTES // self.dtype.itemsize)

    def _groups(self, of_rows: bool) -> list[tuple[Expr, int]]:
        """The thread's first rows or columns in the tile, by vectors; and which of its sums."""
        tile = self.tile
        own, all_, name = (
            (tile.thread_rows, tile.rows, "x_thread")
            if of_rows
            else (tile.thread_columns, tile.columns, "y_thread")
        )
        vector = self._vector(own)
        apart = all_ // own * vector
        return [(var(name) + k * apart, k * vector) for k in range(own // vector)]

    def clear(self) -> Operation:
        store = StoreOp("sums", [var("i0t"), var("j0t")], const(0, self.dtype))
        return over(("i0t", self.tile.thread_rows), ("j0t", self.tile.thread_columns), store)

    def _read(self, factor: StagedFactor, of_rows: bool, stage: Expr) -> list[Operation]:
        """A thread's rows or columns of a step, into registers."""
        own = self.tile.thread_rows if of_rows else self.tile.thread_columns
        vector, made = self._vector(own), list[Operation]()
        for place, number in self._groups(of_rows):
            lane = f"{factor.name}r_{number}"
            value = factor.staged(stage, var("step"), place + var(lane))
            store = StoreOp(f"{factor.name}r", [var(lane) + number], value)
            made.append(ForOp(lane, vector, [store], "vector"))
        return made

    def multiply(self, stage: Expr) -> Operation:
        a, b = load("xr", [var("i1t")], self.dtype), load("yr", [var("j1t")], self.dtype)
        update = UpdateOp("sums", [var("i1t"), var("j1t")], "add", a * b)
        sizes = ("i1t", self.tile.thread_rows), ("j1t", self.tile.thread_columns)
        body = [
            *self._read(self.x, True, stage),
            *self._read(self.y, False, stage),
            over(*sizes, update),
        ]
        return ForOp("step", self.tile.depth, body, "unroll")

    def store(self) -> list[Operation]:
        return [
            self._store_group(row_place, row, column_place, column)
            for row_place, row in self._groups(True)
            for column_place, column in self._groups(False)
        ]

    def _store_group(
        self, row_place: Expr, row_number: int, column_place: Expr, column_number: int
    ) -> Operation:
        """Rows of a vector, one column vector of each."""
        i, lane = var(f"is_{row_number}_{column_number}"), f"js_{row_number}_{column_number}"
        width = self._vector(self.tile.thread_columns)
        total = load("sums", [i + row_number, var(lane) + column_number], self.dtype)
        row, start = var("x_first") + row_place + i, var("y_first") + column_place
        line = self.store_line(row, start, width, lane, total)
        return ForOp(str(i.value), self._vector(self.tile.thread_rows), line, "unroll")


def tiled_product(func: FuncOp, product: Product, *sizes: int) -> list[Operation]:
    """The nest of a product in tiles of those sizes (`BlockTile`)."""
    return TiledProduct(func, product, BlockTile(*sizes)).build()
