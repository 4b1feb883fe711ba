"""Long reductions across memory: whole stretches of rows are added to a row kept in the cache.

```
for i in 0 .. n {                            for i_b in 0 .. n / 2048 {
  t[] = 0                                      sum[0:2048] = 0
  for r in 0 .. m { t[] += x[r, i] }   -->     for r_o in 0 .. m / 8 { for i_c in 0 .. 2048 {
  y[i] = t[]                                     sum[i_c] += x[8 r_o, ..] + x[8 r_o + 1, ..] ... } }
}                                              y[i_b*2048 + i_c] = sum[i_c]
                                             }
```
Lanes that each follow a column touch a few cache lines of every page in turn; this walks pages from
end to end.
"""

from __future__ import annotations

from functools import reduce

from xdsl.ir import Operation

from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, binary, const, load, replace_loads, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, StoreOp, UpdateOp

from ..te.affine import known
from ..te.rebuild import substituting
from .lanes import vectorize_map

STRETCH = 2048
"""Elements of the partial row: a few pages of reading, well inside the first cache."""
ROWS = 8
"""Rows added at once, so that the partial row is read and written that much less often."""
LEAST = 256
"""Shorter rows and reductions stay in registers (`vectorize_outer`)."""


def accumulate_rows(loop: ForOp, lanes: int, kind: str = "serial") -> list[Operation] | None:
    """The loop around one reduction, in stretches; None where it has another form."""
    body = list(loop.block.ops)
    if len(body) < 4 or not isinstance(alloc := body[0], AllocOp) or alloc.buffer.shape:
        return None
    start, reduction, *stores = body[1:]
    if not isinstance(start, StoreOp) or not isinstance(reduction, ForOp):
        return None
    update = reduction.block.first_op
    if not isinstance(update, UpdateOp) or update.next_op is not None:
        return None
    if any(not isinstance(s, StoreOp) for s in stores) or update.buffer != alloc.buffer.name:
        return None
    if min(known(loop.extent) or LEAST, known(reduction.extent) or LEAST) < LEAST:
        return None
    return _Stretches(loop, alloc.buffer, start.value, reduction, update, body[3:], lanes).build(
        kind
    )


class _Stretches:
    """Writes the loops over stretches of one row of results."""

    def __init__(
        self,
        loop: ForOp,
        total: Buffer,
        start: Expr,
        reduction: ForOp,
        update: UpdateOp,
        stores: list[Operation],
        lanes: int,
    ) -> None:
        self.loop, self.total, self.start, self.lanes = loop, total, start, lanes
        self.reduction, self.update, self.stores = reduction, update, stores
        self.first = var(f"{loop.var}_b") * STRETCH

    def build(self, kind: str) -> list[Operation]:
        name, n = self.loop.var, self.loop.extent
        longest = min(STRETCH, known(n) or STRETCH)
        row = Buffer(self.total.name, self.total.dtype, (const(longest),))
        clear = StoreOp(row.name, [var(f"{name}_c")], self.start)
        depth, whole = self.reduction.extent, self.reduction.extent // ROWS
        r = self.reduction.var
        steps = [var(f"{r}_o") * ROWS + k for k in range(ROWS)]
        body: list[Operation] = [
            AllocOp(row, "stack"),
            *self._along("c", [clear]),
            ForOp(f"{r}_o", whole, self._along("s", [self._add("s", steps)]), reduction=True),
        ]
        if (known(depth) or 1) % ROWS:
            last = whole * ROWS + var(f"{r}_r")
            rest = self._along("t", [self._add("t", [last])])
            body.append(ForOp(f"{r}_r", depth - whole * ROWS, rest, reduction=True))
        body += self._along("y", [self._result(s, "y") for s in self.stores])
        blocks = (n + (STRETCH - 1)) // STRETCH
        return [ForOp(f"{name}_b", blocks, body, kind)]

    def _along(self, suffix: str, statements: list[Operation]) -> list[Operation]:
        """A loop over the stretch."""
        n = self.loop.extent
        size = known(n)
        count = const(STRETCH)
        if size is None or size % STRETCH:
            count = binary("min", count, n - self.first)
        return vectorize_map(ForOp(f"{self.loop.var}_{suffix}", count, statements), self.lanes)

    def _here(self, suffix: str) -> tuple[Expr, dict[str, Expr]]:
        place = var(f"{self.loop.var}_{suffix}")
        return place, {self.loop.var: self.first + place}

    def _add(self, suffix: str, steps: list[Expr]) -> Operation:
        place, values = self._here(suffix)
        terms = [
            substituting({**values, self.reduction.var: step})(self.update.value) for step in steps
        ]
        combiner = self.update.combiner
        value = reduce(lambda a, b: binary(combiner, a, b), terms)
        return UpdateOp(self.total.name, [place], combiner, value)

    def _result(self, op: Operation, suffix: str) -> Operation:
        assert isinstance(op, StoreOp)
        place, values = self._here(suffix)
        rewrite = substituting(values)
        total = load(self.total.name, [place], self.total.dtype)
        value = replace_loads(op.value, lambda n: total if n.value == self.total.name else None)
        return StoreOp(op.buffer, [rewrite(i) for i in op.indices], rewrite(value))
