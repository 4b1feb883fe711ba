"""A product of matrices by blocks of threads, its factors staged through shared memory.

```
for bx in 0 .. batch * ceil(M / rows) * ceil(N / columns) bx { for tx in 0 .. threads tx {
  sums[..] = 0                                                    (registers)
  bring tiles xs[0], ys[0] of both factors;  te.sync
  for turn in 0 .. ceil(K / depth) {
    load the tiles of the next turn into registers
    for step in 0 .. depth { sums[i, j] add= xs[stage, step, row i] * ys[stage, step, column j] }
    store them to xs[1 - stage], ys[1 - stage];  te.sync }          (stage = turn % 2)
  out = epilogue(sums) } }
```
Each turn has one barrier: a stage is written while the other is read, and loads of global memory
are on their way while the turn multiplies. A warp has `WARP_ACROSS` threads side by side and the
others below them, and a thread takes its rows and columns by vectors that are dealt in turn: the
threads that read shared memory at once read vectors that lie side by side, or the same one. Rows,
columns and steps beyond the matrix are zeros, which add nothing, and are not stored.

After Volkov and Demmel, "Benchmarking GPUs to tune dense linear algebra" (SC 2008), and NVIDIA's
CUTLASS, whose arrangement of threads this is.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.dialects.te.buffers import make_buffer
from tensorscript.dialects.te.expr import Expr, all_of, cast, const, load, var
from tensorscript.dialects.te.ops import (
    AllocOp,
    ForOp,
    FuncOp,
    IfOp,
    LetOp,
    StoreOp,
    SyncOp,
    UpdateOp,
)
from tensorscript.dialects.te.rewriting import replace_loads

from ..te.affine import all_buffers
from .contraction_shape import SUM_DTYPES, Axis, Product, Spots, recognise
from .contraction_tile import ceil_div, divides
from .gpu_staging import THREAD, StagedFactor
from .gpu_tile import VECTOR_BYTES, WARP, BlockTile

WARP_ACROSS = 8
"""Threads of a warp side by side: eight vectors of 16 bytes are all banks."""


def tiled_product_of(func: FuncOp) -> Product | None:
    """The product of matrices that a logical kernel computes, with columns that its result has
    last; None if it computes something else."""
    product = recognise(func)
    if product is None or product.target.value.dtype not in SUM_DTYPES:
        return None
    return product


class TiledProduct:
    """Writes the nest of one product."""

    def __init__(self, func: FuncOp, product: Product, tile: BlockTile) -> None:
        self.p, self.tile = product, tile
        self.dtype = SUM_DTYPES[product.target.value.dtype]
        self.buffers = all_buffers(func)
        self.m, self.n, self.k = product.rows.size, product.columns.size, product.depth.size
        self.turns = ceil_div(self.k, tile.depth)
        self.x = self._staged("x", product.x, product.rows, tile.rows)
        self.y = self._staged("y", product.y, product.columns, tile.columns)

    def _staged(self, name: str, factor: Expr, along: Axis, extent: int) -> StagedFactor:
        return StagedFactor(
            name,
            cast(factor, self.dtype),
            along,
            self.p.depth,
            extent,
            self.tile.depth,
            self.tile.threads,
            var(f"{name}_first"),
            self.buffers,
            self.dtype,
        )

    # --- who computes what ----------------------------------------------------------------------

    def _grid(self) -> Axis:
        """Blocks: all tiles of a row of tiles one after the other, whose rows stay in the cache."""
        names = ["product", "row_tile", "column_tile"]
        sizes = [self.p.batch.size, ceil_div(self.m, self.tile.rows)]
        return Axis(names, [*sizes, ceil_div(self.n, self.tile.columns)])

    def _names(self) -> list[Operation]:
        """The block's and the thread's place."""
        at = self._grid().unflatten(var("bx"))
        batch = self.p.batch.unflatten(at["product"])
        across = min(WARP_ACROSS, self.tile.across)
        thread, warp = var(THREAD) % WARP, var(THREAD) // WARP
        warps_across = self.tile.across // across
        column = warp % warps_across * across + thread % across
        row = warp // warps_across * (WARP // across) + thread // across
        places = {
            **batch,
            "x_first": at["row_tile"] * self.tile.rows,
            "y_first": at["column_tile"] * self.tile.columns,
            "x_thread": row * self._vector(self.tile.thread_rows),
            "y_thread": column * self._vector(self.tile.thread_columns),
        }
        return [LetOp(name, place) for name, place in places.items()]

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

    # --- the sums -------------------------------------------------------------------------------

    def _clear(self) -> Operation:
        i, j = var("i0t"), var("j0t")
        store = StoreOp("sums", [i, j], const(0, self.dtype))
        return _over(("i0t", self.tile.thread_rows), ("j0t", self.tile.thread_columns), store)

    def _read(
        self, factor: StagedFactor, of_rows: bool, stage: Expr, step: Expr
    ) -> list[Operation]:
        """A thread's rows or columns of a step, into registers."""
        own = self.tile.thread_rows if of_rows else self.tile.thread_columns
        vector, made = self._vector(own), list[Operation]()
        for place, number in self._groups(of_rows):
            lane = f"{factor.name}r_{number}"
            value = factor.staged(stage, step, place + var(lane))
            store = StoreOp(f"{factor.name}r", [var(lane) + number], value)
            made.append(ForOp(lane, vector, [store], "vector"))
        return made

    def _multiply(self) -> Operation:
        """One turn over the depth."""
        stage, step = var("stage"), var("step")
        a, b = load("xr", [var("i1t")], self.dtype), load("yr", [var("j1t")], self.dtype)
        update = UpdateOp("sums", [var("i1t"), var("j1t")], "add", a * b)
        sizes = ("i1t", self.tile.thread_rows), ("j1t", self.tile.thread_columns)
        body = [
            *self._read(self.x, True, stage, step),
            *self._read(self.y, False, stage, step),
            _over(*sizes, update),
        ]
        return ForOp("step", self.tile.depth, body, "unroll")

    def _turns(self) -> list[Operation]:
        """Over the depth: the first tiles are brought before, each turn brings the next."""
        first, turn = const(0), var("turn")
        more, other = turn + 1 < self.turns, 1 - var("stage")
        return [
            *self.x.fetch(first, "0"), *self.y.fetch(first, "0"),
            *self.x.put(first, "0"), *self.y.put(first, "0"),
            SyncOp("shared"),
            ForOp("turn", self.turns, [
                LetOp("stage", turn % 2),
                IfOp(more, [*self.x.fetch(turn + 1, "1"), *self.y.fetch(turn + 1, "1")]),
                self._multiply(),
                IfOp(more, [*self.x.put(other, "1"), *self.y.put(other, "1")]),
                SyncOp("shared"),
            ]),
        ]  # fmt: skip

    # --- the results ----------------------------------------------------------------------------

    def _store(self) -> list[Operation]:
        """The sums through the epilogue, by vectors of columns."""
        width = self._vector(self.tile.thread_columns)
        made: list[Operation] = []
        for row_place, row_number in self._groups(True):
            for column_place, column_number in self._groups(False):
                made.append(
                    self._store_group(row_place, row_number, column_place, column_number, width)
                )
        return made

    def _store_group(
        self, row_place: Expr, row_number: int, column_place: Expr, column_number: int, width: int
    ) -> Operation:
        """Rows of a vector, one column vector of each."""
        tag = f"{row_number}_{column_number}"
        i, lane = var(f"is_{tag}"), var(f"js_{tag}")
        row = var("x_first") + row_place + i
        start = var("y_first") + column_place
        total = load("sums", [i + row_number, lane + column_number], self.dtype)
        inner: list[Operation] = list(self._results(row, start + lane, total))
        inside = [] if divides(self.m, self.tile.rows) else [row < self.m]
        if not divides(self.n, width):
            inner = [IfOp(start + lane < self.n, inner)]
        elif not divides(self.n, self.tile.columns):
            inside.append(start < self.n)
        body: Operation = ForOp(str(lane.value), width, inner, "vector")
        if inside:
            body = IfOp(all_of(inside), [body])
        return ForOp(str(i.value), self._vector(self.tile.thread_rows), [body], "unroll")

    def _results(self, row: Expr, column: Expr, total: Expr) -> list[StoreOp]:
        target = self.p.target
        total = cast(total, target.value.dtype)
        spots = Spots(self.buffers, ((self.p.rows, row), (self.p.columns, column)))
        if not self.p.epilogue:
            return [StoreOp(target.buffer, spots.indices(target.buffer, target.indices), total)]

        def through(n: Expr) -> Expr | None:
            return cast(total, n.dtype) if n.value == target.buffer else None

        return [
            StoreOp(
                s.buffer,
                spots.indices(s.buffer, s.indices),
                replace_loads(spots.expression(s.value), through),
            )
            for s in self.p.epilogue
        ]

    def build(self) -> list[Operation]:
        tile = self.tile
        registers = {
            "sums": [tile.thread_rows, tile.thread_columns],
            "xr": [tile.thread_rows],
            "yr": [tile.thread_columns],
        }
        body: list[Operation] = [
            *(AllocOp(make_buffer(n, self.dtype, s), "reg") for n, s in registers.items()),
            *self.x.storage(),
            *self.y.storage(),
            *self._names(),
            *self.x.names(),
            *self.y.names(),
            self._clear(),
            *self._turns(),
            *self._store(),
        ]
        threads = ForOp(THREAD, tile.threads, body, "tx")
        return [ForOp("bx", self._grid().size, [threads], "bx")]


def _over(rows: tuple[str, int], columns: tuple[str, int], body: Operation) -> Operation:
    """A nest over a thread's sums, written out."""
    return ForOp(*rows, [ForOp(*columns, [body], "unroll")], "unroll")


def tiled_product(func: FuncOp, product: Product, *sizes: int) -> list[Operation]:
    """The nest of a product in tiles of those sizes (`BlockTile`)."""
    return TiledProduct(func, product, BlockTile(*sizes)).build()
