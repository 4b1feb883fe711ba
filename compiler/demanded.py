"""What operators refuse, asked before the program runs: by eager mode's table of demands."""

from __future__ import annotations

from typing import Any

from tensorscript.eager.demands import demand_on
from tensorscript.eager.stand_in import Unknown, stand_in
from tensorscript.lowering.ts_to_tg.facts import TensorFacts


def refuse(name: str, arguments: list[Any]) -> None:
    """Refuse what `name` does not take, as far as dtypes and sizes say.

    Raises:
        OperatorError: in eager mode's words, which are PyTorch's.
    """
    if (asks := demand_on(name)) is None:
        return
    try:
        asks(*map(_shown, arguments))
    except Unknown:
        return  # the row checks what only the running program knows


def _shown(value: Any) -> Any:
    if isinstance(value, TensorFacts):
        return stand_in(value.dtype, value.rank, value.shape)
    return list(map(_shown, value)) if isinstance(value, list) else value
