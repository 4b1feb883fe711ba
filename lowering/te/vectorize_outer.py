"""vectorize_outer: a loop around reductions in vectors: each lane does one iteration.

```
vectorize_outer("i", 16):
for i in 0 .. n {                    for i_o in 0 .. n // 16 {
  t[] = 0                              t[0:16] = 0            (registers)
  for r in 0 .. m { t[] += x[r, i] } -->  for r in 0 .. m { t[v] += x[r, i_o * 16 + v] }
  y[i] = t[]                           y[i_o * 16 + v] = t[v]
}                                    }  (and a rest)
```
The rest is the last vector, some of whose iterations run again if that changes nothing, or masked.
It has no more lanes than it needs (a power of two), where their number is known and the loop shares
nothing but arguments with others.

The iterations must not depend on each other, and the bounds inside not on the loop. It is `split`,
`expand` of what is private to an iteration, `distribute`, `reorder` and `vectorize` at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from xdsl.ir import Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, const, load, mul, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, IfOp, StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import replace_loads
from tensorscript.dialects.walks import walk_ops

from .affine import known
from .dependence import WRITE, accesses, carried, has_effects, private
from .nest import Nest, copy_fresh, detach, insert_before
from .rebuild import copy_all, copy_statement, substituting

LEAST_LANES = 4


def check(nest: Nest, target: str, lanes: int) -> str | None:
    loop = nest.loops[target]
    if lanes < 2:
        return "the number of lanes is at least 2"
    if not loop.start.is_int(0):
        return f"loop {target} does not start at 0"
    if loop.kind.data != "serial" or loop.is_reduction:
        return f"loop {target} is {'a reduction' if loop.is_reduction else loop.kind.data}"
    if (reason := unfit(loop)) is not None:
        return reason
    return has_effects(loop) or carried(nest, loop, reductions_commute=False)


def unfit(loop: ForOp) -> str | None:
    """A statement that cannot be distributed over lanes, or bounds that lanes do not share."""
    for op in walk_ops(loop):
        if not isinstance(op, (ForOp, StoreOp, UpdateOp, AllocOp)):
            return f"{op.name} inside"
        if isinstance(op, ForOp) and loop.var in op.extent.free | op.start.free:
            return f"the bounds of loop {op.var} depend on {loop.var}"
    return None


def apply(nest: Nest, target: str, lanes: int) -> None:
    loop = nest.loops[target]
    size, whole = known(loop.extent), loop.extent // lanes
    body = list(loop.block.ops)
    made: list[Operation] = []
    if size is None or size >= lanes:
        outer, lane = nest.fresh(f"{target}_o"), f"{target}_v"
        at = mul(var(outer), const(lanes)) + var(lane)
        inside = _Lanes(nest, target, at, lane, lanes).distribute(body)
        made.append(ForOp(outer, whole, inside))
    if size is None or size % lanes:
        rest = copy_fresh(nest, body, "_w") if made else body
        lane = f"{target}_w"
        at = whole * lanes + var(lane)
        guard: Expr | None = at < loop.extent
        if size is not None and made:
            if _is_apart(nest, loop):
                lanes = min(lanes, max(LEAST_LANES, 1 << (size % lanes - 1).bit_length()))
            if _may_repeat(nest, loop):
                at, guard = const(size - lanes) + var(lane), None
        made += _Lanes(nest, target, at, lane, lanes, guard).distribute(rest)
    for op in made:
        op.location = loop.location
    insert_before(loop, made)
    detach(loop)


def _is_apart(nest: Nest, loop: ForOp) -> bool:
    """What iterations have in common is in the caller's memory. A buffer of the function that is
    written in vectors of one width and read in another may become registers, which LLVM fails for
    (an assertion of its instruction selection, LLVM 22)."""
    own = private([loop]) | {buffer.name for buffer in nest.func.buffers}
    return all(a.buffer in own for a in accesses(nest, loop))


def _may_repeat(nest: Nest, loop: ForOp) -> bool:
    """An iteration that runs again stores what it did before: nothing that is stored is read."""
    own = private([loop])
    touched = [a for a in accesses(nest, loop) if a.buffer not in own]
    stored = {a.buffer for a in touched if a.writes}
    return all(a.mode == WRITE for a in touched if a.buffer in stored)


@dataclass
class _Lanes:
    """Distributes a vector loop over statements; private scalars become one element a lane.

    Attributes:
        loop: the variable that the lanes stand for.
        position: its value in a lane.
        lane: the start of the names of the vector loops.
        lanes: how many.
        guard: what must hold of a lane.
    """

    nest: Nest
    loop: str
    position: Expr
    lane: str
    lanes: int
    guard: Expr | None = None
    private: set[str] = field(default_factory=set)

    def distribute(self, statements: Sequence[Operation]) -> list[Operation]:
        out: list[Operation] = []
        pending: list[Operation] = []
        for op in statements:
            match op:
                case AllocOp():
                    out.append(self._wide(op))
                case ForOp():
                    out += self._flush(pending)
                    inside = self.distribute(list(op.block.ops))
                    kind = op.kind.data
                    made = ForOp(op.var, op.extent, inside, kind, op.start, op.is_reduction)
                    made.location = op.location
                    out.append(made)
                case StoreOp() | UpdateOp():
                    access = copy_statement(op, self._expression)
                    assert isinstance(access, StoreOp | UpdateOp)
                    pending.append(self._target(access))
        return [*out, *self._flush(pending)]

    def _flush(self, pending: list[Operation]) -> list[Operation]:
        """The statements gathered so far under one vector loop."""
        if not pending:
            return []
        fresh = self.nest.fresh(self.lane)
        rewrite = substituting({self.lane: var(fresh)})
        body = copy_all(pending, rewrite)
        pending.clear()
        if self.guard is not None:
            body = [IfOp(rewrite(self.guard), body)]
        return [ForOp(fresh, self.lanes, body, "vector")]

    def _wide(self, op: AllocOp) -> AllocOp:
        b = op.buffer
        self.private.add(b.name)
        wide = Buffer(b.name, b.dtype, (*b.shape, const(self.lanes)))
        return AllocOp(wide, "reg" if not b.shape else "stack")

    def _expression(self, e: Expr) -> Expr:
        here = substituting({self.loop: self.position})(e)
        lane = var(self.lane)
        return replace_loads(
            here,
            lambda n: (
                load(str(n.value), [*n.args, lane], n.dtype) if n.value in self.private else None
            ),
        )

    def _target(self, op: StoreOp | UpdateOp) -> StoreOp | UpdateOp:
        if op.buffer not in self.private:
            return op
        indices = [*op.indices, var(self.lane)]
        if isinstance(op, StoreOp):
            return StoreOp(op.buffer, indices, op.value)
        return UpdateOp(op.buffer, indices, op.combiner, op.value)
