"""Tuples with names: the classes of `typing.NamedTuple`, and of operators' named results."""

from collections.abc import Iterable
from typing import Any


def remade(value: Any, parts: Iterable[Any]) -> Any:
    """A tuple of the same class; not by calling it, as some are called with one sequence."""
    return value._make(parts)
