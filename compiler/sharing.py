"""Which tensors of one call share memory: part of what code is made for that writes in place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

import numpy as np
from numpy.lib.array_utils import byte_bounds

from tensorscript.eager.storage import shown
from tensorscript.lowering.ts_to_tg.paths import SELF
from tensorscript.lowering.ts_to_tg.plan import CallPlan
from tensorscript.runtime.values import ScriptObject

from .arguments import Bound
from .state import attribute

_Key = TypeVar("_Key")

Sharing = tuple[tuple[tuple[object, ...], ...], ...]
"""Groups of tensors that overlap: of each its path, where it begins in the memory of the group,
its sizes and its strides."""


def state_sharing(receiver: ScriptObject | None, plan: CallPlan, state: Bound) -> Sharing:
    """How the tensors of `self` that a program changes share memory now; none for one that does
    not mind.

    Args:
        state: the program's trailing arguments, taken apart.
    """
    if not plan.minds_sharing:
        return ()
    held = dict(state.paths)
    for path in plan.state_aliases:
        held[f"{SELF}.{path}"] = shown(attribute(receiver, path))
    return tuple(map(_layout, _groups(held)))


def shares_with_arguments(arguments: Bound, state: Bound) -> bool:
    """Whether a tensor of `self` that native code is handed lies in the memory of an argument."""
    if not arguments.paths or not state.paths:
        return False
    sides = {(0, name): array for name, array in arguments.paths.items()}
    sides |= {(1, name): array for name, array in state.paths.items()}
    return any(len({side for side, _ in group}) > 1 for group in _groups(sides))


def _span(array: np.ndarray) -> tuple[int, int]:
    """The addresses that an array lies between."""
    if not array.flags.c_contiguous:
        return byte_bounds(array)
    first: int = array.__array_interface__["data"][0]
    return first, first + array.nbytes


def _groups(arrays: Mapping[_Key, np.ndarray]) -> Iterator[dict[_Key, np.ndarray]]:
    """Arrays whose memory overlaps, in order; none that lies alone."""
    spans = {key: _span(array) for key, array in arrays.items() if array.size}
    group: dict[_Key, np.ndarray] = {}
    end = 0
    for key in sorted(spans, key=spans.__getitem__):
        first, last = spans[key]
        if first >= end:
            if len(group) > 1:
                yield group
            group = {}
        group[key] = arrays[key]
        end = max(end, last)
    if len(group) > 1:
        yield group


def _layout(group: Mapping[str, np.ndarray]) -> tuple[tuple[object, ...], ...]:
    low = min(_span(array)[0] for array in group.values())
    return tuple(
        (path, group[path].ctypes.data - low, group[path].shape, group[path].strides)
        for path in sorted(group)
    )
