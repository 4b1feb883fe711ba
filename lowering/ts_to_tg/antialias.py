"""Rows of antialiased resampling (`interpolate(antialias=True)`): two products with matrices of
weights, which are made while compiling where the sizes are known."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from tensorscript.base.dtypes import DType, float64, int64, uint8
from tensorscript.base.resampling import HAT, KEYS, LANCZOS, Filter, antialiased_weights
from tensorscript.dialects.te.expr import Expr, all_of, binary, call, cast, const, select

from .builder import Builder, Rows
from .byte_images import resampled_bytes
from .elements import compute_dtype
from .emission import Body
from .resize import cubic_weight, target_sizes
from .values import Tensor, Value


def _sinc(t: Expr) -> Expr:
    angle = t * math.pi
    return select(t.equals(0.0), const(1.0, t.dtype), call("sin", angle) / angle)


_CURVES: dict[Filter, Callable[[Expr], Expr]] = {
    HAT: lambda t: binary("max", 1.0 - t, 0.0),
    KEYS: lambda t: select(t < 2.0, cubic_weight(t, -0.5), const(0, t.dtype)),
    LANCZOS: lambda t: select(t < 3.0, _sinc(t) * _sinc(t / 3.0), const(0, t.dtype)),
}
"""What cells count at a distance, as expressions."""


def _weights(
    b: Builder, filter: Filter, old: Expr, new: Expr, scale: float | None, align: bool, wide: DType
) -> Tensor:
    """`antialiased_weights` (new, old) of sizes that are found, computed in float64."""
    one = const(1.0, float64)
    cells, outputs = (cast(b.unsized(n), float64) for n in (old, new))
    if align:
        apart = select(outputs > 1.0, (cells - 1.0) / (outputs - 1.0), const(0.0, float64))
    else:
        apart = one / const(scale, float64) if scale else cells / outputs
    each = b.scalar_of(b.scalar_operand(apart))
    spread = b.scalar_of(b.scalar_operand(binary("max", each, one)))

    def make(body: Body, i: list[Expr]) -> Expr:
        step, width = body.scalar(each, float64), body.scalar(spread, float64)
        centre, reach = (cast(i[0], float64) + 0.5) * step, width * (filter.taps / 2)
        low, high = (cast(centre + r + 0.5, int64) for r in (-reach, reach))
        distance = call("abs", (cast(i[1], float64) - centre + 0.5) / width)
        inside = all_of([binary("ge", i[1], low), binary("lt", i[1], high)])
        return select(inside, _CURVES[filter](distance), const(0.0, float64))

    found = b.compute([new, old], float64, make)
    total = b.apply("aten::sum.dim_IntList", found, [1], True)
    return b.cast(b.apply("aten::div", found, total), wide)


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
            old, new = x.shape[2 + d], sizes[d]
            if not (old.is_const and new.is_const):
                return _weights(b, filter, old, new, scales[d], bool(align), wide)
            cells, outputs = (int(str(n.value)) for n in (old, new))
            found = antialiased_weights(filter, cells, outputs, scales[d], bool(align), wide.numpy)
            b.kept.append(found)
            return b.literal(found, wide)

        columns = b.apply("aten::matmul", matrix(0), b.cast(x, wide))
        turned = b.apply("aten::transpose", matrix(1), 0, 1)
        return b.cast(b.apply("aten::matmul", columns, turned), x.dtype)

    return row


ANTIALIAS: Rows = {
    "aten::_upsample_bilinear2d_aa": _antialiased(HAT),
    "aten::_upsample_bicubic2d_aa": _antialiased(KEYS),
    "aten::_upsample_lanczos2d_aa": _antialiased(LANCZOS),
}
