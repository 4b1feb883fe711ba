"""Convolutions of one channel: pixels in the lanes, several output rows at a time.

```
plane[phase][q] = image with its border                              (once)
for each block of R output rows, for each run of columns:
    tile[R][columns] in registers += weight[tap] * plane[row i, shifted by the tap]
                                     for each row i of the image that the block sees
    y[rows, columns] = epilogue(tile)
```
A row of the image is loaded once for all output rows that see it; its taps along the row are
unaligned loads. The last block and the last run are moved back to the end: what both compute is the
same.
"""

from __future__ import annotations

from math import prod

from xdsl.ir import Operation

from tensorscript.dialects.te.buffers import Buffer, make_buffer
from tensorscript.dialects.te.expr import Expr, binary, const, load, mul, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, IfOp, StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import replace_loads

from ..te.affine import known
from .contraction_shape import Product, at
from .contraction_tile import Tile, loops_around
from .convolution_image import Image, fill_plane

MOST_SUMS = {64: 16, 32: 4, 16: 4}
"""Vectors of a tile by vector bytes: those and a window of weights are no more than registers."""
LOAD = 2
"""Of a vector that does not begin at a line, in multiply-adds."""
MOST_STEPS = 600
"""Multiply-adds of vectors that are written out."""


def of_one_channel(p: Product, image: Image) -> bool:
    """Whether this form computes a convolution."""
    if len(image.dims) != 2 or image.channels.names or not p.rows.size.is_int(1):
        return False
    sizes = [known(e) for e in (p.depth.size, *(d.size for d in image.dims))]
    return None not in sizes and all(d.tap for d in image.dims)


