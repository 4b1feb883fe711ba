"""Sizes that may be given as one number: `_pair(3)` is `(3, 3)`.

The names are the ones the script frontend knows; there the result is a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

Parse = Callable[[Any], Any]


def ntuple(n: int, name: str = "parse") -> Parse:
    """A function to tuples: of the elements of an iterable, or of `n` times one value."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single = ntuple(1, "_single")
_pair = ntuple(2, "_pair")
_triple = ntuple(3, "_triple")
_quadruple = ntuple(4, "_quadruple")
