"""Hooks of modules and tensors: functions in order, each with a handle that takes it out again."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

Hook = Callable[..., Any]
Table = OrderedDict[int, Any]
_numbers = itertools.count()


class RemovableHandle:
    """The place of one hook; `remove()` (or the end of a `with`) takes it out.

    Args:
        hooks: the table the hook stands in.
        extra_dict: further tables with an entry of the same number.
    """

    def __init__(self, hooks: Table, *, extra_dict: Table | list[Table] | None = None) -> None:
        self.id = next(_numbers)
        extra = extra_dict if isinstance(extra_dict, list) else [extra_dict] if extra_dict else []
        self.hooks_dict_ref = weakref.ref(hooks)
        self.extra_dict_ref = tuple(weakref.ref(table) for table in extra)

    def remove(self) -> None:
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            if (table := reference()) is not None:
                table.pop(self.id, None)

    def __getstate__(self) -> tuple[Table | None, int, tuple[Table | None, ...]]:
        """The tables themselves: what is loaded refers to those that are loaded beside it."""
        return self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref)

    def __setstate__(self, state: tuple[Table | None, int, tuple[Table | None, ...]]) -> None:
        hooks, self.id, extra = state
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        self.extra_dict_ref = tuple(weakref.ref(t) for t in extra if t is not None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def add_hook(
    table: Table, hook: Hook, prepend: bool = False, marks: Sequence[tuple[Table, bool]] = ()
) -> RemovableHandle:
    """Put `hook` at the end of `table` (or its start) and its number into the wanted `marks`."""
    marked = [flags for flags, wanted in marks if wanted]
    handle = RemovableHandle(table, extra_dict=marked)
    table[handle.id] = hook
    for flags in marked:
        flags[handle.id] = True
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle
