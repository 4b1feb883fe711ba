"""Convolutions for the CPU as products with a shifted image, without a copy per tap.

The image is copied once into a plane with its border of zeros, the weights are packed once into
panels, and the product takes one of these forms:

| form | lanes | rows of the register tile | wastes |
|---|---|---|---|
| `convolution_columns.py` | pixels | output channels | what lies between two rows of the image |
| `convolution_pixels.py` | output channels | pixels of a row | channels up to the next vector |
| `convolution_rows.py` | pixels of a row | rows of the image, of one channel | the end of a row |

Groups and a batch are loops around; one of single channels may go the way of `plane_filter.py`. The
idea of shifting instead of copying is that of Anderson, Vasudevan, Keane, Gregg, "Low-memory
GEMM-based convolution algorithms for deep neural networks" (2017).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, replace

from xdsl.ir import Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import mul
from tensorscript.dialects.te.ops import FuncOp

from ..te.affine import all_buffers, known
from .contraction_shape import Product, product_of
from .contraction_tile import Tile
from .convolution_columns import PixelColumns
from .convolution_image import Image, image_of
from .convolution_nest import ConvolutionBlocking
from .convolution_pixels import LEAST_RUN, PixelRows, has_runs, is_run, rows_of_run
from .convolution_rows import PlaneRows, of_one_channel

LEAST_WORK = 1 << 12
LARGE_FIRST_CACHE, DEPTH_OF_LARGE = 48 << 10, 128
"""Where channels are in the lanes and the first cache is that large, blocks of a depth that is cut
are short enough for their weights to stay in it while all pixels of a task read them: an Intel
processor's units take weights from the second cache faster than it gives them."""


@dataclass(frozen=True)
class Convolution:
    """A product whose factor Y is an image read by windows; the results lie on planes, or with
    channels last."""

    product: Product
    image: Image
    channels_last: bool = False


def convolved_product(func: FuncOp) -> Convolution | None:
    """The convolution that a function computes, None if it is none or not worth that form."""
    product = product_of(func)
    return None if product is None else as_convolution(product)


def as_convolution(p: Product) -> Convolution | None:
    """A product with an image, None if it is none or not worth that form."""
    if not p.target.value.dtype.is_floating_point:
        return None
    work = known(mul(mul(p.rows.size, p.columns.size), p.depth.size))
    if work is not None and work < LEAST_WORK:
        return None
    if (image := image_of(p)) is not None:
        return Convolution(p, image)
    turned = replace(p, x=p.y, y=p.x, rows=p.columns, columns=p.rows)
    if (image := image_of(turned)) is not None and has_runs(turned, image):
        return Convolution(turned, image, channels_last=True)
    return None


SHORT_DEPTH, LEAST_READERS, MOST_COPIED = 36, 24, 1 << 20
"""Channels times taps of a window, output channels that read each copy of it, and bytes of the
copies of an image, which stay in the second cache."""


def convolution_step(
    form: Convolution,
    vector_bytes: int,
    buffers: Mapping[str, Buffer],
    whole: bool,
    first_cache: int = 0,
) -> tuple[str, tuple[int, ...]]:
    """The cheapest form of a convolution: the kernel's name, and its parameters.

    Args:
        whole: pack all weights before, even where every panel is used by one task only.
        first_cache: bytes of the cache of data next to a processor.
    """
    p, image, given = form.product, form.image, dict(buffers)
    if (single := PlaneRows.of(p, image, vector_bytes, given)) is not None:
        return "plane convolution", astuple(single.tile)
    packed = "packed " if whole else ""
    least = 1 if form.channels_last else LEAST_RUN
    rows = PixelRows.of(p, image, vector_bytes, given, whole, least)
    if not form.channels_last:
        columns = PixelColumns.of(p, image, vector_bytes, given, whole)
        if rows is None or rows.cost >= columns.cost:
            return f"{packed}convolution", astuple(columns.blocking)
    assert rows is not None  # what has runs has them on any machine
    blocking = rows.blocking
    if first_cache >= LARGE_FIRST_CACHE and (known(p.depth.size) or 0) > blocking.depth:
        blocking = replace(blocking, depth=DEPTH_OF_LARGE)
    return f"{packed}turned convolution", astuple(blocking)


def prefers_product(form: Convolution) -> bool:
    """Whether the image had better be copied window by window, as the columns of a product: a
    short depth is multiplied in less time than it takes to look for windows in a row of the image,
    and columns go on from one row to the next."""
    p = form.product
    depth, rows, pixels = (known(axis.size) for axis in (p.depth, p.rows, p.columns))
    if form.channels_last or depth is None or rows is None or pixels is None:
        return False
    near = depth * pixels * p.target.value.dtype.itemsize <= MOST_COPIED
    return near and depth <= SHORT_DEPTH and rows >= LEAST_READERS


def convolved_columns(
    func: FuncOp, form: Convolution, *parameters: int, whole: bool = False
) -> list[Operation]:
    """The nest of a convolution with pixels in the lanes (`ConvolutionBlocking`)."""
    blocking, buffers = ConvolutionBlocking(*parameters), all_buffers(func)
    return PixelColumns(
        form.product, form.image, blocking.lanes, buffers, blocking.tile, blocking.rows, whole,
        blocking,
    ).build()  # fmt: skip


def convolved_pixels(
    func: FuncOp, form: Convolution, *parameters: int, whole: bool = False
) -> list[Operation]:
    """The same with output channels in the lanes."""
    blocking, buffers = ConvolutionBlocking(*parameters), all_buffers(func)
    return PixelRows(
        form.product, form.image, blocking.lanes, buffers, blocking.tile, blocking.columns, whole,
        blocking,
    ).build()  # fmt: skip


def convolved_rows(func: FuncOp, form: Convolution, *parameters: int) -> list[Operation]:
    """The nest of a convolution of one channel by rows, with the given tile."""
    tile = Tile(*parameters)
    return PlaneRows(form.product, form.image, all_buffers(func), tile.lanes, tile).build()


def unfit_for_columns(form: Convolution, *parameters: int) -> str | None:
    return "channels lie last" if form.channels_last else None


def unfit_for_pixels(form: Convolution, *parameters: int) -> str | None:
    blocking, p, image = ConvolutionBlocking(*parameters), form.product, form.image
    sizes = [known(e) for e in (p.rows.size, p.depth.size, *(d.size for d in image.dims))]
    if None in sizes or len(p.rows.names) != 1 or not is_run(image, blocking.rows):
        return "no run of pixels divides the image, or covers rows of it"
    step = blocking.rows if len(image.dims) == 1 else rows_of_run(image, blocking.rows)
    if len(image.dims) <= 2 and blocking.block % step:
        return "a block has whole runs of pixels"
    return None


def unfit_for_rows(form: Convolution, rows: int, columns: int, lanes: int) -> str | None:
    if not of_one_channel(form.product, form.image):
        return "not a convolution of one channel by a window of two dimensions"
    height = known(form.image.dims[0].size) or 0
    return None if rows <= height else "a tile has no more rows than the image"
