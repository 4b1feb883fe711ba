"""The numbers that stand for sizes while PyTorch traces; here sizes are plain numbers.

Programs ask whether a size is a `SymInt` (it never is) and calculate with `sym_max` and its kind,
which are what they are on plain numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

from tensorscript.base.errors import ArgumentError

Number = bool | int | float


class _Symbol:
    """A class without instances."""

    def __new__(cls, *_: Any) -> NoReturn:
        raise ArgumentError(f"{cls.__name__} has no instances: sizes are plain numbers here")


class SymInt(_Symbol):
    pass


class SymFloat(_Symbol):
    pass


class SymBool(_Symbol):
    pass


def sym_int(a: Number) -> int:
    """Towards zero."""
    return int(a)


def sym_float(a: Number) -> float:
    return float(a)


def sym_max(a: Number, b: Number) -> Number:
    """The larger number, a float if one of both is."""
    return _together(max(a, b), a, b)


def sym_min(a: Number, b: Number) -> Number:
    """The smaller number, a float if one of both is."""
    return _together(min(a, b), a, b)


def _together(found: Number, a: Number, b: Number) -> Number:
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


def sym_not(a: bool) -> bool:
    return not a


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """`t` where `b` holds, else `f`: values of one type."""
    return t if b else f


def sym_sqrt(a: Number) -> float:
    return math.sqrt(a)


def sym_sum(args: Sequence[Number]) -> Number:
    return sum(args)
