"""Steps for the places of extreme elements: found along with the extreme, where that is faster.

| elements | |
|---|---|
| many | the chunk with the extreme is searched, whose elements are no more than a page or two |
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
CHUNK = 4096
"""Elements of a chunk: to add up its lanes is little work then, and so is to search it."""
LEAST_CHUNKS = 8


def narrow_places(scheduler: Scheduler, block: Block) -> None:
    """Look for places in long lines by chunks of them."""
    for loop, looking in _searches(block):
        if (known(loop.extent) or 0) >= LEAST_CHUNKS * CHUNK:
            scheduler.do("narrow", loop.var, looking.var, CHUNK)


def track_places(scheduler: Scheduler, block: Block, parameters: CPUParameters) -> None:
    """Track the places that loops of a block look for behind the loops that find the extremes."""
    for loop, looking in _searches(block):
        _track(scheduler, loop, looking, parameters)


def _searches(block: Block) -> list[tuple[ForOp, ForOp]]:
    """The loops of a block that find an extreme, each with the one that looks for its place."""
    loops = list(loops_in(block))
    found = []
    for number, looking in enumerate(loops):
        for loop in loops[:number]:
            if tracked(loop, looking) is not None:
                found.append((loop, looking))
                break
    return found


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
