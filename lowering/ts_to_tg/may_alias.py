"""Tensors that may be one after control flow: what a branch or a loop gives is one of several.

```
m = y            after the loop m is y, or what an iteration made: a write to m may change y.
for ...:         After such a write nothing is known of the elements of y, and a program that reads
    m = m * 2    them has no native form.
```
What flows together is one group; a write to one of a group leaves the others *stale*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from .heap import Heap
from .kinds import Kind, kind_of, options_of
from .values import (
    UNINITIALIZED,
    Compound,
    DictRef,
    ListRef,
    ObjectRef,
    Storage,
    Tensor,
    Value,
    Variant,
)

Held = tuple[Heap, Value]
"""A value, and the heap in which its references have their content."""


def _never(_: Value) -> bool:
    return False


class MayAlias:
    """Groups of storages that may be one memory."""

    def __init__(self) -> None:
        self._groups: dict[Storage, set[Storage]] = {}

    def group(self, storage: Storage) -> set[Storage]:
        """All that `storage` may be, itself among them."""
        return self._groups.get(storage, {storage})

    def unite(self, *sides: Held, lasting: Callable[[Value], bool] = _never) -> None:
        """Control flow makes one value of these, or passes one on as another: as the last.

        Args:
            lasting: tells options that stand for themselves.
        """
        sides = tuple(s for s in sides if s[1] is not UNINITIALIZED)
        if sides and isinstance(sides[-1][1], Variant):
            self._unite_options(sides, lasting)
            return
        if all(isinstance(v, Tensor) for _, v in sides):
            self._unite(v.storage for _, v in sides)
            return
        parts = [_parts(heap, v) for heap, v in sides]
        if any(len(p) != len(parts[0]) for p in parts):
            self._unite(s for heap, v in sides for s in _storages(heap, v))
            return
        for row in zip(*parts, strict=True):
            if any(v is not row[0] for v in row):
                pairs = zip(sides, row, strict=True)
                self.unite(*((heap, v) for (heap, _), v in pairs), lasting=lasting)

    def _unite_options(self, sides: Sequence[Held], lasting: Callable[[Value], bool]) -> None:
        """What control flow makes a variant of: option by option."""
        by_kind: dict[Kind, list[Held]] = {}
        for heap, value in sides:
            for option in options_of(value):
                if option is not UNINITIALIZED and not lasting(option):
                    by_kind.setdefault(kind_of(option), []).append((heap, option))
        for held in by_kind.values():
            self.unite(*held, lasting=lasting)

    def _unite(self, storages: Iterable[Storage]) -> None:
        found = set(storages)
        if len(found) > 1:
            merged = set[Storage]().union(*map(self.group, found))
            self._groups |= dict.fromkeys(merged, merged)


def _parts(heap: Heap, value: Value) -> list[Value]:
    """The values in a value, one level down."""
    if isinstance(value, Compound):
        return list(value.elements)
    if isinstance(value, Variant):
        return list(value.options)
    if isinstance(value, ListRef | DictRef | ObjectRef):
        content = heap[value]
        if isinstance(content, dict):
            return list(content.values())
        return list(content) if isinstance(content, tuple) else []
    return []


def _storages(heap: Heap, value: Value) -> Iterator[Storage]:
    if isinstance(value, Tensor):
        yield value.storage
    for part in _parts(heap, value):
        yield from _storages(heap, part)
