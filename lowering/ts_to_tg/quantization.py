"""Quantized tensors: integers with a scale and a zero point, which may be known only at run time.

An operator that is handed one is looked up here, by the same rules as in eager mode
(`eager/kernels/quantization.py`): it makes or takes apart, keeps the grid of what it moves or
chooses, commutes with a change of scale, has a grid of its own, or is refused. Of tensors that are
quantized for each channel the parts are asked and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tensorscript.base.dtypes import (
    QUANTIZED,
    DType,
    float32,
    float64,
    int64,
    qint8,
    qint32,
    quint8,
)
from tensorscript.base.quantization import ASKED, BOUNDS, INTO, KEPT, SCALED
from tensorscript.dialects.te.expr import Expr, binary, call, cast, const

from .builder import Builder, Row, Rows
from .dims import dimension
from .elements import as_expr
from .values import QuantizedTensor, Tensor, Value

_BY_CODE = {dtype.code: dtype for dtype in QUANTIZED}
_OF_INTEGERS = {integers: dtype for dtype, integers in QUANTIZED.items()}


def has_quantized(values: Sequence[Value]) -> bool:
    """Whether there is a quantized tensor among the values, or in lists of them."""
    return any(
        isinstance(v, QuantizedTensor) or (isinstance(v, list) and has_quantized(v)) for v in values
    )


def call_quantized(b: Builder, name: str, arguments: list[Value], rows: Mapping[str, Row]) -> Value:
    """The result of an operator of which an argument is quantized.

    Raises:
        NotCompilable: it has no native form there.
    """
    base = name.partition(".")[0]
    of_channels = any(isinstance(v, QuantizedTensor) and v.axis is not None for v in arguments)
    if (own := (_OF_CHANNELS if of_channels else _OWN).get(base)) is not None:
        return own(b, *arguments)
    if of_channels and base not in ASKED:
        return b.cannot("has no native form on tensors that are quantized for each channel")
    pure = base.removesuffix("_")
    row = rows.get(pure + name[len(base) :]) or rows.get(pure)
    if row is None or not isinstance(x := arguments[0], QuantizedTensor):
        return b.cannot("has no native form on quantized tensors")
    if base in ASKED:
        return row(b, x.integers, *arguments[1:])
    found = _by_rule(b, pure, row, x, arguments[1:])
    if pure is base or base == pure:
        return found
    b.write(x.integers, found.integers)
    return x


def _by_rule(b: Builder, pure: str, row: Row, x: QuantizedTensor, rest: list[Value]) -> Value:
    if pure in KEPT:
        return _like(x, row(b, x.integers, *rest))
    if pure in SCALED:
        return _rounded(b, row(b, _centred(b, x), *rest), x)
    if pure in BOUNDS:
        return _bounded(b, x, *(rest or BOUNDS[pure]))
    if pure in INTO:
        scale, zero = INTO[pure]
        own = zero if x.dtype is quint8 else zero - 128
        integers = _on_grid(b, row(b, dequantize(b, x)), own, x.dtype, _steps, scale)
        return QuantizedTensor(integers, x.dtype, scale, own)
    return b.cannot("has no native form on quantized tensors")


def _like(x: QuantizedTensor, found: Value) -> Value:
    """What moved integers of `x`, on its grid."""
    if isinstance(found, list | tuple):
        return type(found)(_like(x, part) for part in found)
    same = isinstance(found, Tensor) and found.dtype is x.integers.dtype
    return x.with_elements((found, x.scale, x.zero_point)) if same else found


_LIMITS: dict[DType, tuple[float, float]] = {
    quint8: (0.0, 255.0),
    qint8: (-128.0, 127.0),
    qint32: (-(2.0**31), 2.0**31 - 1),
}
"""The integers of a quantized dtype."""


def _clipped(steps: Expr, zero: Expr, dtype: DType) -> Expr:
    low, high = _LIMITS[dtype]
    moved = zero + call("round", steps)
    return binary("min", binary("max", moved, const(low, moved.dtype)), const(high, moved.dtype))


def _on_grid(b: Builder, x: Tensor, zero: Value, dtype: DType, steps: Callable[..., Expr],
             *scales: Value) -> Tensor:  # fmt: skip
    wide = float64 if dtype is qint32 else float32  # what holds all its integers

    def fn(e: Expr, origin: Expr, *given: Expr) -> Expr:
        narrow = steps(*(cast(v, float32) for v in (e, *given)))
        return _clipped(cast(narrow, wide), origin, dtype)

    return b.pointwise(fn, x, zero, *scales, dtype=QUANTIZED[dtype], compute=wide)


def quantize(
    b: Builder, x: Tensor, scale: Value, zero_point: Value, dtype: DType
) -> QuantizedTensor:
    """The numbers of `x` on one grid."""
    _check_numbers(b, x)
    place = _moved if dtype is qint32 else _moved_at_once
    integers = _on_grid(b, x, 0, dtype, place, scale, zero_point)
    return QuantizedTensor(integers, dtype, scale, zero_point)


def _check_numbers(b: Builder, x: Tensor) -> None:
    if x.dtype is not float32:
        b.error(f"Quantize only works on Float Tensor, got {x.dtype.word}")


def _steps(e: Expr, scale: Expr) -> Expr:
    return e * (const(1, scale.dtype) / scale)


def _moved(e: Expr, scale: Expr, zero: Expr) -> Expr:
    """Steps from the zero point, which PyTorch rounds after they are moved."""
    return _steps(e, scale) + zero


def _moved_at_once(e: Expr, scale: Expr, zero: Expr) -> Expr:
    """The same, rounded once to a float32."""
    return call("fma", e, const(1, scale.dtype) / scale, zero)


def _across(b: Builder, numbers: Value, x: QuantizedTensor) -> Value:
    """Scales or zero points in the shape in which they meet the integers."""
    if x.axis is None:
        return numbers
    return b.call("aten::reshape", numbers, [-1 if k == x.axis else 1 for k in range(x.rank)])


def dequantize(b: Builder, x: Value) -> Tensor:
    if isinstance(x, Tensor):
        return b.cast(x, float32)
    return b.pointwise(
        lambda e, s, z: (e - z) * s,
        x.integers,
        _across(b, x.scale, x),
        _across(b, x.zero_point, x),
        dtype=float32,
        compute=float32,
    )


def _centred(b: Builder, x: QuantizedTensor) -> Tensor:
    return b.pointwise(lambda e, z: e - z, x.integers, x.zero_point, dtype=float32, compute=float32)


def _rounded(b: Builder, steps: Tensor, x: QuantizedTensor) -> QuantizedTensor:
    integers = _on_grid(b, steps, x.zero_point, x.dtype, lambda e: e)
    return QuantizedTensor(integers, x.dtype, x.scale, x.zero_point)


def _bounded(
    b: Builder, x: QuantizedTensor, low: Value = None, high: Value = None
) -> QuantizedTensor:
    """The bounds are rounded to the grid first."""
    if x.dtype is qint32:
        b.cannot("bounds of quantized integers of 32 bits")

    def fn(e: Expr, s: Expr, z: Expr, *bounds: Expr) -> Expr:
        on_grid = [_clipped(_moved(v, s, z), const(0, z.dtype), x.dtype) for v in bounds]
        if low is not None:
            e = binary("max", e, on_grid.pop(0))
        return e if high is None else binary("min", e, on_grid.pop(0))

    given = [v for v in (low, high) if v is not None]
    integers = b.pointwise(
        fn, x.integers, x.scale, x.zero_point, *given, dtype=x.integers.dtype, compute=float32
    )
    return x.with_elements((integers, x.scale, x.zero_point))


# --- rows ----------------------------------------------------------------------------------------


def _number(b: Builder, x: Value, dtype: object) -> Value:
    """A scale or a zero point, of which a program may have made a tensor."""
    if not isinstance(x, Tensor):
        return x
    found = as_expr(b.item(b.call("aten::reshape", x, [])))
    return cast(found, dtype)  # type: ignore[arg-type]  # a DType


def _quantize_row(b: Builder, x: Value, scale: Value, zero_point: Value, code: Value) -> Value:
    if not isinstance(x, Tensor) or (dtype := _BY_CODE.get(code)) is None:
        return b.cannot("has no native form of these arguments")
    step, zero = _number(b, scale, float64), _number(b, zero_point, int64)
    return quantize(b, x, step, zero, dtype)


def _of_integers(b: Builder, x: Tensor) -> DType:
    """The quantized dtype whose integers these are."""
    if (dtype := _OF_INTEGERS.get(x.dtype)) is None:
        b.error(f"no quantized dtype has integers of {x.dtype}")
    return dtype


def _make_row(b: Builder, x: Tensor, scale: Value, zero_point: Value) -> Value:
    return QuantizedTensor(x, _of_integers(b, x), scale, zero_point)


def _make_of_channels(b: Builder, x: Tensor, scale: Tensor, zero: Tensor, axis: Value) -> Value:
    if not isinstance(axis, int):
        return b.cannot("an axis that is not known")
    message = "scale and zero_point need to have the same dimensions"
    if scale.rank != 1 or zero.rank != 1:
        b.error(message)
    b.require_same(scale.shape[0], zero.shape[0], message)
    return QuantizedTensor(x, _of_integers(b, x), *_grid(b, scale, zero), axis)


def _grid(b: Builder, scale: Tensor, zero: Tensor) -> tuple[Tensor, Tensor]:
    """Scales and zero points in the dtypes that they are kept in."""
    if zero.dtype.is_floating_point:
        return b.cast(scale, float32), b.cast(zero, float32)
    return b.cast(scale, float64), b.cast(zero, int64)


def _quantize_channels(
    b: Builder, x: Tensor, scale: Tensor, zero: Tensor, axis: Value, code: Value
) -> Value:
    dtype = _BY_CODE.get(code)
    if not isinstance(axis, int) or dtype is None or scale.rank != 1 or zero.rank != 1:
        return b.cannot("has no native form of these arguments")
    _check_numbers(b, x)
    steps, zeros = _grid(b, scale, zero)
    made = QuantizedTensor(x, dtype, steps, zeros, dimension(b, axis, x.rank))
    factors, shifts = (_across(b, part, made) for part in (steps, zeros))
    integers = _on_grid(b, x, 0, dtype, _moved, factors, shifts)
    return made.with_elements((integers, steps, zeros))


def _cat(b: Builder, tensors: list[QuantizedTensor], dim: Value = 0) -> Value:
    """Joined on the grid of the first one."""
    first = tensors[0]
    parts = [
        t.integers
        if (t.scale, t.zero_point) == (first.scale, first.zero_point)
        else quantize(b, dequantize(b, t), first.scale, first.zero_point, first.dtype).integers
        for t in tensors
    ]
    return _like(first, b.call("aten::cat", parts, dim))


def _pad(
    b: Builder, x: QuantizedTensor, pad: Value, mode: Value = "constant", number: Value = None
) -> Value:
    filling: Value = None
    if mode == "constant":
        if not (isinstance(x.scale, float) and isinstance(x.zero_point, int)):
            return b.cannot("padding on a grid that is not known")
        steps = round((number or 0.0) / x.scale + x.zero_point)
        low, high = _LIMITS[x.dtype]
        filling = int(min(max(steps, low), high))
    return _like(x, b.call("aten::pad", x.integers, pad, mode, filling))


def _dequantize_row(b: Builder, x: Value) -> Value:
    return [dequantize(b, v) for v in x] if isinstance(x, list) else dequantize(b, x)


_OWN: Rows = {
    "aten::dequantize": _dequantize_row,
    "aten::int_repr": lambda b, x: b.copied(x.integers),
    "aten::q_scale": lambda b, x: x.scale,
    "aten::q_zero_point": lambda b, x: x.zero_point,
    "aten::qscheme": lambda b, x: 0,
    "aten::cat": _cat,
    "aten::pad": _pad,
}

_OF_CHANNELS: Rows = {
    "aten::int_repr": lambda b, x: b.copied(x.integers),
    "aten::q_per_channel_scales": lambda b, x: x.scale,
    "aten::q_per_channel_zero_points": lambda b, x: x.zero_point,
    "aten::q_per_channel_axis": lambda b, x: x.axis,
    "aten::qscheme": lambda b, x: 4 if x.zero_point.dtype is float32 else 1,
    "aten::dequantize": _dequantize_row,
}

QUANTIZATION: Rows = {
    "aten::_make_per_channel_quantized_tensor": _make_of_channels,
    "aten::quantize_per_channel": _quantize_channels,
    "aten::quantize_per_tensor": _quantize_row,
    "aten::_make_per_tensor_quantized_tensor": _make_row,
    "aten::dequantize": _dequantize_row,
}
"""What ordinary tensors are handed to."""
