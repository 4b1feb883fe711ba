"""Rows of rounding to the grid of a quantized dtype: q = clamp(zero + round(x / scale), low, high)
and (q - zero) * scale, in PyTorch's order of steps."""

from __future__ import annotations

from tensorscript.base.dtypes import bool_, float32
from tensorscript.base.errors import OperatorError
from tensorscript.base.quantization import PER_CHANNEL, PER_TENSOR, check_channel_dtypes
from tensorscript.dialects.te.expr import Expr, binary, call, const

from .builder import Builder, Rows
from .dims import dimension
from .elements import compute_dtype
from .sizes import product
from .values import Tensor, Value

_OUTSIDE = "`zero_point` must be between `quant_min` and `quant_max`."


def _on_grid(
    b: Builder, x: Tensor, scale: Value, zero: Value, low: int, high: int
) -> tuple[Tensor, Tensor]:
    """The numbers on the grid, and which of them were inside it."""

    def place(e: Expr, step: Expr, origin: Expr) -> Expr:
        return origin + call("round", e * (const(1, step.dtype) / step))

    def fn(e: Expr, step: Expr, origin: Expr) -> Expr:
        q = place(e, step, origin)
        within = binary("min", binary("max", q, const(low, q.dtype)), const(high, q.dtype))
        return (within - origin) * step

    def inside(e: Expr, step: Expr, origin: Expr) -> Expr:
        q = place(e, step, origin)
        return binary("and", binary("ge", q, low), binary("le", q, high))

    wide = compute_dtype(x.dtype)
    found, mask = (
        b.pointwise(each, x, scale, zero, dtype=dtype, compute=wide)
        for each, dtype in ((fn, x.dtype), (inside, bool_))
    )
    return found, mask


def _check(b: Builder, x: Tensor, low: Value, high: Value, kernel: str) -> None:
    if not x.dtype.is_floating_point:
        b.unimplemented(kernel, x.dtype)
    if low > high:
        b.error("`quant_min` should be less than or equal to `quant_max`.")


def _per_tensor(
    b: Builder, x: Tensor, scale: Value, zero: Value, low: Value, high: Value
) -> tuple[Tensor, Tensor]:
    _check(b, x, low, high, PER_TENSOR)
    if isinstance(zero, int) and not low <= zero <= high:
        b.error(_OUTSIDE)
    step, origin = (_number(b, v) if isinstance(v, Tensor) else v for v in (scale, zero))
    return _on_grid(b, x, step, origin, low, high)


def _number(b: Builder, x: Tensor) -> Tensor:
    """The only element, as float32, without dimensions."""
    count = product(x.shape)
    b.require_same(count, const(1), f"a Tensor with {count} elements cannot be converted to Scalar")
    return b.cast(b.apply("aten::reshape", x, []), float32)


def _per_channel(
    b: Builder, x: Tensor, scale: Tensor, zero: Tensor, axis: Value, low: Value, high: Value
) -> tuple[Tensor, Tensor]:
    try:
        check_channel_dtypes(scale.dtype, zero.dtype)
    except OperatorError as refusal:
        raise b.placed(refusal) from None
    for name, numbers in (("scale", scale), ("zero point", zero)):
        if numbers.rank != 1:
            b.error(f"{name} should be a 1-D tensor")
    count, message = scale.shape[0], "scale and zero-point need to have the same dimensions"
    b.require_same(count, zero.shape[0], message)
    at = dimension(b, axis, x.rank)
    message = "dimensions of scale and zero-point are not consistent with input tensor"
    b.require_same(count, x.shape[at], message)
    _check(b, x, low, high, PER_CHANNEL)
    within = b.call(
        "aten::logical_and", b.call("aten::ge", zero, low), b.call("aten::le", zero, high)
    )
    b.check(b.item(b.apply("aten::all", within)), _OUTSIDE)
    if axis < 0:
        b.error("`axis` must be between 0 and number of dimensions of input")
    shape = [x.shape[at] if k == at else const(1) for k in range(x.rank)]
    step, origin = (b.call("tg::view", b.cast(v, float32), shape) for v in (scale, zero))
    return _on_grid(b, x, step, origin, low, high)


FAKE_QUANTIZATION: Rows = {
    "aten::fake_quantize_per_tensor_affine": lambda b, *given: _per_tensor(b, *given)[0],
    "aten::fake_quantize_per_tensor_affine_cachemask": _per_tensor,
    "aten::fake_quantize_per_channel_affine": lambda b, *given: _per_channel(b, *given)[0],
    "aten::fake_quantize_per_channel_affine_cachemask": _per_channel,
}
