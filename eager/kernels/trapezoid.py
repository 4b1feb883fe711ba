"""Integrals by the trapezoidal rule.

The sums of neighbours are taken in the dtype of the data, so those of uint8 wrap, as PyTorch's do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.dtypes import bool_
from tensorscript.base.errors import OperatorError

from ..storage import (
    Array,
    array,
    cast,
    compute,
    floating,
    is_tensor,
    make,
    promoted,
    rounded,
    sum_dtype,
    wrap,
)
from .shapes import normal_dim

Kernel = Callable[..., Any]


def _neighbours(y: Any, axis: int) -> Array:
    """The sums of neighbours along `axis`, in the dtype of `y`."""
    values = np.moveaxis(compute(y), axis, -1)
    return np.moveaxis(rounded(values[..., :-1] + values[..., 1:], y.dtype), -1, axis)


def _widths(name: str, x: Any, shape: tuple[int, ...], axis: int) -> Array:
    """The distances between places, which broadcast with the sums of neighbours of (shape) samples.

    Raises:
        OperatorError: a vector of places has another length than `shape` along `axis`.
    """
    places = compute(x)
    if places.ndim == 1:
        if len(places) != shape[axis]:
            raise OperatorError(f"{name}: There must be one `x` value for each sample point")
        places = places.reshape([-1, *[1] * (len(shape) - 1 - axis)])
    places = places.reshape([*[1] * (len(shape) - places.ndim), *places.shape])
    return rounded(np.diff(places, axis=axis), x.dtype)


def _areas(name: str, y: Any, x: Any, axis: int) -> Array:
    """Twice the areas between neighbours, ready to be summed."""
    if bool_ in (y.dtype, x.dtype):
        raise OperatorError(
            f"{name}: received a bool input for `x` or `y`, but bool is not supported"
        )
    dtype = promoted(y, x)
    sums = cast(wrap(_neighbours(y, axis), y.dtype), dtype)
    widths = cast(wrap(_widths(name, x, array(y).shape, axis), x.dtype), dtype)
    return cast(wrap(sums * widths, dtype), sum_dtype(dtype))


def trapezoid(self: Any, x: Any = 1, dim: int = -1) -> Any:
    """The integral of samples at the places `x`, or at one distance `x`, along `dim`."""
    y = compute(self)
    axis = normal_dim(dim, y.ndim)
    if not y.shape[axis]:
        return make(np.zeros(np.delete(y.shape, axis), self.dtype.numpy), self.dtype)
    if is_tensor(x):
        areas = _areas("trapezoid", self, x, axis)
        return wrap(areas.sum(axis) / 2, floating(promoted(self, x)))
    ends = rounded(y.take(-1, axis) + y.take(0, axis), self.dtype)
    total = cast(self, sum_dtype(self.dtype)).sum(axis)
    return wrap((total - ends * 0.5) * x, floating(self.dtype))


def cumulative_trapezoid(self: Any, x: Any = 1, dim: int = -1) -> Any:
    """The integrals up to each sample but the first."""
    y = array(self)
    axis = normal_dim(dim, y.ndim)
    if is_tensor(x):
        areas = _areas("cumulative_trapezoid", self, x, axis)
        return wrap(np.cumsum(areas, axis) / 2, floating(promoted(self, x)))
    areas = _neighbours(self, axis) * (0.5 * x)
    return wrap(np.cumsum(areas, axis), floating(self.dtype))


KERNELS: dict[str, Kernel] = {
    "aten::trapz.dx": trapezoid,
    "aten::trapz.x": trapezoid,
    "aten::trapezoid.dx": trapezoid,
    "aten::trapezoid.x": trapezoid,
    "aten::cumulative_trapezoid.dx": cumulative_trapezoid,
    "aten::cumulative_trapezoid.x": cumulative_trapezoid,
}
