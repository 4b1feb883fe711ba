"""fold: a reduction of few columns becomes one of several times as many, which fill vectors.

```
fold("i", 16):
for i in 0 .. 3 {                          alloc stack t_f[48]
  t[] = 0                                  for i_w in 0 .. 48 {
  for r in 0 .. 1000 {                       t_w[] = 0
    t[] += x[r, i] - m[i]                    for r_w in 0 .. 62 reduce {
  }                                            t_w[] += x[r_w * 16, i_w] - m_f[i_w] }
  y[i] = t[]                        -->      t_f[i_w] = t_w[]
}                                          }
                                           for i in 0 .. 3 {
                                             t[] = 0
                                             for r_s in 0 .. 16 reduce { t[] += t_f[r_s * 3 + i] }
                                             for r_t in 0 .. 8 reduce { t[] += x[992 + r_t, i] .. }
                                             y[i] = t[]
                                           }
```

As many rows as the argument says count as one long row. That needs each read to walk memory in one
stride over both, as `collapse` does (an index may leave its dimension). What is read by column only
(`m`) is repeated first: `for r_q in 0 .. 16 { for i_q in 0 .. 3 { m_f[r_q * 3 + i_q] = m[i_q] } }`.
The sum is reassociated, which te allows in reductions.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, load, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import replace_loads
from tensorscript.dialects.tg.ops import identity

from .affine import coefficient, flat_index, known
from .collapse import used_as_value
from .dependence import carried, loads_of
from .nest import Nest, detach, insert_before
from .rebuild import substituting
from .stretch import Column, column_at, column_of


def check(nest: Nest, target: str, rows: int) -> str | None:
    loop = nest.loops[target]
    if isinstance(column := column_at(loop), str):
        return column
    depth = known(column.reduction.extent)
    if depth is None or known(loop.extent) is None:
        return f"the sizes of {target} and {column.reduction.var} are not constant"
    if rows < 2 or depth < rows:
        return f"{column.reduction.var} has not {rows} rows, or they are fewer than 2"
    unfit = strided(nest, loop, column.reduction, column.update)
    return unfit or carried(nest, loop, reductions_commute=False)


def strided(nest: Nest, loop: ForOp, reduction: ForOp, update: UpdateOp) -> str | None:
    """Why rows of `loop` in a reduction inside cannot be read as one longer row."""
    i, r = loop.var, reduction.var
    if used_as_value(update, (i, r)):
        return f"{i} or {r} is used outside of an index"
    for read in loads_of(update.value):
        if r not in read.free:
            continue
        if (buffer := nest.buffers.get(str(read.value))) is None:
            return f"{read.value} is a constant of the module"
        position = flat_index(buffer, read.args)
        slow, fast = coefficient(position, r), coefficient(position, i)
        if slow is None or fast is None or slow is not fast * loop.extent:
            return f"{r} and {i} do not walk {read.value} in one stride"
    return None


def apply(nest: Nest, target: str, rows: int) -> None:
    loop = nest.loops[target]
    column = column_of(loop)
    assert column is not None  # check passed
    made = _Fold(nest, loop, column, rows).build()
    for op in made:
        op.location = loop.location
    insert_before(loop, made)
    detach(loop)


class _Fold:
    """Writes the loops over the long row and over its sums."""

    def __init__(self, nest: Nest, loop: ForOp, column: Column, rows: int) -> None:
        self.nest, self.loop, self.column, self.rows = nest, loop, column, rows
        self.width = loop.extent * rows
        self.depth = column.reduction.extent // rows
        self.before: list[Operation] = []

    def build(self) -> list[Operation]:
        total, combiner = self.column.total, self.column.update.combiner
        sums = Buffer(self.nest.fresh(f"{total.name}_f"), total.dtype, (self.width,))
        wide = self._wide(sums, combiner)
        return [*self.before, AllocOp(sums, "stack"), wide, self._last(sums, combiner)]

    def _wide(self, sums: Buffer, combiner: str) -> ForOp:
        column = self.column
        i = self.nest.fresh(f"{self.loop.var}_w")
        r = self.nest.fresh(f"{column.reduction.var}_w")
        own = Buffer(self.nest.fresh(f"{column.total.name}_w"), sums.dtype, ())
        value = self._repeated(column.update.value, i)
        places = {self.loop.var: var(i), column.reduction.var: var(r) * self.rows}
        update = UpdateOp(own.name, (), combiner, substituting(places)(value))
        return ForOp(
            i,
            self.width,
            [
                AllocOp(own, "stack"),
                StoreOp(own.name, (), identity(combiner, own.dtype)),
                ForOp(r, self.depth, [update], reduction=True),
                StoreOp(sums.name, [var(i)], load(own.name, (), own.dtype)),
            ],
        )

    def _repeated(self, value: Expr, lane: str) -> Expr:
        """`value` with reads by column only from rows as long as the sums, made in `before`."""

        def repeat(read: Expr) -> Expr | None:
            if self.column.reduction.var in read.free or self.loop.var not in read.free:
                return None
            if read not in made:
                made[read] = self._row_of(read)
            return load(made[read], [var(lane)], read.dtype)

        made: dict[Expr, str] = {}
        return replace_loads(value, repeat)

    def _row_of(self, read: Expr) -> str:
        row = Buffer(self.nest.fresh(f"{read.value}_f"), read.dtype, (self.width,))
        q = self.nest.fresh(f"{self.column.reduction.var}_q")
        i = self.nest.fresh(f"{self.loop.var}_q")
        value = substituting({self.loop.var: var(i)})(read)
        store = StoreOp(row.name, [var(q) * self.loop.extent + var(i)], value)
        inner = ForOp(i, self.loop.extent, [store])
        self.before += [AllocOp(row, "stack"), ForOp(q, self.rows, [inner])]
        return row.name

    def _last(self, sums: Buffer, combiner: str) -> ForOp:
        """The columns: sums of the long row's, and the rows that are left over."""
        column, i, r = self.column, self.loop.var, self.column.reduction.var
        total = column.total
        folded, rest = self.nest.fresh(f"{r}_s"), self.nest.fresh(f"{r}_t")
        part = load(sums.name, [var(folded) * self.loop.extent + var(i)], sums.dtype)
        add = UpdateOp(total.name, (), combiner, part)
        body: list[Operation] = [
            AllocOp(total, "stack"),
            StoreOp(total.name, (), column.start),
            ForOp(folded, self.rows, [add], reduction=True),
        ]
        done = self.depth * self.rows
        if column.reduction.extent is not done:
            value = substituting({r: done + var(rest)})(column.update.value)
            more = UpdateOp(total.name, (), combiner, value)
            body.append(ForOp(rest, column.reduction.extent - done, [more], reduction=True))
        stores = [StoreOp(s.buffer, s.indices, s.value) for s in column.stores]
        return ForOp(i, self.loop.extent, [*body, *stores])
