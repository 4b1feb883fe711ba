"""`testing.make_tensor`: random tensors of any dtype within bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorscript.base.dtypes import DType, bool_, int64

from .limits import finfo
from .namespace import lookup
from .placement import made_on
from .tensor import Tensor


def make_tensor(
    *shape: Any, dtype: DType, device: Any = None, low: float | None = None,
    high: float | None = None, requires_grad: bool = False, noncontiguous: bool = False,
    exclude_zero: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor of numbers drawn evenly from [low, high): by default of [-9, 9) if it is floating or
    complex, else of [-9, 10) as far as the dtype goes.

    Raises:
        ValueError: bounds out of order or not finite, a layout that excludes another, or a
            gradient of integers.
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous!r} and memory_format={memory_format!r}"
        )
    is_real = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not is_real:
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, but got "
            f"dtype={dtype!r}"
        )
    apart = noncontiguous and math.prod(sizes) > 1
    made = _drawn((*sizes[:-1], 2 * sizes[-1]) if apart else sizes, dtype, low, high)
    if apart:
        made = made[..., 1::2]
    elif memory_format is not None:
        made = made.clone(memory_format=memory_format)
    if exclude_zero:
        smallest = finfo(dtype).tiny if is_real else 1
        made[made == 0] = smallest
    if device is not None:
        made = made_on(made, device)
    if requires_grad:
        made.requires_grad = True
    return made


def _drawn(sizes: tuple[int, ...], dtype: DType, low: float | None, high: float | None) -> Tensor:
    empty: Tensor
    if dtype.is_floating_point or dtype.is_complex:
        start, end = _bounds(low, high, -9, 9, -math.inf, math.inf)
        empty = lookup("empty")(sizes, dtype=dtype)
        target = lookup("view_as_real")(empty) if dtype.is_complex else empty
        target.uniform_(start, end)
        return empty
    if dtype is bool_:
        start, end = _bounds(low, high, 0, 2, 0, 2)
    else:
        limits = np.iinfo(dtype.numpy)
        most = int(limits.max) + (dtype is not int64)  # PyTorch's bounds are int64
        start, end = _bounds(low, high, -9, 10, int(limits.min), most)
    drawn: Tensor = lookup("randint")(math.ceil(start), math.ceil(end), sizes, dtype=dtype)
    return drawn


def _bounds(
    low: float | None, high: float | None, least: float, most: float, lowest: float, highest: float
) -> tuple[float, float]:
    """The bounds that are given, or `least` and `most`, as far as the dtype goes."""
    start, end = (least if low is None else low), (most if high is None else high)
    if math.isnan(start) or math.isnan(end):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low!r} and high={high!r}")
    if start >= end:
        raise ValueError(f"`low` must be less than `high`, but got {start} >= {end}")
    return max(start, lowest), min(end, highest)
