"""How kernels of pointwise operators are made of functions of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.dtypes import DType
from tensorscript.base.operand_dtypes import unimplemented

from ..storage import Array, cast, compute, floating, promoted, value, wrap
from .shapes import check_broadcast

Kernel = Callable[..., Any]


def apply2(fn: Callable[[Array, Array], Any], a: Any, b: Any, dtype: DType) -> Array:
    """`fn` of two operands (tensors or numbers) calculated in `dtype`, broadcast together."""
    x, y = cast(a, dtype), cast(b, dtype)
    if x.shape != y.shape and x.ndim and y.ndim:
        check_broadcast(x, y)
    return np.asarray(fn(x, y))


def binary(fn: Callable[[Array, Array], Any]) -> Kernel:
    """A kernel whose operands and result share the promoted dtype."""

    def run(self: Any, other: Any) -> Any:
        dtype = promoted(self, other)
        return wrap(apply2(fn, self, other, dtype), dtype)

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
