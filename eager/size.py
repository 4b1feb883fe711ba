"""Sizes of tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

from tensorscript.base.errors import DimensionError

from .storage import TensorBase


class Size(tuple[int, ...]):
    """The sizes of a tensor: a tuple that stays a Size when it is cut, joined or repeated."""

    __slots__ = ()

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
