"""`jit.script([1, 2])` and `jit.script({"a": 1})`: containers that scripts change in place.

Python's own lists and dicts are copied when a script is called; these are copied once, when they
are made, and from then on Python and scripts see the same elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from xdsl.ir import Attribute

from tensorscript.base.errors import GuardError
from tensorscript.dialects.ts.types import STRING, TENSOR, DictType, ListType
from tensorscript.eager.dispatch import call_overload
from tensorscript.frontends.script.inference import NotInferable
from tensorscript.frontends.script.live import World
from tensorscript.frontends.script.module_attributes import attribute_type
from tensorscript.frontends.script.program import Program

from .boundary import Classes, to_python, to_script
from .plain_values import Mismatch
from .references import Reference


def _type_of(value: list[Any] | dict[Any, Any]) -> Attribute:
    """The type of a container; one without elements holds tensors, as a literal in a script does.

    Raises:
        GuardError: its elements are of several types, or of one that the language lacks.
    """
    if not value:
        return ListType(TENSOR) if isinstance(value, list) else DictType(STRING, TENSOR)
    try:
        return attribute_type(value, World(Program()))
    except NotInferable as reason:
        kind = type(value).__name__
        raise GuardError(f"Unable to infer type of {kind}: {reason}") from None


class _Shared(Reference):
    """What lists and dicts have in common."""

    def __init__(self, held: Any, type_: ListType | DictType) -> None:
        super().__init__(held, type_)
        self._classes = Classes()

    def _script(self, value: Any, type_: Attribute) -> Any:
        try:
            return to_script(value, type_, self._classes)
        except Mismatch as mismatch:
            raise TypeError(str(mismatch)) from None

    def _python(self, value: Any) -> Any:
        return to_python(value, self._classes)

    def __len__(self) -> int:
        return len(self.held)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.held == other.held

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return str(call_overload("aten::str", (self.held,)))


class ScriptList(_Shared):
    """A list that Python and scripts share.

    Raises (its methods):
        TypeError: a value is not of the list's element type.
        IndexError: an index out of range.
        GuardError: a slice is assigned another number of elements.
    """

    type: ListType

    @classmethod
    def of(cls, values: list[Any]) -> ScriptList:
        """A list with a copy of `values`.

        Raises:
            GuardError: its elements are of several types, or of one that the language lacks.
        """
        type_ = _type_of(values)
        assert isinstance(type_, ListType)
        return cls(to_script(values, type_, Classes()), type_)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return ScriptList(self.held[index], self.type)
        return self._python(self.held[index])

    def __setitem__(self, index: int | slice, value: Any) -> None:
        if not isinstance(index, slice):
            self.held[index] = self._script(value, self.type.element)
            return
        if len(value) != len(self.held[index]):
            raise GuardError("Left and right hand size of slice assignment have different sizes")
        self.held[index] = [self._script(each, self.type.element) for each in value]

    def __delitem__(self, index: int) -> None:
        del self.held[index]

    def __iter__(self) -> Iterator[Any]:
        return map(self._python, self.held)

    def __contains__(self, value: object) -> bool:
        return self._script(value, self.type.element) in self.held

    def append(self, value: Any) -> None:
        self.held.append(self._script(value, self.type.element))

    def extend(self, values: Iterable[Any]) -> None:
        self.held.extend([self._script(v, self.type.element) for v in values])

    def insert(self, index: int, value: Any) -> None:
        self.held.insert(index, self._script(value, self.type.element))

    def pop(self, index: int = -1) -> Any:
        return self._python(self.held.pop(index))

    def remove(self, value: Any) -> None:
        self.held.remove(self._script(value, self.type.element))

    def count(self, value: Any) -> int:
        return int(self.held.count(self._script(value, self.type.element)))

    def clear(self) -> None:
        self.held.clear()


class ScriptDict(_Shared):
    """A dict that Python and scripts share.

    Raises (its methods):
        TypeError: a key or a value is not of the dict's types.
        KeyError: there is no such key, or what is looked up is of another type than the keys.
    """

    type: DictType

    @classmethod
    def of(cls, values: Mapping[Any, Any]) -> ScriptDict:
        """A dict with a copy of `values`.

        Raises:
            GuardError: keys or values are of several types, or of one that the language lacks.
        """
        type_ = _type_of(dict(values))
        assert isinstance(type_, DictType)
        return cls(to_script(values, type_, Classes()), type_)

    def _asked(self, key: Any) -> Any:
        """A key that is looked up, as scripts hold it; one of another type is no key."""
        try:
            return self._script(key, self.type.key)
        except TypeError:
            raise KeyError(key) from None

    def __getitem__(self, key: Any) -> Any:
        return self._python(self.held[self._asked(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.held[self._script(key, self.type.key)] = self._script(value, self.type.value)

    def __delitem__(self, key: Any) -> None:
        del self.held[self._script(key, self.type.key)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.held)

    def __contains__(self, key: object) -> bool:
        return self._asked(key) in self.held

    def keys(self) -> Iterator[Any]:
        return iter(self.held)

    def items(self) -> Iterator[tuple[Any, Any]]:
        return ((key, self._python(value)) for key, value in self.held.items())
