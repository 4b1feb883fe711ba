"""The words in which demands on arguments are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorscript.base.cpp_names import cpp_name
from tensorscript.base.errors import DimensionError, OperatorError

from ..kernels.shapes import normal_dim
from ..storage import array

Demand = Callable[..., None]
"""Is called with all arguments of an overload in schema order, and raises."""
Ints = Sequence[int]


def require(holds: bool, message: str) -> None:
    """Raise OperatorError(message) unless the condition holds."""
    if not holds:
        raise OperatorError(message)


def sizes_of(x: Any) -> list[int]:
    return list(array(x).shape)


def size_of(x: Any, dim: int) -> int:
    """How many elements `x` has along a dimension.

    Raises:
        DimensionError: it has no such dimension.
    """
    shape = array(x).shape
    if not shape:
        raise DimensionError(f"Dimension specified as {dim} but tensor has no dimensions")
    size: int = shape[normal_dim(dim, len(shape))]
    return size


def one_dtype_in_product(x: Any, weight: Any, has_bias: bool) -> None:
    """Raise OperatorError unless both factors have one dtype; PyTorch adds a bias in the product,
    which has other words for it."""
    a, b = x.dtype, weight.dtype
    require(
        a is b,
        f"mat1 and mat2 must have the same dtype, but got {a.word} and {b.word}"
        if has_bias
        else f"expected m1 and m2 to have the same dtype, but got: {cpp_name(a)} != {cpp_name(b)}",
    )


def each(check: Demand, *names: str) -> dict[str, Demand]:
    """One demand for several operators."""
    return {f"aten::{name}": check for name in names}
