"""A product of float16 or bfloat16 matrices on tensor cores, its sums in float32.

```
multiply:  for step in 0 .. depth / 16 {
             a[..] = fragments of the warp's rows of xs, b[..] = of its columns of ys   te.matrices
             sums[i, j] add= a[i] * b[j]                     te.multiply, 16 by 8 and 16 deep }
```
`gpu_staged_product.py` shows what is around. Factors are staged as they lie in memory
(`gpu_swizzle.py`); a fragment is read along the rows of the tile where it runs along the depth, and
across where it does not. Each load brings fragments of 16 rows, or of 16 columns: two products.

Products of two numbers are exact in float32; in which order a unit adds sixteen of them, and how it
rounds, is its own choice (NVIDIA says no more), so that `strict` programs do not get here.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.base.dtypes import float32, int32
from tensorscript.base.errors import InternalError
from tensorscript.dialects.te.expr import Expr, const, load, var
from tensorscript.dialects.te.ops import (
    AllocOp,
    ForOp,
    FuncOp,
    MatricesOp,
    MultiplyOp,
    StoreOp,
)
from tensorscript.dialects.te.warps import WARP

from .contraction_shape import Product
from .gpu_staged_product import StagedProduct, product_on_gpu, register
from .gpu_staging import THREAD
from .gpu_swizzle import UNIT, SwizzledFactor
from .gpu_tensor_tile import STEPS, TensorTile, half_factor, tensor_dtype

ROWS, COLUMNS = 16, 8
"""Of one product."""
SUMS, PAIRS = 4, 4
"""Registers of a product's sums, and of what one load brings."""


def tensor_product_of(func: FuncOp) -> Product | None:
    """The product of a logical kernel that tensor cores multiply; None if there is none."""
    product = product_on_gpu(func)
    return None if product is None or tensor_dtype(product) is None else product


class TensorProduct(StagedProduct):
    """Writes the nest of one product."""

    factor = SwizzledFactor
    x: SwizzledFactor
    y: SwizzledFactor

    def __init__(self, func: FuncOp, product: Product, tile: TensorTile) -> None:
        x, y = half_factor(product.x), half_factor(product.y)
        if x is None or y is None:
            raise InternalError(f"{func.sym_name.data} is no product of halves", "te")
        super().__init__(func, product, tile, x, y, x.dtype)
        self.tile = tile
        self.down = tile.warp_rows // ROWS
        self.along = tile.warp_columns // COLUMNS

    def places(self) -> dict[str, Expr]:
        lane, warp, across = var(THREAD) % WARP, var(THREAD) // WARP, self.tile.across
        return {
            "x_warp": warp // across * self.tile.warp_rows,
            "y_warp": warp % across * self.tile.warp_columns,
            "eighth": lane % UNIT,  # the row of a matrix whose place a thread says
            "near": lane // UNIT % 2,
            "far": lane // (2 * UNIT),
            "x_own": lane // 4,
            "y_own": lane % 4 * 2,
        }

    def registers(self) -> list[AllocOp]:
        return [
            register("sums", float32, self.down * self.along * SUMS),
            register("xr", int32, self.down * PAIRS),
            register("yr", int32, self.along * PAIRS // 2),
        ]

    def clear(self) -> Operation:
        store = StoreOp("sums", [var("i0t")], const(0, float32))
        return ForOp("i0t", self.down * self.along * SUMS, [store], "unroll")

    def _fragments(
        self, factor: SwizzledFactor, first: Expr, stage: Expr, matrix: Expr, deeper: Expr
    ) -> MatricesOp:
        """Four matrices: 16 rows or columns from `first` on, 16 steps. `matrix` is the number of
        that along the rows or columns whose place a thread says, `deeper` of that in the depth."""
        number = var(f"{factor.name}m")
        if factor.runs_deep:
            row, unit = first + (number * 2 + matrix) * UNIT, var("step") * 2 + deeper
        else:
            row, unit = (var("step") * 2 + deeper) * UNIT, first // UNIT + number * 2 + matrix
        place = factor.unit(stage, row + var("eighth"), var("eighth"), unit)
        target = load(f"{factor.name}r", [number * PAIRS], int32)
        return MatricesOp(target, place, across=not factor.runs_deep)

    def multiply(self, stage: Expr) -> Operation:
        near, far = var("near"), var("far")
        x = self._fragments(self.x, var("x_warp"), stage, near, far)
        y = self._fragments(self.y, var("y_warp"), stage, far, near)
        i, j = var("i1t"), var("j1t")
        product = MultiplyOp(
            load("sums", [(i * self.along + j) * SUMS], float32),
            load("xr", [i * PAIRS], int32),
            load("yr", [j * (PAIRS // 2)], int32),
            self.dtype,
        )
        body: list[Operation] = [
            ForOp("xm", self.down, [x], "unroll"),
            ForOp("ym", self.along // 2, [y], "unroll"),
            ForOp("i1t", self.down, [ForOp("j1t", self.along, [product], "unroll")], "unroll"),
        ]
        return ForOp("step", self.tile.depth // STEPS, body, "unroll")

    def store(self) -> list[Operation]:
        """Pairs of columns of the rows g and g + 8 of each product."""
        i, j, half = var("i2t"), var("j2t"), var("half")
        row = var("x_first") + var("x_warp") + i * ROWS + half * UNIT + var("x_own")
        start = var("y_first") + var("y_warp") + j * COLUMNS + var("y_own")
        place = (i * self.along + j) * SUMS + half * 2 + var("pair")
        line = self.store_line(row, start, 2, "pair", load("sums", [place], float32))
        rows = ForOp("half", 2, line, "unroll")
        return [ForOp("i2t", self.down, [ForOp("j2t", self.along, [rows], "unroll")], "unroll")]


def tensor_product(func: FuncOp, product: Product, *sizes: int) -> list[Operation]:
    """The nest of a product in tiles of those sizes (`TensorTile`)."""
    return TensorProduct(func, product, TensorTile(*sizes)).build()
