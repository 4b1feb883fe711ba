"""Register-only instructions: what a row of the arithmetic tables gives.

A row takes the opcode's modifiers and type and answers with an `Alu`: NumPy types of the sources,
of the results, and the function between. A modifier without a meaning here is a `Refusal`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tensorscript.base.records import dataclass

from ..types import Array


class Refusal(Exception):
    """Why an instruction has no row; the binder adds its text and line."""


@dataclass(frozen=True, slots=True)
class Alu:
    """`compute(*sources) -> result`, or a tuple of results when there is more than one.

    Sources arrive as arrays of their type's dtype (one element for an immediate), results leave
    as arrays of theirs.
    """

    compute: Callable[..., Array | tuple[Array, ...]]
    sources: tuple[str, ...]
    results: tuple[str, ...]


Builder = Callable[[tuple[str, ...], str], Alu]


def only(modifiers: Iterable[str], allowed: str) -> None:
    """Refuse any modifier that is not among the space-separated `allowed` words."""
    known = allowed.split()
    for word in modifiers:
        if word not in known:
            raise Refusal(f"modifier .{word} is not emulated")


def require(type_name: str, allowed: Iterable[str]) -> None:
    """Refuse an operand type that the instruction does not have."""
    if type_name not in allowed:
        raise Refusal(f"type .{type_name} is not emulated")
