"""Steps that cut a map's innermost loop where what it reads goes on elsewhere.

| index of a read | steps |
|---|---|
| `j % 500` or `j // 500`, 500 a divisor of the extent (`repeat`) | `split` by 500 |
| `(j + 997) % 1000`, `select(j < 3, 3 - j, j - 3)`, `min(j, 9)` (`roll`, `pad`) | a loop for each
stretch: `slice_head`, `normalize` |
| none, but `select(j < 333, x[j], y[j - 333])` chooses (`cat`) | the same, if none is short |

In a stretch the index walks on evenly, which the simplifier finds; before, each lane was gathered.
Where the innermost loops are short, the one around them is cut in the same way (rows of three that
follow others): its pieces and they are one loop then.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tensorscript.dialects.te.expr import Expr, const, sub
from tensorscript.dialects.te.ops import ForOp
from tensorscript.dialects.te.rewriting import loads, substitute, walk
from tensorscript.dialects.te.simplify import simplify
from tensorscript.dialects.te.vocabulary import COMPARISONS

from ..schedule import Scheduler
from ..te.affine import coefficient, expressions, known
from ..te.nest import only_child
from .cpu_vectors import is_innermost, loops_in
from .loops import collapse_all

SHORTEST_LOOP = 64
"""Iterations of a loop that is cut, and of a stretch between elements that are chosen."""
SHORTEST_PERIOD = 8
MOST_CUTS = 6


def cut_in_pieces(scheduler: Scheduler, loop: ForOp) -> None:
    """Cut the innermost loops in (and including) `loop`."""
    if not is_innermost(loop):
        for inner in loops_in(loop.block):
            cut_in_pieces(scheduler, inner)
        return
    size = known(loop.extent)
    if size is None or size < SHORTEST_LOOP or not loop.start.is_int(0) or loop.is_reduction:
        return
    values = _values(scheduler, loop)
    indices = [i for e in values for read in loads(e) for i in read.args]
    periods = {p for e in indices for p in _periods(e, loop.var)}
    if len(periods) == 1 and (period := periods.pop()) >= SHORTEST_PERIOD and not size % period:
        if period < size:
            scheduler.do("split", loop.var, period, "exact")
        return
    inside = {c for e in indices for c in turning_points(e, loop.var, size)}
    chosen = {c for e in values for c in turning_points(e, loop.var, size)} - inside
    if any(gap < SHORTEST_LOOP for gap in _gaps(chosen, size)):
        chosen = set()
    if 0 < len(inside | chosen) <= MOST_CUTS:
        for name in cut_at(scheduler, loop.var, sorted(inside | chosen)):
            cut_in_pieces(scheduler, scheduler.nest.loops[name])  # for what the first cuts hid


def _values(scheduler: Scheduler, inner: ForOp) -> list[Expr]:
    """What stands in the last loop of a nest, by what is known of the numbers of its loops."""
    ranges = scheduler.nest.body_ranges(inner)
    return [simplify(e, ranges) for op in inner.block.ops for e in expressions(op)]


def cut_around_short(scheduler: Scheduler, loop: ForOp) -> None:
    """Cut the loop of a perfect nest around loops that are short together, and make one of these
    and each piece."""
    loops = [loop]
    while isinstance(below := only_child(loops[-1].block), ForOp):
        loops.append(below)
    inner, inside = loops[-1], 1
    while loops and (extent := known(loops[-1].extent)) and inside * extent < SHORTEST_LOOP:
        inside *= extent
        loops.pop()
    if inside == 1 or not loops or (size := known(loops[-1].extent)) is None:
        return
    around, block = loops[-1], loops[-1].parent
    assert block is not None  # a loop of the function
    values = _values(scheduler, inner)
    places = {c for e in values for c in turning_points(e, around.var, size)}
    if not 0 < len(places) <= MOST_CUTS or any(p for e in values for p in _periods(e, around.var)):
        return
    if max(_gaps(places, size)) * inside < SHORTEST_LOOP:
        return
    cut_at(scheduler, around.var, sorted(places))
    scheduler.do("simplify", scheduler.func.sym_name.data)  # what was chosen between is gone
    collapse_all(scheduler, block)


def _gaps(places: set[int], size: int) -> list[int]:
    edges = [0, *sorted(places), size]
    return [b - a for a, b in pairwise(edges)]


def cut_at(scheduler: Scheduler, name: str, places: list[int]) -> list[str]:
    """Cut a loop before these iterations; the loops of the stretches, each from 0 on."""
    made, done = [], 0
    for place in places:
        piece, *_ = scheduler.do("slice_head", name, place - done)
        scheduler.do("normalize", piece)
        made.append(piece)
        done = place
    scheduler.do("normalize", name)
    return [*made, name]


def _affine(e: Expr, name: str) -> tuple[int, int] | None:
    """(a, b) where `e` is `a * name + b`, two numbers."""
    factor = coefficient(e, name)
    step = None if factor is None else known(simplify(factor, {}))
    rest = known(simplify(substitute(e, {name: const(0)}), {}))
    return None if step is None or rest is None else (step, rest)


def _periods(e: Expr, name: str) -> Iterator[int]:
    """The divisors of the loop's variable in an index; 0 for one that is shifted."""
    for n in walk(e):
        if n.op not in ("mod", "floordiv") or name not in n.free:
            continue
        divisor = known(n.args[1])
        yield divisor if divisor and _affine(n.args[0], name) == (1, 0) else 0


def turning_points(e: Expr, name: str, size: int) -> Iterator[int]:
    """Where, from 1 to size - 1, the loop's variable passes what an expression hangs on."""
    for n in walk(e):
        if name in n.free and len(n.args) == 2 and n.args[0].dtype.name == "int64":
            yield from (c for c in _passed(n, name, size) if 0 < c < size)


def _passed(n: Expr, name: str, size: int) -> Iterator[int]:
    left, right = n.args
    if n.op in ("mod", "floordiv"):
        divisor, found = known(right), _affine(left, name)
        if divisor and size <= MOST_CUTS * divisor and found is not None and found[0] == 1:
            yield from range(-found[1] % divisor, size, divisor)
        return
    if n.op not in (*COMPARISONS, "min", "max") or n.op in ("eq", "ne"):
        return
    found = _affine(sub(left, right), name)
    if found is None or abs(found[0]) != 1:
        return
    step, rest = found
    # step * v + rest passes 0 at v = -step * rest: before it or behind it.
    zero = -step * rest
    behind = n.op in (("le", "gt") if step == 1 else ("lt", "ge"))
    yield zero + behind
