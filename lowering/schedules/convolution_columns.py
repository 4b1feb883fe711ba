"""Convolutions with pixels in the lanes.

In the plane the output pixels q = h * pitch + w of one tap (r, s) read q + r * pitch + s: a
contiguous vector, whatever the tap. The columns between one output row's end and the next one's
start are computed too and left out when the results are copied to their places.

```
plane[c][q] = image with its border                          (once)
pack the weights X into panels weights[m / MR][k][MR]        (once)
for each block of output rows (parallel):
    for each row panel, for each block of the depth, for each column panel:
        tile[MR][NR] in registers = weights[.., k, :] outer plane[c(k)][q + shift(k)]  over its k
        sums[m][q] += tile                                   (stays in the L2 cache)
    y[m, h, w] = epilogue(sums[m][h * pitch + w])
```
A depthwise convolution is the case of one row.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.dialects.te.buffers import Buffer, make_buffer
from tensorscript.dialects.te.expr import Expr, const, load, mul, var
from tensorscript.dialects.te.ops import ForOp, StoreOp
from tensorscript.dialects.te.rewriting import replace_loads

from ..te.affine import known
from ..te.lanes import vectorize_map
from ..te.rebuild import substituting
from .contraction_shape import Product
from .contraction_tile import ceil_div, loops_around, tile_for
from .convolution_image import Image
from .convolution_nest import BLOCK_BYTES, ROWS_OF_UNKNOWN, ConvolutionNest, rows_of_blocks

LEAST_PANELS = 4
"""Column panels of a block: what the last one wastes is then little."""


class PixelColumns(ConvolutionNest):
    """Rows of the tile are output channels, its columns pixels."""

    @classmethod
    def of(
        cls, p: Product, image: Image, vector_bytes: int, buffers: dict[str, Buffer], whole: bool
    ) -> PixelColumns:
        """Blocked for vectors of so many bytes."""
        tile = tile_for(p.target.value.dtype, vector_bytes, p.rows.size)
        return cls(p, image, tile.lanes, buffers, tile, tile.rows, whole)

    def block_rows(self) -> int:
        """Enough blocks for the threads, sums that stay cached, full panels."""
        size, pitch = known(self.image.dims[0].size), known(self.pitches[0])
        if pitch is None:
            return ROWS_OF_UNKNOWN
        filled = -(-LEAST_PANELS * self.tile.columns // pitch)
        if size is None:
            return max(ROWS_OF_UNKNOWN, filled)
        rows = known(self.kept_rows) or 1
        cached = BLOCK_BYTES // (rows * pitch * self.dtype.itemsize)
        most = max(filled, min(-(-size // self.tasks), cached))
        return rows_of_blocks(size, most, filled)

    @property
    def cost(self) -> float:
        """Steps of the tile for each that counts."""
        sizes = [known(e) for e in (self.p.rows.size, self.image.pixels)]
        panels = known(mul(self.panels, self._panels(const(self.block))))
        rows = known(self.image.dims[0].size)
        if panels is None or rows is None or not all(sizes):
            return 1.0
        done = panels * rows / self.block * self.tile.rows * self.tile.columns
        return done / (sizes[0] or 1) / (sizes[1] or 1)

    def _panels(self, rows: Expr) -> Expr:
        """Column panels of some output rows, what lies between their ends included."""
        columns = mul(rows - 1, self.pitches[0]) + 1
        for dim, pitch in zip(self.image.dims[1:], self.pitches[1:], strict=True):
            columns = columns + mul(dim.size - 1, pitch)
        return ceil_div(columns, self.tile.columns)

    def sums(self) -> Buffer:
        columns = mul(self._panels(const(self.block)), const(self.tile.columns))
        return make_buffer("sums", self.dtype, [self.kept_rows, columns])

    def panel_body(self, start: Expr, rows: Expr) -> list[Operation]:
        column = var("jp") * self.tile.columns
        value = self.weight(var("i1t")) * self.pixel(start + column + var("j1t"))
        tile = self.micro_kernel(value, self.slot * self.tile.rows, column)
        return [ForOp("jp", self._panels(rows), tile)]

    def results(self, first: Expr, rows: Expr) -> list[Operation]:
        names = ["hr", *(d.column for d in self.image.dims[1:])]
        sizes = [rows, *(d.size for d in self.image.dims[1:])]
        column = const(0)
        for name, pitch in zip(names, self.pitches, strict=True):
            column = column + mul(var(name), pitch)
        row = var("ir") if self.by_panel else self.p.rows.flat()
        total = load("sums", [row, column], self.dtype)
        target = self.p.target
        values = {self.image.dims[0].column: first + var("hr")}
        if self.by_panel:
            values |= self.p.rows.unflatten(self.first_channel + var("ir"))
        here = substituting(values)

        def summed(e: Expr) -> Expr:
            return replace_loads(here(e), lambda n: total if n.value == target.buffer else None)

        stores: list[Operation] = [
            StoreOp(s.buffer, [here(i) for i in s.indices], summed(s.value))
            for s in self.p.epilogue
        ] or [StoreOp(target.buffer, [here(i) for i in target.indices], total)]
        nest = vectorize_map(ForOp(names[-1], sizes[-1], stores), self.lanes)
        for name, size in reversed(list(zip(names[:-1], sizes[:-1], strict=True))):
            nest = [ForOp(name, size, nest)]
        if self.by_panel:
            return [ForOp("ir", self.channels, nest)]
        return loops_around(self.p.rows, nest, least=2)
