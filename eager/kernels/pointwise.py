"""How kernels of pointwise operators are made of functions of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.dtypes import DType
from tensorscript.base.operand_dtypes import unimplemented

from ..storage import (
    Array,
    array,
    cast,
    compute,
    compute_dtype,
    floating,
    is_tensor,
    promoted,
    rounded,
    value,
    wrap,
)
from .shapes import check_broadcast

Kernel = Callable[..., Any]


def operand(t: Any, dtype: DType) -> Array:
    """`t` (tensor or number) to calculate with in `dtype`, rounded to it."""
    found = cast(t, dtype)
    return found if is_tensor(t) else rounded(found, dtype)


def factor(t: Any, dtype: DType) -> Array:
    """As `operand`, but what has no dimensions stays as it is: half types calculate in float32."""
    if is_tensor(t) and t.dtype is not dtype and not array(t).ndim:
        return value(t).astype(compute_dtype(dtype))
    return cast(t, dtype)


Operand = Callable[[Any, DType], Array]


def apply2(
    fn: Callable[[Array, Array], Any], a: Any, b: Any, dtype: DType, second: Operand = operand
) -> Array:
    """`fn` of two operands (tensors or numbers) calculated in `dtype`, broadcast together; products
    and quotients take the second as a `factor`."""
    x, y = operand(a, dtype), second(b, dtype)
    if x.shape != y.shape and x.ndim and y.ndim:
        check_broadcast(x, y)
    return np.asarray(fn(x, y))


def binary(fn: Callable[[Array, Array], Any], second: Operand = operand) -> Kernel:
    """A kernel whose operands and result share the promoted dtype."""

    def run(self: Any, other: Any) -> Any:
        dtype = promoted(self, other)
        return wrap(apply2(fn, self, other, dtype, second), dtype)

    return run


def float_binary(fn: Callable[[Array, Array], Any]) -> Kernel:
    """As `binary`, integers becoming floating point."""

    def run(self: Any, other: Any) -> Any:
        dtype = floating(promoted(self, other))
        return wrap(apply2(fn, self, other, dtype), dtype)

    return run


def unary(fn: Callable[[Array], Any]) -> Kernel:
    """A kernel that keeps the dtype."""
    return lambda self: wrap(fn(compute(self)), self.dtype)


def float_unary(fn: Callable[[Array], Any]) -> Kernel:
    """A kernel that answers in floating point."""

    def run(self: Any) -> Any:
        dtype = floating(self.dtype)
        return wrap(fn(cast(self, dtype)), dtype)

    return run


def rounding(fn: Callable[[Array], Any]) -> Kernel:
    """floor and its kind: integers stay as they are."""

    def run(self: Any) -> Any:
        if self.dtype.is_integral:
            return wrap(value(self).copy(), self.dtype)
        return wrap(fn(compute(self)), self.dtype)

    return run


def in_double(fn: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Calculate in float64 and come back."""
    return lambda x: fn(x.astype(np.float64)).astype(x.dtype)


def bitwise(fn: Callable[[Array, Array], Any]) -> Kernel:
    def run(self: Any, other: Any) -> Any:
        dtype = promoted(self, other)
        if dtype.is_floating_point or dtype.is_complex:
            raise unimplemented(f"{fn.__name__}_cpu", dtype)
        return wrap(apply2(fn, self, other, dtype), dtype)

    return run
