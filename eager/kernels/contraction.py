"""Operands of an Einstein sum multiplied two at a time, as PyTorch does it: each pair is one
batched product of matrices, which decides how the results are rounded and where they lie.

All operands have the same dimensions: first those of the result, then those that are summed. One
that an operand lacks has one element.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from tensorscript.base.dtypes import DType

from ..memory_format import laid_out, preserved_strides
from ..storage import Array, rounded

Step = tuple[int, int]
"""Places of the two operands that are taken next; their product goes to the end."""


def contracted(operands: Sequence[Array], steps: Iterable[Step], kept: int, dtype: DType) -> Array:
    """The result, with the first `kept` dimensions; each step is rounded to `dtype`."""
    left = list(operands)
    summed = range(kept, left[0].ndim)
    if len(left) == 1:
        return _sum(left[0], tuple(summed), keepdims=False) if summed else left[0]
    owners = {dim: sum(a.shape[dim] != 1 for a in left) for dim in summed}
    for first, second in steps:
        b, a = left.pop(max(first, second)), left.pop(min(first, second))
        left.append(_step(a, b, owners, dtype))
    return left[0].reshape(left[0].shape[:kept])


def _step(a: Array, b: Array, owners: dict[int, int], dtype: DType) -> Array:
    """Multiplied, and summed over the dimensions that no other operand has."""
    over = []
    for dim, count in owners.items():
        if a.shape[dim] != 1 and b.shape[dim] != 1:
            owners[dim] -= 1
            if owners[dim] == 1:
                over.append(dim)
                owners[dim] = 0
        elif count == 1 and (a.shape[dim] != 1 or b.shape[dim] != 1):
            a, b = (x if x.shape[dim] == 1 else _sum(x, (dim,), keepdims=True) for x in (a, b))
            owners[dim] = 0
    return rounded(_product(a, b, over), dtype)


def _sum(a: Array, over: tuple[int, ...], keepdims: bool) -> Array:
    return np.asarray(a.sum(axis=over, keepdims=keepdims, dtype=a.dtype), order="C")


def _product(a: Array, b: Array, over: Sequence[int]) -> Array:
    """a * b summed over dimensions that both have, which stay as dimensions of one element."""
    if not over:
        made = np.asarray(a * b)
        return laid_out(made, preserved_strides((a, b), made.shape))
    rest = [dim for dim in range(a.ndim) if dim not in over]
    both = [dim for dim in rest if a.shape[dim] != 1 and b.shape[dim] != 1]
    rows = [dim for dim in rest if a.shape[dim] != 1 and dim not in both]
    columns = [dim for dim in rest if dim not in both and dim not in rows]
    if rows and columns and columns[-1] < rows[0]:  # the result is to lie in its own order
        a, b, rows, columns = b, a, columns, rows
    left = a.transpose(*both, *rows, *over, *columns)
    right = b.transpose(*both, *over, *columns, *rows)
    batch, n, k = (_sizes(a, dims) for dims in (both, rows, over))
    m = _sizes(b, columns)
    product: Array = np.matmul(
        left.reshape(math.prod(batch), math.prod(n), math.prod(k)),
        right.reshape(math.prod(batch), math.prod(k), math.prod(m)),
    )
    order = [*both, *rows, *over, *columns]
    found = product.reshape(*batch, *n, *[1] * len(over), *m)
    return np.asarray(found.transpose([order.index(dim) for dim in range(a.ndim)]))


def _sizes(a: Array, dims: Sequence[int]) -> list[int]:
    return [a.shape[dim] for dim in dims]
