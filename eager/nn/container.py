"""Containers: modules that hold modules under numbers or keys."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sized
from itertools import chain
from typing import Any, Self

from .module import Module, indented


def position(owner: Sized, index: Any) -> int:
    """`index` counted from the start.

    Raises:
        IndexError: out of range.
    """
    at, size = operator.index(index), len(owner)
    if not -size <= at < size:
        raise IndexError(f"index {at} is out of range")
    return at % size


def pairs(given: Any, kind: str, label: str) -> Iterator[tuple[str, Any]]:
    """The (key, value) pairs of a mapping or of an iterable of pairs.

    Raises:
        TypeError: neither.
        ValueError: an element is no pair.
    """
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{label}.update should be called with an iterable of key/value pairs, but got "
            + type(given).__name__
        )
    if isinstance(given, Mapping) or (isinstance(given, Module) and hasattr(given, "items")):
        yield from given.items()
        return
    for at, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"{kind} update sequence element #{at} should be Iterable; is" + type(pair).__name__
            )
        key, *values = pair
        if len(values) != 1:
            raise ValueError(
                f"{kind} update sequence element #{at} has length {1 + len(values)}; 2 is required"
            )
        yield key, values[0]


class _Numbered(Module):
    """A list of modules under the names "0", "1", ..."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __delitem__(self, idx: slice | int) -> None:
        names = list(self._modules)
        for name in names[idx] if isinstance(idx, slice) else [names[position(self, idx)]]:
            delattr(self, name)
        renumbered = {str(at): m for at, m in enumerate(self._modules.values())}
        self.__dict__["_modules"] = renumbered

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, module: Module) -> Self:
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int | slice) -> Any:
        found = self[key]  # type: ignore[index]  # both subclasses define __getitem__
        del self[key]
        return found

    def _shift(self, index: int, module: Module) -> None:
        """Put `module` at `index`, those from there on one further."""
        held = self._modules
        for at in range(len(held), index, -1):
            held[str(at)] = held[str(at - 1)]
        held[str(index)] = module


class Sequential(_Numbered):
    """Modules that run one after the other; `Sequential(a, b)` or of an OrderedDict."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            self.extend(args)

    def __getitem__(self, idx: slice | int) -> Any:
        items = list(self._modules.items())
        if isinstance(idx, slice):
            return type(self)(OrderedDict(items[idx]))
        return items[position(self, idx)][1]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, list(self._modules)[position(self, idx)], module)

    def __add__(self, other: Sequential) -> Sequential:
        return Sequential(*self, *_sequential(other))

    def __iadd__(self, other: Sequential) -> Self:
        return self.extend(_sequential(other))

    def __mul__(self, other: int) -> Sequential:
        return Sequential(*(list(self) * _factor(self, other)))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        return self.extend(list(self) * (_factor(self, other) - 1))

    def forward(self, input):  # type: ignore[no-untyped-def]  # script reads it
        for module in self:
            input = module(input)
        return input

    def insert(self, index: int, module: Module) -> Self:
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        size = len(self)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}")
        self._shift(index + size if index < 0 else index, module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        for layer in sequential:
            self.append(layer)
        return self


def _sequential(other: object) -> Sequential:
    if not isinstance(other, Sequential):
        raise ValueError(
            f"add operator supports only objects of Sequential class, but {type(other)} is given."
        )
    return other


def _factor(owner: Sequential, other: object) -> int:
    if not isinstance(other, int):
        raise TypeError(f"unsupported operand type(s) for *: {type(owner)} and {type(other)}")
    if other <= 0:
        raise ValueError(f"Non-positive multiplication factor {other} for {type(owner)}")
    return other


class ModuleList(_Numbered):
    """A list of modules that the module around it knows as its own."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self._modules.values())[idx])
        return self._modules[str(position(self, idx))]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, str(position(self, idx)), module)

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __repr__(self) -> str:
        """As any module's, with equal neighbours on one line: `(0-2): 3 x Linear(...)`."""
        runs: list[list[Any]] = []
        for at, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1][1] = at
            else:
                runs.append([at, at, text])
        lines = [
            f"({first}): {text}" if first == last
            else f"({first}-{last}): {last - first + 1} x {text}"
            for first, last, text in runs
        ]  # fmt: skip
        body = "".join(f"\n  {indented(line, 2)}" for line in lines)
        return f"{self._get_name()}({body}{chr(10) if body else ''})"

    def insert(self, index: int, module: Module) -> None:
        self._shift(index, module)

    def extend(self, modules: Iterable[Module]) -> Self:
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got "
                + type(modules).__name__
            )
        for module in list(modules):
            self.append(module)
        return self


class ModuleDict(Module):
    """Modules under keys, in order."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        found: Module = self._modules[key]
        return found

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        self._modules.clear()

    def pop(self, key: str) -> Module:
        found = self[key]
        del self[key]
        return found

    def keys(self) -> Any:
        return self._modules.keys()

    def items(self) -> Any:
        return self._modules.items()

    def values(self) -> Any:
        return self._modules.values()

    def update(self, modules: Mapping[str, Module]) -> None:
        """Add or replace the modules of a mapping or of an iterable of pairs."""
        for key, module in pairs(modules, "ModuleDict", "ModuleDict"):
            self[key] = module
