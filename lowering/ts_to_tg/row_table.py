"""A table of rows, most of which are imported when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property

from .builder import Row, Rows


class RowTable(Mapping[str, Row]):
    """Rows by key: `aten::name.overload`, or `aten::name` for all overloads that have no row.

    Args:
        ordinary: those at hand, which are all there are of their operators.
        further: gives the others.
        split: operators of which both have rows.
    """

    def __init__(
        self, ordinary: Rows, further: Callable[[], Rows], split: Collection[str] = ()
    ) -> None:
        self._ordinary = ordinary
        self._further = further
        self._closed = {key.partition(".")[0] for key in ordinary}.difference(split)

    def __getitem__(self, key: str) -> Row:
        if (row := self._ordinary.get(key)) is not None:
            return row
        if key.partition(".")[0] in self._closed:
            raise KeyError(key)
        return self._all[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    @cached_property
    def _all(self) -> Rows:
        return {**self._ordinary, **self._further()}
