"""Special registers (PTX ISA chapter 10): each a function from the machine to one value a lane."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .machine import WARP, Machine
from .types import Array

Special = Callable[[Machine], Array]


def _cached(name: str, compute: Special) -> Special:
    def read(machine: Machine) -> Array:
        found = machine.specials.get(name)
        if found is None:
            found = np.broadcast_to(compute(machine), (machine.count,))
            machine.specials[name] = found
        return found

    return read


def _thread_index(axis: int) -> Special:
    def compute(machine: Machine) -> Array:
        size = machine.shape.block
        return machine.thread_of // int(np.prod(size[:axis], dtype=np.int64)) % size[axis]

    return compute


def _block_index(axis: int) -> Special:
    def compute(machine: Machine) -> Array:
        size = machine.shape.grid
        block = machine.block_of + machine.first_block
        return block // int(np.prod(size[:axis], dtype=np.int64)) % size[axis]

    return compute


def _block_size(axis: int) -> Special:
    return lambda machine: np.array([machine.shape.block[axis]])


def _grid_size(axis: int) -> Special:
    return lambda machine: np.array([machine.shape.grid[axis]])


def lane_index(machine: Machine) -> Array:
    """Each thread's position in its warp."""
    return machine.thread_of % WARP


def _lane_mask(compute: Callable[[Array], Array]) -> Special:
    return lambda machine: compute(lane_index(machine)) & 0xFFFFFFFF


def _ticks(machine: Machine) -> Array:
    return np.full(machine.count, machine.statistics.instructions, np.uint64)


_FIXED: dict[str, Special] = {
    **{f"%tid.{axis}": _thread_index(i) for i, axis in enumerate("xyz")},
    **{f"%ntid.{axis}": _block_size(i) for i, axis in enumerate("xyz")},
    **{f"%ctaid.{axis}": _block_index(i) for i, axis in enumerate("xyz")},
    **{f"%nctaid.{axis}": _grid_size(i) for i, axis in enumerate("xyz")},
    "%laneid": lane_index,
    "%warpid": lambda machine: machine.thread_of // WARP,
    "%nwarpid": lambda machine: np.array([machine.shape.warps]),
    "%lanemask_eq": _lane_mask(lambda lane: 1 << lane),
    "%lanemask_lt": _lane_mask(lambda lane: (1 << lane) - 1),
    "%lanemask_le": _lane_mask(lambda lane: (2 << lane) - 1),
    "%lanemask_ge": _lane_mask(lambda lane: ~((1 << lane) - 1)),
    "%lanemask_gt": _lane_mask(lambda lane: ~((2 << lane) - 1)),
    "%smid": lambda machine: np.array([0]),
    "%nsmid": lambda machine: np.array([1]),
    "%gridid": lambda machine: np.array([0]),
    "%dynamic_smem_size": lambda machine: np.array([machine.spaces.dynamic_size]),
    "%total_smem_size": lambda machine: np.array([machine.spaces.shared_size]),
}

SPECIALS: dict[str, Special] = {
    **{name: _cached(name, compute) for name, compute in _FIXED.items()},
    "%clock": _ticks,
    "%clock64": _ticks,
    "%globaltimer": _ticks,
}
