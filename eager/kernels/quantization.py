"""Quantized tensors: integers that stand for numbers, (integer - zero_point) * scale.

Such a tensor is one of a quantized dtype with a `Quantizer`. An operator that is handed one is
looked up here and nowhere else.
`_OWN` makes one (`_MAKERS`, which ordinary tensors are handed to), takes one apart or asks for its
parts; what others do say the tables of `base/quantization.py`. Anything else is refused, as in
PyTorch. Rounding is to nearest even; the order of the steps is that of PyTorch's quantized CPU
kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import (
    QUANTIZED,
    DType,
    float32,
    int8,
    int32,
    qint32,
    quint8,
    uint8,
)
from tensorscript.base.errors import OperatorError
from tensorscript.base.quantization import ASKED, BOUNDS, INTO, KEPT, SCALED
from tensorscript.base.schema import Schema, SchemaType

from ..storage import Array, Quantizer, TensorBase, array, make, value, wrap
from .padding import pad as pad_plain
from .shapes import normal_dim

Kernel = Callable[..., Any]


def is_quantized(x: object) -> bool:
    """Whether `x` is a quantized tensor, a quantized dtype, or a list of such tensors."""
    if isinstance(x, TensorBase):
        return x._quantizer is not None
    if type(x) is DType:
        return x in QUANTIZED
    return type(x) in (list, tuple) and len(x) > 0 and is_quantized(x[0])  # type: ignore[arg-type,index]  # a sequence


def quantized(integers: Array, dtype: DType, quantizer: Quantizer) -> Any:
    """A tensor of the quantized `dtype` over `integers`."""
    made = make(integers, dtype)
    made._quantizer = quantizer
    return made


def per_tensor(scale: float, zero_point: int) -> Quantizer:
    return Quantizer(np.array(scale, np.float64), np.array(zero_point, np.int64))


def kernel_of_quantized(declared: Schema, plain: Kernel | None) -> Kernel:
    """What computes an overload where an argument is quantized; `plain` gives the kernel of
    ordinary tensors.

    Raises:
        OperatorError: nothing does.
    """
    is_written = declared.is_mutable and declared.base_name.endswith("_")
    name = declared.name.removesuffix("_") if is_written else declared.name
    if (found := _pure(declared, name, plain)) is not None:
        return _written(found) if is_written else found
    if plain is not None and any(_is_any_list(a.type) for a in declared.arguments):
        return plain
    raise OperatorError(
        f"Could not run '{declared.full_name}' with arguments from the 'QuantizedCPU' backend."
    )


def _is_any_list(type_: SchemaType) -> bool:
    """A list of whatever it is of: `len(list)` asks no tensor in it."""
    return type_.is_list and type_.element.kind == "var"


def _pure(declared: Schema, name: str, plain: Kernel | None) -> Kernel | None:
    if (own := _OWN.get(declared.full_name) or _OWN.get(name)) is not None:
        return own
    if plain is None:
        return None
    if name in ASKED:
        return plain
    if name in KEPT:
        return _kept(plain)
    if name in SCALED:
        return _scaled(plain)
    if name in BOUNDS:
        return _bounded(name)
    return _into(*INTO[name], plain) if name in INTO else None


def _written(pure: Kernel) -> Kernel:
    def run(self: Any, *rest: Any) -> Any:
        found = pure(self, *rest)
        self._array[...] = found._array
        return self

    return run


# --- the rules -----------------------------------------------------------------------------------


def _one_grid(t: Any) -> Quantizer:
    held: Quantizer = t._quantizer
    if held.axis is not None:
        raise OperatorError("only tensors that are quantized per tensor are supported here")
    return held


def _kept(plain: Kernel) -> Kernel:
    def run(self: Any, *rest: Any) -> Any:
        held: Quantizer = self._quantizer
        integers = QUANTIZED[self.dtype]

        def again(made: Any) -> Any:
            if isinstance(made, (list, tuple)):
                return type(made)(again(part) for part in made)
            is_one = isinstance(made, TensorBase) and made.dtype is integers
            return quantized(made._array, self.dtype, held) if is_one else made

        made = again(plain(make(self._array, integers), *rest))
        whole = made if isinstance(made, TensorBase) else made[0]
        if held.axis is not None and whole._array.shape != self._array.shape:
            _one_grid(self)
        return made

    return run


def _scaled(plain: Kernel) -> Kernel:
    def run(self: Any, *rest: Any) -> Any:
        held = _one_grid(self)
        centred = self._array.astype(np.float32) - np.float32(held.zero_point)
        found = value(plain(wrap(centred, float32), *rest))
        return quantized(_clipped(found, held.zero_point, self.dtype), self.dtype, held)

    return run


def _bounded(name: str) -> Kernel:
    """The bounds are rounded to the grid first."""

    def run(self: Any, *given: Any) -> Any:
        held = _one_grid(self)
        found = self._array
        for bound, limit in zip(given or BOUNDS[name], (np.maximum, np.minimum), strict=False):
            if bound is not None:
                found = limit(found, _integers(bound, held, self.dtype))
        return quantized(found.copy(), self.dtype, held)

    return run


def _into(scale: float, zero_point: int, plain: Kernel) -> Kernel:
    def run(self: Any) -> Any:
        zero = zero_point if self.dtype is quint8 else zero_point - 128
        grid = per_tensor(scale, zero)
        steps = value(plain(dequantize(self))) * np.float32(1 / scale)
        return quantized(_clipped(steps, grid.zero_point, self.dtype), self.dtype, grid)

    return run


# --- between numbers and integers ----------------------------------------------------------------


def _clipped(steps: Array, zero: Array, dtype: DType) -> Array:
    """Steps of the grid, rounded to nearest even and moved to the zero point, as integers."""
    limits = np.iinfo(QUANTIZED[dtype].numpy)
    wide = np.rint(steps).astype(np.float64) + zero
    return np.clip(wide, limits.min, limits.max).astype(limits.dtype)


def _across(numbers: Array, quantizer: Quantizer, ndim: int) -> Array:
    """Scales or zero points in the shape in which they meet a tensor of `ndim` dimensions."""
    axis = quantizer.axis
    return (
        numbers if axis is None else numbers.reshape([-1 if k == axis else 1 for k in range(ndim)])
    )


def _integers(numbers: Any, quantizer: Quantizer, dtype: DType) -> Array:
    """As PyTorch quantizes: moved to the zero point, then rounded. Bytes of one grid are moved by a
    fused multiplication and addition."""
    found = np.asarray(numbers, np.float32)
    inverse = np.float32(1) / _across(quantizer.scale, quantizer, found.ndim).astype(np.float32)
    zero = _across(quantizer.zero_point, quantizer, found.ndim)
    if quantizer.axis is None and dtype is not qint32:
        moved = (found.astype(np.float64) * inverse + zero).astype(np.float32)
    else:
        moved = found * inverse + zero.astype(np.float32)
    return _clipped(moved, np.zeros((), np.int64), dtype)


def dequantize(self: Any) -> Any:
    """The numbers, as float32; those of an ordinary tensor are its own."""
    held: Quantizer | None = self._quantizer
    if held is None:
        return wrap(value(self), float32)
    scale = _across(held.scale, held, self._array.ndim).astype(np.float32)
    zero = _across(held.zero_point, held, self._array.ndim).astype(np.float32)
    return wrap((self._array.astype(np.float32) - zero) * scale, float32)


def _check_numbers(self: Any) -> None:
    if self.dtype is not float32:
        raise OperatorError(f"Quantize only works on Float Tensor, got {self.dtype.word}")


def quantize(self: Any, scale: Any, zero_point: Any, dtype: DType) -> Any:
    """The numbers of a float32 tensor on one grid; both parts may be tensors of one element.

    Raises:
        OperatorError: not float32, or the zero point is no integer of the dtype.
    """
    _check_numbers(self)
    step, zero = float(_only(scale)), int(_only(zero_point))
    limits = np.iinfo(_integers_of(dtype).numpy)
    if not limits.min <= zero <= limits.max:
        side = "above upper" if zero > limits.max else "below lower"
        raise OperatorError(f"quantize_tensor_per_tensor_affine zero_point {zero} is {side} bound.")
    grid = per_tensor(step, zero)
    return quantized(_integers(value(self), grid, dtype), dtype, grid)


def _integers_of(dtype: DType) -> DType:
    if dtype not in QUANTIZED:
        raise OperatorError(f"{dtype} is not a quantized dtype")
    return QUANTIZED[dtype]


def _only(given: Any) -> Any:
    return value(given).reshape(-1)[0] if isinstance(given, TensorBase) else given


def quantize_per_channel(self: Any, scales: Any, zero_points: Any, axis: int, dtype: DType) -> Any:
    _check_numbers(self)
    _integers_of(dtype)
    grid = _channels(scales, zero_points, normal_dim(axis, self._array.ndim))
    return quantized(_integers(value(self), grid, dtype), dtype, grid)


def _channels(scales: Any, zero_points: Any, axis: int) -> Quantizer:
    if zero_points.dtype.is_floating_point:
        parts = value(scales).astype(np.float32), value(zero_points).astype(np.float32)
    else:
        parts = value(scales).astype(np.float64), value(zero_points).astype(np.int64)
    if parts[0].shape != parts[1].shape or parts[0].ndim != 1:
        raise OperatorError("scale and zero_point need to have the same dimensions")
    return Quantizer(*parts, axis)


_QUANTIZED_OF = {integers: dtype for dtype, integers in QUANTIZED.items()}


def _assembled(self: Any, quantizer: Quantizer) -> Any:
    if self.dtype not in (uint8, int8, int32):
        raise OperatorError(f"no quantized dtype has integers of {self.dtype}")
    return quantized(array(self).copy(), _QUANTIZED_OF[self.dtype], quantizer)


def _cat(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Joined on the grid of the first one."""
    first = tensors[0]
    grid = _one_grid(first)
    same = (t._quantizer.scale == grid.scale and t._quantizer.zero_point == grid.zero_point
            for t in tensors)  # fmt: skip
    parts = [t._array if fits else _integers(value(dequantize(t)), grid, first.dtype)
             for t, fits in zip(tensors, same, strict=True)]  # fmt: skip
    return quantized(np.concatenate(parts, dim), first.dtype, grid)


