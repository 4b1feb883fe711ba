"""Unique names of a graph's values: `x.1`, `x.3`, ... for the hint `x`, numbers without a hint.

Of a trace the last value of a hint has the bare name: each gave it up to the next. So has an
argument of a script that nothing reads or sets, and the constant of an attribute, whose hint is a
path (`self.layer.weight`). A name once given stays, also when the graph is edited; only a value
that is asked to take a name that is in use makes its owner take another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from copy import copy

from xdsl.ir import SSAValue

from tensorscript.base.errors import GuardError
from tensorscript.dialects.walks import walk_ops

from .ops import FuncOp

_XDSL_SUFFIX = re.compile(r"_\d+$")


def set_hint(value: SSAValue, name: str | None) -> None:
    """Give a value a name. xDSL takes a `_1` off the end of its hints, so that a name which ends so
    is kept with a dot behind it, which MLIR's text allows and no name of a program has."""
    value.name_hint = f"{name}." if name is not None and _XDSL_SUFFIX.search(name) else name


def hint_of(value: SSAValue) -> str | None:
    """The name that `set_hint` gave to a value."""
    hint = value.name_hint
    return None if hint is None else hint.removesuffix(".")


class ValueNames:
    """The names of the values of one function.

    Attributes:
        names: what is named so far.
    """

    def __init__(self, function: FuncOp) -> None:
        self.names: dict[SSAValue, str] = {}
        self._owners: dict[str, SSAValue] = {}
        self._suffixes: dict[str, int] = {}
        self._held: dict[object, str] = {}
        self._number = 0
        traced = function.is_traced is not None
        self._last = _last_of_hint(function) if traced else _unused_arguments(function)

    @staticmethod
    def numbered(function: FuncOp) -> ValueNames:
        """Names that are numbers, in the order of the text, whatever the hints of the values."""
        made = ValueNames(function)
        for value in values_of(function):
            made._give(value, made._unused_number())
        return made

    def define(self, value: SSAValue) -> str:
        """The name of a value, given to it if it has none."""
        if value in self.names:
            return self.names[value]
        hint = hint_of(value)
        if hint is None or hint.isdigit():
            name = self._unused_number()
        else:
            name = self._hinted(hint, value)
            self._number += 1
        self._give(value, name)
        return name

    def held(self, key: object) -> str:
        """The name of a value that the graph shows and no op of the function makes."""
        if key not in self._held:
            self._held[key] = self._unused_number()
        return self._held[key]

    def rename(self, value: SSAValue, name: str) -> None:
        """Name a value as `Value.setDebugName` does; "" takes its name away.

        Raises:
            GuardError: the name is a number.
        """
        if name.isdigit():
            raise GuardError(f"Invalid name: '{name}'")
        if self.names.get(value) == name:
            return
        self._owners.pop(self.names.pop(value, ""), None)
        if not name:
            self._give(value, self._unused_number())
            return
        if (owner := self._owners.get(name)) is not None:
            self._give(owner, self._replacement(name))
        self._give(value, name)

    def replace(self, old: SSAValue, new: SSAValue) -> None:
        """Let `new` have the name of `old`, which goes."""
        if old in self.names:
            self._give(new, self.names.pop(old))

    def copied(self, values: Mapping[SSAValue, SSAValue]) -> ValueNames:
        """The same names for the values of a copy, which `values` maps to."""
        made = copy(self)
        made.names = {values[old]: name for old, name in self.names.items() if old in values}
        made._owners = {name: value for value, name in made.names.items()}
        made._suffixes = dict(self._suffixes)
        made._held = dict(self._held)
        return made

    def _give(self, value: SSAValue, name: str) -> None:
        self.names[value] = name
        self._owners[name] = value

    def _unused_number(self) -> str:
        self._number += 1
        return str(self._number - 1)

    def _hinted(self, hint: str, value: SSAValue) -> str:
        suffix = self._suffixes.get(hint, 1)
        is_path = "." in hint
        is_bare = is_path or self._last.get(hint) is value or (hint == "self" and suffix == 1)
        self._suffixes[hint] = suffix + 2
        if is_bare and hint not in self._owners:
            return hint
        return self._free(hint, suffix)

    def _free(self, base: str, suffix: int) -> str:
        while f"{base}.{suffix}" in self._owners:
            suffix += 1
        self._suffixes[base] = suffix + 2
        return f"{base}.{suffix}"

    def _replacement(self, name: str) -> str:
        base, dot, number = name.rpartition(".")
        if not dot or not number.isdigit():
            base, number = name, "1"
        return self._free(base, max(int(number), self._suffixes.get(base, 1)))


def values_of(function: FuncOp) -> Iterator[SSAValue]:
    """All values of a function in the order of its text."""
    yield from function.block.args
    for op in walk_ops(function):
        yield from op.results
        for region in op.regions:
            yield from region.block.args


def _unused_arguments(function: FuncOp) -> dict[str, SSAValue]:
    """Arguments that nothing reads, by their hints where no other value has them."""
    unused = [arg for arg in function.block.args if not arg.uses]
    out: dict[str, SSAValue] = {hint: arg for arg in unused if (hint := hint_of(arg))}
    if out:
        for value in values_of(function):
            if (hint := hint_of(value)) in out and out[hint] is not value:
                del out[hint]
    return out


def _last_of_hint(function: FuncOp) -> dict[str, SSAValue]:
    """The last value that has a hint."""
    out: dict[str, SSAValue] = {}
    values = [*function.block.args, *(r for op in function.block.ops for r in op.results)]
    for value in values:
        if (hint := hint_of(value)) is not None:
            out[hint] = value
    return out
