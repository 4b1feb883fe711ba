"""Convolutions of each channel by itself, on planes, with the channels in the lanes of vectors.

```
weights[block][tap][channel] = w                                        (once)
for each block of channels, of each image (parallel):
    image[place][channel] = x, its planes turned by squares
    sums[pixel][channel] = sum over taps of image[what the tap sees][..] * weights[block][tap][..]
    y[channel, pixel] = epilogue(sums[pixel][channel]), turned back by squares
```
A row of seven pixels fills half a vector, and its border is a mask for each tap; a longer one is
loaded again for each tap, from where no line begins. With the channels of a block in the lanes
nothing is wasted, and the multiply-adds of a large window repay the turns. Between them this is the
convolution of `channel_filter.py`. The last block is moved back to end with the last channel: what
two blocks compute is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from xdsl.ir import Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer, make_buffer
from tensorscript.dialects.te.expr import Expr, binary, cast, const, load, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, FuncOp, StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import loads, replace_loads

from ..te.affine import all_buffers, known
from ..te.lanes import vectorize_map
from ..te.squares import SAME_SET, transpose_tiles
from .channel_filter import MOST_STEPS, ChannelFilter, filtered_row, over_rows
from .contraction_shape import Axis, Product, Spots, product_of
from .convolution_image import Image, image_of
from .convolution_rows import LOAD, PlaneRows

MOST_PLACES = 1 << 12
"""Of a plane of the image: those of a block of channels fit the second cache."""
TURN = 6.4
"""Of a vector that is turned, as a row of a square, in multiply-adds."""


@dataclass(frozen=True)
class PlaneFilter:
    """y = epilogue(sum over taps of x * w) for every channel by itself.

    Attributes:
        channel: the loop over channels, `count` its extent; `around` the other loops of the batch.
        read: of the image; `spatial` are the dimensions that pixels and taps move it along.
        places: their sizes.
    """

    product: Product
    image: Image
    channel: str
    count: int
    around: Axis
    read: Expr
    spatial: tuple[int, ...]
    places: tuple[int, ...]

    @property
    def sizes(self) -> list[int]:
        """Of the output's planes."""
        return [known(d.size) or 1 for d in self.image.dims]


def plane_filter(func: FuncOp) -> PlaneFilter | None:
    """The convolution by channel, on planes of sizes that are known, that a function computes."""
    product = product_of(func)
    return None if product is None else as_plane_filter(product, all_buffers(func))


def as_plane_filter(p: Product, buffers: Mapping[str, Buffer]) -> PlaneFilter | None:
    """A product, if it is a convolution by channel on planes of sizes that are known."""
    if not p.target.value.dtype.is_floating_point or not p.rows.size.is_int(1):
        return None
    if (image := image_of(p)) is None or image.channels.names:
        return None
    both = [(n, known(e)) for n, e in p.batch.pairs if n in p.x.free and n in p.y.free]
    taps = [known(e) for e in p.depth.extents]
    if len(both) != 1 or both[0][1] is None or len(loads(p.x)) != 1:
        return None
    if prod(t or MOST_STEPS + 1 for t in taps) > MOST_STEPS:
        return None
    (read,) = loads(p.y)
    moving = {*p.columns.names, *p.depth.names}
    spatial = tuple(d for d, index in enumerate(read.args) if moving & index.free)
    shape = buffers[str(read.value)].shape
    places = [known(shape[d]) for d in spatial]
    sizes = [known(d.size) for d in image.dims]
    if None in sizes or prod(n or MOST_PLACES + 1 for n in places) > MOST_PLACES:
        return None
    ((channel, count),) = both
    rest = [(n, e) for n, e in p.batch.pairs if n != channel]
    around = Axis([n for n, _ in rest], [e for _, e in rest])
    found = tuple(n or 1 for n in places)
    return PlaneFilter(p, image, channel, count or 1, around, read, spatial, found)


