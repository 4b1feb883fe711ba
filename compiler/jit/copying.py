"""Copies of script objects: shallow ones share tensors and submodules, deep ones share nothing."""

from __future__ import annotations

import copy
from typing import Any

from tensorscript.eager.tensor import Tensor
from tensorscript.runtime.values import ScriptObject


def shallow_copy(target: ScriptObject) -> ScriptObject:
    """Another object with the same attributes."""
    return ScriptObject(target.class_name, dict(target.attributes))


def deep_copy(value: Any, memo: dict[int, Any]) -> Any:
    """A copy of a script value and of all it holds; what is shared inside stays shared.

    Args:
        memo: copies made so far by the identity of their original (`copy.deepcopy`'s).
    """
    if (known := memo.get(id(value))) is not None:
        return known
    match value:
        case ScriptObject():
            made = memo[id(value)] = ScriptObject(value.class_name)
            for name, held in value.attributes.items():
                made.attributes[name] = deep_copy(held, memo)
            return made
        case Tensor():
            return copy.deepcopy(value, memo)
        case list():
            listed: list[Any] = []
            memo[id(value)] = listed
            listed += (deep_copy(v, memo) for v in value)
            return listed
        case dict():
            table: dict[Any, Any] = {}
            memo[id(value)] = table
            table |= {k: deep_copy(v, memo) for k, v in value.items()}
            return table
        case tuple() if hasattr(value, "_fields"):
            return type(value)(*(deep_copy(v, memo) for v in value))
        case tuple():
            return tuple(deep_copy(v, memo) for v in value)
    return value
