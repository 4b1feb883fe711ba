"""Steps for the places of extreme elements: found along with the extreme, where that is faster.

| elements | |
|---|---|
| of less than 32 bits | searched for behind the extreme, as many are compared at once |
| others | each lane tracks its own; NaN is searched for |
"""

from __future__ import annotations

from xdsl.ir import Block

from tensorscript.dialects.te.ops import ForOp, UpdateOp

from ..schedule import Scheduler
from ..te import search
from ..te.affine import known
from ..te.track import tracked
from .cpu_vectors import CPUParameters, loops_in

NARROWEST = 4
"""Bytes of an element that a lane numbers the turns of."""
TURNS = 4
"""Vectors one behind the other that a line has at least, for each that works beside them."""
MOST_VECTORS = 4


def track_places(scheduler: Scheduler, block: Block, parameters: CPUParameters) -> None:
    """Track the places that loops of a block look for behind the loops that find the extremes."""
    loops = list(loops_in(block))
    for number, looking in enumerate(loops):
        for loop in loops[:number]:
            if tracked(loop, looking) is not None:
                _track(scheduler, loop, looking, parameters)
                break


def _track(scheduler: Scheduler, loop: ForOp, looking: ForOp, parameters: CPUParameters) -> None:
    update = loop.block.first_op
    assert isinstance(update, UpdateOp)  # it is tracked
    size, width = known(loop.extent) or 0, update.value.dtype.itemsize
    lanes = parameters.vector_bytes // width
    if width < NARROWEST or size < lanes:
        return
    vectors = 1
    while vectors < MOST_VECTORS and 2 * vectors * TURNS * lanes <= size:
        vectors *= 2
    name = looking.var
    scheduler.do("track", loop.var, name, vectors * lanes)
    if name in scheduler.nest.loops:
        left = scheduler.nest.loops[name]
        if search.first_place(left) is not None:
            scheduler.do("search", name, vectors * lanes)
