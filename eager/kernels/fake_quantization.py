"""Numbers rounded to the grid of a quantized dtype and left as numbers (training for quantization).

    q = clamp(zero_point + round(x / scale), quant_min, quant_max)
    result = (q - zero_point) * scale

with one scale and zero point, or one for each index along an axis. Source: B. Jacob et al.,
"Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference",
2018; the order of the steps, in float32, is PyTorch's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.dtypes import bool_
from tensorscript.base.errors import OperatorError
from tensorscript.base.operand_dtypes import unimplemented
from tensorscript.base.quantization import PER_CHANNEL, PER_TENSOR, check_channel_dtypes

from ..storage import Array, TensorBase, compute, value, wrap
from .shapes import normal_dim

Kernel = Callable[..., Any]


def _on_grid(x: Array, scale: Array, zero: Array, low: int, high: int) -> tuple[Array, Array]:
    """The numbers on the grid, and which of them were inside it."""
    steps = zero + np.rint(x * (np.float32(1) / scale))
    inside = (steps >= low) & (steps <= high)
    return (np.clip(steps, low, high) - zero) * scale, inside


def _check(self: Any, low: int, high: int, kernel: str) -> None:
    """What every form asks: that the range holds something, and floating point."""
    if not self.dtype.is_floating_point:
        raise unimplemented(kernel, self.dtype)
    if low > high:
        raise OperatorError("`quant_min` should be less than or equal to `quant_max`.")


def _per_tensor(self: Any, scale: Any, zero: Any, low: int, high: int) -> tuple[Any, Any]:
    """The result and the mask of what was inside.

    Raises:
        OperatorError: the range is empty, or does not hold the zero point; not floating point.
    """
    _check(self, low, high, PER_TENSOR)
    is_number = not isinstance(zero, TensorBase)
    if is_number and not low <= zero <= high:
        raise OperatorError("`zero_point` must be between `quant_min` and `quant_max`.")
    step, origin = (np.float32(_only(v)) for v in (scale, zero))
    found, inside = _on_grid(compute(self), np.asarray(step), np.asarray(origin), low, high)
    return wrap(found.astype(compute(self).dtype), self.dtype), wrap(inside, bool_)


def _only(given: Any) -> Any:
    if not isinstance(given, TensorBase):
        return given
    found = value(given)
    if found.size != 1:
        raise OperatorError(f"a Tensor with {found.size} elements cannot be converted to Scalar")
    return found.reshape(-1)[0]


def _per_channel(
    self: Any, scale: Any, zero: Any, axis: int, low: int, high: int
) -> tuple[Any, Any]:
    """As `_per_tensor`, with a scale and a zero point for each index along `axis`.

    Raises:
        OperatorError: they are not as many as there are indices, the range is empty, or a dtype
            does not fit.
    """
    check_channel_dtypes(scale.dtype, zero.dtype)
    x, steps, zeros = compute(self), value(scale), value(zero)
    for name, numbers in (("scale", steps), ("zero point", zeros)):
        if numbers.ndim != 1:
            raise OperatorError(f"{name} should be a 1-D tensor")
    if steps.size != zeros.size:
        raise OperatorError("scale and zero-point need to have the same dimensions")
    at = normal_dim(axis, x.ndim)
    if steps.size != x.shape[at]:
        raise OperatorError(
            "dimensions of scale and zero-point are not consistent with input tensor"
        )
    _check(self, low, high, PER_CHANNEL)
    if not ((zeros >= low) & (zeros <= high)).all():
        raise OperatorError("`zero_point` must be between `quant_min` and `quant_max`.")
    if axis < 0:
        raise OperatorError("`axis` must be between 0 and number of dimensions of input")
    shape = [-1 if k == at else 1 for k in range(x.ndim)]
    step, origin = (v.astype(np.float32).reshape(shape) for v in (steps, zeros))
    found, inside = _on_grid(x, step, origin, low, high)
    return wrap(found.astype(x.dtype), self.dtype), wrap(inside, bool_)


def _result(run: Callable[..., tuple[Any, Any]]) -> Kernel:
    return lambda *arguments: run(*arguments)[0]


KERNELS: dict[str, Kernel] = {
    "aten::fake_quantize_per_tensor_affine": _result(_per_tensor),
    "aten::fake_quantize_per_tensor_affine.tensor_qparams": _result(_per_tensor),
    "aten::fake_quantize_per_tensor_affine_cachemask": _per_tensor,
    "aten::fake_quantize_per_channel_affine": _result(_per_channel),
    "aten::fake_quantize_per_channel_affine_cachemask": _per_channel,
}
