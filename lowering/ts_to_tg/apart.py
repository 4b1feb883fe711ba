"""Tensors that control flow chooses between, kept apart.

```
m = x if c else y      m is x or y, and which one the condition says (a variant of two tensors): a
m.add_(1)              write to m is a branch that writes to x or to y, and shows in either.
```
Elsewhere one new tensor stands for what was chosen, which is less code; a program that writes to
such a tensor is compiled again, with all of them apart.
"""

from __future__ import annotations

from .builder import Builder
from .heap import Heap
from .kinds import Kind, kind_of
from .values import Tensor, Value


def is_lasting(b: Builder, before: Heap, value: Value) -> bool:
    """Whether a value is a tensor of the time `before`, whichever way the program took since."""
    if not b.apart or not isinstance(value, Tensor) or value.storage not in before:
        return False
    exprs = (*value.shape, *(value.indices or ()), *(value.strides or ()))
    names = frozenset[str]().union(*(e.free for e in exprs))
    return not any(map(b.is_found, value.shape)) and not any(n.startswith("$") for n in names)


def slot_of(b: Builder, before: Heap, value: Value) -> Kind:
    """What tells options apart: the kind of a value, of a lasting tensor which one it is."""
    if is_lasting(b, before, value):
        return "a tensor", value.storage, value.shape, value.indices
    return kind_of(value)
