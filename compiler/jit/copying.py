"""Copies of script objects: shallow ones share tensors and submodules, deep ones share nothing,
and copies of modules share tensors only."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from tensorscript.base.named_tuples import remade
from tensorscript.eager.tensor import Tensor
from tensorscript.runtime.values import ScriptObject


def shallow_copy(target: ScriptObject) -> ScriptObject:
    """Another object with the same attributes."""
    return ScriptObject(target.class_name, dict(target.attributes))


def module_copies(
    root: ScriptObject,
    is_module: Callable[[ScriptObject], bool],
    restate: Callable[[ScriptObject, ScriptObject], None],
) -> dict[int, ScriptObject]:
    """Copies of a module and of the modules below it, by the identities of their originals.

    Args:
        restate: is called with each original and its copy, those of submodules before.
    """
    made: dict[int, ScriptObject] = {}

    def copied(target: ScriptObject) -> ScriptObject:
        if (known := made.get(id(target))) is not None:
            return known
        out = made[id(target)] = shallow_copy(target)
        for name, held in target.attributes.items():
            if isinstance(held, ScriptObject) and is_module(held):
                out.attributes[name] = copied(held)
        restate(target, out)
        return out

    copied(root)
    return made


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
            return remade(value, (deep_copy(v, memo) for v in value))
        case tuple():
            return tuple(deep_copy(v, memo) for v in value)
    return value
