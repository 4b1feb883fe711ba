"""What a compiled method changes of its object: attributes that native code takes as trailing
arguments, and whose new values it gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tensorscript.base.records import dataclass
from tensorscript.eager.modes import MODES
from tensorscript.eager.tensor import Tensor
from tensorscript.eager.tracking import written
from tensorscript.lowering.ts_to_tg.paths import SELF, below, parts
from tensorscript.lowering.ts_to_tg.plan import CallPlan
from tensorscript.runtime.values import ScriptObject

from .arguments import Bound, Taking, bind, check_place, rebuild


def _part(value: Any, name: str) -> Any:
    match value:
        case ScriptObject():
            return value.attributes[name]
        case list() | tuple():
            return value[int(name)]
        case dict():
            return next(v for k, v in value.items() if str(k) == name)
    raise KeyError(name)


def attribute(receiver: Any, path: str) -> Any:
    """What stands at a path such as `layer.count` or `cache.0`."""
    for name in parts(path):
        receiver = _part(receiver, name)
    return receiver


def tensors_of(held: Any, seen: set[int] | None = None) -> Iterator[Tensor]:
    """The tensors that an object holds, at any depth."""
    seen = set() if seen is None else seen
    if isinstance(held, Tensor):
        yield held
        return
    if not isinstance(held, ScriptObject | list | tuple | dict) or id(held) in seen:
        return
    seen.add(id(held))
    parts = held.attributes if isinstance(held, ScriptObject) else held
    for part in parts.values() if isinstance(parts, dict) else parts:
        yield from tensors_of(part, seen)


def fingerprints(receiver: ScriptObject) -> dict[str, object]:
    """What each attribute of an object and of its parts is now, by path. What is kept and compared
    are the values, and how often tensors were written."""
    out: dict[str, object] = {}
    _fingerprints(receiver, "", out, set())
    return out


def _fingerprints(owner: ScriptObject, path: str, out: dict[str, object], seen: set[int]) -> None:
    if id(owner) in seen:
        return
    seen.add(id(owner))
    for name, value in owner.attributes.items():
        here = below(path, name)
        out[here] = _fingerprint(value)
        if isinstance(value, ScriptObject):
            _fingerprints(value, here, out, seen)


@dataclass(frozen=True, eq=False)
class _Same:
    """Equal to what holds the very same value, written as often."""

    value: object
    version: int = 0

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Same) and self.value is other.value and self.version == other.version
        )


def _fingerprint(value: Any) -> object:
    match value:
        case Tensor():
            return _Same(value, value._version)
        case list() | tuple():
            return type(value).__name__, [_fingerprint(v) for v in value]
        case dict():
            return [(k, _fingerprint(v)) for k, v in value.items()]
        case bool() | int() | float() | str() | None:
            return type(value).__name__, repr(value)
    return _Same(value)


def check_state_place(receiver: Any, gpu: int | None) -> None:
    """See to it that what an object holds is where code for a GPU, or for the CPU, runs.

    Raises:
        OnGPU, GuardError: as `check_place`.
    """
    if MODES.has_gpus:
        for tensor in tensors_of(receiver):
            check_place(tensor._array, gpu)


def bind_state(receiver: Any, plan: CallPlan, gpu: int | None = None) -> Bound:
    """The trailing arguments of a call, taken apart."""
    paths = plan.state_inputs
    values = [attribute(receiver, path) for path in paths]
    taking = Taking(known=plan.state_known, of_state=True, gpu=gpu)
    return bind([f"{SELF}.{path}" for path in paths], values, taking)


def store_state(
    receiver: Any,
    plan: CallPlan,
    results: Sequence[Any],
    tensor: Callable[[int, np.ndarray | None], Tensor],
    enum: Callable[[Any], Any],
) -> None:
    """Put the new values where they belong: in-place updates first, as the program ran.

    Args:
        results: of the native call.
        tensor: a result, or a part of one, as an eager tensor; what is an argument itself is that
            argument.
        enum: the member that a constant refers to.
    """
    for path, leaf in plan.state_updates:
        target = attribute(receiver, path)
        target._array[...] = results[leaf]
        written(target)
    changed: list[tuple[ScriptObject, str, Any]] = []
    for path, tree in plan.state_assigned:
        *owners, name = parts(path)
        owner = receiver
        for part in owners:
            owner = _part(owner, part)
        changed.append((owner, name, rebuild(tree, results, tensor, enum)))
    # A new value may be what another attribute held before.
    for owner, name, value in changed:
        owner.attributes[name] = value