class PlaneRows:
    """Writes the nest of a convolution of one channel by windows of two dimensions.

    Attributes:
        rows: output rows of a tile; `columns` its columns.
    """

    def __init__(
        self, p: Product, image: Image, buffers: dict[str, Buffer], lanes: int, tile: Tile | None
    ) -> None:
        """With a `tile` that is given, or the cheapest."""
        self.p, self.image, self.buffers, self.lanes = p, image, buffers, lanes
        self.dtype = p.target.value.dtype
        self.height, width = (known(dim.size) or 1 for dim in image.dims)
        self.width = width
        self.tile = tile or self._best_tile(MOST_SUMS.get(lanes * self.dtype.itemsize, 4))
        self.rows, self.columns = self.tile.rows, self.tile.columns
        self.blocks, self.runs = -(-self.height // self.rows), -(-width // self.columns)

    def _best_tile(self, most: int) -> Tile:
        """The cheapest tile."""
        taps = prod(d.taps for d in self.image.dims)
        most = max(1, min(most, MOST_STEPS // taps))
        vectors = range(1, min(most, -(-self.width // self.lanes)) + 1)
        tiles = [(rows, n) for n in vectors for rows in range(1, min(self.height, most // n) + 1)]
        rows, count = min(tiles, key=lambda tile: self._cost(*tile))
        return Tile(rows, count * self.lanes, self.lanes)

    def _cost(self, rows: int, vectors: int) -> float:
        """Of the whole image: multiply-adds, and the vectors that are loaded for them."""
        down, along = self.image.dims
        seen = (rows - 1) * down.stride + (down.taps - 1) * down.dilation + 1
        tile = vectors * along.taps * (rows * down.taps + LOAD * seen)
        return tile * -(-self.height // rows) * -(-self.width // (vectors * self.lanes))

    @property
    def cost(self) -> float:
        """Of a channel."""
        return self._cost(self.rows, self.columns // self.lanes)

    @classmethod
    def of(
        cls, p: Product, image: Image, vector_bytes: int, buffers: dict[str, Buffer]
    ) -> PlaneRows | None:
        """None for another form, or where a row does not fill a vector."""
        lanes = vector_bytes // p.target.value.dtype.itemsize
        if not of_one_channel(p, image) or (known(image.dims[1].size) or 0) < lanes:
            return None
        return cls(p, image, buffers, lanes, None)

    @property
    def plane(self) -> Buffer:
        pitch = self.image.pitches[0]
        positions = mul(self.image.dims[0].extent, pitch) + self.slack
        return make_buffer("plane", self.dtype, [1, const(self.image.phase_count), positions])

    @property
    def slack(self) -> int:
        """What the last vectors read behind the last row."""
        return self.columns

    def build(self) -> list[Operation]:
        slack = self.slack
        fill = fill_plane(self.p, self.image, slack, self.lanes, const(0), self.image.dims[0].size)
        runs = [ForOp("wb", self.runs, self._tile())]
        body = [AllocOp(self.plane, "stack"), *fill, ForOp("hb", self.blocks, runs)]
        return loops_around(self.p.batch, body)

    def _first(self, block: Expr, size: int, whole: int) -> Expr:
        """Where a block starts: the last one ends with the image."""
        first = block * size
        return first if whole % size == 0 or whole < size else binary("min", first, whole - size)

    def _tile(self) -> list[Operation]:
        tile = make_buffer("tile", self.dtype, [self.rows, self.columns])
        clear = StoreOp("tile", [var("i0t"), var("j0t")], const(0, self.dtype))
        return [
            AllocOp(tile, "reg"),
            ForOp("i0t", self.rows, [ForOp("j0t", self.columns, [clear], "vector")], "unroll"),
            *self._rows_of_image(),
            *self._results(),
        ]

    def _rows_of_image(self) -> list[Operation]:
        """Row by row of the image, tap by tap along it: the sums of all output rows that see it."""
        down, along = self.image.dims
        made: list[Operation] = []
        for row in range((self.rows - 1) * down.stride + (down.taps - 1) * down.dilation + 1):
            for tap in range(along.taps):
                for out in range(self.rows):
                    seen, rest = divmod(row - out * down.stride, down.dilation)
                    if not rest and 0 <= seen < down.taps:
                        made.append(self._step(row, tap, out, seen))
        return made

    def _step(self, row: int, tap: int, out: int, seen: int) -> Operation:
        """An output row's sums of a tap, which stands on the image's row of that number."""
        down, along = self.image.dims
        name = f"j{row}_{tap}_{out}"
        moved = tap * along.dilation
        phase = row % down.stride * along.stride + moved % along.stride
        first_row = self._first(var("hb"), self.rows, self.height)
        first_column = self._first(var("wb"), self.columns, self.width)
        position = mul(first_row + row // down.stride, self.image.pitches[0])
        position = position + first_column + moved // along.stride + var(name)
        pixel = load("plane", [const(0), const(phase), position], self.dtype)
        weight = at(self.p.x, {down.tap: const(seen), along.tap: const(tap)})
        return ForOp(
            name, self.columns,
            [UpdateOp("tile", [const(out), var(name)], "add", pixel * weight)], "vector",
        )  # fmt: skip

    def _results(self) -> list[Operation]:
        down, along = self.image.dims
        row = self._first(var("hb"), self.rows, self.height) + var("i2t")
        column = self._first(var("wb"), self.columns, self.width) + var("j2t")
        here = {down.column: row, along.column: column}
        target = self.p.target
        total = load("tile", [var("i2t"), var("j2t")], self.dtype)

        def summed(e: Expr) -> Expr:
            return replace_loads(at(e, here), lambda n: total if n.value == target.buffer else None)

        stores: list[Operation] = [
            StoreOp(s.buffer, [at(i, here) for i in s.indices], summed(s.value))
            for s in self.p.epilogue
        ] or [StoreOp(target.buffer, [at(i, here) for i in target.indices], total)]
        if self.width < self.columns:
            stores = [IfOp(column < self.width, stores)]
        columns = ForOp("j2t", self.columns, stores, "vector")
        return [ForOp("i2t", self.rows, [columns], "unroll")]
