"""Schedules for a CPU of kernels whose lines alone are independent: scans, sorts and scatters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Block

from tensorscript.dialects.te.ops import AllocOp, ForOp, IfOp, LetOp, StoreOp
from tensorscript.dialects.walks import walk_ops

from ..schedule import Scheduler
from ..te import scan
from ..te.affine import coefficient, flat_index, known
from ..te.dependence import carried
from ..te.scan import Line, line_of
from .allotted import share_rows
from .cpu_kernels import tensorize
from .cpu_vectors import (
    CPUParameters,
    in_vectors,
    lanes_of,
    loops_in,
    make_parallel,
    map_lanes,
    shrunk,
    vectorize_inside,
    writes_contiguous,
)
from .loops import collapse_all, outer_loops
from .order_line import ranking_of
from .scan_shape import LEAST_LANES


def schedule_scan(scheduler: Scheduler, parameters: CPUParameters) -> None:
    """Lines that lie side by side, so that one walks across them, are lanes."""
    lines = [loop for loop in scheduler.nest.loops.values() if _begins_line(loop)]
    if len(lines) != 1 or not _lines_as_lanes(scheduler, lines[0], parameters):
        _scan_in_vectors(scheduler, parameters)
        schedule_lines(scheduler, parameters)
        return
    for loop in loops_in(scheduler.func.block):  # whole vectors, and the lines that are left
        make_parallel(scheduler, loop, parameters)


def _begins_line(loop: ForOp) -> bool:
    """An iteration runs along a line, from a number of its own on (`tg_to_te/sequential.py`)."""
    kinds = (AllocOp, StoreOp, ForOp)
    ops = list(loop.block.ops)
    return len(ops) == len(kinds) and all(map(isinstance, ops, kinds))


VECTORS = 4
"""Registers of running values side by side: additions wait for the ones before them."""


def _lines_as_lanes(scheduler: Scheduler, loop: ForOp, parameters: CPUParameters) -> bool:
    """Whether neighbouring lines lie side by side, and there are enough for vectors of them."""
    alloc, _, line = loop.block.ops
    assert isinstance(alloc, AllocOp) and isinstance(line, ForOp)  # it begins a line
    lanes = VECTORS * parameters.vector_bytes // alloc.buffer.dtype.itemsize
    buffers = scheduler.nest.buffers
    results = [op for op in walk_ops(line) if isinstance(op, StoreOp)]
    steps = [coefficient(flat_index(buffers[op.buffer], op.indices), loop.var) for op in results]
    if any(step is None or not step.is_int(1) for step in steps):
        return False
    if (known(loop.extent) or lanes) < lanes:
        return False
    _, inner, *_ = scheduler.do("split", loop.var, lanes, "loop")
    scheduler.do("expand", alloc.buffer.name, inner)
    for made in (*scheduler.do("distribute", inner), inner):
        scheduler.do("vectorize", made)
    return True


def _scan_in_vectors(scheduler: Scheduler, parameters: CPUParameters) -> None:
    """The elements of lines that lie side by side are lanes of scans."""
    buffers = scheduler.nest.buffers
    for loop in list(scheduler.nest.loops.values()):
        line = line_of(loop)
        if line is None:
            continue
        lanes = parameters.vector_bytes // line.running.dtype.itemsize
        stores = [op for op in loop.block.ops if isinstance(op, StoreOp)]
        steps = [coefficient(flat_index(buffers[op.buffer], op.indices), loop.var) for op in stores]
        aligned = all(step is not None and step.is_int(1) for step in steps)
        if not aligned or lanes < LEAST_LANES or (known(loop.extent) or lanes) < lanes:
            continue
        if _regroups(line, stores) and scan.check(scheduler.nest, loop.var, lanes) is None:
            scheduler.do("scan", loop.var, lanes)


def _regroups(line: Line, stores: Sequence[StoreOp]) -> bool:
    """Whether groups of lanes give what one after the other do, sums of floats within what the
    results are rounded to."""
    dtype = line.running.dtype
    if line.update.combiner != "add" or not dtype.is_floating_point:
        return True
    return all(op.value.op == "cast" and op.value.dtype.bits < dtype.bits for op in stores)


def schedule_lines(scheduler: Scheduler, parameters: CPUParameters) -> None:
    """Lines are independent, the outermost loop takes them in parallel."""
    block = scheduler.func.block
    for loop in loops_in(block):
        alone = len(list(block.ops)) == 1
        if alone and not loop.is_reduction:
            make_parallel(scheduler, loop, parameters)


def schedule_sort(scheduler: Scheduler, parameters: CPUParameters) -> None:
    if ranking_of(scheduler.func) is not None:
        tensorize(scheduler, "sort", parameters.vector_bytes)
    loops, block = outer_loops(scheduler.func)
    if loops and all(isinstance(op, LetOp | StoreOp) for op in block.ops):
        _lines_in_vectors(scheduler, parameters)
    else:
        schedule_lines(scheduler, parameters)


def _lines_in_vectors(scheduler: Scheduler, parameters: CPUParameters) -> None:
    """Lines that are sorted in registers (`order_short.py`) are lanes, wherever their ends go."""
    collapse_all(scheduler, scheduler.func.block)
    inner = outer_loops(scheduler.func)[0][-1]
    lanes = shrunk(map_lanes(inner, scheduler.nest.buffers, parameters), inner.extent)
    in_vectors(scheduler, inner, lanes)
    for loop in loops_in(scheduler.func.block):
        if loop.kind.data == "serial":
            make_parallel(scheduler, loop, parameters)


COPY_FACTOR = 8
"""What the base has to be larger than others to be copied by threads: one thread updates all of
it, and finds what another one copied in that one's cache."""


def schedule_scatter(scheduler: Scheduler, parameters: CPUParameters) -> None:
    """The copy of the base is a map; the updates stay in order, each as vectors where it can be.
    One thread updates all, unless threads get rows that they copy and update."""
    block = scheduler.func.block
    shared = share_rows(scheduler, parameters)
    collapse_all(scheduler, block)
    for loop in loops_in(block if shared is None else shared.block):
        if carried(scheduler.nest, loop, reductions_commute=False) is None:
            vectorize_inside(scheduler, loop, parameters)
        else:
            _vectorize_updates(scheduler, loop, parameters)
    alone = shared is not None
    copying = parameters if alone else replace(parameters, grain=COPY_FACTOR * parameters.grain)
    for loop in loops_in(block):
        if loop.kind.data == "serial" and carried(scheduler.nest, loop, False) is None:
            make_parallel(scheduler, loop, copying)


def _vectorize_updates(scheduler: Scheduler, loop: ForOp, parameters: CPUParameters) -> None:
    """Lanes along the innermost loops where updates go to neighbouring elements."""
    inside = _inner_loops(loop.block)
    for inner in inside:
        _vectorize_updates(scheduler, inner, parameters)
    nest = scheduler.nest
    if inside or not writes_contiguous(loop, nest.buffers):
        return
    if carried(nest, loop, reductions_commute=False) is None:
        lanes = shrunk(lanes_of(loop, nest.buffers, parameters), loop.extent)
        in_vectors(scheduler, loop, lanes)


def _inner_loops(block: Block) -> list[ForOp]:
    """The loops of a block, those that run under a condition too."""
    found = []
    for op in block.ops:
        if isinstance(op, IfOp):
            found += _inner_loops(op.then_body.block)
        elif isinstance(op, ForOp):
            found.append(op)
    return found
