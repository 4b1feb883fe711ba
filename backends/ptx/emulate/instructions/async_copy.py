"""cp.async, commit and wait (PTX ISA 9.7.9.25): copies from global to shared memory.

The bytes are read when the copy is issued and appear in shared memory only when its group is
waited for, the latest moment a device may choose: a kernel that forgets to wait reads old or
uninitialised memory here. For the race detector the destination is written at both moments.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tensorscript.base.records import dataclass

from ..access import Reach, check_race, mark_written, reach
from ..binder import Binder
from ..machine import Lanes, Machine, Step
from ..syntax import Immediate, Instruction, Operand
from .alu import Refusal, only

_EVERYTHING = np.iinfo(np.int64).max


@dataclass(slots=True)
class PendingCopy:
    """Copies of one executed instruction that are still on their way; one row a lane."""

    lanes: Lanes
    group: Lanes
    target: Reach
    data: npt.NDArray[np.uint8]


def bind_async(instruction: Instruction, binder: Binder) -> Step:
    """`cp.async.{ca,cg}.shared.global [d], [s], size{, n}`, `.commit_group`, `.wait_group n`."""
    words = instruction.parts[1:]
    if words[:1] != ("async",):
        raise Refusal("only cp.async is emulated")
    if words[1:] == ("commit_group",):
        return _commit
    if words[1:] == ("wait_all",):
        return lambda machine: _wait(machine, None)
    if words[1:] == ("wait_group",):
        left = _constant(instruction.operands[0])
        return lambda machine: _wait(machine, left)
    only(words[1:], "ca cg shared shared::cta global L2::64B L2::128B L2::256B")
    return _copy(instruction, binder)


def _constant(operand: Operand) -> int:
    if not isinstance(operand, Immediate):
        raise Refusal("a number is expected")
    return operand.value


def _copy(instruction: Instruction, binder: Binder) -> Step:
    target_operand, source_operand, size_operand, *rest = instruction.operands
    size = _constant(size_operand)
    if size not in (4, 8, 16) or len(rest) > 1:
        raise Refusal("cp.async copies 4, 8 or 16 bytes")
    to, source = binder.address(target_operand, "shared"), binder.address(source_operand, "global")
    given = binder.source(rest[0], "u32") if rest else None

    def step(machine: Machine) -> None:
        select, lanes = machine.active, machine.active_lanes
        data = np.zeros((lanes.size, size), np.uint8)
        wanted = np.full(lanes.size, size, np.int64)
        if given is not None:
            wanted = np.broadcast_to(given(machine, select), lanes.shape).astype(np.int64)
        some = np.flatnonzero(wanted)
        addresses = np.broadcast_to(source(machine, select), lanes.shape)[some]
        for part in reach(machine, "global", addresses, size, lanes[some]):
            check_race(machine, part, "read", size)
            machine.statistics.global_loads += part.lanes.size
            machine.statistics.global_load_bytes += part.lanes.size * size
            at = some[part.positions]
            data[at] = part.region.data[part.offsets[:, None] + np.arange(size)]
        data[np.arange(size) >= wanted[:, None]] = 0
        for part in reach(machine, "shared", to(machine, select), size, lanes):
            check_race(machine, part, "write", size)
            machine.statistics.shared_stores += part.lanes.size
            group = machine.committed[part.lanes].copy()
            machine.pending.append(PendingCopy(part.lanes, group, part, data[part.positions]))

    return step


def _commit(machine: Machine) -> None:
    machine.committed[machine.active_lanes] += 1


def _wait(machine: Machine, left: int | None) -> None:
    """Deliver the active lanes' copies, but for the latest `left` groups and the open one."""
    lanes = machine.active_lanes
    limit = np.full(machine.count, -1, np.int64)
    limit[lanes] = _EVERYTHING if left is None else machine.committed[lanes] - left
    still: list[PendingCopy] = []
    for copy in machine.pending:
        assert isinstance(copy, PendingCopy)
        done = copy.group < limit[copy.lanes]
        if done.any():
            _deliver(machine, copy, done)
        if not done.all():
            keep = ~done
            still.append(_part(copy, keep))
    machine.pending = list(still)


def _part(copy: PendingCopy, where: npt.NDArray[np.bool_]) -> PendingCopy:
    lanes, offsets = copy.lanes[where], copy.target.offsets[where]
    target = Reach(copy.target.region, copy.target.space, offsets, lanes, slice(None))
    return PendingCopy(lanes, copy.group[where], target, copy.data[where])


def _deliver(machine: Machine, copy: PendingCopy, where: npt.NDArray[np.bool_]) -> None:
    part = _part(copy, where)
    size = part.data.shape[1]
    check_race(machine, part.target, "write", size)
    index = part.target.offsets[:, None] + np.arange(size)
    part.target.region.data[index] = part.data
    mark_written(part.target, 1, index)
