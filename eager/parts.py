"""Parts of arrays by slices and numbers."""

from __future__ import annotations

from typing import Any

from tensorscript.base.array_memory import owner

from .growth import address, as_bytes, placed_at
from .storage import Array


def part(a: Array, index: tuple[Any, ...]) -> Array:
    """`a[index]`, of slices, numbers, None and an ellipsis at the end.

    Without elements it starts where its first one would be, not where NumPy leaves it (at the first
    of `a`): memory that it grows into lies there.
    """
    found: Array = a[index]
    if found.size or not a.size:
        return found
    memory = owner(a)
    start = address(a) - address(memory) + _first(a, index)
    return placed_at(as_bytes(memory), start, found, found.shape, found.strides)


def _first(a: Array, index: tuple[Any, ...]) -> int:
    """Bytes from the first element of `a` to that of a part."""
    steps = iter(zip(a.shape, a.strides, strict=True))
    total = 0
    for item in index:
        if item is Ellipsis:
            break
        if item is not None:
            size, step = next(steps)
            at = item.indices(size)[0] if isinstance(item, slice) else item % size
            total += at * step
    return total
