"""Maps that read across the direction they write in: by squares, from a copy where rows collide."""

from __future__ import annotations

from tensorscript.dialects.te.ops import ForOp
from tensorscript.dialects.te.rewriting import loads
from tensorscript.dialects.te.schedule import Step

from ..schedule import Scheduler
from ..te.affine import accesses, coefficient, flat_index, known
from ..te.interleave import interleaves
from ..te.nest import only_child
from ..te.squares import SAME_SET, Crossing
from .cpu_vectors import CPUParameters, is_innermost, vectorize_inside

BLOCK, PART = 4, 8
"""Squares along the sides of a block that is copied aside, of which long parts of rows are written:
32 KiB; the block of results beside it leaves the first cache piece by piece."""


def in_squares(scheduler: Scheduler, found: Crossing, parameters: CPUParameters) -> None:
    """Schedule a perfect nest that reads across."""
    row, column = found.row.var, found.loops[-1].var
    if _collides(scheduler, found):
        row, column = _copy_aside(scheduler, found, parameters)
        scheduler.do("squares", row, column, found.side)
        return
    scheduler.do("squares", row, column, found.side)
    _pair_squares(scheduler, found)


def put_together(scheduler: Scheduler, loop: ForOp, parameters: CPUParameters) -> bool:
    """Interleave a perfect nest whose last loop is short; False where it is another."""
    row, inner = None, loop
    while isinstance(below := only_child(inner.block), ForOp):
        row, inner = inner, below
    if row is None or not interleaves(row, inner, scheduler.nest.buffers):
        return False
    lanes = parameters.vector_bytes // max(4, _narrowest(scheduler, inner))
    if (known(row.extent) or lanes) < lanes:
        return False
    scheduler.do("interleave", row.var, inner.var, lanes)
    return True


def _narrowest(scheduler: Scheduler, loop: ForOp) -> int:
    return min(scheduler.nest.buffers[name].dtype.itemsize for name, _ in accesses(loop))


def _collides(scheduler: Scheduler, found: Crossing) -> bool:
    """The rows of a square that is read lie in one set of the first cache, which cannot hold them:
    where they do not begin at a line, each line is read again for the next square."""
    (read, *others) = found.across
    row, column = found.row, found.loops[-1]
    buffer = scheduler.nest.buffers[str(read.value)]
    same = {n for s in found.stores for n in loads(s.value) if n.value == read.value}
    if others or same != {read} or found.loops[-2] is not row:
        return False
    step = coefficient(flat_index(buffer, read.args), column.var)
    distance = known(step) if step is not None else None
    if distance is None or distance * buffer.dtype.itemsize % SAME_SET:
        return False
    block = BLOCK * found.side
    return all(not (known(loop.extent) or 1) % block for loop in (row, column))


def _copy_aside(
    scheduler: Scheduler, found: Crossing, parameters: CPUParameters
) -> tuple[str, str]:
    """Copy a block as it lies, so that squares are read from neighbouring lines, and another one
    of results, which leave by long parts of rows: as many sets as they have lines.

    ```
    for i { for j { y[i, j] = x[j, i] } } --> for i_o { for j_o { alloc c[128, 64]; alloc d[64, 128]
                                                c = x[j_o * 128.., i_o * 64..]
                                                for i_i { for j_i { d[i_i, j_i] = c[j_i, i_i] } }
                                                y[i_o * 64.., j_o * 128..] = d } }
    ```
    """
    block, long = BLOCK * found.side, PART * found.side
    aside = [str(found.across[0].value)]
    if (known(found.loops[-1].extent) or 1) % long:
        long = block
    else:
        aside += dict.fromkeys(s.buffer for s in found.stores)
    _, row = scheduler.do("split", found.row.var, block, "exact")
    outer, column = scheduler.do("split", found.loops[-1].var, long, "exact")
    scheduler.do("reorder", outer, row)
    for buffer in aside:
        if scheduler.why_not(Step("cache", buffer, (outer, "stack"))) is not None:
            continue
        for name in scheduler.do("cache", buffer, outer, "stack"):
            loop = scheduler.nest.loops[name]
            if is_innermost(loop):
                vectorize_inside(scheduler, loop, parameters)
    return row, column


def _pair_squares(scheduler: Scheduler, found: Crossing) -> None:
    """Two squares side by side in what is read come in turn: memory comes in pairs of lines."""
    size = known(found.row.extent)
    if size is None or size // found.side % 2 or len(found.loops) > 2:
        return
    _, inner = scheduler.do("split", f"{found.row.var}_o", 2, "exact")
    scheduler.do("reorder", f"{found.loops[-1].var}_o", inner)
