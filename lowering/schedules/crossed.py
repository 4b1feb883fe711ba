"""Maps that read across the direction they write in: by squares, or interleaved where few."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.ops import ForOp, StoreOp
from tensorscript.dialects.te.rewriting import loads
from tensorscript.dialects.te.schedule import Step

from ..schedule import Scheduler
from ..te.affine import accesses, coefficient, flat_index, known
from ..te.interleave import reach
from ..te.nest import only_child
from ..te.rebuild import copy_all
from ..te.squares import SAME_SET, Crossing, crossing
from .cpu_vectors import CPUParameters, is_innermost, vectorize_inside, writes_contiguous

FEW_SQUARES = 8
"""Of columns, whose loop would be too short to be shared between threads."""
HIGH, LONG = 8, 32
"""Squares along the columns and along the rows of a block: its lines, of 128 rows that are read and
512 that are written, stay in a second cache, and their pages in the table of those in use."""
BLOCK, PART = 4, 8
"""Squares along the sides of a block that is copied aside, of which long parts of rows are written:
32 KiB, which a first cache must have room for beside the lines on their way."""
SMALL_FIRST_CACHE = 32 << 10
PICKED, PICKED_WIDE = 3, 5
"""The most columns that are picked out of rows, the latter with registers of 64 bytes: a map of
10000 rows takes 0.5 to 0.9 of the time of row by row then, with one column more 1 to 2 times."""
FEW_SETS = 1024
"""Bytes from row to row of what is written, at which squares across would return to a set of the
first cache too soon."""


def in_squares(scheduler: Scheduler, found: Crossing, parameters: CPUParameters) -> None:
    """Schedule a perfect nest that reads across.

    Squares follow the rows that are read: those run on, as memory likes best, and what is written
    waits for nobody. Rows that share sets of the first cache push each other out of it: where it is
    large enough, blocks are copied aside, or squares follow the rows that are written.
    """
    row, column = found.row.var, found.loops[-1].var
    read, written = _periods(scheduler, found)
    large = parameters.first_cache > SMALL_FIRST_CACHE
    if large and SAME_SET in (read, written) and _in_blocks(found):
        aside = [str(found.across[0].value)] if read == SAME_SET else []
        aside += [s.buffer for s in found.stores] if written == SAME_SET else []
        row, column = _copy_aside(scheduler, found, aside, parameters)
        scheduler.do("squares", row, column, found.side)
        return
    scheduler.do("squares", row, column, found.side)
    rows, columns = (_squares(loop, found.side) for loop in (found.row, found.loops[-1]))
    few = columns is not None and columns < FEW_SQUARES
    if few or (large and read < SAME_SET and written >= FEW_SETS):
        _pair_squares(scheduler, found)
        return
    scheduler.do("reorder", f"{column}_o", f"{row}_o")
    if rows and columns and not rows % LONG and not columns % HIGH:
        _, inner = scheduler.do("split", f"{column}_o", HIGH, "exact")
        outer, _ = scheduler.do("split", f"{row}_o", LONG, "exact")
        scheduler.do("reorder", outer, inner)


def _squares(loop: ForOp, side: int) -> int | None:
    """How many whole squares lie along a loop; None where that is not known."""
    size = known(loop.extent)
    return None if size is None else size // side


def _periods(scheduler: Scheduler, found: Crossing) -> tuple[int, int]:
    """The bytes after which the rows that a square reads, and those that it writes, come to sets of
    the first cache that they have been in: a power of two up to `SAME_SET`, where all share one."""
    if found.loops[-2] is not found.row:
        return 1, 1
    reads = [(str(n.value), n.args, found.loops[-1].var) for n in found.across]
    writes = [(s.buffer, s.indices, found.row.var) for s in found.stores]
    read, written = (max(_period(scheduler, *each) for each in side) for side in (reads, writes))
    return read, written


def _period(scheduler: Scheduler, name: str, indices: Sequence[Expr], along: str) -> int:
    buffer = scheduler.nest.buffers[name]
    step = coefficient(flat_index(buffer, indices), along)
    distance = known(step) if step is not None else None
    return 1 if distance is None else gcd(distance * buffer.dtype.itemsize, SAME_SET)


def _in_blocks(found: Crossing) -> bool:
    """One operand is read across, nothing else of it, and its sides are whole blocks."""
    (read, *others) = found.across
    same = {n for s in found.stores for n in loads(s.value) if n.value == read.value}
    block = BLOCK * found.side
    sides = (found.row, found.loops[-1])
    return not others and same == {read} and all(not (known(f.extent) or 1) % block for f in sides)


def _copy_aside(
    scheduler: Scheduler, found: Crossing, aside: list[str], parameters: CPUParameters
) -> tuple[str, str]:
    """Copy blocks of the buffers `aside`: of what is read as it lies, so that squares are read from
    neighbouring lines, and of results, which leave by long parts of rows: as many sets as they have
    lines.

    ```
    for i { for j { y[i, j] = x[j, i] } } --> for i_o { for j_o { alloc c[128, 64]; alloc d[64, 128]
                                                c = x[j_o * 128.., i_o * 64..]
                                                for i_i { for j_i { d[i_i, j_i] = c[j_i, i_i] } }
                                                y[i_o * 64.., j_o * 128..] = d } }
    ```
    """
    block, long = BLOCK * found.side, PART * found.side
    if (known(found.loops[-1].extent) or 1) % long:
        long = block
    _, row = scheduler.do("split", found.row.var, block, "exact")
    outer, column = scheduler.do("split", found.loops[-1].var, long, "exact")
    scheduler.do("reorder", outer, row)
    for buffer in dict.fromkeys(aside):
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


def turn_lanes(scheduler: Scheduler, loop: ForOp, parameters: CPUParameters) -> None:
    """Lanes that store across the loop around them, each into another row, by squares instead.

    ```
    for j { for v vector { y[v, j] = t[j, v] } } --> for v { for j { y[v, j] = t[j, v] } }
    ```
    This nest reads across, and is transposed in registers (step `squares`).
    """
    lanes = only_child(loop.block)
    if loop.kind.data != "serial" or loop.is_reduction or not isinstance(lanes, ForOp):
        return
    if lanes.kind.data != "vector" or not all(isinstance(op, StoreOp) for op in lanes.block.ops):
        return
    if not writes_contiguous(loop, scheduler.nest.buffers):
        return
    row, column = lanes.var, loop.var
    inner = ForOp(column, loop.extent, copy_all(lanes.block.ops, lambda e: e), start=loop.start)
    nest = ForOp(row, lanes.extent, [inner], start=lanes.start)
    if (found := crossing(nest, scheduler.nest.buffers, parameters.vector_bytes)) is not None:
        scheduler.do("serial", row)
        scheduler.do("reorder", row, column)
        scheduler.do("squares", row, column, found.side)


def put_together(scheduler: Scheduler, loop: ForOp, parameters: CPUParameters) -> bool:
    """Interleave a perfect nest whose last loop is short; False where it is another, or where
    picking the columns of rows apart would take longer than going row by row."""
    row, inner = None, loop
    while isinstance(below := only_child(inner.block), ForOp):
        row, inner = inner, below
    distance = 0 if row is None else reach(row, inner, scheduler.nest.buffers)
    if row is None or not distance:
        return False
    most = PICKED_WIDE if parameters.vector_bytes == 64 else PICKED
    if distance > 1 and (known(inner.extent) or 0) > most:
        return False
    lanes = parameters.vector_bytes // max(4, _narrowest(scheduler, inner))
    if (known(row.extent) or lanes) < lanes:
        return False
    scheduler.do("interleave", row.var, inner.var, lanes)
    rest = scheduler.nest.loops.get(inner.var)
    if rest is not None and distance > 1:
        vectorize_inside(scheduler, rest, parameters)
    return True


def _narrowest(scheduler: Scheduler, loop: ForOp) -> int:
    return min(scheduler.nest.buffers[name].dtype.itemsize for name, _ in accesses(loop))
