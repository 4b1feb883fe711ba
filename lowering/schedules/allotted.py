"""Steps for rows that are copied and then changed where data says: by the threads that copied them.

| rows are changed | steps |
|---|---|
| at the place of the outermost loop (`scatter` along a later dimension) | `fuse_loops` |
| where data says, with much to do at each place (`index_add`) | `allot` |
| where data says, element by element | none: every thread would walk all places for little |
"""

from __future__ import annotations

from tensorscript.dialects.te.ops import ForOp
from tensorscript.dialects.te.schedule import Step

from ..schedule import Scheduler
from ..te.affine import known
from ..te.allot import Allotment, allotment
from ..te.dependence import carried
from .cpu_vectors import CPUParameters
from .work import iterations_of, work_of

PLACE_WORK = 64
"""Operations that it takes to see whether a place is a thread's own, and to guess that wrong."""
PLACE_SHARE = 16
"""All work of a thread is so many times as much as to look at places."""
TASKS = 2
"""Threads that share rows whose number is not known, at least."""


def share_rows(scheduler: Scheduler, parameters: CPUParameters) -> ForOp | None:
    """Bring a copy and the changes of what was copied into one loop, which threads may share, if a
    kernel consists of these and is worth it."""
    nest, loops = scheduler.nest, list(scheduler.func.block.ops)
    if len(loops) != 2:
        return None
    first, second = loops
    if not isinstance(first, ForOp) or not isinstance(second, ForOp):
        return None
    work = work_of(nest, first) + work_of(nest, second)
    if known(first.extent) is not None and work < 2 * parameters.grain:
        return None
    together = Step("fuse_loops", first.var, (second.var,))
    if scheduler.why_not(together) is not None:
        return _allot(scheduler, first, second, parameters, work)
    if carried(nest, second, reductions_commute=False) is not None:
        return None
    scheduler.apply(together)
    return first


def _allot(
    scheduler: Scheduler, first: ForOp, second: ForOp, parameters: CPUParameters, work: int
) -> ForOp | None:
    """Rows for a thread that are worth one, and worth a look at all places."""
    nest = scheduler.nest
    found = allotment(nest, first, second)
    if isinstance(found, str):
        return None
    rows, looking = iterations_of(nest, first), PLACE_SHARE * PLACE_WORK * _places(scheduler, found)
    grain = max(1, max(parameters.grain, looking) * rows // work)
    worth = work >= TASKS * looking if known(first.extent) is None else rows >= 2 * grain
    if not worth:
        return None
    (name,) = scheduler.do("allot", first.var, second.var, grain)
    return nest.loops[name]


def _places(scheduler: Scheduler, found: Allotment) -> int:
    """How often rows are changed."""
    nest, places = scheduler.nest, 1
    for loop in (*nest.enclosing(found.place), found.place):
        places *= iterations_of(nest, loop)
    return places
