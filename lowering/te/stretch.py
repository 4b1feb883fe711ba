"""stretch: a reduction across memory adds whole stretches of rows to a row kept in the cache.

```
stretch("i", 16, 2048, 8):
for i in 0 .. n {                            for i_b in 0 .. n / 2048 {
  t[] = 0                                      t[0:2048] = 0
  for r in 0 .. m { t[] += x[r, i] }   -->     for r_p in 0 .. m / 64 {
  y[i] = t[]                                     t_p[0:2048] = 0
}                                                for r_o in 0 .. 8 { for i_s in 0 .. 2048 {
                                                   r = (8 r_p + r_o) 8
                                                   t_p[i_s] += (x[r, ..] + x[r+1, ..]) + ... } }
                                                 for i_p in 0 .. 2048 { t[i_p] += t_p[i_p] }
                                               }
                                               y[i_b*2048 + i_y] = t[i_y]
                                             }
```

Arguments: lanes of the vector loops over a stretch, its length, the rows that are added at once (in
pairs), and how many times before their sum is added to the whole one; 0 to add all in one go. Sums
of sums keep what a long chain of additions loses (Higham, "The accuracy of floating point
summation", 1993). Lanes that each follow a column (`vectorize_outer`) touch a few cache lines of
every page in turn; this walks pages from end to end. The iterations must not depend on each other.

A last argument cuts the rows into so many parts, independent of each other, of all columns:
```
for r_a in 0 .. 4 { t[0:n] = sum of a quarter of the rows, as above;  t_a[r_a, i_e] = t[i_e] }
y[i_y] = (t_a[0, i_y] + t_a[1, i_y]) + (t_a[2, i_y] + t_a[3, i_y])
```
Rows that are left over have a sum of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from tensorscript.base.dtypes import float32, float64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, binary, call, const, load, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import replace_loads
from tensorscript.dialects.tg.ops import identity

from .affine import known
from .dependence import carried, loads_of
from .lanes import vectorize_map
from .nest import Nest, detach, insert_before
from .rebuild import substituting


def check(
    nest: Nest, target: str, lanes: int, length: int, rows: int, times: int = 0, parts: int = 1
) -> str | None:
    loop = nest.loops[target]
    if times < 0:
        return "the times that rows are added are 0 or more"
    if min(lanes, length, rows, parts) < 1:
        return "lanes, length, rows and parts are positive integers"
    if isinstance(column := column_at(loop), str):
        return column
    depth = known(column.reduction.extent)
    if parts > 1 and (depth is None or depth < parts * rows):
        return f"{column.reduction.var} has not {parts} parts of {rows} rows"
    if parts > 1 and (known(loop.extent) or length + 1) > length:
        return f"a part of all iterations of {target} is longer than {length}"
    return carried(nest, loop, reductions_commute=False)


@dataclass(frozen=True)
class Column:
    """What one iteration does: a number from `start` on, the updates of a reduction, stores."""

    total: Buffer
    start: Expr
    reduction: ForOp
    update: UpdateOp
    stores: tuple[StoreOp, ...]


def column_at(loop: ForOp) -> Column | str:
    """The parts of the body of a loop over all columns, or why it is none."""
    target = loop.var
    if loop.kind.data != "serial" or loop.is_reduction:
        return f"loop {target} is {'a reduction' if loop.is_reduction else loop.kind.data}"
    if not loop.start.is_int(0):
        return f"loop {target} does not start at 0"
    if (column := column_of(loop)) is None:
        return f"the body of {target} is not one reduction to a number of its own, then stores"
    return column


def column_of(loop: ForOp) -> Column | None:
    """The parts of the loop's body, None where it has another form."""
    body = list(loop.block.ops)
    own = body[0].buffer if body and isinstance(body[0], AllocOp) else None
    if own is not None:
        body = body[1:]
    if len(body) < 2 or (own is not None and (own.shape or len(body) < 3)):
        return None
    start, reduction, *after = body
    if not isinstance(start, StoreOp) or not isinstance(reduction, ForOp):
        return None
    update = reduction.block.first_op
    if not reduction.start.is_int(0) or not isinstance(update, UpdateOp):
        return None
    stores = tuple(s for s in after if isinstance(s, StoreOp))
    if update.next_op is not None or len(stores) < len(after) or update.buffer != start.buffer:
        return None
    if own is None:
        return None if after else _in_place(loop, start, reduction, update)
    if start.buffer != own.name:
        return None
    return Column(own, start.value, reduction, update, stores)


