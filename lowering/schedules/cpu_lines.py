"""Schedules for a CPU of kernels whose lines alone are independent: scans, sorts and scatters."""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Block

from tensorscript.dialects.te.ops import ForOp, IfOp

from ..schedule import Scheduler
from ..te.dependence import carried
from .allotted import share_rows
from .cpu_kernels import tensorize
from .cpu_vectors import (
    CPUParameters,
    in_vectors,
    lanes_of,
    loops_in,
    make_parallel,
    shrunk,
    vectorize_inside,
    writes_contiguous,
)
from .loops import collapse_all
from .order_line import ranking_of


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
    schedule_lines(scheduler, parameters)


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
