"""Dataclasses whose comparisons and texts are not compiled when their module is imported.

`dataclasses.dataclass` writes and compiles the source of up to six methods of each class: 0.4 ms,
which was a fifth of the time from start to the first result of a small program. All but the
constructor (and what keeps frozen ones as they are) can be closures over the names of the fields,
which cost no more when they are called.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

Key = Callable[[Any], tuple[Any, ...]]

if TYPE_CHECKING:  # type checkers know what it makes
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, repr=True, eq=True, frozen=False, **options):
        """As `dataclasses.dataclass`, which documents the arguments."""

        def made(cls):
            return _made(cls, repr, eq, frozen, options)

        return made if cls is None else made(cls)


def _made(cls: type, has_repr: bool, eq: bool, frozen: bool, options: dict[str, Any]) -> Any:
    own = vars(cls)
    has_repr, compares = has_repr and "__repr__" not in own, eq and "__eq__" not in own
    hashes = eq and own.get("__hash__") is None
    if not cls.__doc__:
        cls.__doc__ = cls.__name__  # or its signature is looked up to stand there
    made: Any = dataclasses.dataclass(repr=False, eq=False, frozen=frozen, **options)(cls)
    fields = dataclasses.fields(made)
    if has_repr:
        _put(made, "__repr__", _repr([f.name for f in fields if f.repr]))
    if compares:
        _put(made, "__eq__", _eq(_key([f.name for f in fields if f.compare])))
    if hashes:
        names = [f.name for f in fields if (f.compare if f.hash is None else f.hash)]
        _put(made, "__hash__", _hash(_key(names)) if frozen else None)
    return made


def _put(cls: type, name: str, method: Callable[..., Any] | None) -> None:
    if method is not None:
        method.__qualname__ = f"{cls.__qualname__}.{name}"
        method.__module__ = cls.__module__
    setattr(cls, name, method)


def _key(names: list[str]) -> Key:
    """The values of fields, as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda record: tuple(getattr(record, name) for name in names)


def _repr(names: list[str]) -> Callable[[Any], str]:
    @recursive_repr()
    def __repr__(self: Any) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({values})"

    return __repr__


def _eq(key: Key) -> Callable[[Any, Any], bool]:
    def __eq__(self: Any, other: object) -> bool:
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hash(key: Key) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:
        return hash(key(self))

    return __hash__
