"""Schedules of reductions for a CPU, and of rows between them.

Rows are parallel, neighbouring inner loops are fused. Each inner loop is vectorised, or the last
outer loop if that is the one that walks memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation

from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, const
from tensorscript.dialects.te.ops import ForOp, UpdateOp

from ..schedule import Scheduler
from ..te import vectorize_outer
from ..te.affine import accesses, coefficient, flat_index, known
from ..te.full_unroll import copies
from .columns import fold_columns, stretch_arguments
from .cpu_vectors import (
    CPUParameters,
    is_innermost,
    lanes_of,
    loops_in,
    make_parallel,
    shrunk,
    vectorize_inside,
)
from .crossed import turn_lanes
from .grouped_moments import cut_moments, group_moments
from .loops import collapse_all, outer_loops
from .places import narrow_places, track_places
from .rows import fuse_rows, hoist_numbers
from .rows_ahead import look_ahead
from .rows_aside import copy_aside, rows_aside
from .rows_fetched import fetch_rows, fetch_sums
from .short_rows import rows_as_lanes, short_rows, worth_turning
from .tallied import tally_elements


def _prefers_outer(loop: ForOp, buffers: dict[str, Buffer]) -> bool:
    """Lanes along `loop` gather from memory less often than lanes along its reductions."""
    reductions = [op for op in loop.walk() if isinstance(op, ForOp) and op.is_reduction]
    size = known(loop.extent)
    if not reductions or (size is not None and size < 4):
        return False
    trips = [known(r.extent) for r in reductions]
    tiny = all(t is not None and t < TINY_REDUCTION for t in trips)
    outer_gathers = inner_gathers = along_outer = 0
    for reduction in (r for r in reductions if is_innermost(r)):
        ways = [reduction.var, *_long_loops_between(loop, reduction)]
        for name, indices in accesses(reduction):
            position = flat_index(buffers[name], indices)
            outer = coefficient(position, loop.var)
            outer_gathers += _gathers(outer)
            # Shuffles are better than what lies far apart.
            most = MOST_STEP if _gathers(outer, MOST_STEP) else 2
            inner_gathers += all(_gathers(coefficient(position, way), most) for way in ways)
            along_outer += not _gathers(outer, MOST_STEP) and outer is not const(0)
    if tiny:
        alone = not any(_long_loops_between(loop, r) for r in reductions)
        return along_outer > 0 or (size is None and alone)
    return outer_gathers < inner_gathers


def _long_loops_between(loop: ForOp, reduction: ForOp) -> list[str]:
    """Those around a reduction that lanes could go along as well."""
    found: list[str] = []
    above = reduction.parent_op()
    while isinstance(above, ForOp) and above is not loop:
        if (known(above.extent) or LANES) >= LANES:
            found.append(above.var)
        above = above.parent_op()
    return found


def _gathers(step: Expr | None, most: int = 2) -> bool:
    """Neighbouring lanes are so far apart that each costs a load; two steps cost a shuffle."""
    return step is None or not (step.is_const and 0 <= int(str(step)) <= most)


MOST_STEP = 8
"""Steps that cost shuffles of as many vectors; masked vectors of short rows cost more."""


LANES = 8
"""Iterations that fill a vector."""
TINY_REDUCTION = 16
"""Reductions shorter than this go along the lanes of the loop around them."""
MOST_TAPS = 16
"""Copies of a short reduction's body; more would cost more in decoding than masks do."""


def schedule_rows(scheduler: Scheduler, parameters: CPUParameters) -> None:
    func = scheduler.func
    loops, row = outer_loops(func)
    if loops and tally_elements(scheduler, loops[-1], parameters):
        return
    hoist_numbers(scheduler, row)
    if not (_turned(scheduler, loops, parameters) or _aside(scheduler, loops, parameters)):
        collapse_all(scheduler, func.block)
        narrow_places(scheduler, outer_loops(func)[1])
        _chunk_full_reductions(scheduler, parameters)
        loops, row = outer_loops(func)
        if loops and (block := cut_moments(scheduler, loops[-1], parameters)) is not None:
            schedule_row(scheduler, block, parameters)
        elif not loops or not _by_columns(scheduler, loops[-1], parameters):
            around = look_ahead(scheduler, loops[-1], parameters) if loops else None
            schedule_row(scheduler, around.block if around else row, parameters)
            if around is not None:
                fetch_rows(scheduler, around, parameters)
        fetch_sums(scheduler)
    for loop in loops_in(func.block):
        if loop.kind.data == "serial" and not loop.is_reduction:
            make_parallel(scheduler, loop, parameters)


def _turned(scheduler: Scheduler, loops: list[ForOp], parameters: CPUParameters) -> bool:
    """Schedule the last of the loops around short rows with a row in each lane, if it wants that.
    What is only read in steps of a few is shuffled out of the vectors that it lies in instead."""
    rows = short_rows(loops[-1], scheduler.nest.buffers) if loops else None
    if rows is None or not worth_turning(loops, rows, parameters.vector_bytes):
        return False
    if not rows.written and _prefers_outer(loops[-1], scheduler.nest.buffers):
        return False
    for rest in rows_as_lanes(scheduler, loops[-1], rows, parameters.vector_bytes):
        schedule_row(scheduler, rest.block, parameters)
    collapse_all(scheduler, scheduler.func.block)
    return True


