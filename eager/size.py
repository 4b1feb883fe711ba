"""Sizes of tensors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import index
from typing import Any, Self, SupportsIndex

import numpy as np

from tensorscript.base.errors import ArgumentError, DimensionError

from .storage import TensorBase
from .tracing import active_tracer


def _size(n: Any, at: int) -> Any:
    """An int as it is, and anything that is one to Python as that int."""
    if type(n) is int or (isinstance(n, TensorBase) and active_tracer() is not None):
        return n
    try:
        return index(n)
    except (TypeError, ArgumentError) as error:
        raise TypeError(
            f"torch.Size() takes an iterable of 'int' (item {at} is '{type(n).__name__}')"
        ) from error


class Size(tuple[int, ...]):
    """The sizes of a tensor: a tuple that stays a Size when it is cut, joined or repeated."""

    __slots__ = ()

    def __new__(cls, sizes: Iterable[Any] = ()) -> Self:
        """From an iterable of ints; in a trace sizes are tensors, which stay.

        Raises:
            TypeError: something else stands in it.
        """
        return super().__new__(cls, [_size(n, at) for at, n in enumerate(sizes)])

    def numel(self) -> int:
        """How many elements that is; a constant in a trace."""
        return math.prod(self._numbers())

    def _numbers(self) -> list[int]:
        """The sizes as numbers, which are tensors in a trace."""
        return [int(n._array) if isinstance(n, TensorBase) else n for n in self]

    def __repr__(self) -> str:
        return f"torch.Size({self._numbers()})"

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Any:
        if isinstance(other, tuple):
            return Size(tuple.__add__(self, other))
        if hasattr(type(other), "__radd__") and not isinstance(other, TensorBase):
            return NotImplemented
        raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")

    def __radd__(self, other: Any) -> Any:
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, count: SupportsIndex) -> Size:
        return Size(tuple.__mul__(self, count))

    __rmul__ = __mul__


def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """The common shape.

    Raises:
        DimensionError: they do not broadcast.
    """
    try:
        return Size(np.broadcast_shapes(*(s if isinstance(s, int) else tuple(s) for s in shapes)))
    except ValueError as error:
        raise DimensionError(
            "Shape mismatch: objects cannot be broadcast to a single shape"
        ) from error
