"""What native code of a method holds of the receiver: noted when it is made, compared at calls."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tensorscript.base.dtypes import DType
from tensorscript.base.records import dataclass
from tensorscript.eager.tensor import Tensor
from tensorscript.lowering.ts_to_tg.paths import below
from tensorscript.runtime.values import ScriptObject


@dataclass(frozen=True, eq=False)
class Memory:
    """A tensor as native code sees it: its memory, and how often that was written to.

    The array is held, so that no other one takes its place unnoticed.
    """

    array: np.ndarray
    dtype: DType
    writes: int

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Memory)
            and self.array is other.array
            and self.dtype == other.dtype
            and self.writes == other.writes
        )

    __hash__ = None  # type: ignore[assignment]


State = Mapping[str, object]


def held_state(receiver: ScriptObject | None) -> State:
    """All that native code depends on of an object, by path; the parts compare by `==`."""
    state: dict[str, object] = {}
    _note(receiver, "", state)
    return state


def _note(value: object, path: str, state: dict[str, object]) -> None:
    match value:
        case ScriptObject():
            state[path] = id(value)
            parts = list(value.attributes.items())
        case list() | tuple():
            state[path] = type(value), len(value)
            parts = [(str(at), part) for at, part in enumerate(value)]
        case dict():
            state[path] = list(value)
            parts = [(str(key), part) for key, part in value.items()]
        case Tensor():
            state[path] = Memory(value._array, value.dtype, value._version)
            return
        case _:
            state[path] = type(value), value
            return
    for name, part in parts:
        _note(part, below(path, name), state)


def differing(before: State, now: State) -> dict[str, bool]:
    """The paths at which two states differ, each with whether both have tensors there."""
    found: dict[str, bool] = {}
    for path in before.keys() | now.keys():
        old, new = before.get(path), now.get(path)
        if path not in before or path not in now or old != new:
            found[path] = isinstance(old, Memory) and isinstance(new, Memory)
    return found
