"""Sums that PyTorch keeps in a half type, which round after every step."""

from __future__ import annotations

import numpy as np

from tensorscript.base.dtypes import DType

from ..storage import Array, rounded

_LEVELS = 8


def cascade_sum(values: Array, places: Array, count: int, dtype: DType) -> Array:
    """The sum of `values` (n), rounded to the half type `dtype` at every step.

    There are eight partial sums. An element is added to the first; at places (n, among `count`)
    that are multiples of a power of two a partial sum is added to the next and starts again.
    """
    power = max(4, max(count - 1, 0).bit_length() // _LEVELS)
    total = np.zeros((), values.dtype)
    for level in range(1, _LEVELS):
        closing = places % (1 << level * power) == 0
        sums = _in_turn(values, np.cumsum(closing) - closing, dtype)
        closed = np.count_nonzero(closing)
        for left in sums[closed:]:
            total = rounded(total + left, dtype)
        values, places = sums[:closed], places[closing]
    for left in _in_turn(values, np.zeros(values.size, np.int64), dtype):
        total = rounded(total + left, dtype)
    return total


def _in_turn(values: Array, group: Array, dtype: DType) -> Array:
    """The sums of the groups, each one value after the other; `group` (n) ascends from 0."""
    if not values.size:
        return values
    sizes = np.bincount(group)
    rows = np.zeros((sizes.size, sizes.max()), values.dtype)
    rows[group, np.arange(values.size) - (np.cumsum(sizes) - sizes)[group]] = values
    out = rows[:, 0]
    for column in rows.T[1:]:
        out = rounded(out + column, dtype)
    return out
