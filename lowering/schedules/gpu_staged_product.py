"""What all products by blocks of threads share: the grid, the turns over the depth, the results.

```
for bx in 0 .. batch * ceil(M / rows) * ceil(N / columns) bx { for tx in 0 .. threads tx {
  sums[..] = 0                                                    (registers)
  bring tiles xs[0], ys[0] of both factors;  te.sync
  for turn in 0 .. ceil(K / depth) {
    load the tiles of the next turn into registers
    multiply xs[stage], ys[stage]                                 (stage = turn % 2)
    store them to xs[1 - stage], ys[1 - stage];  te.sync }
  out = epilogue(sums) } }
```
Each turn has one barrier: a stage is written while the other is read, and loads of global memory
are on their way while the turn multiplies. Rows, columns and steps beyond the matrix are zeros,
which add nothing, and are not stored.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol

from xdsl.ir import Operation

from tensorscript.base.dtypes import DType
from tensorscript.dialects.te.buffers import Buffer, make_buffer
from tensorscript.dialects.te.expr import Expr, all_of, const, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, FuncOp, IfOp, LetOp, SyncOp

from ..te.affine import all_buffers
from .contraction_shape import SUM_DTYPES, Axis, Product, recognise, results
from .contraction_tile import ceil_div, divides
from .gpu_staging import THREAD, StagedFactor


class Tile(Protocol):
    """Sizes of a block's tile."""

    @property
    def rows(self) -> int: ...

    @property
    def columns(self) -> int: ...

    @property
    def depth(self) -> int: ...

    @property
    def threads(self) -> int: ...


def product_on_gpu(func: FuncOp) -> Product | None:
    """The product of matrices that a logical kernel computes, with columns that its result has
    last; None if it computes something else."""
    product = recognise(func)
    if product is None or product.target.value.dtype not in SUM_DTYPES:
        return None
    return product


class StagedProduct:
    """Writes the nest of one product, but for how a block multiplies two tiles.

    Args:
        x, y: the factors in the dtype that they are staged in.
    """

    factor: type[StagedFactor] = StagedFactor

    def __init__(
        self, func: FuncOp, product: Product, tile: Tile, x: Expr, y: Expr, dtype: DType
    ) -> None:
        self.p, self.block_tile, self.dtype = product, tile, dtype
        self.buffers: dict[str, Buffer] = all_buffers(func)
        self.m, self.n = product.rows.size, product.columns.size
        self.x = self._staged("x", x, product.rows, tile.rows)
        self.y = self._staged("y", y, product.columns, tile.columns)

    def _staged(self, name: str, factor: Expr, along: Axis, extent: int) -> StagedFactor:
        return self.factor(
            name,
            factor,
            along,
            self.p.depth,
            extent,
            self.block_tile.depth,
            self.block_tile.threads,
            var(f"{name}_first"),
            self.buffers,
            self.dtype,
        )

    @abstractmethod
    def places(self) -> dict[str, Expr]:
        """Names of what depends on the thread alone."""

    @abstractmethod
    def registers(self) -> list[AllocOp]:
        """What a thread keeps in registers."""

    @abstractmethod
    def clear(self) -> Operation:
        """Start the sums."""

    @abstractmethod
    def multiply(self, stage: Expr) -> Operation:
        """Add the product of two tiles to the sums."""

    @abstractmethod
    def store(self) -> list[Operation]:
        """The sums through the epilogue."""

    def _grid(self) -> Axis:
        """Blocks: all tiles of a row of tiles one after the other, whose rows stay in the cache."""
        names, tile = ["product", "row_tile", "column_tile"], self.block_tile
        sizes = [self.p.batch.size, ceil_div(self.m, tile.rows)]
        return Axis(names, [*sizes, ceil_div(self.n, tile.columns)])

    def _names(self) -> list[Operation]:
        """The block's and the thread's place."""
        at = self._grid().unflatten(var("bx"))
        places = {
            **self.p.batch.unflatten(at["product"]),
            "x_first": at["row_tile"] * self.block_tile.rows,
            "y_first": at["column_tile"] * self.block_tile.columns,
            **self.places(),
        }
        return [LetOp(name, place) for name, place in places.items()]

    def _turns(self) -> list[Operation]:
        """Over the depth: the first tiles are brought before, each turn brings the next."""
        turns = ceil_div(self.p.depth.size, self.block_tile.depth)
        first, turn, other = const(0), var("turn"), 1 - var("stage")
        more = turn + 1 < turns
        return [
            *self.x.fetch(first, "0"), *self.y.fetch(first, "0"),
            *self.x.put(first, "0"), *self.y.put(first, "0"),
            SyncOp("shared"),
            ForOp("turn", turns, [
                LetOp("stage", turn % 2),
                IfOp(more, [*self.x.fetch(turn + 1, "1"), *self.y.fetch(turn + 1, "1")]),
                self.multiply(var("stage")),
                IfOp(more, [*self.x.put(other, "1"), *self.y.put(other, "1")]),
                SyncOp("shared"),
            ]),
        ]  # fmt: skip

    def store_line(
        self, row: Expr, start: Expr, width: int, lane: str, total: Expr
    ) -> list[Operation]:
        """`width` columns of a row from `start` on, a multiple of it, through the epilogue; `total`
        is a sum at the loop `lane`."""
        inner: list[Operation] = list(results(self.p, self.buffers, row, start + var(lane), total))
        inside = [] if divides(self.m, self.block_tile.rows) else [row < self.m]
        if not divides(self.n, width):
            inner = [IfOp(start + var(lane) < self.n, inner)]
        elif not divides(self.n, self.block_tile.columns):
            inside.append(start < self.n)
        line: list[Operation] = [ForOp(lane, width, inner, "vector")]
        return [IfOp(all_of(inside), line)] if inside else line

    def build(self) -> list[Operation]:
        body: list[Operation] = [
            *self.registers(),
            *self.x.storage(),
            *self.y.storage(),
            *self._names(),
            *self.x.names(),
            *self.y.names(),
            self.clear(),
            *self._turns(),
            *self.store(),
        ]
        threads = ForOp(THREAD, self.block_tile.threads, body, "tx")
        return [ForOp("bx", self._grid().size, [threads], "bx")]


def register(name: str, dtype: DType, *shape: int) -> AllocOp:
    """A buffer of a thread whose indices are constants once loops are unrolled."""
    return AllocOp(make_buffer(name, dtype, list(shape)), "reg")


def over(rows: tuple[str, int], columns: tuple[str, int], body: Operation) -> Operation:
    """A nest over a thread's sums, written out."""
    return ForOp(*rows, [ForOp(*columns, [body], "unroll")], "unroll")
