"""The state of a batch of blocks while a kernel runs: one lane a thread, one array a register.

Register arrays are never written in place: an instruction over all live lanes binds a new array,
one over some lanes copies first. So `mov` may share its source's array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from tensorscript.base.records import dataclass

from .errors import EmulationError
from .memory import GlobalMemory, Region
from .races import Accessors
from .syntax import Instruction
from .types import DTYPES, Array

WARP = 32
Lanes = npt.NDArray[np.int64]
Selection = slice | Lanes
Step = Callable[["Machine"], None]
EVERYTHING = slice(None)


@dataclass(slots=True)
class Statistics:
    """Counts over a launch, by thread unless said.

    `steps` counts scheduled straight-line segments, `barriers` releases of a whole block,
    `bank_conflicts` the times that a warp goes to shared memory once more (`banks.py`).
    """

    instructions: int = 0
    steps: int = 0
    barriers: int = 0
    global_loads: int = 0
    global_stores: int = 0
    global_load_bytes: int = 0
    global_store_bytes: int = 0
    shared_loads: int = 0
    shared_stores: int = 0
    bank_conflicts: int = 0
    local_loads: int = 0
    local_stores: int = 0
    atomics: int = 0


@dataclass(frozen=True, slots=True)
class Shape:
    """Grid and block of a launch, as (x, y, z)."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def warps(self) -> int:
        return -(-self.threads // WARP)


@dataclass(frozen=True, slots=True)
class Spaces:
    """The memory that a batch of blocks sees; shared and local are striped by block and lane."""

    memory: GlobalMemory
    shared: Region
    shared_size: int
    dynamic_size: int
    local: Region
    local_size: int
    parameters: Region

    @property
    def shared_stride(self) -> int:
        return stride(self.shared_size)

    @property
    def local_stride(self) -> int:
        return stride(self.local_size)


def stride(size: int) -> int:
    """Distance between the copies of a space of `size` bytes: keeps 16-byte alignment."""
    return -(-size // 16) * 16


class Clock:
    """Orders accesses over a launch: it ticks at every barrier of any block or warp."""

    def __init__(self) -> None:
        self.now = 1

    def tick(self) -> int:
        self.now += 1
        return self.now


class Machine:
    """Lanes `0..count`: lane = block in the batch * threads + thread.

    `select` is what register-only instructions run on: everything when all live lanes are active
    (exited lanes may compute garbage), else the active lanes. `active` is exactly the active lanes,
    for instructions that touch memory or other lanes. `pending` holds asynchronous copies on their
    way, `committed` how many groups of them each lane has closed. `banks`: whether conflicts of
    shared memory are counted.
    """

    def __init__(
        self,
        kernel: str,
        shape: Shape,
        first_block: int,
        blocks: int,
        register_types: list[str],
        instructions: list[Instruction],
        spaces: Spaces,
        statistics: Statistics,
        clock: Clock,
        banks: bool = False,
    ) -> None:
        self.kernel = kernel
        self.shape = shape
        self.first_block = first_block
        self.blocks = blocks
        self.count = blocks * shape.threads
        self.spaces = spaces
        self.instructions = instructions
        self.statistics = statistics
        self.clock = clock
        self.banks = banks
        zeros = {t: np.zeros(self.count, DTYPES[t]) for t in set(register_types)}
        self.registers: list[Array] = [zeros[t] for t in register_types]
        self.carry = np.zeros(self.count, np.bool_)
        self.live = np.ones(self.count, np.bool_)
        self.live_count = self.count
        lane = np.arange(self.count, dtype=np.int64)
        self.every = lane
        self.block_of = lane // shape.threads
        self.thread_of = lane % shape.threads
        self.padded = shape.warps * WARP
        self.slot = self.block_of * self.padded + self.thread_of
        self.warp_of = self.slot // WARP
        self.global_thread = first_block * self.padded + self.slot
        self.block_since = np.zeros(self.count, np.int32)
        self.warp_since = np.zeros(self.count, np.int32)
        self.committed = np.zeros(self.count, np.int64)
        self.pending: list[object] = []
        self.specials: dict[str, Array] = {}
        self.select: Selection = EVERYTHING
        self.active: Selection = EVERYTHING
        self.instruction: Instruction | None = None
        self.instruction_id = 0

    # -- which lanes run -------------------------------------------------------------------

    def activate(self, lanes: Lanes) -> None:
        """Make `lanes` (sorted, live) the active ones."""
        if lanes.size == self.live_count:
            self.select = EVERYTHING
            self.active = EVERYTHING if lanes.size == self.count else lanes
        else:
            self.select = self.active = lanes

    @property
    def active_lanes(self) -> Lanes:
        return self.every if isinstance(self.active, slice) else self.active

    @property
    def active_count(self) -> int:
        return self.count if isinstance(self.active, slice) else self.active.size

    # -- registers -------------------------------------------------------------------------

    def write(self, slot: int, select: Selection, value: Array) -> None:
        """Set a register in the selected lanes; `value` may have one element for all."""
        if isinstance(select, slice):
            if value.shape[0] != self.count:
                value = np.broadcast_to(value, (self.count,))
            self.registers[slot] = value
        else:
            changed = self.registers[slot].copy()
            changed[select] = value
            self.registers[slot] = changed

    # -- races and errors ------------------------------------------------------------------

    def accessors(self, lanes: Lanes) -> Accessors:
        """Who the given lanes are to the race detector."""
        return Accessors(
            self.global_thread[lanes],
            self.padded,
            self.block_since[lanes],
            self.warp_since[lanes],
            self.clock.now,
            self.instruction_id,
        )

    def thread_name(self, global_thread: int) -> str:
        """`block (1,0,0) thread (5,0,0)` of a thread id as the race detector keeps it."""
        block, thread = divmod(global_thread, self.padded)
        return f"block {_triple(block, self.shape.grid)} thread {_triple(thread, self.shape.block)}"

    def place(self, lane: int | None = None, instruction: Instruction | None = None) -> str:
        """`kernel k, line 12, "st.global...", block (0,0,0) thread (1,0,0)`."""
        at = instruction or self.instruction
        words = f"kernel {self.kernel}"
        if at is not None:
            words += f", PTX line {at.line}, {at.text!r}"
        if lane is not None:
            words += ", " + self.thread_name(int(self.global_thread[lane]))
        return words

    def fail(self, error: type[EmulationError], message: str, lane: int | None = None) -> NoReturn:
        """Raise `error` with the place of the instruction that is running."""
        raise error(f"{message}; {self.place(lane)}")


def _triple(index: int, size: tuple[int, int, int]) -> str:
    return f"({index % size[0]},{index // size[0] % size[1]},{index // (size[0] * size[1])})"
