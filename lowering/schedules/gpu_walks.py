"""How a kernel's reductions go over memory: along rows, along a depth, or down columns."""

from __future__ import annotations

from tensorscript.dialects.te.ops import ForOp, FuncOp

from ..te.affine import accesses, all_buffers, coefficient, flat_index, known
from .contraction_shape import Axis
from .gpu_row_threads import LEAST_ROW
from .gpu_row_writer import perfect_nest

LEAST_NEST = 128
"""Elements of a row of several loops, the last one short: windows of images are no rows."""
MANY_THREADS = 1 << 16
"""Threads that keep a GPU busy, one for each result."""
LEAST_COLUMN = 32
"""Elements of a reduction that several warps share."""


def axis_of(loops: list[ForOp]) -> Axis:
    return Axis([f.var for f in loops], [f.extent for f in loops])


def walks_rows(func: FuncOp) -> bool:
    """The reductions' iterations lie side by side in memory, and there are enough of them."""
    buffers = all_buffers(func)
    for loop in func.walk():
        if not isinstance(loop, ForOp) or not loop.is_reduction:
            continue
        if isinstance(outer := loop.parent_op(), ForOp) and outer.is_reduction:
            continue  # a nest counts as a whole
        nest = perfect_nest(loop)[0]
        loop = nest[-1]
        size, whole = known(loop.extent), known(axis_of(nest).size)
        enough = LEAST_ROW if len(nest) == 1 else LEAST_NEST
        if size is not None and size < LEAST_ROW and whole is not None and whole < enough:
            return False
        for name, indices in accesses(loop):
            step = coefficient(flat_index(buffers[name], indices), loop.var)
            if step is not None and step.is_int(1) and buffers[name].mode == "in":
                return True
    return False


def walks_depth(func: FuncOp) -> bool:
    """Whether all that a product reads lies along its depth, or does not change along it."""
    buffers = all_buffers(func)
    loops = [op for op in func.walk() if isinstance(op, ForOp) and op.is_reduction]
    if len(loops) != 1:
        return False
    size = known(loops[0].extent)
    if size is not None and size < LEAST_ROW:
        return False
    steps = [coefficient(flat_index(buffers[n], i), loops[0].var) for n, i in accesses(loops[0])]
    return all(step is not None and (step.is_int(0) or step.is_int(1)) for step in steps)


def walks_columns(func: FuncOp, loops: list[ForOp]) -> bool:
    """Whether what is reduced lies side by side for neighbouring results, which are too few for a
    thread each."""
    results = known(axis_of(loops).size)
    if not loops or results is None or results >= MANY_THREADS:
        return False
    buffers, seen = all_buffers(func), False
    for loop in func.walk():
        if not isinstance(loop, ForOp) or not loop.is_reduction:
            continue
        if isinstance(outer := loop.parent_op(), ForOp) and outer.is_reduction:
            continue  # a nest counts as a whole
        size = known(axis_of(perfect_nest(loop)[0]).size)
        if size is not None and size < LEAST_COLUMN:
            return False
        for name, indices in accesses(loop):
            step = coefficient(flat_index(buffers[name], indices), loops[-1].var)
            if step is None or not (step.is_int(0) or step.is_int(1)):
                return False
            seen |= step.is_int(1)
    return seen
