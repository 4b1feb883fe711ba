"""moments: what reductions of columns to a mean and to squares of differences read, they read once.

```
moments("i", "j", 16):                     alloc t_m[8, n], u_q[8, n]
                                           for r_g in 0 .. 8 { for i_g in 0 .. n {
                                             let i_d0 = x[16 r_g, i_g]   ... 16 rows of one group
                                             let i_m = ((i_d0 + i_d1) + ...) / 16
                                             u_q[r_g, i_g] = (i_d0 - i_m)^2 + (i_d1 - i_m)^2 + ...
                                             t_m[r_g, i_g] = i_m
                                           } }
for i in 0 .. n {                          for i in 0 .. n {
  t[i] = 0                                   t[i] = 0
  for r in 0 .. 128 { t[i] += x[r, i] }      for r in 0 .. 8 { t[i] += 16 t_m[r, i] }
}                                          }
m[..] = t[..] / 128                  -->   m[..] = t[..] / 128
for j in 0 .. n {                          for j in 0 .. n {
  u[j] = 0                                   u[j] = 0
  for s in 0 .. 128 {                        for s in 0 .. 8 {
    u[j] += (x[s, j] - m[j])^2                 u[j] += u_q[s, j] + 16 (t_m[s, j] - m[j])^2
  }                                          }
}                                          }
```

The squares of differences to c within a group of n rows are those to the group's own mean and n
times the square of that mean's difference to c (Chan, Golub and LeVeque, "Algorithms for computing
the sample variance", 1983), whatever c is; so nothing is lost where all elements are far from 0. A
group's rows are in registers while its mean and squares are computed. Rows that are left over are a
group of their own. The sums are reassociated, which te allows in reductions.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, binary, cast, const, load, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, LetOp, StoreOp, UpdateOp

from .affine import known
from .dependence import body_accesses, loads_of
from .nest import Nest, detach, insert_before
from .rebuild import substituting
from .stretch import Column, column_at, column_of, in_pairs


@dataclass(frozen=True)
class Moments:
    """Two loops over the same columns: of sums, and of squares of differences to `centre`."""

    sums: Column
    squares: Column
    element: Expr
    """What is added up, by the variables of the loop of sums."""
    centre: Expr
    """By the variables of the other one."""


def check(nest: Nest, target: str, other: str, rows: int) -> str | None:
    loop, second = nest.loops[target], nest.loops.get(other)
    if second is None:
        return f"there is no loop {other}"
    if rows < 2:
        return "a group has 2 rows or more"
    for one in (loop, second):
        if isinstance(column := column_at(one), str):
            return column
    if isinstance(found := moments_at(loop, second), str):
        return found
    if (known(found.sums.reduction.extent) or 0) < rows:
        return f"{found.sums.reduction.var} is not known to have {rows} rows"
    return _hindered(nest, loop, second, found)


def moments_at(loop: ForOp, other: ForOp) -> Moments | str:
    """What two loops compute, or why they are not sums and squares of the same columns."""
    sums, squares = column_of(loop), column_of(other)
    if sums is None or squares is None:
        return f"{loop.var} and {other.var} do not each reduce columns"
    r, s = sums.reduction, squares.reduction
    if loop.extent is not other.extent or r.extent is not s.extent:
        return f"{loop.var} and {other.var} are not over the same columns and rows"
    if sums.update.combiner != "add" or squares.update.combiner != "add":
        return f"{loop.var} and {other.var} do not add up"
    element, square = sums.update.value, squares.update.value
    if not element.dtype.is_floating_point:
        return f"{loop.var} does not add up floating-point numbers"
    here = substituting({loop.var: var(other.var), r.var: var(s.var)})(element)
    if (centre := centre_of(square, here)) is None:
        return f"{other.var} does not add up squares of differences of what {loop.var} adds up"
    if s.var in centre.free:
        return f"{s.var} changes what {other.var} subtracts"
    if any(read.value == squares.total.name for read in loads_of(centre)):
        return f"{other.var} subtracts its own result"
    return Moments(sums, squares, element, centre)


def centre_of(square: Expr, element: Expr) -> Expr | None:
    """What is subtracted from an element before it is squared; None where that is not done."""
    if square.op != "mul" or square.args[0] is not square.args[1]:
        return None
    difference = square.args[0]
    if difference.op != "sub" or difference.args[0] is not element:
        return None
    return difference.args[1]


def _hindered(nest: Nest, loop: ForOp, other: ForOp, found: Moments) -> str | None:
    """Why the elements that `other` reads are not those that stand when `loop` begins."""
    between: list[Operation] = [loop]
    op = loop.next_op
    while op is not None and op is not other:
        between.append(op)
        op = op.next_op
    if op is None:
        return f"{other.var} does not follow {loop.var} in its block"
    written = {a.buffer for a in body_accesses(nest, [*between, other]) if a.writes}
    for read in loads_of(found.element):
        if read.value not in nest.buffers:
            return f"{read.value} is a constant of the module"
        if read.value in written:
            return f"{read.value} is written by {loop.var}, {other.var} or between them"
    unbound = found.element.free - {loop.var, found.sums.reduction.var}
    if unbound & (nest.mutable | nest.lets.keys()):
        return f"what {loop.var} adds up has names of numbers in it"
    return None


def apply(nest: Nest, target: str, other: str, rows: int) -> None:
    loop, second = nest.loops[target], nest.loops[other]
    found = moments_at(loop, second)
    assert isinstance(found, Moments)  # check passed
    made = _Groups(nest, loop, found, rows)
    for op in (before := made.build()):
        op.location = loop.location
    insert_before(loop, before)
    mean, weight = made.mean(loop, found.sums)
    _reduce_groups(found.sums, made.count, mean * weight)
    mean, weight = made.mean(second, found.squares)
    apart, wide = mean - found.centre, found.squares.total.dtype
    squares = cast(made.squares(second), wide)
    _reduce_groups(found.squares, made.count, squares + cast(apart * apart * weight, wide))


def _reduce_groups(column: Column, count: int, value: Expr) -> None:
    """Reduce to the same result what there is of each group."""
    r, update = column.reduction, column.update
    fresh = UpdateOp(update.buffer, update.indices, update.combiner, value)
    fresh.location = update.location
    made = ForOp(r.var, count, [fresh], reduction=True)
    made.location = r.location
    insert_before(r, [made])
    detach(r)


class _Groups:
    """Writes the loops over groups of rows, and reads what they make."""

    def __init__(self, nest: Nest, loop: ForOp, found: Moments, rows: int) -> None:
        self.nest, self.loop, self.found, self.rows = nest, loop, found, rows
        self.depth = int(str(found.sums.reduction.extent))
        self.count = -(-self.depth // rows)
        self.dtype = found.element.dtype
        shape = (const(self.count), loop.extent)
        names = (f"{found.sums.total.name}_m", f"{found.squares.total.name}_q")
        self.means, self.spreads = (Buffer(nest.fresh(n), self.dtype, shape) for n in names)

    def build(self) -> list[Operation]:
        groups = self.nest.fresh(f"{self.found.sums.reduction.var}_g")
        whole = self.depth // self.rows
        made: list[Operation] = [
            AllocOp(self.means, "stack"),
            AllocOp(self.spreads, "stack"),
            ForOp(groups, whole, [self._along(var(groups), self.rows)]),
        ]
        if left := self.depth - whole * self.rows:
            made.append(self._along(const(whole), left))
        return made

    def _along(self, group: Expr, rows: int) -> ForOp:
        """The loop over the columns of a group: their means and squares."""

        def fresh(suffix: str) -> str:
            return self.nest.fresh(f"{self.loop.var}_{suffix}")

        def named(suffix: str, value: Expr) -> Expr:
            body.append(LetOp(name := fresh(suffix), value))
            return var(name, self.dtype)

        body: list[Operation] = []
        column, first = fresh("g"), group * self.rows
        elements = []
        for k in range(rows):
            place = {self.loop.var: var(column), self.found.sums.reduction.var: first + k}
            elements.append(named(f"d{k}", substituting(place)(self.found.element)))
        mean = named("m", in_pairs("add", elements) / const(float(rows), self.dtype))
        apart = [named(f"a{k}", e - mean) for k, e in enumerate(elements)]
        squares = in_pairs("add", [a * a for a in apart])
        at = [group, var(column)]
        body.append(StoreOp(self.spreads.name, at, squares))
        body.append(StoreOp(self.means.name, at, mean))
        return ForOp(column, self.loop.extent, body)

    def mean(self, loop: ForOp, column: Column) -> tuple[Expr, Expr]:
        """A group's mean, and the number of its rows."""
        group = var(column.reduction.var)
        weight = const(float(self.rows), self.dtype)
        if self.depth % self.rows:
            count = binary("min", const(self.rows), const(self.depth) - group * self.rows)
            weight = cast(count, self.dtype)
        return load(self.means.name, [group, var(loop.var)], self.dtype), weight

    def squares(self, loop: ForOp) -> Expr:
        """A group's squares of differences to its own mean."""
        group = var(self.found.squares.reduction.var)
        return load(self.spreads.name, [group, var(loop.var)], self.dtype)
