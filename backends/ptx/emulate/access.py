"""How lanes reach bytes: address to region, with bounds, alignment, race and written checks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorscript.base.records import dataclass

from .errors import MemoryFault, RaceError, UninitializedRead
from .machine import Lanes, Machine
from .memory import LOCAL_BASE, PARAM_BASE, SHARED_BASE, WINDOWS, Region, space_of_generic
from .types import Array

Addresses = npt.NDArray[np.uint64]
_WRITTEN = {1: 0x01, 2: 0x0101, 4: 0x01010101, 8: 0x0101010101010101}


@dataclass(frozen=True, slots=True)
class Reach:
    """Part of an access: `positions` into the active lanes that fall in one region."""

    region: Region
    space: str
    offsets: Lanes
    lanes: Lanes
    positions: Any  # slice for all, or an index array


def reach(
    machine: Machine, space: str, addresses: Addresses, size: int, lanes: Lanes
) -> Iterator[Reach]:
    """Find the bytes of an access of `size` aligned bytes by each of `lanes`.

    Raises:
        MemoryFault: a misaligned or stray address.
    """
    if addresses.shape[0] != lanes.size:
        addresses = np.broadcast_to(addresses, lanes.shape)
    if size > 1:
        stray = addresses & np.uint64(size - 1)
        if stray.any():
            at = int(np.argmax(stray != 0))
            machine.fail(
                MemoryFault,
                f"misaligned {space} access: address {int(addresses[at]):#x} is not a multiple"
                f" of {size}",
                int(lanes[at]),
            )
    if space == "generic":
        for name, where in space_of_generic(addresses):
            at_space = addresses[where] - np.uint64(WINDOWS[name])
            kept = np.flatnonzero(where)
            yield from _in_space(machine, name, at_space, size, lanes[where], kept)
    else:
        yield from _in_space(machine, space, addresses, size, lanes, slice(None))


def _in_space(
    machine: Machine, space: str, addresses: Addresses, size: int, lanes: Lanes, positions: Any
) -> Iterator[Reach]:
    spaces = machine.spaces
    if space in ("global", "const"):
        yield from _global(machine, addresses, size, lanes, positions)
    elif space == "shared":
        offsets = _bounded(machine, space, addresses, SHARED_BASE, spaces.shared_size, size, lanes)
        flat = offsets + machine.block_of[lanes] * spaces.shared_stride
        yield Reach(spaces.shared, space, flat, lanes, positions)
    elif space == "local":
        offsets = _bounded(machine, space, addresses, LOCAL_BASE, spaces.local_size, size, lanes)
        flat = offsets + lanes * spaces.local_stride
        yield Reach(spaces.local, space, flat, lanes, positions)
    else:
        total = spaces.parameters.data.size
        offsets = _bounded(machine, space, addresses, PARAM_BASE, total, size, lanes)
        yield Reach(spaces.parameters, space, offsets, lanes, positions)


def _bounded(
    machine: Machine,
    space: str,
    addresses: Addresses,
    base: int,
    total: int,
    size: int,
    lanes: Lanes,
) -> Lanes:
    offsets = addresses.view(np.int64) - base
    outside = (offsets < 0) | (offsets > total - size)
    if outside.any():
        at = int(np.argmax(outside))
        machine.fail(
            MemoryFault,
            f"{space} access of {size} bytes at {int(addresses[at]):#x} is outside the"
            f" {total} bytes of {space} memory (offset {int(offsets[at])})",
            int(lanes[at]),
        )
    return offsets


def _global(
    machine: Machine, addresses: Addresses, size: int, lanes: Lanes, positions: Any
) -> Iterator[Reach]:
    memory = machine.spaces.memory
    rest: Lanes | None = None
    while addresses.size:
        allocation = memory.find(int(addresses[0]))
        offsets = addresses.view(np.int64) - (allocation.address if allocation else 0)
        if allocation is None or offsets[0] > allocation.size - size:
            machine.fail(
                MemoryFault,
                f"global access of {size} bytes at {int(addresses[0]):#x} is out of bounds:"
                f" {memory.nearest(int(addresses[0]))}",
                int(lanes[0]),
            )
        inside = (offsets >= 0) & (offsets <= allocation.size - size)
        if inside.all():
            yield Reach(allocation.region, "global", offsets, lanes, _compose(positions, rest))
            return
        here = np.flatnonzero(inside)
        where = here if rest is None else rest[here]
        yield Reach(
            allocation.region, "global", offsets[here], lanes[here], _compose(positions, where)
        )
        outside = np.flatnonzero(~inside)
        rest = outside if rest is None else rest[outside]
        addresses, lanes = addresses[outside], lanes[outside]


def _compose(positions: Any, part: Lanes | None) -> Any:
    if part is None:
        return positions
    return part if isinstance(positions, slice) else positions[part]


def check_race(machine: Machine, part: Reach, kind: str, size: int) -> None:
    """Tell the race detector of an access.

    Raises:
        RaceError: it conflicts with an earlier, unordered access of another thread.
    """
    shadow = part.region.shadow
    if shadow is None:
        return
    found = shadow.check(kind, part.offsets, size, machine.accessors(part.lanes))
    if found is None:
        return
    lane = int(part.lanes[found.lane])
    other = machine.instructions[found.other_instruction]
    machine.fail(
        RaceError,
        f"race on {part.space} memory ({part.region.name}, byte {int(part.offsets[found.lane])}):"
        f" this {kind} is not ordered after the {found.other_kind} by"
        f" {machine.thread_name(found.other_thread)} at PTX line {other.line}, {other.text!r}",
        lane,
    )


def check_written(machine: Machine, part: Reach, element: int, index: Array) -> None:
    """Refuse to read bytes of shared memory that nobody wrote.

    Raises:
        UninitializedRead: at least one byte is unwritten.
    """
    if part.region.written is None:
        return
    unwritten = part.region.written.view(element)[index] != _WRITTEN[element]
    if unwritten.any():
        at = int(np.argmax(unwritten))
        machine.fail(
            UninitializedRead,
            f"read of uninitialised {part.space} memory ({part.region.name}, byte"
            f" {int(part.offsets[at])})",
            int(part.lanes[at]),
        )


def check_writable(machine: Machine, part: Reach) -> None:
    """Refuse to store to a read-only array, constant or parameter memory.

    Raises:
        MemoryFault: the region is read-only.
    """
    if part.region.read_only:
        machine.fail(
            MemoryFault, f"store to read-only memory ({part.region.name})", int(part.lanes[0])
        )


def mark_written(part: Reach, element: int, index: Array) -> None:
    """Note that these elements hold a value now."""
    if part.region.written is not None:
        part.region.written.view(element)[index] = _WRITTEN[element]
