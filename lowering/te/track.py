"""track: a search for the first place of an extreme element goes along with the extreme itself.

```
track("r", "q", 16):
t[] = -inf                                     alloc reg r_best[16], r_turn[16]
for r in 0 .. n reduce { t[] max= x[r] }       r_best[..] = -inf; r_turn[..] = 0
s[] = next_best(t[])                    -->    for r_o in 0 .. n / 16 reduce {
for q in 0 .. n reduce {                         for r_v in 0 .. 16 vector {
  p[] min= select(x[q] <= s[], n - 1, q)           let r_x = x[r_o * 16 + r_v]
}                                                  r_turn[r_v] = select(r_x > r_best[r_v], r_o, ..)
                                                   r_best[r_v] max= r_x } }
                                               for r_z in 0 .. 16 vector reduce { t[] max= r_best }
                                               s[] = next_best(t[])
                                               if isnan(t[]) { for q .. as before } else {
                                                 r_first[] = the least r_turn[z] * 16 + z of lanes
                                                             whose best is t[]
                                                 p[] min= r_first[] }
```
Each lane keeps its extreme and the turn that it was met in; a NaN, which is greater than all, is
searched for. The elements are read once, and no branch hangs on where the place is. `next_best` is
what the search compares with, `tensorscript.dialects.te.extremes`; integers are compared with t.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.base.dtypes import int32, int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import (
    Expr,
    binary,
    call,
    cast,
    const,
    load,
    select,
    unary,
    var,
)
from tensorscript.dialects.te.extremes import next_best
from tensorscript.dialects.te.ops import AllocOp, ForOp, IfOp, LetOp, StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import loads, replace_loads
from tensorscript.dialects.tg.ops import identity

from .affine import known
from .nest import Nest, detach, insert_before
from .rebuild import substituting
from .search import first_place

LONGEST = 1 << 31
"""Places are numbered in 32 bits."""


@dataclass(frozen=True)
class Tracked:
    """The extreme's update, the search's, and what both read, by the variable of the first."""

    extreme: UpdateOp
    place: UpdateOp
    total: Expr


def check(nest: Nest, target: str, search: str, lanes: int) -> str | None:
    if lanes < 2:
        return "the number of lanes is at least 2"
    if search not in nest.loops:
        return f"there is no loop {search}"
    if tracked(nest.loops[target], nest.loops[search]) is None:
        return f"{search} does not look for the first place of the extreme of {target}"
    return None


def tracked(loop: ForOp, search: ForOp) -> Tracked | None:
    """The parts of the two loops, None where they have another form."""
    update, found = loop.block.first_op, first_place(search)
    if found is None or not isinstance(update, UpdateOp) or update.next_op is not None:
        return None
    place, fits = found
    same = loop.parent is search.parent and loop.extent is search.extent
    size = known(loop.extent)
    if not same or not loop.is_reduction or not loop.start.is_int(0):
        return None
    if loop.kind.data != "serial" or search.kind.data != "serial" or not size or size >= LONGEST:
        return None
    if update.combiner not in ("max", "min") or any(loop.var in e.free for e in update.indices):
        return None
    total = load(update.buffer, update.indices, update.value.dtype)
    value = substituting({search.var: var(loop.var)})(fits)
    if (numbers := _between(loop, search, update.value)) is None:
        return None
    if replace_loads(value, numbers.get) is not _hit(update, total):
        return None
    return Tracked(update, place, total)


def _hit(update: UpdateOp, total: Expr) -> Expr:
    """What holds of an element that is as extreme as the total."""
    if not total.dtype.is_floating_point:
        return update.value.equals(total)
    within = binary("le" if update.combiner == "max" else "ge", update.value,
                    next_best(update.combiner, total))  # fmt: skip
    return unary("not", within)


def _between(loop: ForOp, search: ForOp, value: Expr) -> dict[Expr, Expr] | None:
    """The numbers that are stored between the loops; None where more happens there."""
    read = {str(n.value) for n in loads(value)}
    stores: dict[Expr, Expr] = {}
    op = loop.next_op
    while op is not search:
        if isinstance(op, StoreOp) and op.buffer not in read:
            stores[load(op.buffer, op.indices, op.value.dtype)] = op.value
        elif not isinstance(op, AllocOp):
            return None
        op = op.next_op
    return stores


def apply(nest: Nest, target: str, search: str, lanes: int) -> None:
    loop, looking = nest.loops[target], nest.loops[search]
    found = tracked(loop, looking)
    assert found is not None  # check passed
    written = _Track(nest, loop, found, lanes)
    made = written.extremes()
    last = written.first(looking)
    for op in (*made, *last):
        op.location = loop.location
    insert_before(loop, made)
    detach(loop)
    insert_before(looking, last)
    if isinstance(last[-1], IfOp):
        detach(looking)
        last[-1].then_body.block.add_op(looking)
    else:
        detach(looking)


class _Track:
    """Writes the loop over whole vectors and its rest, and what is read off the lanes."""

    def __init__(self, nest: Nest, loop: ForOp, found: Tracked, lanes: int) -> None:
        self.nest, self.loop, self.found, self.lanes = nest, loop, found, lanes
        self.dtype, self.combiner = found.total.dtype, found.extreme.combiner
        self.best, self.turn = self._fresh("best"), self._fresh("turn")

    def _fresh(self, suffix: str) -> str:
        return self.nest.fresh(f"{self.loop.var}_{suffix}")

    def extremes(self) -> list[Operation]:
        clear, last = self._fresh("s"), self._fresh("z")
        lane = var(clear)
        extreme = self.found.extreme
        total = UpdateOp(
            extreme.buffer, extreme.indices, self.combiner, load(self.best, [var(last)], self.dtype)
        )
        neutral = identity(self.combiner, self.dtype)
        cleared = [
            StoreOp(self.best, [lane], neutral),
            StoreOp(self.turn, [lane], const(0, int32)),
        ]
        shape = (const(self.lanes),)
        return [
            AllocOp(Buffer(self.best, self.dtype, shape), "reg"),
            AllocOp(Buffer(self.turn, int32, shape), "reg"),
            ForOp(clear, self.lanes, cleared, "vector"),
            *self._turns(),
            ForOp(last, self.lanes, [total], "vector", reduction=True),
        ]

    def _turns(self) -> list[Operation]:
        size = known(self.loop.extent) or 0
        whole, rest = divmod(size, self.lanes)
        made: list[Operation] = []
        if whole:
            turn, lane = self._fresh("o"), self._fresh("v")
            body = self._turn(var(turn) * self.lanes + var(lane), var(lane), cast(var(turn), int32))
            inner = ForOp(lane, self.lanes, body, "vector")
            made.append(ForOp(turn, whole, [inner], reduction=True))
        if rest:
            lane = self._fresh("w")
            at = const(whole * self.lanes) + var(lane)
            body = self._turn(at, var(lane), const(whole, int32))
            made.append(ForOp(lane, self.lanes, [IfOp(at < self.loop.extent, body)], "vector"))
        return made

    def _turn(self, position: Expr, lane: Expr, turn: Expr) -> list[Operation]:
        name = self._fresh("x")
        value = substituting({self.loop.var: position})(self.found.extreme.value)
        element = var(name, self.dtype)
        best = load(self.best, [lane], self.dtype)
        better = binary("gt" if self.combiner == "max" else "lt", element, best)
        kept = load(self.turn, [lane], int32)
        return [
            LetOp(name, value),
            StoreOp(self.turn, [lane], select(better, turn, kept)),
            UpdateOp(self.best, [lane], self.combiner, element),
        ]

    def first(self, search: ForOp) -> list[Operation]:
        """The least place of the lanes that hold the extreme; a NaN is searched for."""
        first, last = self._fresh("first"), self._fresh("y")
        lane, most = var(last), const(LONGEST - 1, int32)
        place = load(self.turn, [lane], int32) * const(self.lanes, int32) + cast(lane, int32)
        holds = load(self.best, [lane], self.dtype).equals(self.found.total)
        least = UpdateOp(first, (), "min", select(holds, place, most))
        target = self.found.place
        found = cast(load(first, (), int32), int64)
        ways: list[Operation] = [
            AllocOp(Buffer(first, int32, ()), "reg"),
            StoreOp(first, (), most),
            ForOp(last, self.lanes, [least], "vector", reduction=True),
            UpdateOp(target.buffer, target.indices, "min", found),
        ]
        if not self.dtype.is_floating_point:
            return ways
        return [IfOp(call("isnan", self.found.total), [], ways)]
