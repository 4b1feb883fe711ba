"""Tensors that `self` holds after a call: what is one memory has to stay one.

An attribute that is assigned an argument, or a tensor of `self`, is that tensor, and a tensor that
is assigned to two attributes is one in both. A view, one of several tensors that a branch chose,
or an element of a run-time list comes back as a tensor of its own. That may not be where another
attribute keeps the same memory: a later write to one would have to show in the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tensorscript.base.errors import NotCompilable
from tensorscript.base.records import dataclass

from .boundary import Boundary
from .element_kinds import (
    Element,
    ListElement,
    MapElement,
    OptionalElement,
    RecordElement,
    TensorElement,
    TupleElement,
)
from .paths import below, is_state
from .shared_memory import aliases_of, tensors_of
from .values import (
    Compound,
    DictRef,
    Grown,
    ListRef,
    ObjectRef,
    Storage,
    Tensor,
    Value,
    Variant,
)


@dataclass(frozen=True)
class _Kept:
    """A tensor at `path` of `self`, and the storages whose memory it may be."""

    path: str
    tensor: Tensor
    memory: frozenset[Storage]

    def is_one_with(self, other: _Kept) -> bool:
        """Both are one object after the call, as they are in the program."""
        own, its = self.tensor, other.tensor
        return own.is_same(its) and own.indices is None


def given_of(own: Boundary, changed: Mapping[str, Value]) -> set[str]:
    """The attributes whose tensors other attributes are assigned: those are handed in, as they
    are, and may change with them."""
    kept = (k for path, value in changed.items() for k in _kept(own, path, value))
    origins = {_origin(k.tensor) for k in kept}
    return {own.evaluator.attribute_of(path) for path in origins if is_state(path)}


def refuse_split_memory(own: Boundary, receiver: object, changed: Mapping[str, Value]) -> None:
    """See to it that attributes that share memory do so after the call.

    Args:
        changed: path -> new value of each attribute that the program sets.

    Raises:
        NotCompilable: they would not.
    """
    b = own.builder
    b.operator = "prim::SetAttr"
    kept = [k for path, value in changed.items() for k in _kept(own, path, value)]
    holders: dict[Storage, _Kept] = {}
    for one in kept:
        for storage in one.memory:
            other = holders.setdefault(storage, one)
            if other.path != one.path and not one.is_one_with(other):
                b.may_share(f"{one.path} and {other.path} may share memory")
            if _stays(storage, changed) and _origin(one.tensor) != storage.origin:
                b.may_share(f"{one.path} may share memory with {storage.origin}")
    if lists := [path for path, value in changed.items() if _has_copies(own, value)]:
        _refuse_copies(own, receiver, lists, holders)


def _refuse_copies(
    own: Boundary, receiver: object, lists: list[str], holders: Mapping[Storage, object]
) -> None:
    """Elements of the run-time lists at `lists` are tensors of their own after the call."""
    b = own.builder

    def is_inside(path: str) -> bool:
        return any(path.startswith(f"{within}.") for within in lists)

    for storage in b.copies:
        group = b.may_alias.group(storage)
        outside = any(s.origin and not is_inside(s.origin) for s in group)
        if outside or sum(b.copies[s] for s in group) > 1 or not group.isdisjoint(holders):
            b.cannot("a list that the running program makes keeps a tensor that others keep, too")
    tensors = tensors_of(receiver)
    try:
        shared = aliases_of(tensors, [path for path in tensors if is_inside(path)])
    except NotCompilable as refusal:
        b.cannot(refusal.message)
    if shared:
        b.cannot(f"{next(iter(shared))} shares memory with another tensor of self")


def _stays(storage: Storage, changed: Mapping[str, Value]) -> bool:
    """Whether an attribute that the program does not set holds the storage."""
    path = storage.origin
    return is_state(path) and not any(path == p or path.startswith(f"{p}.") for p in changed)


def _origin(x: Tensor) -> str:
    return x.storage.origin if x.indices is None else ""


def _kept(own: Boundary, path: str, value: Value) -> Iterator[_Kept]:
    """The tensors in a value, and where they stand; not the elements of run-time lists."""
    if isinstance(value, Tensor):
        yield _Kept(path, value, frozenset(own.builder.may_alias.group(value.storage)))
    for name, part in _parts(own, value):
        yield from _kept(own, path if isinstance(value, Variant) else below(path, name), part)


def _parts(own: Boundary, value: Value) -> list[tuple[object, Value]]:
    if isinstance(value, Compound):
        return list(enumerate(value.elements))
    match value:
        case Variant():
            return list(enumerate(value.options))
        case ListRef() | DictRef() | ObjectRef():
            content = own.builder.heap[value]
            if isinstance(content, Grown):
                return []
            return list(content.items() if isinstance(content, dict) else enumerate(content))
    return []


def _has_copies(own: Boundary, value: Value) -> bool:
    """Whether there is a run-time list of tensors in a value."""
    content = own.builder.heap[value] if isinstance(value, ListRef) else None
    if isinstance(content, Grown):
        return _holds_tensors(content.element)
    return any(_has_copies(own, part) for _, part in _parts(own, value))


def _holds_tensors(element: Element | None) -> bool:
    match element:
        case TensorElement():
            return True
        case TupleElement(parts) | RecordElement(elements=parts):
            return any(map(_holds_tensors, parts))
        case ListElement(inner) | OptionalElement(inner):
            return _holds_tensors(inner)
        case MapElement(key, value):
            return _holds_tensors(key) or _holds_tensors(value)
    return False
