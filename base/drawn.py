"""How far the integers go that `random_` draws."""

from __future__ import annotations

import numpy as np

from .dtypes import DType, bool_


def drawn_below(dtype: DType) -> int:
    """The bound of what `random_` draws for a dtype: all that is not negative, and of floats the
    integers that the dtype counts by ones."""
    if dtype.is_floating_point:
        return (1 << {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}[dtype.name]) + 1
    return 2 if dtype is bool_ else int(np.iinfo(dtype.numpy).max) + 1
