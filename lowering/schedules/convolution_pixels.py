"""Convolutions with output channels in the lanes.

```
plane[c][q] = image with its border                            (once)
pack the weights into panels weights[m / NR][k][NR]            (once)
for each block of output rows (parallel):
    for each panel of channels, for each block of the depth, for each run of MR pixels:
        tile[MR][NR] in registers = plane[c(k)][q + shift(k)] outer weights[.., k, :]  over its k
        sums[pixel][m] += tile                                 (stays in the L2 cache)
    y[m, pixel] = epilogue(sums[pixel][m])                     (by squares, across)
```
A run of pixels lies in one row of the image, or covers whole rows of a narrow one, so that nothing
between rows is computed. The results pay a transposition; where channels lie last in them too, and
one block is the whole depth, they are stored from the tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from xdsl.ir import Operation

from tensorscript.dialects.te.buffers import Buffer, make_buffer
from tensorscript.dialects.te.expr import Expr, const, load, mul, var
from tensorscript.dialects.te.ops import ForOp, StoreOp
from tensorscript.dialects.te.rewriting import replace_loads

from ..te.affine import coefficient, flat_index, known
from ..te.lanes import vectorize_map
from ..te.squares import transpose_tiles
from .contraction_shape import Axis, Product, Spots
from .contraction_tile import TILE_ROWS, VECTORS_PER_ROW, Tile, ceil_div, fitted
from .convolution_image import Image
from .convolution_nest import BLOCK_BYTES, ConvolutionNest, rows_of_blocks
from .work import calls

LEAST_RUN = 4
BUSY_RUN = 6
"""Pixels of a run that keep the units busy."""
TRANSPOSITION = 20.0
"""Cost of a result's way through the transposition, in steps of its sum."""


WIDEST = 64
"""Bytes of a vector on the machine with the longest: that many of channels fill it on every one."""
RUN_STEP = 4
"""Rows of the image that are multiples of this divide into runs on every machine."""


def has_runs(p: Product, image: Image) -> bool:
    """Whether this form computes a convolution, whatever the machine and the cost."""
    sizes = [known(e) for e in (*(d.size for d in image.dims), p.rows.size, p.depth.size)]
    if None in sizes or len(p.rows.names) != 1:
        return False
    width, channels = sizes[len(image.dims) - 1] or 1, sizes[-2] or 1
    return width % RUN_STEP == 0 and channels * p.target.value.dtype.itemsize >= WIDEST


def is_run(image: Image, pixels: int) -> bool:
    """Whether runs of so many pixels divide the image's rows, or cover whole rows of it."""
    *_, height, width = (1, *(known(d.size) or 0 for d in image.dims))
    if not width or pixels < 1:
        return False
    rows, rest = divmod(pixels, width)
    return width % pixels == 0 or (rest == 0 and height % rows == 0)


