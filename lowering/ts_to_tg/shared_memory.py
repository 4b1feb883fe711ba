"""Attributes of `self` that share memory: tied buffers, shared modules, views into one storage.

Of attributes that share memory with one that the program changes, only one is an argument, the
*owner*; the others are views of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np
from numpy.lib.array_utils import byte_bounds

from tensorscript.base.errors import NotCompilable
from tensorscript.base.records import dataclass
from tensorscript.dialects.ts.constants import QuantizedLiteral, TensorLiteral

from .builder import Builder
from .complex_tensors import AnyTensor
from .paths import SELF, below
from .values import ObjectValue, Tensor


@dataclass(frozen=True)
class Alias:
    """A tensor of `self` within the memory of the one at the path `owner`.

    Attributes:
        shape: None if it is the very same tensor; else it has these sizes and strides, and begins
            at `offset`, in elements.
    """

    owner: str
    shape: tuple[int, ...] | None = None
    strides: tuple[int, ...] = ()
    offset: int = 0


def tensors_of(receiver: object) -> dict[str, TensorLiteral]:
    """Each tensor of `self` by its path, and one that is held twice by both."""
    return dict(_tensors(receiver, SELF, ()))


def _tensors(
    value: object, path: str, above: tuple[int, ...]
) -> Iterator[tuple[str, TensorLiteral]]:
    parts: Iterator[tuple[object, object]] = iter(())
    match value:
        case TensorLiteral():
            yield path, value
        case QuantizedLiteral():
            yield path, value.integers
        case ObjectValue() if id(value) not in above:
            parts = iter(value.attributes.items())
        case list() | tuple():
            parts = iter(enumerate(value))
        case dict():
            parts = iter(value.items())
    for name, part in parts:
        yield from _tensors(part, below(path, name), (*above, id(value)))


def aliases_of(tensors: Mapping[str, TensorLiteral], changed: Collection[str]) -> dict[str, Alias]:
    """The tensors that share memory with those at the paths in `changed`, each but the owners.

    Raises:
        NotCompilable: tensors overlap, and none of them holds the memory of all.
    """
    out: dict[str, Alias] = {}
    for path in tensors:
        if path in out or path not in changed:
            continue
        group = _overlapping(tensors, path)
        if len(group) > 1:
            owner = _owner(group)
            out |= {p: _alias(owner, group[owner], t) for p, t in group.items() if p != owner}
    return out


def _overlapping(tensors: Mapping[str, TensorLiteral], path: str) -> dict[str, TensorLiteral]:
    """All that share memory with the tensor at `path`, or with one that does."""
    bounds = {p: byte_bounds(t.array) for p, t in tensors.items() if t.array.size}
    if path not in bounds:
        return {}
    low, high = bounds[path]
    while True:
        group = {p for p, (first, end) in bounds.items() if first < high and low < end}
        wider = min(bounds[p][0] for p in group), max(bounds[p][1] for p in group)
        if wider == (low, high):
            return {p: t for p, t in tensors.items() if p in group}
        low, high = wider


def _owner(group: Mapping[str, TensorLiteral]) -> str:
    """The path of a tensor without gaps that holds the memory of all, or of any if all are one."""
    bounds = {p: byte_bounds(t.array) for p, t in group.items()}
    low, high = min(b[0] for b in bounds.values()), max(b[1] for b in bounds.values())
    first = next(iter(group))
    if all(_is_same(group[first], t) for t in group.values()):
        return first
    for path, literal in group.items():
        if bounds[path] == (low, high) and literal.array.flags.c_contiguous:
            return path
    raise NotCompilable(f"{', '.join(sorted(group))} share memory, and one of them changes")


def _is_same(one: TensorLiteral, other: TensorLiteral) -> bool:
    a, b = one.array, other.array
    return (
        one.dtype is other.dtype
        and a.ctypes.data == b.ctypes.data
        and (a.shape, a.strides) == (b.shape, b.strides)
    )


def _alias(path: str, owner: TensorLiteral, literal: TensorLiteral) -> Alias:
    if _is_same(owner, literal):
        return Alias(path)
    size = owner.array.itemsize
    offset = literal.array.ctypes.data - owner.array.ctypes.data
    whole = np.all(np.array([offset, *literal.array.strides]) % size == 0)
    if owner.dtype is not literal.dtype or owner.dtype.is_complex or not whole:
        raise NotCompilable(f"{path} changes and shares memory with a tensor of another dtype")
    strides = tuple(step // size for step in literal.array.strides)
    return Alias(path, literal.array.shape, strides, offset // size)


def view_of(b: Builder, alias: Alias, owner: AnyTensor) -> AnyTensor:
    """The tensor that an alias stands for."""
    if alias.shape is None:
        return owner
    assert isinstance(owner, Tensor)
    place = list(alias.shape), list(alias.strides), alias.offset
    return b.apply("aten::as_strided", owner, *place)
