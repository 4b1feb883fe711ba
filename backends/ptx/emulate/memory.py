"""The emulated state spaces: bytes at fake addresses, each access checked.

Global and constant variables and the arrays of a launch are allocations at 256-byte aligned
addresses with guard gaps between them. Shared, local and parameter space have their own small
addresses, as on the device; a generic address adds the window of its space.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorscript.base.records import dataclass

from .errors import LaunchError
from .races import Shadow
from .types import UNSIGNED, Array

Bytes = npt.NDArray[np.uint8]
Indices = npt.NDArray[np.int64]

GLOBAL_BASE = 0x0002_0000_0000
SHARED_BASE = 0x400
LOCAL_BASE = 0x0010_0000
PARAM_BASE = 0x4000
_GAP = 4096
_PAGE = 256

# Generic address = window + address in the space; global and constant addresses are generic.
WINDOWS: dict[str, int] = {
    "shared": 0x7E00_0000_0000,
    "local": 0x7D00_0000_0000,
    "param": 0x7C00_0000_0000,
    "global": 0,
    "const": 0,
}
_WINDOW_SHIFT = 40
_SPACE_OF_WINDOW = {WINDOWS[name] >> _WINDOW_SHIFT: name for name in ("shared", "local", "param")}


def space_of_generic(addresses: npt.NDArray[np.uint64]) -> list[tuple[str, npt.NDArray[np.bool_]]]:
    """Split generic addresses by state space: (space, where) for each space present."""
    windows = addresses >> np.uint64(_WINDOW_SHIFT)
    found: dict[str, npt.NDArray[np.bool_]] = {}
    for window in np.unique(windows):
        name = _SPACE_OF_WINDOW.get(int(window), "global")
        where = windows == window
        found[name] = found[name] | where if name in found else where
    return list(found.items())


@dataclass(slots=True)
class Region:
    """Bytes with views of every width.

    `shadow` is the race history, if races are looked for here; `written` has a byte of 1 for each
    byte that holds a value, if uninitialised reads are.
    """

    name: str
    data: Bytes
    read_only: bool = False
    shadow: Shadow | None = None
    written: Region | None = None
    views: dict[int, Array] = field(default_factory=dict)

    def view(self, width: int) -> Array:
        """The bytes as unsigned integers of `width` bytes (a ragged end is left out)."""
        found = self.views.get(width)
        if found is None:
            usable = self.data.size // width * width
            found = self.data[:usable].view(UNSIGNED[width])
            self.views[width] = found
        return found


@dataclass(frozen=True, slots=True)
class Allocation:
    """A region at an address of the global or constant space."""

    address: int
    region: Region

    @property
    def size(self) -> int:
        return self.region.data.size

    @property
    def end(self) -> int:
        return self.address + self.size


class GlobalMemory:
    """All allocations, by address."""

    def __init__(self) -> None:
        self.allocations: list[Allocation] = []
        self.starts: list[int] = []
        self.top = GLOBAL_BASE

    def add(self, region: Region) -> Allocation:
        allocation = Allocation(self.top, region)
        self.allocations.append(allocation)
        self.starts.append(self.top)
        self.top += -(-(region.data.size + _GAP) // _PAGE) * _PAGE
        return allocation

    def find(self, address: int) -> Allocation | None:
        """The allocation that `address` lies in, if any."""
        index = bisect_right(self.starts, address) - 1
        if index < 0 or address >= self.allocations[index].end:
            return None
        return self.allocations[index]

    def nearest(self, address: int) -> str:
        """Words for an error message: where a stray address lies."""
        if address < GLOBAL_BASE:
            return "a null or wild pointer"
        index = bisect_right(self.starts, address) - 1
        allocation = self.allocations[index] if index >= 0 else None
        if allocation is None or address > allocation.end + _GAP:
            return "far from every allocation"
        beyond = address - allocation.address
        return f"at byte {beyond} of {allocation.region.name} ({allocation.size} bytes)"

    def bind(self, arrays: list[Array], names: list[str], races: bool) -> list[int]:
        """Give host arrays device addresses, by reference; overlapping arrays share a region.

        Raises:
            LaunchError: an array that is not C-contiguous.
        """
        for array, name in zip(arrays, names, strict=True):
            if not array.flags.c_contiguous:
                raise LaunchError(f"{name} is not C-contiguous; pass its contiguous base instead")
        addresses = [0] * len(arrays)
        for start, end, members in _merged_spans(arrays):
            region = Region(
                " and ".join(names[i] for i in members),
                _bytes_at([arrays[i] for i in members], start, end),
                read_only=not all(arrays[i].flags.writeable for i in members),
                shadow=Shadow(end - start) if races else None,
            )
            base = self.add(region).address
            for i in members:
                addresses[i] = base + (_start(arrays[i]) - start if arrays[i].size else 0)
        return addresses


def _start(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def _merged_spans(arrays: list[Array]) -> list[tuple[int, int, list[int]]]:
    """(first byte, end, indices) of each group of arrays that overlap in host memory."""
    order = sorted(range(len(arrays)), key=lambda i: _start(arrays[i]))
    spans: list[tuple[int, int, list[int]]] = []
    for i in order:
        start = _start(arrays[i])
        end = start + arrays[i].nbytes
        if spans and arrays[i].nbytes and start < spans[-1][1]:
            first, last, members = spans[-1]
            spans[-1] = (first, max(last, end), [*members, i])
        else:
            spans.append((start, end, [i]))
    return spans


def _bytes_at(arrays: list[Array], start: int, end: int) -> Bytes:
    """A byte view over [start, end); the caller keeps the arrays alive."""
    if len(arrays) == 1 or end == start:
        return arrays[0].reshape(-1).view(np.uint8)
    buffer: Any = (ctypes.c_ubyte * (end - start)).from_address(start)
    return np.frombuffer(buffer, np.uint8)
