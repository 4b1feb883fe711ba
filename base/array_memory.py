"""Whose memory a NumPy array shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def holders(a: Array) -> Iterator[Array]:
    """The arrays whose memory `a` is a view of, the nearest first; `as_strided` puts an object that
    is none between two."""
    while True:
        held = a.base
        if held is not None and not isinstance(held, np.ndarray):
            held = getattr(held, "base", None)
        if not isinstance(held, np.ndarray):
            return
        yield (a := held)


def owner(a: Array) -> Array:
    """The array whose memory `a` is a view of."""
    for held in holders(a):
        a = held
    return a
