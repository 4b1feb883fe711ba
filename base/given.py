"""What operators refuse whatever they compute: None in the place of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from .schema import schema


@cache
def _tensors_of(name: str) -> tuple[int, ...]:
    """The places of an operator's arguments that have to be tensors."""
    return tuple(at for at, a in enumerate(schema(name).arguments) if a.type.kind == "Tensor")


def missing_tensor(name: str, arguments: Sequence[object]) -> str | None:
    """The refusal of an operator of the schema table that is given None for a tensor."""
    if not any(argument is None for argument in arguments):
        return None
    missing = (at for at in _tensors_of(name) if arguments[at] is None)
    if (at := next(missing, None)) is None:
        return None
    return (
        "Expected a proper Tensor but got None (or an undefined Tensor in C++) for "
        f"argument #{at} '{schema(name).arguments[at].name}'"
    )
