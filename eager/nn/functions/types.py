"""What the language has and Python has not: broadcasting lists, typed values, complete sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class BroadcastingList1(list[T]):
    """A list of one element, or the element."""


class BroadcastingList2(list[T]):
    """A list of two elements, or one that stands for both."""


class BroadcastingList3(list[T]):
    """A list of three elements, or one that stands for all."""


def annotate(kind: object, value: Any) -> Any:
    """`value`; in script its type is `kind`."""
    return value


def _list_with_default(out_size: Any, defaults: Sequence[int]) -> Any:
    """`out_size` with each None replaced by the size it stands for; in script none is None.

    Raises:
        ValueError: there are more sizes than dimensions behind the first.
    """
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    own = defaults[len(defaults) - len(out_size) :]
    return [d if v is None else v for v, d in zip(out_size, own, strict=True)]