def _pad(self: Any, pad: Sequence[int], mode: str = "constant", number: float | None = None) -> Any:
    held = _one_grid(self)
    filling = None if mode != "constant" else int(_integers(number or 0.0, held, self.dtype))
    plain = pad_plain(make(self._array, QUANTIZED[self.dtype]), pad, mode, filling)
    return quantized(plain._array, self.dtype, held)


def _equal(a: Any, b: Any) -> bool:
    if a._quantizer is None or b._quantizer is None or a.dtype is not b.dtype:
        return False
    pairs = ((a._array, b._array), (a._quantizer.scale, b._quantizer.scale),
             (a._quantizer.zero_point, b._quantizer.zero_point))  # fmt: skip
    return all(np.array_equal(p, q) for p, q in pairs)


def _of_channels(self: Any) -> Quantizer:
    held: Quantizer = self._quantizer
    if held.axis is None:
        raise OperatorError("Expected quantizer->qscheme() == kPerChannelAffine to be true")
    return held


def _part(held: Quantizer, at: int) -> Any:
    return wrap((held.scale, held.zero_point)[at], held.dtypes[at])


def _scheme(held: Quantizer) -> int:
    """PyTorch's number of the kind of a quantizer."""
    if held.axis is None:
        return 0
    return 4 if held.has_float_zeros else 1


