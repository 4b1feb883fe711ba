"""Sizes of tensors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import index
from typing import Any, Self, SupportsIndex

from tensorscript.base.errors import ArgumentError, OperatorError, ValueRangeError

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
        OperatorError: they do not broadcast.
        ValueRangeError: a size is negative.
    """
    given = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    common = [1] * max(map(len, given), default=0)
    for at, shape in enumerate(given):
        for k in range(-1, -1 - len(shape), -1):
            if shape[k] < 0:
                raise ValueRangeError("Attempting to broadcast a dimension with negative length!")
            if 1 != shape[k] != common[k] != 1:
                raise OperatorError(
                    f"Attempting to broadcast a dimension of length {shape[k]} at {k}! Mismatching "
                    f"argument at index {at} had {shape}; but expected shape should be "
                    f"broadcastable to {common}"
                )
            common[k] = common[k] if shape[k] == 1 else shape[k]
    return Size(common)
