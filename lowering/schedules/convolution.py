"""Convolutions for the CPU as products with a shifted image, without a copy per tap.

The image is copied once into a plane with its border of zeros, the weights are packed once into
panels, and the product takes one of two forms:

| form | lanes | rows of the register tile | wastes |
|---|---|---|---|
| `convolution_columns.py` | pixels | output channels | what lies between two rows of the image |
| `convolution_pixels.py` | output channels | pixels of a row | channels up to the next vector |

Groups and a batch are loops around. The idea of shifting instead of copying is that of Anderson,
Vasudevan, Keane, Gregg, "Low-memory GEMM-based convolution algorithms for deep neural networks"
(2017).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

from tensorscript.dialects.te.expr import mul
from tensorscript.dialects.te.ops import FuncOp

from ..te.affine import all_buffers, known
from .contraction_shape import Product, product_of
from .convolution_columns import PixelColumns
from .convolution_image import Image, image_of
from .convolution_pixels import PixelRows

LEAST_WORK = 1 << 12


@dataclass(frozen=True)
class Convolution:
    """A product whose factor Y is an image read by windows."""

    product: Product
    image: Image


def convolved_product(func: FuncOp) -> Convolution | None:
    """The convolution that a function computes, None if it is none or not worth that form."""
    p = product_of(func)
    if p is None or not p.target.value.dtype.is_floating_point:
        return None
    work = known(mul(mul(p.rows.size, p.columns.size), p.depth.size))
    if work is not None and work < LEAST_WORK:
        return None
    image = image_of(p)
    return None if image is None else Convolution(p, image)


def direct_convolution(
    func: FuncOp, form: Convolution, vector_bytes: int, whole: bool = False
) -> list[Operation]:
    """The nest of a convolution, in the cheaper of both forms.

    Args:
        whole: pack all weights before, even where every panel is used by one task only.
    """
    p, image, buffers = form.product, form.image, all_buffers(func)
    columns = PixelColumns(p, image, vector_bytes, buffers, whole)
    rows = PixelRows.of(p, image, vector_bytes, buffers, whole)
    return rows.build() if rows is not None and rows.cost < columns.cost else columns.build()
