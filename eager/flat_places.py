"""`unravel_index`: places in a flat order as coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from operator import mul
from typing import Any

from tensorscript.base.dtypes import int64
from tensorscript.base.errors import ArgumentError, ValueRangeError

from .data import tensor
from .tensor import Tensor


def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Places in a flat order, integers (*), as one int64 tensor (*) of coordinates a dimension.

    Raises:
        ArgumentError: indices that are no integers, or a shape that is no ints.
        ValueRangeError: a negative size.
    """
    sizes = _sizes(indices, shape)
    steps = list(accumulate(reversed([*sizes[1:], 1]), mul))[::-1]
    flat = indices.unsqueeze(-1)
    rows = flat.floor_divide(tensor(steps, dtype=int64, device=indices.device))
    res_tensor = rows % tensor(sizes, dtype=int64, device=indices.device)
    return tuple(res_tensor.unbind(-1))


def _sizes(indices: Tensor, shape: Any) -> list[int]:
    dtype = indices.dtype
    if dtype.is_floating_point or dtype.is_complex or dtype.name == "bool":
        raise ArgumentError(f"expected 'indices' to be integer dtype, but got {dtype}")
    if not isinstance(shape, (int, Sequence)):
        raise ArgumentError(
            f"expected 'shape' to be int or sequence of ints, but got {type(shape)}"
        )
    sizes = [shape] if isinstance(shape, int) else list(shape)
    if (odd := next((n for n in sizes if not isinstance(n, int)), None)) is not None:
        raise ArgumentError(f"expected 'shape' sequence to only contain ints, but got {type(odd)}")
    if any(n < 0 for n in sizes):
        raise ValueRangeError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    return sizes
