"""narrow: a search for the first place of an extreme element goes through one chunk of them.

```
narrow("r", "q", 4096):
t[] = -inf                                     alloc stack r_part[n / 4096]
for r in 0 .. n reduce { t[] max= x[r] }       for r_c in 0 .. n / 4096 { r_part[r_c] = -inf
s[] = next_best(t[])                             for r_i in 0 .. 4096 reduce {
for q in 0 .. n reduce {               -->         r_part[r_c] max= x[r_c * 4096 + r_i] } }
  p[] min= select(x[q] <= s[], n - 1, q)       for r_z in 0 .. n / 4096 reduce { t[] max= r_part }
}                                              s[] = next_best(t[])
                                               for q_c in 0 .. n / 4096 reduce {
                                                 q_chunk[] min= select(r_part[q_c] <= s[], ..) }
                                               let q_from = q_chunk[] * 4096
                                               for q_i in 0 .. 4096 reduce {
                                                 q_place[] min= select(x[q_from + q_i] <= s[], ..) }
                                               p[] min= q_from + q_place[]
```
The extreme of each chunk says in which one the place is: a long line is read once, by as many
threads as there are, and the rest of the work is that of one chunk.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.base.dtypes import int64
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, binary, const, load, select, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, LetOp, StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import replaced
from tensorscript.dialects.tg.ops import identity

from .affine import known
from .nest import Nest, detach, insert_before
from .rebuild import substituting
from .search import first_place
from .track import Tracked, tracked


def check(nest: Nest, target: str, search: str, chunk: int) -> str | None:
    if search not in nest.loops:
        return f"there is no loop {search}"
    if tracked(nest.loops[target], nest.loops[search]) is None:
        return f"{search} does not look for the first place of the extreme of {target}"
    if not 1 < chunk < (known(nest.loops[target].extent) or 0):
        return f"a chunk is of more than one element and fewer than {target} has"
    return None


def apply(nest: Nest, target: str, search: str, chunk: int) -> None:
    loop, looking = nest.loops[target], nest.loops[search]
    found = tracked(loop, looking)
    assert found is not None  # check passed
    written = _Narrow(nest, loop, looking, found, chunk)
    for place, made in ((loop, written.extremes()), (looking, written.places())):
        for op in made:
            op.location = place.location
        insert_before(place, made)
        detach(place)


class _Narrow:
    """Writes the extremes of the chunks, and the searches for a chunk and in it."""

    def __init__(self, nest: Nest, loop: ForOp, looking: ForOp, found: Tracked, chunk: int) -> None:
        self.nest, self.loop, self.looking, self.found = nest, loop, looking, found
        self.chunk, self.size = chunk, known(loop.extent) or 0
        self.count = -(-self.size // chunk)
        self.part = nest.fresh(f"{loop.var}_part")

    def _length(self, start: Expr) -> Expr:
        """The elements of the chunk that begins at `start`: the last one may have fewer."""
        if self.size % self.chunk == 0:
            return const(self.chunk)
        return binary("min", const(self.chunk), self.loop.extent - start)

    def extremes(self) -> list[Operation]:
        r, update = self.loop.var, self.found.extreme
        dtype, combiner = update.value.dtype, update.combiner
        number, inside, last = (self.nest.fresh(f"{r}_{s}") for s in "ciz")
        start = var(number) * self.chunk
        element = substituting({r: start + var(inside)})(update.value)
        best = UpdateOp(self.part, [var(number)], combiner, element)
        body: list[Operation] = [
            StoreOp(self.part, [var(number)], identity(combiner, dtype)),
            ForOp(inside, self._length(start), [best], reduction=True),
        ]
        part = load(self.part, [var(last)], dtype)
        total = UpdateOp(update.buffer, update.indices, combiner, part)
        return [
            AllocOp(Buffer(self.part, dtype, (const(self.count),)), "stack"),
            ForOp(number, self.count, body),
            ForOp(last, self.count, [total], reduction=True),
        ]

    def places(self) -> list[Operation]:
        q, target = self.looking.var, self.found.place
        hit = first_place(self.looking)
        assert hit is not None  # it is tracked
        number, inside, start = (self.nest.fresh(f"{q}_{s}") for s in ("c", "i", "from"))
        element = substituting({self.loop.var: var(q)})(self.found.extreme.value)
        best = load(self.part, [var(number)], element.dtype)
        in_chunk = replaced(hit[1], element, best)
        here = substituting({q: var(start) + var(inside)})(hit[1])
        chunk, place = self.nest.fresh(f"{q}_chunk"), self.nest.fresh(f"{q}_place")
        return [
            *_first(chunk, number, const(self.count), in_chunk),
            LetOp(start, load(chunk, (), int64) * self.chunk),
            *_first(place, inside, self._length(var(start)), here),
            UpdateOp(target.buffer, target.indices, "min", var(start) + load(place, (), int64)),
        ]  # fmt: skip


def _first(name: str, loop: str, size: Expr, hit: Expr) -> list[Operation]:
    """The first of `size` places, of which one at least is hit."""
    place = select(hit, var(loop), size - 1)
    return [
        AllocOp(Buffer(name, int64, ()), "stack"),
        StoreOp(name, (), size - 1),
        ForOp(loop, size, [UpdateOp(name, (), "min", place)], reduction=True),
    ]
