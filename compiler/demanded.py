"""What operators refuse, asked before the program runs: by eager mode's table of demands."""

from __future__ import annotations

from typing import Any

from tensorscript.base.dtypes import BY_CODE
from tensorscript.base.schema import schema
from tensorscript.eager.demands import demand_on
from tensorscript.eager.stand_in import Unknown, UnknownNumber, stand_in
from tensorscript.lowering.ts_to_tg.facts import RunTimeNumber, TensorFacts


def refuse(name: str, arguments: list[Any]) -> None:
    """Refuse what `name` does not take, as far as dtypes and sizes say.

    Raises:
        OperatorError: in eager mode's words, which are PyTorch's.
    """
    if (asks := demand_on(name)) is None:
        return
    kinds = _kinds(name) + [""] * len(arguments)
    try:
        asks(*map(_shown, arguments, kinds))
    except Unknown:
        return  # the row checks what only the running program knows


def _kinds(name: str) -> list[str]:
    """Of an overload's arguments; lowerings that name the operator alone give no dtypes."""
    try:
        return [a.type.without_optional().kind for a in schema(name).arguments]
    except KeyError:
        return []


def _shown(value: Any, kind: str) -> Any:
    """An argument of a kind of the schema's as eager mode has it."""
    if isinstance(value, TensorFacts):
        return stand_in(value.dtype, value.rank, value.shape)
    if isinstance(value, RunTimeNumber):
        return UnknownNumber()
    if isinstance(value, list):
        return [_shown(v, kind) for v in value]
    return BY_CODE[value] if kind == "ScalarType" and isinstance(value, int) else value