def rows_of_run(image: Image, pixels: int) -> int:
    """Whole rows of the image that a run covers."""
    return max(1, pixels // (known(image.dims[-1].size) or 1))


class PixelRows(ConvolutionNest):
    """Rows of the tile are pixels, its columns output channels."""

    @classmethod
    def of(
        cls,
        p: Product,
        image: Image,
        vector_bytes: int,
        buffers: dict[str, Buffer],
        whole: bool,
        least: int = LEAST_RUN,
    ) -> PixelRows | None:
        """None where the image's rows do not divide into runs of at least so many pixels, or sizes
        are not known."""
        width, channels = known(image.dims[-1].size), known(p.rows.size)
        sizes = [known(d.size) for d in image.dims]
        if width is None or channels is None or None in sizes or known(p.depth.size) is None:
            return None
        lanes = vector_bytes // p.target.value.dtype.itemsize
        most = TILE_ROWS.get(vector_bytes, 6)
        runs = [r for r in range(min(least, most), most + 1) if is_run(image, r)]
        if len(p.rows.names) != 1 or channels < lanes or not runs:
            return None
        tile = fitted(Tile(max(runs), lanes * VECTORS_PER_ROW, lanes), p.rows.size)
        return cls(p, image, lanes, buffers, tile, tile.columns, whole)

    @property
    def rows_of_run(self) -> int:
        return rows_of_run(self.image, self.tile.rows)

    def _row_pixels(self) -> int:
        """Output pixels of one step along the first dimension."""
        count = 1
        for dim in self.image.dims[1:]:
            count *= known(dim.size) or 1
        return count

    def block_rows(self) -> int:
        size = known(self.image.dims[0].size) or 1
        if len(self.image.dims) == 1:
            return size
        row_bytes = self._row_pixels() * (known(self.kept_rows) or 1) * self.dtype.itemsize
        most = min(-(-size // self.tasks), BLOCK_BYTES // row_bytes)
        step = self.rows_of_run if len(self.image.dims) == 2 else 1
        return step * rows_of_blocks(size // step, most // step)

    @property
    def cost(self) -> float:
        """Steps of the tile for each that counts, the transposition included."""
        channels, depth = known(self.p.rows.size) or 1, known(self.p.depth.size) or 1
        used = (known(self.panels) or 1) * self.tile.columns
        idle = max(1.0, BUSY_RUN / self.tile.rows)
        return idle * used / channels + TRANSPOSITION / depth

    def sums(self) -> Buffer:
        pixels = const(self.block * self._row_pixels())
        return make_buffer("sums", self.dtype, [pixels, self.kept_rows])

    def panel_body(self, start: Expr, rows: Expr) -> list[Operation]:
        runs = self._runs(rows)
        nest = self._run(start, runs.names)
        for name, size in reversed(runs.pairs):
            nest = [ForOp(name, size, nest)]
        return nest

    def _runs(self, rows: Expr) -> Axis:
        """The loops over the runs of so many output rows."""
        width_runs = ceil_div(self.image.dims[-1].size, self.tile.rows)
        sizes = [rows, *(d.size for d in self.image.dims[1:])]
        sizes[-1] = width_runs if len(sizes) > 1 else ceil_div(rows, self.tile.rows)
        if len(sizes) > 1:
            sizes[-2] = ceil_div(sizes[-2], self.rows_of_run)
        return Axis([f"h{k}" for k in range(len(sizes))], sizes)

    @property
    def run(self) -> tuple[Expr, int]:
        runs = self._runs(const(self.block))
        return runs.flat(), known(runs.size) or 1

    def _run(self, start: Expr, names: list[str]) -> list[Operation]:
        """One run of pixels: the loops `names` stand at its row, the last one at the run."""
        places = [var(n) for n in names]
        places[-1] = places[-1] * self.tile.rows
        inside: Expr = var("i1t")
        if self.rows_of_run > 1:
            width = self.image.dims[-1].size
            places[-2] = places[-2] * self.rows_of_run
            inside = mul(inside // width, self.pitches[-2]) + inside % width
        pixel = const(0)
        for dim, place in zip(self.image.dims, places, strict=True):
            pixel = mul(pixel, dim.size) + place
        for place, pitch in zip(places, self.pitches, strict=True):
            start = start + mul(place, pitch)
        value = self.pixel(start + inside) * self.weight(var("j1t"))
        return self.micro_kernel(value, pixel, self.slot * self.tile.columns)

    def keep(self, row: Expr, column: Expr) -> list[Operation]:
        if not self.stores_tiles:
            return super().keep(row, column)
        i, j = var("i2t"), var("j2t")
        pixel = self.first_row * self._row_pixels() + row + i
        total = load("tile", [i, j], self.dtype)
        return [self.over_tile("2t", self._stores(pixel, self.first_channel + column + j, total))]

    @cached_property
    def stores_tiles(self) -> bool:
        """Where channels lie together in the results and in the tile, each sum is finished by one
        tile, and what is done to it is a few instructions."""
        channels = known(self.p.rows.size) or 1
        if not self.depth_blocks.is_int(1) or channels % self.tile.columns:
            return False
        stores = self._stores(var("pixel"), var("channel"), var("total", self.dtype))
        return self._lies_last(stores) and not any(map(calls, stores))

    def results(self, first: Expr, rows: Expr) -> list[Operation]:
        """Across where pixels lie together in the results: in the sums channels do."""
        pixels = rows * self._row_pixels()
        total = load("sums", [var("pixel"), var("channel")], self.dtype)
        pixel = first * self._row_pixels() + var("pixel")
        stores = self._stores(pixel, self.first_channel + var("channel"), total)
        if self._lies_last(stores):
            vectors = vectorize_map(ForOp("channel", self.channels, stores), self.lanes)
            return [ForOp("pixel", pixels, vectors)]
        inner = ForOp("pixel", pixels, stores)
        nest = ForOp("channel", self.channels, [inner])
        buffers = {**self.buffers, "sums": self.sums()}
        squares = transpose_tiles(nest, buffers, self.lanes * self.dtype.itemsize)
        if squares is not None:
            return squares
        return [ForOp("channel", self.channels, vectorize_map(inner, self.lanes))]

    def _stores(self, pixel: Expr, channel: Expr, total: Expr) -> list[Operation]:
        """What becomes of a sum."""
        columns = Axis([d.column for d in self.image.dims], [d.size for d in self.image.dims])
        spots = Spots(self.buffers, ((columns, pixel), (self.p.rows, channel)))
        target = self.p.target

        def summed(e: Expr) -> Expr:
            return replace_loads(e, lambda n: total if n.value == target.buffer else None)

        return [
            StoreOp(s.buffer, spots.indices(s.buffer, s.indices), summed(spots.expression(s.value)))
            for s in self.p.epilogue
        ] or [StoreOp(target.buffer, spots.indices(target.buffer, target.indices), total)]

    def _lies_last(self, stores: Sequence[Operation]) -> bool:
        """Whether channels lie together in the results."""
        places = [
            coefficient(flat_index(self.buffers[s.buffer], s.indices), "channel")
            for s in stores
            if isinstance(s, StoreOp)
        ]
        return all(step is not None and step.is_int(1) for step in places)
