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

from dataclasses import dataclass, replace

from xdsl.ir import Operation

from tensorscript.dialects.te.expr import mul
from tensorscript.dialects.te.ops import FuncOp

from ..te.affine import all_buffers, known
from .contraction_shape import Product, product_of
from .convolution_columns import PixelColumns
from .convolution_image import Image, image_of
from .convolution_pixels import PixelRows, has_runs
from .convolution_rows import PlaneRows

LEAST_WORK = 1 << 12


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


def direct_convolution(
    func: FuncOp, form: Convolution, vector_bytes: int, whole: bool = False
) -> list[Operation]:
    """The nest of a convolution, in the cheapest form.

    Args:
        whole: pack all weights before, even where every panel is used by one task only.
    """
    p, image, buffers = form.product, form.image, all_buffers(func)
    if (single := PlaneRows.of(p, image, vector_bytes, buffers)) is not None:
        return single.build()
    if form.channels_last:
        alone = PixelRows.of(p, image, vector_bytes, buffers, whole, least=1)
        assert alone is not None  # what has runs has them on any machine
        return alone.build()
    columns = PixelColumns(p, image, vector_bytes, buffers, whole)
    rows = PixelRows.of(p, image, vector_bytes, buffers, whole)
    return rows.build() if rows is not None and rows.cost < columns.cost else columns.build()
