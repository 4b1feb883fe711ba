"""Subscripts of `einsum` that stand in lists behind their tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .errors import ValueRangeError


def equation_of(pairs: Sequence[Any]) -> tuple[str, list[Any]]:
    """The equation and the operands of tensors with a list of subscripts behind each.

    Raises:
        ValueRangeError: a subscript is no letter.
    """
    equation = ",".join(_letters(labels) for labels in pairs[1::2])
    if len(pairs) % 2:
        equation += "->" + _letters(pairs[-1])
    return equation, list(pairs[: len(pairs) // 2 * 2 : 2])


def _letters(labels: Any) -> str:
    """Numbers below 52 as letters A-Z, a-z."""
    if any(x is not Ellipsis and not 0 <= x < 52 for x in labels):
        raise ValueRangeError(
            "einsum(): subscript in subscript list is not within the valid range [0, 52)"
        )
    letters = (
        "..." if x is Ellipsis else chr(ord("A") + x if x < 26 else ord("a") + x - 26)
        for x in labels
    )
    return "".join(letters)
