"""Quotients of sizes that the program finds are computed once, before the loops they are the same
in (loop-invariant code motion of integer divisions).

```
                                          let quotient = (M + 13) // blocks
                                          alloc stack sums[quotient, 14]
alloc stack sums[(M + 13) // blocks, 14]  for i in 0 .. m {
for i in 0 .. m {                           let quotient_2 = i // blocks
  for j in 0 .. 14 {                  -->   for j in 0 .. 14 {
    sums[i // blocks, j] = x[i, j]            sums[quotient_2, j] = x[i, j]
  }                                         }
}                                         }
```

A division takes as long as 20 multiply-adds, and no later pass moves anything out of loops. One by
a number is a multiplication, and stays. A divisor that may be 0 where the quotient stands now, for
the loop may not run then, is taken as 1: nobody asks for that quotient.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Block, Operation

from tensorscript.base.dtypes import int64
from tensorscript.dialects.te.buffers import BufferAttr, ExprAttr, ExprsAttr
from tensorscript.dialects.te.expr import Expr, binary, const, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, FuncOp, LetOp, WhileOp
from tensorscript.dialects.te.ranges import Interval, Prover, inside_loop
from tensorscript.dialects.te.rewriting import loads, transform

from .nest import Nest, function_ranges, insert_before

_NAMES = {"floordiv": "quotient", "mod": "remainder"}


class _Pass:
    """One walk, outer before inner.

    Attributes:
        loops: those around the statement at hand, outermost first, each with what is known of names
            before it.
        depth: of names that do not change: how many loops are around where they are bound.
        made: names of quotients by the loop they stand before and what they are.
    """

    def __init__(self, func: FuncOp) -> None:
        self.nest = Nest(func)
        self.loops: list[tuple[Operation, dict[str, Interval]]] = []
        self.ranges: dict[str, Interval] = function_ranges(func)
        self.depth = {scalar.name: 0 for scalar in func.scalars}
        self.made: dict[tuple[Operation, Expr], Expr] = {}
        self._block(func.block)

    def _block(self, block: Block) -> None:
        for op in list(block.ops):
            if isinstance(op, AllocOp):
                self._allocate(op)
            elif not isinstance(op, WhileOp):
                self._rewrite(op)
            if isinstance(op, LetOp) and op.value.dtype is int64:
                self.depth[op.var] = len(self.loops)
                self.ranges[op.var] = Interval(*Prover(self.ranges).bounds(op.value))
            outside = self.ranges
            if isinstance(op, ForOp | WhileOp):
                self.loops.append((op, outside))
            if isinstance(op, ForOp):
                self._bind(op)
            for region in op.regions:
                self._block(region.block)
            if isinstance(op, ForOp | WhileOp):
                self.loops.pop()
            self.ranges = outside

    def _bind(self, loop: ForOp) -> None:
        self.ranges = inside_loop(loop.var, loop.start, loop.extent, self.ranges, loop.chunk)
        for name in (loop.var, loop.chunk):
            if name is not None:
                self.depth[name] = len(self.loops)

    def _allocate(self, op: AllocOp) -> None:
        """Accesses compute with the sizes of the buffer."""
        buffer = op.buffer
        shape = tuple(self._outside(size, op) for size in buffer.shape)
        if shape != buffer.shape:
            op.properties["buffer_attr"] = BufferAttr(replace(buffer, shape=shape))

    def _rewrite(self, op: Operation) -> None:
        for key, attribute in op.properties.items():
            if isinstance(attribute, ExprAttr):
                op.properties[key] = ExprAttr(self._outside(attribute.data))
            elif isinstance(attribute, ExprsAttr):
                op.properties[key] = ExprsAttr(tuple(map(self._outside, attribute.data)))

    def _outside(self, e: Expr, here: Operation | None = None) -> Expr:
        """`e` with names for quotients that are the same in a loop around; also for the others, if
        they may stand before `here`."""
        return transform(e, lambda n: self._named(n, here))

    def _named(self, e: Expr, here: Operation | None) -> Expr | None:
        if e.op not in _NAMES or e.dtype is not int64 or e.args[1].is_const or loads(e):
            return None
        if not e.free <= self.depth.keys():
            return None
        depth = max(self.depth[name] for name in e.free)
        place, ranges = self.loops[depth] if depth < len(self.loops) else (here, self.ranges)
        if place is None:
            return None
        if (found := self.made.get((place, e))) is None:
            least = Prover(ranges).bounds(e.args[1])[0]
            if least is None or least < 0:
                return None
            divisor = e.args[1] if least else binary("max", e.args[1], const(1))
            name = self.nest.fresh(_NAMES[e.op])
            insert_before(place, [let := LetOp(name, binary(e.op, e.args[0], divisor))])
            self.depth[name] = depth
            ranges[name] = self.ranges[name] = Interval(*Prover(ranges).bounds(let.value))
            found = self.made[place, e] = var(name)
        return found


def name_quotients(func: FuncOp) -> FuncOp:
    """Name divisions by what is no number, in place."""
    if func.scalars:
        _Pass(func)
    return func
