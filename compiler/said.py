"""Showing what native code has said: the prints and warnings that it recorded, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tensorscript.dialects.ts.constants import EnumRef
from tensorscript.eager.kernels.script_text import script_text
from tensorscript.lowering.ts_to_tg.plan import Said, Saying
from tensorscript.lowering.ts_to_tg.specs import OutputTree
from tensorscript.runtime.said import show, warn

from .arguments import rebuild
from .lists import rows


def say(
    said: Said,
    leaves: Sequence[Any],
    tensor: Callable[[int, np.ndarray], Any],
    enum: Callable[[EnumRef], Any],
) -> None:
    """Print, and warn once for each warning that was passed.

    Args:
        leaves: results of the native call.
        tensor: makes a tensor of (leaf number, array).
        enum: the member that a constant refers to.

    Raises:
        Warning: the warnings filter makes an error of it.
    """
    recorded = [_recorded(one, leaves, tensor) for one in said.sayings]
    warned = set[int]()
    for number in leaves[said.order].tolist():
        one, slots = said.sayings[number], next(recorded[number])
        values = [_filled(part, slots, enum) for part in one.parts]
        if one.warning is None:
            show(values)
        elif one.warning not in warned:
            warned.add(one.warning)
            warn(values[0], one.place)


def _recorded(
    saying: Saying, leaves: Sequence[Any], tensor: Callable[[int, np.ndarray], Any]
) -> Iterator[Sequence[Any]]:
    """The slots' values, as often as it was passed."""
    if saying.rows is not None:
        yield from rows(saying.rows, leaves, tensor)
    while True:
        yield ()


def _filled(tree: OutputTree, slots: Sequence[Any], enum: Callable[[EnumRef], Any]) -> Any:
    """The value that a tree describes."""
    match tree.kind:
        case "slot":
            return slots[tree.leaf]
        case "constant":
            return rebuild(tree, (), _no_tensor, enum)
    children = [_filled(child, slots, enum) for child in tree.children]
    match tree.kind:
        case "shown":
            return "".join(map(script_text, children))
        case "list":
            return children
        case "dict":
            return dict(zip(tree.keys, children, strict=True))
    return tuple(children)


def _no_tensor(leaf: int, part: np.ndarray | None) -> Any:
    raise AssertionError("a constant holds no tensor of the results")
