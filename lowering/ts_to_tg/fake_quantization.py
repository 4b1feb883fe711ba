"""Rows of rounding to the grid of a quantized dtype: q = clamp(zero + round(x / scale), low, high)
and (q - zero) * scale, in PyTorch's order of steps."""

from __future__ import annotations

from tensorscript.base.dtypes import float32
from tensorscript.dialects.te.expr import Expr, binary, call, const

from .builder import Builder, Rows
from .dims import dimension
from .elements import compute_dtype
from .sizes import same_size
from .values import Tensor, Value


def _on_grid(b: Builder, x: Tensor, scale: Value, zero: Value, low: int, high: int) -> Tensor:
    def fn(e: Expr, step: Expr, origin: Expr) -> Expr:
        q = origin + call("round", e * (const(1, step.dtype) / step))
        within = binary("min", binary("max", q, const(low, q.dtype)), const(high, q.dtype))
        return (within - origin) * step

    return b.pointwise(fn, x, scale, zero, dtype=x.dtype, compute=compute_dtype(x.dtype))


def _check_range(b: Builder, low: Value, high: Value) -> None:
    if low > high:
        b.error("`quant_min` should be less than or equal to `quant_max`.")


def _per_tensor(
    b: Builder, x: Tensor, scale: Value, zero: Value, low: Value, high: Value
) -> Tensor:
    _check_range(b, low, high)
    if isinstance(zero, int) and not low <= zero <= high:
        b.error("`zero_point` must be between `quant_min` and `quant_max`.")
    step, origin = (_number(b, v) if isinstance(v, Tensor) else v for v in (scale, zero))
    return _on_grid(b, x, step, origin, low, high)


def _number(b: Builder, x: Tensor) -> Tensor:
    """The first element, as float32, without dimensions."""
    first = b.apply("aten::select", b.call("aten::reshape", x, [-1]), 0, 0)
    return b.cast(first, float32)


def _per_channel(
    b: Builder, x: Tensor, scale: Tensor, zero: Tensor, axis: Value, low: Value, high: Value
) -> Tensor:
    at = dimension(b, axis, x.rank)
    if scale.rank != 1 or zero.rank != 1:
        b.error("scale and zero point should be 1-D tensors")
    if not same_size(scale.shape[0], zero.shape[0]):
        b.error("scale and zero-point need to have the same dimensions")
    if not same_size(scale.shape[0], x.shape[at]):
        b.error("dimensions of scale and zero-point are not consistent with input tensor")
    _check_range(b, low, high)
    shape = [x.shape[at] if k == at else const(1) for k in range(x.rank)]
    step, origin = (b.call("tg::view", b.cast(v, float32), shape) for v in (scale, zero))
    return _on_grid(b, x, step, origin, low, high)


FAKE_QUANTIZATION: Rows = {
    "aten::fake_quantize_per_tensor_affine": _per_tensor,
    "aten::fake_quantize_per_channel_affine": _per_channel,
}
