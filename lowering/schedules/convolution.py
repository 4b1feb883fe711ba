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

from xdsl.ir import Operation

from tensorscript.base.dtypes import float32, float64
from tensorscript.dialects.te.expr import mul
from tensorscript.dialects.te.ops import FuncOp

from ..te.affine import all_buffers, known
from .contraction_shape import Product
from .convolution_columns import PixelColumns
from .convolution_image import image_of
from .convolution_pixels import PixelRows

LEAST_WORK = 1 << 12


def direct_convolution(func: FuncOp, p: Product, vector_bytes: int) -> list[Operation] | None:
    """The nest of a product whose factor Y is an image read by windows; None if it is not."""
    if p.target.value.dtype not in (float32, float64) or (image := image_of(p)) is None:
        return None
    work = known(mul(mul(p.rows.size, p.columns.size), p.depth.size))
    if work is not None and work < LEAST_WORK:
        return None
    buffers = all_buffers(func)
    columns = PixelColumns(p, image, vector_bytes, buffers)
    rows = PixelRows.of(p, image, vector_bytes, buffers)
    if rows is not None and rows.cost < columns.cost:
        return rows.build()
    return columns.build()
