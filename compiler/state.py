"""What a compiled method changes of its object: tensors and numbers that native code takes as
trailing arguments, and whose new values it gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.eager.tensor import Tensor
from tensorscript.runtime.values import ScriptObject

from .stored import CallPlan


def _owner(receiver: Any, path: str) -> tuple[ScriptObject, str]:
    """The object that holds the attribute at a path, and the attribute's name."""
    *owners, name = path.split(".")
    for part in owners:
        receiver = receiver.attributes[part]
    return receiver, name


def attribute(receiver: Any, path: str) -> Any:
    """The attribute at a path such as `layer.count`."""
    owner, name = _owner(receiver, path)
    return owner.attributes[name]


def state_values(receiver: Any, paths: Sequence[str]) -> list[Any]:
    """The trailing arguments of a call: arrays and numbers."""
    found = [attribute(receiver, path) for path in paths]
    return [v._array if isinstance(v, Tensor) else v for v in found]


def store_state(
    receiver: Any,
    plan: CallPlan,
    results: Sequence[Any],
    tensor: Callable[[int], Tensor],
) -> None:
    """Put the new values where they belong: in-place updates first, as the program ran.

    Args:
        results: of the native call.
        tensor: a result as an eager tensor; what is an argument itself is that argument.
    """
    for path, leaf in plan.state_updates:
        attribute(receiver, path)._array[...] = results[leaf]
    changed: list[tuple[ScriptObject, str, Any]] = []
    for path, leaf in plan.state_assigned:
        owner, name = _owner(receiver, path)
        is_tensor = isinstance(owner.attributes[name], Tensor)
        changed.append((owner, name, tensor(leaf) if is_tensor else _number(results[leaf])))
    # A new value may be what another attribute held before.
    for owner, name, value in changed:
        owner.attributes[name] = value


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.ndarray | np.generic) else value
