"""Which lanes run next: groups of lanes by segment, lowest segment first.

LLVM lays blocks out so that running the lowest program counter first lets diverged lanes meet
again at the join. A group at a warp-synchronous segment runs as its members arrive; groups at
barriers are released when nothing else can run. Now and then another group than the lowest gets
a turn, so that a spinning loop cannot starve the lanes it waits for.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .errors import BarrierError, StepLimit, Trap
from .machine import WARP, Lanes, Machine, Selection
from .program import Kernel, Segment
from .types import Array

_FAIRNESS = 256


class Scheduler:
    """Runs one batch of blocks to its end."""

    def __init__(self, kernel: Kernel, machine: Machine, step_limit: int) -> None:
        self.segments = kernel.segments
        self.instructions = kernel.instructions
        self.machine = machine
        self.step_limit = step_limit
        self.groups: dict[int, Lanes] = {0: machine.every}
        self.turn = 0

    def run(self) -> None:
        """Run until every lane has exited.

        Raises:
            BarrierError: lanes wait for each other for ever, or a barrier is divergent.
            StepLimit: the step limit is reached.
        """
        while self.groups:
            self.turn += 1
            if self.turn > self.step_limit:
                self.machine.instruction = None
                self.machine.fail(StepLimit, f"not finished after {self.step_limit} steps")
            if not self.run_one():
                self.release_barriers()
        self.machine.statistics.steps += self.turn

    def order(self) -> list[int]:
        """Segments that have lanes, in the order to try them."""
        found = sorted(self.groups)
        if self.turn % _FAIRNESS == 0 and len(found) > 1:
            start = self.turn // _FAIRNESS % len(found)
            return found[start:] + found[:start]
        return found

    def run_one(self) -> bool:
        """Run one group that can run; False if none can."""
        for number in self.order():
            segment = self.segments[number]
            if segment.kind == "barrier":
                continue
            lanes = self.groups[number]
            if segment.kind == "warp":
                ready = self.arrived(segment, lanes)
                if not ready.any():
                    continue
                if not ready.all():
                    self.groups[number] = lanes[~ready]
                    lanes = lanes[ready]
                else:
                    del self.groups[number]
            else:
                del self.groups[number]
            self.run_segment(number, segment, lanes)
            return True
        return False

    def run_segment(self, number: int, segment: Segment, lanes: Lanes) -> None:
        machine = self.machine
        machine.activate(lanes)
        for index, step in segment.steps:
            machine.instruction = self.instructions[index]
            machine.instruction_id = index
            step(machine)
        executed = len(segment.steps) + (segment.end >= 0 and segment.kind != "warp")
        machine.statistics.instructions += executed * lanes.size
        if segment.end >= 0:
            machine.instruction = self.instructions[segment.end]
        if segment.kind in ("fall", "warp"):
            self.add(number + 1, lanes)
        elif segment.kind == "branch":
            taken = self.condition(segment, lanes)
            self.add(segment.target, lanes[taken])
            self.add(number + 1, lanes[~taken])
        elif segment.kind == "table":
            self.jump_table(segment, lanes)
        else:
            leaving = self.condition(segment, lanes)
            if segment.kind == "trap" and leaving.any():
                machine.fail(Trap, "trap", int(lanes[int(np.argmax(leaving))]))
            self.exit(lanes[leaving])
            self.add(number + 1, lanes[~leaving])

    def condition(self, segment: Segment, lanes: Lanes) -> npt.NDArray[np.bool_]:
        """Which lanes take the segment's ending."""
        if segment.condition is None:
            return np.ones(lanes.size, np.bool_)
        flags = segment.condition(self.machine, self.machine.active)
        return ~flags if segment.negated else flags

    def jump_table(self, segment: Segment, lanes: Lanes) -> None:
        assert segment.condition is not None
        index = segment.condition(self.machine, self.machine.active)
        index = np.broadcast_to(index, lanes.shape)
        outside = index >= len(segment.targets)
        if outside.any():
            lane = int(lanes[int(np.argmax(outside))])
            self.machine.fail(Trap, "branch index outside its table", lane)
        for value in np.unique(index):
            self.add(segment.targets[int(value)], lanes[index == value])

    def add(self, number: int, lanes: Lanes) -> None:
        """Put lanes at a segment, with those that wait there already."""
        if not lanes.size:
            return
        present = self.groups.get(number)
        if present is not None:
            lanes = np.sort(np.concatenate([present, lanes]))
        self.groups[number] = lanes

    def exit(self, lanes: Lanes) -> None:
        self.machine.live[lanes] = False
        self.machine.live_count -= lanes.size

    # -- warps -----------------------------------------------------------------------------

    def arrived(self, segment: Segment, lanes: Lanes) -> npt.NDArray[np.bool_]:
        """Which lanes at a warp-synchronous segment have all their live members there too."""
        machine = self.machine
        assert segment.members is not None
        if lanes.size == machine.live_count and lanes.size == machine.count:
            selection: Selection = slice(None)
        else:
            selection = lanes
        masks = np.broadcast_to(segment.members(machine, selection), lanes.shape)
        own = (masks >> (machine.slot[lanes] % WARP).astype(np.uint32)) & np.uint32(1)
        if not own.all():
            machine.instruction = self.instructions[segment.end]
            lane = int(lanes[int(np.argmax(own == 0))])
            machine.fail(BarrierError, "a thread outside the member mask executes this", lane)
        if lanes.size == machine.live_count:
            return np.ones(lanes.size, np.bool_)
        missing = self.warp_bits(machine.every[machine.live]) & ~self.warp_bits(lanes)
        answer: npt.NDArray[np.bool_] = (missing[machine.warp_of[lanes]] & masks) == 0
        return answer

    def warp_bits(self, lanes: Lanes) -> npt.NDArray[np.uint32]:
        """One word a warp with a bit for each of `lanes`."""
        machine = self.machine
        flags = np.zeros(machine.blocks * machine.padded, np.bool_)
        flags[machine.slot[lanes]] = True
        octets = np.packbits(flags.reshape(-1, WARP), axis=1, bitorder="little")
        return octets.view(np.uint32).reshape(-1)

    # -- barriers --------------------------------------------------------------------------

    def release_barriers(self) -> None:
        """Let go the blocks whose live threads have all arrived.

        Raises:
            BarrierError: there is no such block, or a warp is split over two barriers.
        """
        machine = self.machine
        waiting = {n: g for n, g in self.groups.items() if self.segments[n].kind == "barrier"}
        keys, needed = self.barrier_keys(waiting)
        live = np.bincount(machine.block_of[machine.live], minlength=machine.blocks)
        counts: dict[int, Array] = {}
        for number, lanes in waiting.items():
            for barrier in np.unique(keys[number]):
                here = machine.block_of[lanes[keys[number] == barrier]]
                total = counts.setdefault(int(barrier), np.zeros(machine.blocks, np.int64))
                total += np.bincount(here, minlength=machine.blocks)
        released = False
        freed: list[tuple[int, Lanes]] = []
        for number, lanes in waiting.items():
            block = machine.block_of[lanes]
            have = np.zeros(lanes.size, np.int64)
            for barrier, total in counts.items():
                have = np.where(keys[number] == barrier, total[block], have)
            want = np.where(needed[number] > 0, needed[number], live[block])
            free = have >= want
            if free.any():
                released = True
                freed.append((number, lanes[free]))
        if not released:
            self.deadlock()
        self.check_aligned(freed)
        self.let_go(freed)

    def barrier_keys(self, waiting: dict[int, Lanes]) -> tuple[dict[int, Array], dict[int, Array]]:
        """Barrier number and thread count (0 for all) of each waiting lane, by segment."""
        keys: dict[int, Array] = {}
        needed: dict[int, Array] = {}
        for number, lanes in waiting.items():
            barrier = self.segments[number].barrier
            assert barrier is not None
            keys[number] = np.broadcast_to(barrier.number(self.machine, lanes), lanes.shape)
            if barrier.threads is None:
                needed[number] = np.zeros(lanes.size, np.int64)
            else:
                threads = barrier.threads(self.machine, lanes).astype(np.int64)
                needed[number] = np.broadcast_to(threads, lanes.shape)
        return keys, needed

    def check_aligned(self, freed: list[tuple[int, Lanes]]) -> None:
        """No warp may be split over two aligned barriers."""
        machine = self.machine
        at = np.full(machine.blocks * machine.shape.warps, -1, np.int64)
        for number, lanes in freed:
            segment = self.segments[number]
            assert segment.barrier is not None
            before = at[machine.warp_of[lanes]]
            if segment.barrier.aligned and (before >= 0).any():
                lane = int(np.argmax(before >= 0))
                other = self.instructions[self.segments[int(before[lane])].end]
                machine.instruction = self.instructions[segment.end]
                machine.fail(
                    BarrierError,
                    "divergent barrier: other threads of this warp wait at PTX line"
                    f" {other.line}, {other.text!r}",
                    int(lanes[lane]),
                )
            at[machine.warp_of[lanes]] = number

    def let_go(self, freed: list[tuple[int, Lanes]]) -> None:
        machine = self.machine
        now = machine.clock.tick()
        blocks: set[int] = set()
        for number, lanes in freed:
            segment = self.segments[number]
            machine.block_since[lanes] = now
            machine.warp_since[lanes] = now
            machine.statistics.instructions += lanes.size
            blocks.update(np.unique(machine.block_of[lanes]).tolist())
            rest = np.setdiff1d(self.groups[number], lanes, assume_unique=True)
            if rest.size:
                self.groups[number] = rest
            else:
                del self.groups[number]
            if segment.barrier is not None and segment.barrier.finish is not None:
                machine.activate(lanes)
                machine.instruction = self.instructions[segment.end]
                segment.barrier.finish(machine)
            self.add(number + 1, lanes)
        machine.statistics.barriers += len(blocks)

    def deadlock(self) -> None:
        """Say who waits where.

        Raises:
            BarrierError: always.
        """
        machine = self.machine
        first = int(min(int(machine.block_of[lanes[0]]) for lanes in self.groups.values()))
        words: list[str] = []
        example = 0
        for number, lanes in sorted(self.groups.items()):
            mine = lanes[machine.block_of[lanes] == first]
            if mine.size:
                instruction = self.instructions[self.segments[number].end]
                words.append(
                    f"{mine.size} wait at PTX line {instruction.line}, {instruction.text!r}"
                )
                example = int(mine[0])
        live = int(machine.live[machine.block_of == first].sum())
        exited = machine.shape.threads - live
        machine.instruction = None
        machine.fail(
            BarrierError,
            f"deadlock: of {machine.shape.threads} threads {exited} exited, " + ", ".join(words),
            example,
        )
