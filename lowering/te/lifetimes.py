"""From where to where the buffers of a function's arena are used.

Live ranges are spans of statement positions, from the first use to the last: host code allocates
at the start of its blocks. A buffer used in a loop that it is allocated outside of is live through
the whole loop.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, const, mul
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


@dataclass(slots=True)
class Lifetime:
    """An allocation of a size that is known or that the function is called with, and the positions
    of its first and last use."""

    alloc: AllocOp
    first: int
    last: int

    @property
    def bytes(self) -> Expr:
        """Of a contiguous buffer."""
        total = const(self.alloc.buffer.dtype.itemsize)
        for size in self.alloc.buffer.shape:
            total = mul(total, size)
        return total


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


class Liveness:
    """One walk over a function: positions of allocations, uses and loops.

    Attributes:
        lifetimes: of buffers by name.
        unplanned: buffers whose sizes the function finds, and those inside of parallel loops, which
            each thread has for itself.
    """

    def __init__(self, func: FuncOp) -> None:
        self.position = 0
        self.lifetimes: dict[str, Lifetime] = {}
        self.unplanned: list[Buffer] = []
        self._sizes = {scalar.name for scalar in func.scalars}
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
        if self._parallel or not all(size.free <= self._sizes for size in op.buffer.shape):
            self.unplanned.append(op.buffer)
            return
        name = op.buffer.name
        self.lifetimes[name] = Lifetime(op, self.position, self.position)
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
