"""Storage planning: arena buffers that are not live together share memory.

```
te.alloc arena a: f32[16]            te.alloc arena a: f32[16] at 0
te.call @f(x, a)                     te.call @f(x, a)
te.alloc arena b: f32[16]     -->    te.alloc arena b: f32[16] at 64
te.call @g(a, b)                     te.call @g(a, b)
te.alloc arena c: f32[8]             te.alloc arena c: f32[8] at 0
te.call @g(b, c)                     te.call @g(b, c)
```

Buffers of known sizes are placed by a linear scan over the starts of their live ranges
(`lifetimes.py`), each into the smallest gap between the live ones that holds it (best fit), 64-byte
aligned. Behind them lie those of sizes that the function is called with (`storage_slots.py`). A
buffer whose size the function finds, or inside a parallel loop (each thread has its own), stays
unplanned.
"""

from __future__ import annotations

from collections.abc import Iterable

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer, ExprAttr
from tensorscript.dialects.te.expr import const
from tensorscript.dialects.te.ops import FuncOp

from .affine import known
from .lifetimes import Lifetime, Liveness
from .storage_slots import ALIGNMENT, plan_slots


@dataclass(frozen=True, slots=True)
class StoragePlan:
    """`total` bytes of arena for buffers of known sizes; `unplanned` buffers have sizes that the
    function finds or belong to threads."""

    total: int
    unplanned: tuple[Buffer, ...]


@dataclass(slots=True)
class _Block:
    """Where a buffer lies, in bytes from the start of the arena."""

    life: Lifetime
    start: int
    size: int

    @property
    def end(self) -> int:
        return self.start + self.size


def _gap(size: int, live: list[_Block]) -> int:
    """The start of the smallest gap between live buffers that holds so many bytes."""
    best, best_gap, end = None, 0, 0
    for other in sorted(live, key=lambda o: o.start):
        gap = other.start - end
        if gap >= size and (best is None or gap < best_gap):
            best, best_gap = end, gap
        end = max(end, other.end)
    return end if best is None else best


def _place(lifetimes: Iterable[Lifetime]) -> int:
    """Give buffers of known sizes their offsets, in place; returns the bytes that they take."""
    live: list[_Block] = []
    total = 0
    for life in sorted(lifetimes, key=lambda item: item.first):
        live = [other for other in live if other.life.last >= life.first]
        size = -(-max(known(life.bytes) or 0, 1) // ALIGNMENT) * ALIGNMENT
        made = _Block(life, _gap(size, live), size)
        live.append(made)
        total = max(total, made.end)
        life.alloc.properties["offset_attr"] = ExprAttr(const(made.start))
    return total


def plan_storage(func: FuncOp) -> StoragePlan:
    """Give every arena allocation whose size is known or an argument its offset, in place."""
    found = Liveness(func)
    lifetimes = found.lifetimes.values()
    total = _place(life for life in lifetimes if life.bytes.is_const)
    plan_slots([life for life in lifetimes if not life.bytes.is_const], total)
    return StoragePlan(total, tuple(found.unplanned))
