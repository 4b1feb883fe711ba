"""Tensors of which only the dtype and perhaps the sizes are known, and numbers of which nothing
is, for demands to look at.

A demand (`demands`) seldom reads elements: what it asks of dtypes and sizes holds before there
are any, so that compilers refuse by the same table.
"""

from __future__ import annotations

from typing import Any, NoReturn

from tensorscript.base.dtypes import DType

from .storage import TensorBase


class Unknown(Exception):
    """What was looked at is not known before the program runs."""


class _Extent:
    """In place of an array: its rank, and its sizes if they are known."""

    def __init__(self, rank: int, shape: tuple[int, ...] | None) -> None:
        self.ndim = rank
        self._shape = shape

    @property
    def shape(self) -> tuple[int, ...]:
        if self._shape is None:
            raise Unknown
        return self._shape

    @property
    def size(self) -> int:
        count = 1
        for n in self.shape:
            count *= n
        return count

    def __getattr__(self, name: str) -> NoReturn:
        raise Unknown

    def _unknown(self, *_: object) -> NoReturn:
        raise Unknown

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _unknown
    __getitem__ = __iter__ = __len__ = __bool__ = __array__ = _unknown
    __hash__ = None  # type: ignore[assignment]  # it has no equality either


class UnknownNumber:
    """In place of a number; also words that would quote it raise Unknown."""

    def _unknown(self, *_: object) -> NoReturn:
        raise Unknown

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = _unknown
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = _unknown
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = _unknown
    __neg__ = __abs__ = __round__ = __int__ = __float__ = __complex__ = __index__ = _unknown
    __len__ = __iter__ = __getitem__ = __array__ = __repr__ = __str__ = __format__ = _unknown
    __hash__ = None  # type: ignore[assignment]  # it has no equality either


def stand_in(dtype: DType, rank: int, shape: tuple[int, ...] | None) -> TensorBase:
    """A tensor whose elements, and whose sizes where `shape` is None, raise Unknown."""
    made = TensorBase.__new__(TensorBase)
    extent: Any = _Extent(rank, shape)
    made._array = extent
    made.dtype = dtype
    made._requires_grad = made._computed = False
    made._base = made._writes = made._lengths = made._quantizer = made._sign = None
    made._view_mode = None
    return made
