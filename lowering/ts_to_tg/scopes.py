"""The ops that are there already, by what they compute, in the open blocks of an evaluation."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation

Key = tuple[object, ...]
Scope = dict[Key, Operation]
"""The ops of one block."""


class Scopes:
    """The open blocks, the innermost last.

    One table answers for all of them, so that a look-up takes the same time in every depth; what a
    block hides in it comes back when the block is closed.
    """

    def __init__(self) -> None:
        self._known: Scope = {}
        self._open: list[Scope] = []
        self._hidden: list[Scope] = []
        self.push({})

    @property
    def depth(self) -> int:
        """The blocks around the innermost one."""
        return len(self._open) - 1

    def find(self, key: Key) -> Operation | None:
        return self._known.get(key)

    def add(self, key: Key, op: Operation) -> None:
        """An op of the innermost block, whose key is not known yet."""
        self._open[-1][key] = self._known[key] = op

    def adopt(self, scope: Scope) -> None:
        """The ops of a block that became part of the innermost one."""
        self._open[-1].update(scope)
        self._known.update(scope)

    def push(self, scope: Scope) -> None:
        """Open a block that has these ops already."""
        self._open.append(scope)
        self._hidden.append({key: self._known[key] for key in scope if key in self._known})
        self._known.update(scope)

    def pop(self) -> Scope:
        """Close the innermost block."""
        scope, hidden = self._open.pop(), self._hidden.pop()
        for key in scope:
            if key in hidden:
                self._known[key] = hidden[key]
            else:
                del self._known[key]
        return scope

    def ops(self) -> Iterable[Operation]:
        """Of all open blocks."""
        return self._known.values()