def _in_place(loop: ForOp, start: StoreOp, reduction: ForOp, update: UpdateOp) -> Column | None:
    """A column whose result is updated where it belongs: as if it were stored there at the end."""
    same = update.indices == start.indices and reduction.var not in _names(update.indices)
    if not same or any(n.value == start.buffer for n in loads_of(update.value)):
        return None
    total = Buffer(f"{loop.var}_sum", start.value.dtype, ())
    stored = StoreOp(start.buffer, start.indices, load(total.name, (), total.dtype))
    return Column(total, start.value, reduction, update, (stored,))


def _names(indices: Sequence[Expr]) -> frozenset[str]:
    return frozenset[str]().union(*(e.free for e in indices))


def apply(
    nest: Nest, target: str, lanes: int, length: int, rows: int, times: int = 0, parts: int = 1
) -> None:
    loop = nest.loops[target]
    column = column_of(loop)
    assert column is not None  # check passed
    stretches = _Stretches(loop, column, lanes, length, rows, times)
    made = stretches.in_parts(parts) if parts > 1 else [stretches.build()]
    for op in made:
        op.location = loop.location
    insert_before(loop, made)
    detach(loop)


class _Stretches:
    """Writes the loop over the stretches of one row of results."""

    def __init__(
        self, loop: ForOp, column: Column, lanes: int, length: int, rows: int, times: int
    ) -> None:
        self.loop, self.lanes, self.length, self.rows = loop, lanes, length, rows
        self.times, self.stores = times, column.stores
        self.total, self.start = column.total, column.start
        self.reduction, self.update = column.reduction, column.update
        self.first = var(f"{loop.var}_b") * length

    def build(self) -> Operation:
        name, n = self.loop.var, self.loop.extent
        longest = min(self.length, known(n) or self.length)
        row = Buffer(self.total.name, self.total.dtype, (const(longest),))
        clear = StoreOp(row.name, [var(f"{name}_c")], self.start)
        body: list[Operation] = [AllocOp(row, "stack"), *self._along("c", [clear])]
        body += self._all_groups(row)
        depth = self.reduction.extent
        if (known(depth) or 1) % self.rows:
            r, done = self.reduction.var, depth // self.rows * self.rows
            rest = self._along("t", [self._add(row.name, "t", [done + var(f"{r}_r")])])
            body.append(ForOp(f"{r}_r", depth - done, rest, reduction=True))
        body += self._along("y", [self._result(s, "y") for s in self.stores])
        blocks = (n + (self.length - 1)) // self.length
        return ForOp(f"{name}_b", blocks, body)

    def in_parts(self, parts: int) -> list[Operation]:
        """Every part of the reduction to a row of its own, then their sum."""
        name, part = self.loop.var, f"{self.reduction.var}_a"
        combiner, dtype = self.update.combiner, self.total.dtype
        columns = self.loop.extent
        self.first = const(0)
        row = Buffer(self.total.name, dtype, (columns,))
        sums = Buffer(f"{row.name}_a", dtype, (const(parts), columns))
        groups = self.reduction.extent // (self.rows * parts)
        clear = StoreOp(row.name, [var(f"{name}_c")], identity(combiner, dtype))
        kept = load(row.name, [var(f"{name}_e")], dtype)
        body = [
            AllocOp(row, "stack"),
            *self._along("c", [clear]),
            *self._all_groups(row, var(part) * groups, groups),
            *self._along("e", [StoreOp(sums.name, [var(part), var(f"{name}_e")], kept)]),
        ]
        place = var(f"{name}_y")
        terms = [load(sums.name, [const(k), place], dtype) for k in range(parts)]
        left_over = self._left_over(row, groups * self.rows * parts)
        if left_over:
            terms.append(load(f"{row.name}_r", [place], dtype))
        total = binary(combiner, self.start, in_pairs(combiner, terms))
        results = self._along("y", [self._result(s, "y", total) for s in self.stores])
        return [AllocOp(sums, "stack"), ForOp(part, parts, body), *left_over, *results]

    def _left_over(self, row: Buffer, done: Expr) -> list[Operation]:
        """The sum of the rows from `done` on, in a row of its own."""
        r, depth = self.reduction.var, self.reduction.extent
        if depth is done:
            return []
        rest = Buffer(f"{row.name}_r", row.dtype, row.shape)
        clear = StoreOp(
            rest.name, [var(f"{self.loop.var}_u")], identity(self.update.combiner, rest.dtype)
        )
        added = self._along("t", [self._add(rest.name, "t", [done + var(f"{r}_r")])])
        return [
            AllocOp(rest, "stack"),
            *self._along("u", [clear]),
            ForOp(f"{r}_r", depth - done, added, reduction=True),
        ]

    def _all_groups(
        self, row: Buffer, start: Expr | None = None, groups: Expr | None = None
    ) -> list[Operation]:
        """The groups of rows from `start` on, added to `row`."""
        if self.times:
            return self._partial_sums(row, start, groups)
        return [self._groups(row.name, start, groups)]

    def _groups(self, row: str, first: Expr | None = None, count: Expr | None = None) -> Operation:
        """Groups of rows added to `row`: all of them, or `count` from `first` on."""
        r = self.reduction.var
        group = var(f"{r}_o") if first is None else first + var(f"{r}_o")
        steps = [group * self.rows + k for k in range(self.rows)]
        inside = self._along("s", [self._add(row, "s", steps)])
        whole = self.reduction.extent // self.rows if count is None else count
        return ForOp(f"{r}_o", whole, inside, reduction=True)

    def _partial_sums(
        self, row: Buffer, start: Expr | None, groups: Expr | None
    ) -> list[Operation]:
        """As many groups as are added in one go, then their sum to the whole one."""
        name, r, combiner = self.loop.var, self.reduction.var, self.update.combiner
        partial = Buffer(f"{row.name}_p", row.dtype, row.shape)
        groups = self.reduction.extent // self.rows if groups is None else groups
        first = var(f"{r}_p") * self.times
        count = const(self.times)
        if (known(groups) or 1) % self.times:
            count = binary("min", count, groups - first)
        first = first if start is None else start + first
        place = var(f"{name}_p")
        clear = StoreOp(partial.name, [var(f"{name}_q")], identity(combiner, row.dtype))
        value = load(partial.name, [place], row.dtype)
        body = [
            *self._along("q", [clear]),
            self._groups(partial.name, first, count),
            *self._along("p", [UpdateOp(row.name, [place], combiner, value)]),
        ]
        parts = (groups + (self.times - 1)) // self.times
        return [AllocOp(partial, "stack"), ForOp(f"{r}_p", parts, body, reduction=True)]

    def _along(self, suffix: str, statements: list[Operation]) -> list[Operation]:
        """A loop over the stretch."""
        n = self.loop.extent
        size = known(n)
        count = const(self.length)
        if size is None or size % self.length:
            count = binary("min", count, n - self.first)
        return vectorize_map(ForOp(f"{self.loop.var}_{suffix}", count, statements), self.lanes)

    def _here(self, suffix: str) -> tuple[Expr, dict[str, Expr]]:
        place = var(f"{self.loop.var}_{suffix}")
        return place, {self.loop.var: self.first + place}

    def _add(self, row: str, suffix: str, steps: list[Expr]) -> Operation:
        place, values = self._here(suffix)
        terms = [
            substituting({**values, self.reduction.var: step})(self.update.value) for step in steps
        ]
        combiner = self.update.combiner
        return UpdateOp(row, [place], combiner, in_pairs(combiner, terms))

    def _result(self, op: StoreOp, suffix: str, total: Expr | None = None) -> Operation:
        place, values = self._here(suffix)
        rewrite = substituting(values)
        if total is None:
            total = load(self.total.name, [place], self.total.dtype)
        value = replace_loads(op.value, lambda n: total if n.value == self.total.name else None)
        return StoreOp(op.buffer, [rewrite(i) for i in op.indices], rewrite(value))


def in_pairs(combiner: str, terms: list[Expr]) -> Expr:
    """The terms combined two by two."""
    while len(terms) > 1:
        pairs = [_pair(combiner, a, b) for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[2 * len(pairs) :]
    return terms[0]


def _pair(combiner: str, a: Expr, b: Expr) -> Expr:
    """Two terms combined; a sum takes a product in."""
    if combiner == "add" and a.op == "mul" and a.dtype in (float32, float64):
        return call("muladd", *a.args, b)
    return binary(combiner, a, b)
