"""Rows of antialiased resampling (`interpolate(antialias=True)`): two products with matrices of
weights, which are made while compiling."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tensorscript.base.dtypes import uint8
from tensorscript.base.resampling import HAT, KEYS, Filter, antialiased_weights

from .builder import Builder, Rows
from .byte_images import resampled_bytes
from .dims import literal
from .elements import compute_dtype
from .resize import target_sizes
from .values import Tensor, Value


def _antialiased(filter: Filter) -> Callable[..., Tensor]:
    def row(b: Builder, x: Tensor, size: Value, align: bool, *rest: Value) -> Tensor:
        if x.rank != 4:
            b.error(f"It is expected input_size equals to 4, but got size {x.rank}")
        sizes, scales = target_sizes(b, x, size, rest, 2)
        if x.dtype is uint8:
            weigh = partial(antialiased_weights, filter)
            return resampled_bytes(b, x, sizes, scales, bool(align), weigh)
        wide = compute_dtype(x.dtype)

        def matrix(d: int) -> Tensor:
            old, new = (literal(b, n, "a size of an image") for n in (x.shape[2 + d], sizes[d]))
            found = antialiased_weights(filter, old, new, scales[d], bool(align), wide.numpy)
            b.kept.append(found)
            return b.literal(found, wide)

        columns = b.apply("aten::matmul", matrix(0), b.cast(x, wide))
        turned = b.apply("aten::transpose", matrix(1), 0, 1)
        return b.cast(b.apply("aten::matmul", columns, turned), x.dtype)

    return row


ANTIALIAS: Rows = {
    "aten::_upsample_bilinear2d_aa": _antialiased(HAT),
    "aten::_upsample_bicubic2d_aa": _antialiased(KEYS),
}
