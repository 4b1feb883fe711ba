"""Counts of what elements are equal to: histograms, sums of one-hot rows."""

from __future__ import annotations

from tensorscript.dialects.te.ops import ForOp

from ..schedule import Scheduler
from ..te.affine import known
from ..te.tally import tally_of
from .cpu_vectors import CPUParameters, is_innermost, loops_in, make_parallel, vectorize_inside
from .loops import collapse_all

LEAST_RESULTS = 32
"""Fewer are compared with all elements in less time."""
MOST_RESULTS = 1 << 13
"""Counts that lie in a first cache, or near it."""
CHUNK = 512


def tally_elements(scheduler: Scheduler, loop: ForOp, parameters: CPUParameters) -> bool:
    """Schedule a loop over counts so, if it is one; places are found in vectors."""
    found = tally_of(loop)
    if found is None or not LEAST_RESULTS <= (known(loop.extent) or 0) <= MOST_RESULTS:
        return False
    around, block = loop.parent_op(), loop.parent
    assert block is not None  # a loop of the function
    scheduler.do("tally", loop.var, found.reduction.var, CHUNK)
    for made in loops_in(block):
        first = made if is_innermost(made) else next(iter(loops_in(made.block)))  # of places
        vectorize_inside(scheduler, first, parameters)
    if isinstance(around, ForOp):
        collapse_all(scheduler, scheduler.func.block)
        for outer in loops_in(scheduler.func.block):
            make_parallel(scheduler, outer, parameters)
    return True