def worth_turning_planes(form: PlaneFilter, vector_bytes: int, buffers: dict[str, Buffer]) -> bool:
    """Whether channels in the lanes take less time than pixels, both turns included."""
    p, image = form.product, form.image
    lanes = vector_bytes // p.target.value.dtype.itemsize
    if form.count < lanes:
        return False
    if form.sizes[-1] < lanes:
        return True
    pixels, places, taps = prod(form.sizes), prod(form.places), known(p.depth.size) or 1
    collides = places * p.target.value.dtype.itemsize % SAME_SET == 0
    turned = pixels * taps + (TURN + collides * TURN) * (pixels + places)
    blocks = -(-form.count // lanes) * lanes / form.count
    rows = PlaneRows.of(p, image, vector_bytes, buffers)
    vectors = prod(form.sizes[:-1]) * -(-form.sizes[-1] // lanes)
    other = rows.cost if rows is not None else vectors * taps * (1 + LOAD)
    return turned * blocks < other * lanes


def filtered_planes(func: FuncOp, form: PlaneFilter, vector_bytes: int) -> list[Operation]:
    """The nest of a convolution by channel on planes."""
    return _Nest(form, all_buffers(func), vector_bytes).build()


class _Nest:
    """Writes the nest; a block of channels is in the lanes of one vector or two."""

    def __init__(self, form: PlaneFilter, buffers: Mapping[str, Buffer], vector_bytes: int) -> None:
        self.form, self.p, self.vector_bytes = form, form.product, vector_bytes
        self.dtype = self.p.target.value.dtype
        lanes = vector_bytes // self.dtype.itemsize
        sizes = [n for n in (2 * lanes, lanes) if n <= form.count]
        self.block = min(sizes, key=lambda n: -(-form.count // n) * n)
        self.blocks = -(-form.count // self.block)
        self.pixels, self.taps = prod(form.sizes), known(self.p.depth.size) or 1
        self.weights = make_buffer("weights", self.dtype, [self.blocks, self.taps, self.block])
        self.image = make_buffer("image", self.dtype, [*form.places, self.block])
        self.sums = make_buffer("sums", self.dtype, [self.pixels, self.block])
        self.buffers = {b.name: b for b in (self.weights, self.image, self.sums)} | dict(buffers)

    def build(self) -> list[Operation]:
        body: list[Operation] = [
            AllocOp(self.image, "stack"),
            AllocOp(self.sums, "stack"),
            *self._turned_image(),
            *self._filtered(),
            *self._results(),
        ]
        around = self.form.around
        tasks = Axis(["bc", *around.names], [const(self.blocks), *around.extents])
        nest = over_rows(tasks, body, self.pixels * self.taps * self.block)
        return [AllocOp(self.weights, "stack"), self._packed_weights(), *nest]

    def _spots(self, block: str, lane: str, places: Axis, place: str) -> Spots:
        """The channel at a lane of a block, at a flat place along some axis."""
        first = var(block) * self.block
        if self.form.count % self.block:
            first = binary("min", first, self.form.count - self.block)
        channels = Axis([self.form.channel], [const(self.form.count)])
        return Spots(self.buffers, ((channels, first + var(lane)), (places, var(place))))

    def _packed_weights(self) -> Operation:
        spots = self._spots("bw", "cw", self.p.depth, "kw")
        store = StoreOp("weights", [var("bw"), var("kw"), var("cw")], spots.expression(self.p.x))
        body = self._turned(("kw", self.taps), ("cw", self.block), [store])
        return ForOp("bw", self.blocks, body, "parallel", grain=4)

    def _turned_image(self) -> list[Operation]:
        """The planes of a block of channels, the channels last."""
        names = [f"p{k}" for k in range(len(self.form.places))]
        axis = Axis(names, [const(n) for n in self.form.places])
        inside = dict(zip(self.form.spatial, map(var, names), strict=True))
        read = self.form.read
        place = [inside.get(d, index) for d, index in enumerate(read.args)]
        spots = self._spots("bc", "ci", axis, "pi")
        value = cast(spots.expression(load(str(read.value), place, read.dtype)), self.dtype)
        target = spots.indices("image", [*map(var, names), var("ci")])
        store = StoreOp("image", target, value)
        return self._turned(("pi", prod(self.form.places)), ("ci", self.block), [store])

    def _filtered(self) -> list[Operation]:
        """The convolution between the turns."""
        columns = self.p.columns

        def of_image(n: Expr) -> Expr:
            place = [*(n.args[d] for d in self.form.spatial), var("ch")]
            return load("image", place, self.dtype)  # converted when it was turned

        weight = load("weights", [var("bc"), self.p.depth.flat(), var("ch")], self.dtype)
        update = UpdateOp(
            "sums", [columns.flat(), var("ch")], "add", replace_loads(self.p.y, of_image) * weight
        )
        rows = Axis(columns.names[:-1], columns.extents[:-1])
        width = columns.extents[-1]
        form = ChannelFilter(
            rows, columns.names[-1], width, "ch", self.block, self.p.depth, update, []
        )
        nest = filtered_row(form, self.vector_bytes)
        for name, extent in reversed(rows.pairs):
            nest = [ForOp(name, extent, nest)]
        return nest

    def _results(self) -> list[Operation]:
        """What becomes of the sums, the pixels last."""
        spots = self._spots("bc", "co", self.p.columns, "po")
        target, total = self.p.target, load("sums", [var("po"), var("co")], self.dtype)

        def summed(e: Expr) -> Expr:
            return replace_loads(e, lambda n: total if n.value == target.buffer else None)

        stores: list[Operation] = [
            StoreOp(s.buffer, spots.indices(s.buffer, s.indices), summed(spots.expression(s.value)))
            for s in self.p.epilogue
        ] or [StoreOp(target.buffer, spots.indices(target.buffer, target.indices), total)]
        return self._turned(("co", self.block), ("po", self.pixels), stores)

    def _turned(
        self, outer: tuple[str, int], inner: tuple[str, int], stores: list[Operation]
    ) -> list[Operation]:
        """Two loops, of what lies along the outer one and is written along the inner one."""
        innermost = ForOp(*inner, stores)
        squares = transpose_tiles(ForOp(*outer, [innermost]), self.buffers, self.vector_bytes)
        lanes = self.vector_bytes // self.dtype.itemsize
        return squares or [ForOp(*outer, vectorize_map(innermost, lanes))]