def _aside(scheduler: Scheduler, loops: list[ForOp], parameters: CPUParameters) -> bool:
    """Schedule the last of the loops around a row with copies of what it reads, if it wants."""
    if (found := rows_aside(loops, scheduler.nest.buffers)) is None:
        return False
    row = copy_aside(scheduler, loops[-1], found, parameters)
    schedule_row(scheduler, row.block, parameters)
    fetch_rows(scheduler, row, parameters)
    collapse_all(scheduler, scheduler.func.block)
    return True


def schedule_row(scheduler: Scheduler, row: Block, parameters: CPUParameters) -> None:
    """What is done for one row, as vectors along it."""
    group_moments(scheduler, row, parameters)
    fuse_rows(scheduler, row)
    track_places(scheduler, row, parameters)
    for loop in loops_in(row):
        _vectorize_row(scheduler, loop, parameters)


def _by_columns(scheduler: Scheduler, loop: ForOp, parameters: CPUParameters) -> bool:
    """Schedule a loop around reductions along itself, if that is the way to walk memory."""
    if folded := fold_columns(scheduler, loop):
        for name in folded:
            _vectorize_row(scheduler, scheduler.nest.loops[name], parameters)
        return True
    if not _prefers_outer(loop, scheduler.nest.buffers) or not _fits_lanes(loop):
        return False
    _vectorize_last(scheduler, loop, parameters)
    return True


def _vectorize_row(scheduler: Scheduler, loop: ForOp, parameters: CPUParameters) -> None:
    """A loop of a row: along itself or along the loops inside it."""
    if loop.kind.data != "serial":
        return
    if is_innermost(loop):
        vectorize_inside(scheduler, loop, parameters)
    elif loop.is_reduction or not _by_columns(scheduler, loop, parameters):
        for inner in loops_in(loop.block):
            _vectorize_row(scheduler, inner, parameters)


def _fits_lanes(loop: ForOp) -> bool:
    return vectorize_outer.unfit(loop) is None


def _vectorize_last(scheduler: Scheduler, loop: ForOp, parameters: CPUParameters) -> None:
    """Lanes along the last outer loop; its short reductions are written out."""
    lanes = shrunk(_lanes_across(loop, scheduler.nest.buffers, parameters), loop.extent)
    if known(loop.extent) is None:  # all may be in the masked rest
        lanes = min(lanes, parameters.vector_bytes // 4)
    block = loop.parent
    assert block is not None  # a loop of the function
    if (arguments := stretch_arguments(loop, lanes)) is not None:
        scheduler.do("stretch", loop.var, *arguments)
    else:
        beside = set(block.ops)
        scheduler.do("vectorize_outer", loop.var, lanes)
        made = [op for op in block.ops if op not in beside]
        _write_out_taps(scheduler, made)
        for inner in [op for each in made for op in each.walk() if isinstance(op, ForOp)]:
            if inner.parent is not None:
                turn_lanes(scheduler, inner, parameters)


def _lanes_across(loop: ForOp, buffers: dict[str, Buffer], parameters: CPUParameters) -> int:
    """Those that the heaviest of the loops inside takes: each is vectors of its own."""
    inside = (op for op in loop.walk() if isinstance(op, ForOp) and is_innermost(op))
    return min(lanes_of(op, buffers, parameters) for op in inside)


def _write_out_taps(scheduler: Scheduler, body: Sequence[Operation]) -> None:
    """Write out the short reductions among statements and in what is inside them: only the first
    and last taps of a window reach over the edge, so that most lose their mask."""
    for op in body:
        if isinstance(op, ForOp) and op.is_reduction and 0 < copies(op, True) <= MOST_TAPS:
            scheduler.do("full_unroll", op.var, True)
            continue
        for region in op.regions:
            _write_out_taps(scheduler, list(region.block.ops))


def _chunk_full_reductions(scheduler: Scheduler, parameters: CPUParameters) -> None:
    """Cut a long reduction to a single element into partial ones, for the threads.

    ```
    s[] = 0                             s[] = 0
    for r in 0 .. n { s[] += x[r] } --> for c in 0 .. n / chunk { p[c] = 0; for r.. { p[c] += .. } }
                                        for c in 0 .. n / chunk { s[] += p[c] }
    ```
    The chunks are of one size, so that the result is the same however many threads there are.
    """
    chunk = parameters.reduction_chunk
    for loop in loops_in(scheduler.func.block):
        size = scheduler.nest.most_iterations(loop)
        body = list(loop.block.ops)
        plain = len(body) == 1 and isinstance(body[0], UpdateOp)
        if not loop.is_reduction or not plain or (size is not None and size < 2 * chunk):
            continue
        outer, _ = scheduler.do("split", loop.var, chunk, "short")
        known_buffers = set(scheduler.nest.buffers)
        clear, _ = scheduler.do("rfactor", outer)
        (partial,) = scheduler.nest.buffers.keys() - known_buffers
        if known(loop.extent) is not None:
            scheduler.do("set_scope", partial, "stack")
        scheduler.do("fuse_loops", clear, outer)
