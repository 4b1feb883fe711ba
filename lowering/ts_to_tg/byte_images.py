"""Resampling of images of bytes: sums in fixed point along the rows, then along the columns, each
rounded to bytes. The weights are made while compiling."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tensorscript.base.dtypes import int32, uint8
from tensorscript.base.resampling import fixed_point
from tensorscript.dialects.te.expr import Expr, binary

from .builder import Builder
from .dims import literal
from .values import Tensor

Weights = Callable[..., np.ndarray]
"""(cells, outputs, scale, align) to how much each cell counts in each output."""


def resampled_bytes(
    b: Builder,
    x: Tensor,
    sizes: Sequence[Expr],
    scales: Sequence[float | None],
    align: bool,
    weigh: Weights,
) -> Tensor:
    """The uint8 images `x` (N, C, H, W) with the two `sizes`, as eager mode computes them.

    Raises:
        NotCompilable: a size is not known.
    """
    for d in (1, 0):
        old, new = (literal(b, n, "a size of an image") for n in (x.shape[2 + d], sizes[d]))
        found = fixed_point(weigh(old, new, scales[d], align))
        b.kept.append(found.weights)
        weights, wide = b.literal(found.weights, int32), b.cast(x, int32)
        if d:
            total = b.apply("aten::matmul", wide, b.apply("aten::transpose", weights, 0, 1))
        else:
            total = b.apply("aten::matmul", weights, wide)
        x = b.cast(b.pointwise(_rounding(found.bits), total), uint8)
    return x


def _rounding(bits: int) -> Callable[[Expr], Expr]:
    def rounded(total: Expr) -> Expr:
        found = binary("shr", total + (1 << bits >> 1), bits)
        return binary("min", binary("max", found, 0), 255)

    return rounded
