"""Slots of the arena for buffers whose sizes a program is called with.

Nobody knows at compile time how long such a buffer is, but one that is free again may be taken for
the next in any case if it is as long as the longest of all that lie in it:

```
te.alloc arena a: f32[N, 16]         te.alloc arena a: f32[N, 16] at 0
te.alloc arena b: f32[N, M]    -->   te.alloc arena b: f32[N, M] at max(0, N*64, N*128)
te.alloc arena c: f32[N, 32]         te.alloc arena c: f32[N, 32] at 0
```

Slots lie one behind the other. Of those that are free a buffer takes the one that fits best if all
sizes are `TYPICAL`, or the longest, which then grows. Of lengths that are multiples of the same
product of sizes the largest is the longest.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.dialects.te.buffers import ExprAttr
from tensorscript.dialects.te.expr import Expr, binary, const, mul
from tensorscript.dialects.te.polynomial import Polynomial, expression, polynomial
from tensorscript.dialects.te.rewriting import substitute

from .affine import known
from .lifetimes import Lifetime

ALIGNMENT = 64
TYPICAL = 64


def _typical(life: Lifetime) -> int:
    """Bytes of a buffer if all sizes are typical; 0 where that is no possible size."""
    size = life.bytes
    here = substitute(size, dict.fromkeys(size.free, const(TYPICAL)))
    return max(known(here) or 0, 0)


class _Slot:
    """Memory for one buffer at a time.

    Attributes:
        last: the last use of the buffer that lies in it.
        typical: bytes, if all sizes are typical.
        sizes: in bytes, of which the slot has the largest.
    """

    def __init__(self) -> None:
        self.last, self.typical = -1, 0
        self.sizes: list[Polynomial] = []
        self.lives: list[Lifetime] = []

    def take(self, life: Lifetime, typical: int) -> None:
        self.last, self.typical = life.last, max(self.typical, typical)
        self.lives.append(life)
        size = polynomial(life.bytes)
        if not any(_covers(other, size) for other in self.sizes):
            self.sizes = [other for other in self.sizes if not _covers(size, other)] + [size]

    @property
    def bytes(self) -> Expr:
        """A multiple of the alignment. A size that is negative, of a window that is longer than
        what it slides over, counts as 0: the call fails later."""
        largest = const(0)
        for size in self.sizes:
            largest = binary("max", largest, expression(size))
        if all(c % ALIGNMENT == 0 for size in self.sizes for c in size.values()):
            return largest
        return mul(binary("floordiv", largest + (ALIGNMENT - 1), ALIGNMENT), const(ALIGNMENT))


def _covers(longer: Polynomial, shorter: Polynomial) -> bool:
    """Whether one is at least as large as the other for all sizes: the same products of sizes, each
    as many times at least."""
    return longer.keys() == shorter.keys() and all(
        0 <= count <= longer[monomial] for monomial, count in shorter.items()
    )


def plan_slots(lives: Sequence[Lifetime], start: int) -> None:
    """Give each allocation its offset, from `start` on, in place."""
    slots: list[_Slot] = []
    for life in sorted(lives, key=lambda item: item.first):
        free = [slot for slot in slots if slot.last < life.first]
        size = _typical(life)
        enough = [slot for slot in free if slot.typical >= size]
        if enough:
            slot = min(enough, key=lambda s: s.typical)
        elif free:
            slot = max(free, key=lambda s: s.typical)
        else:
            slots.append(slot := _Slot())
        slot.take(life, size)
    offset = const(start)
    for slot in slots:
        for life in slot.lives:
            life.alloc.properties["offset_attr"] = ExprAttr(offset)
        offset = offset + slot.bytes