_MAKERS: dict[str, Kernel] = {
    "aten::quantize_per_tensor": quantize,
    "aten::quantize_per_tensor.tensor_qparams": quantize,
    "aten::quantize_per_tensor.tensors": lambda ts, scales, zeros, dtype: [
        quantize(t, s, z, dtype) for t, s, z in zip(ts, value(scales), value(zeros), strict=True)
    ],
    "aten::quantize_per_channel": quantize_per_channel,
}

_OWN: dict[str, Kernel] = {
    **_MAKERS,
    "aten::dequantize": dequantize,
    "aten::dequantize.tensors": lambda ts: [dequantize(t) for t in ts],
    "aten::dequantize.list": lambda ts: [dequantize(t) for t in ts],
    "aten::int_repr": lambda self: make(self._array.copy(), QUANTIZED[self.dtype]),
    "aten::q_scale": lambda self: float(_one_grid(self).scale),
    "aten::q_zero_point": lambda self: int(_one_grid(self).zero_point),
    "aten::q_per_channel_scales": lambda self: _part(_of_channels(self), 0),
    "aten::q_per_channel_zero_points": lambda self: _part(_of_channels(self), 1),
    "aten::q_per_channel_axis": lambda self: _of_channels(self).axis,
    "aten::qscheme": lambda self: _scheme(self._quantizer),
    "aten::cat": _cat,
    "aten::pad": _pad,
    "aten::equal": _equal,
    "prim::is_quantized": lambda self: True,
}

KERNELS: dict[str, Kernel] = {
    **_MAKERS,
    "aten::_make_per_tensor_quantized_tensor": lambda self, scale, zero: _assembled(
        self, per_tensor(scale, zero)
    ),
    "aten::_make_per_channel_quantized_tensor": lambda self, scale, zero, axis: _assembled(
        self, _channels(scale, zero, axis)
    ),
    "aten::dequantize.self": dequantize,
    "aten::dequantize.tensor": dequantize,
    "aten::dequantize.tensors": lambda ts: [dequantize(t) for t in ts],
}
"""What ordinary tensors are handed to."""
