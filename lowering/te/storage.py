"""Storage planning: arena buffers that are not live together share memory.

```
te.alloc arena a: f32[16]            te.alloc arena a: f32[16] at 0
te.call @f(x, a)                     te.call @f(x, a)
te.alloc arena b: f32[16]     -->    te.alloc arena b: f32[16] at 64
te.call @g(a, b)                     te.call @g(a, b)
te.alloc arena c: f32[8]             te.alloc arena c: f32[8] at 0
te.call @g(b, c)                     te.call @g(b, c)
```

Live ranges are spans of statement positions, from the first use to the last: host code allocates
at the start of its blocks. A buffer used in a loop that it is allocated outside of is live through
the whole loop. Buffers are placed by a linear scan over the starts, each into
the smallest gap between the live ones that holds it (best fit), 64-byte aligned. A buffer of
symbolic size, or inside a parallel loop (each thread has its own), stays unplanned.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer, ExprAttr
from tensorscript.dialects.te.expr import const
from tensorscript.dialects.te.lists import GiveOp
from tensorscript.dialects.te.ops import (
    AllocOp,
    CallOp,
    ForOp,
    FuncOp,
    StoreOp,
    UpdateOp,
    WhileOp,
    statements,
)

from .dependence import loads_of
from .nest import expressions

ALIGNMENT = 64


@dataclass(slots=True)
class Lifetime:
    """An allocation with the positions of its first and last use, and its size in bytes."""

    alloc: AllocOp
    size: int
    first: int
    last: int
    offset: int = 0

    @property
    def end(self) -> int:
        return self.offset + self.size


@dataclass(frozen=True, slots=True)
class StoragePlan:
    """`total` bytes of arena; `unplanned` buffers have symbolic sizes or belong to threads."""

    total: int
    unplanned: tuple[Buffer, ...]


def byte_size(buffer: Buffer) -> int | None:
    """Bytes of a contiguous buffer, rounded up to the alignment; None if symbolic."""
    total = buffer.dtype.itemsize
    for size in buffer.shape:
        if not size.is_const:
            return None
        total *= int(str(size))
    return -(-max(total, 1) // ALIGNMENT) * ALIGNMENT


def _used(op: Operation) -> Iterator[str]:
    for e in expressions(op):
        for n in loads_of(e):
            yield str(n.value)
    if isinstance(op, (StoreOp, UpdateOp)):
        yield op.buffer
    elif isinstance(op, GiveOp):
        yield op.source
    elif isinstance(op, CallOp):
        yield from (str(a.value) for a in op.arguments if a.op == "var")


class _Liveness:
    """One walk over a function: positions of allocations, uses and loops."""

    def __init__(self, func: FuncOp) -> None:
        self.position = 0
        self.lifetimes: dict[str, Lifetime] = {}
        self.unplanned: list[Buffer] = []
        self._depth: dict[str, int] = {}
        self._unused: set[str] = set()
        self._loops: list[set[str]] = []
        self._parallel = 0
        self._walk(func)

    def _walk(self, parent: Operation) -> None:
        for op in statements(parent):
            self.position += 1
            if isinstance(op, AllocOp):
                self._allocate(op)
                continue
            for name in _used(op):
                self._use(name)
            if isinstance(op, (ForOp, WhileOp)):
                self._loop(op)
            elif op.regions:
                self._walk(op)

    def _allocate(self, op: AllocOp) -> None:
        if op.scope.data != "arena":
            return
        size = byte_size(op.buffer)
        if size is None or self._parallel:
            self.unplanned.append(op.buffer)
            return
        name = op.buffer.name
        self.lifetimes[name] = Lifetime(op, size, self.position, self.position)
        self._depth[name] = len(self._loops)
        self._unused.add(name)

    def _use(self, name: str) -> None:
        if (life := self.lifetimes.get(name)) is None:
            return
        if name in self._unused:
            self._unused.remove(name)
            life.first = self.position
        life.last = max(life.last, self.position)
        for depth in range(self._depth[name], len(self._loops)):
            self._loops[depth].add(name)

    def _loop(self, op: ForOp | WhileOp) -> None:
        threads = isinstance(op, ForOp) and op.kind.data == "parallel"
        self._parallel += threads
        start = self.position
        carried: set[str] = set()
        self._loops.append(carried)
        if isinstance(op, WhileOp):
            for name in _used(op):
                self._use(name)
        self._walk(op)
        self._loops.pop()
        self._parallel -= threads
        self.position += 1
        for name in carried:
            life = self.lifetimes[name]
            life.first, life.last = min(life.first, start), self.position


def _place(life: Lifetime, live: list[Lifetime]) -> int:
    """The offset of the smallest gap between live buffers that holds `life`."""
    best, best_gap, end = None, 0, 0
    for other in sorted(live, key=lambda o: o.offset):
        gap = other.offset - end
        if gap >= life.size and (best is None or gap < best_gap):
            best, best_gap = end, gap
        end = max(end, other.end)
    return end if best is None else best


def plan_storage(func: FuncOp) -> StoragePlan:
    """Give every arena allocation of constant size its offset, in place."""
    found = _Liveness(func)
    live: list[Lifetime] = []
    total = 0
    for life in sorted(found.lifetimes.values(), key=lambda item: item.first):
        live = [other for other in live if other.last >= life.first]
        life.offset = _place(life, live)
        live.append(life)
        total = max(total, life.end)
        life.alloc.properties["offset_attr"] = ExprAttr(const(life.offset))
    return StoragePlan(total, tuple(found.unplanned))
