"""A driver of two GPUs whose memory is the host's and whose kernels run in the emulator.

It stands in for NVIDIA's where there is no GPU: everything above `accelerator.Driver` is the code
that runs on one.
"""

from __future__ import annotations

import gc
import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from tensorscript.backends.ptx.emit import ALIGN
from tensorscript.backends.ptx.emulate import Emulator
from tensorscript.base.accelerator import ACCELERATOR
from tensorscript.base.cuda_driver import Properties, Sizes
from tensorscript.eager.modes import MODES

_POINTER_BYTES = 8


class HostDriver:
    """What `accelerator.Driver` describes.

    Attributes:
        memory: what is allocated, by address.
        started: names of the kernels that were started.
        copied: bytes that went from the host to a GPU or back.
    """

    def __init__(self, total: int = 1 << 30) -> None:
        self.total = total
        self.memory: dict[int, np.ndarray[Any, Any]] = {}
        self.started: list[str] = []
        self.copied = 0

    def count(self) -> int:
        return 2

    def properties(self, ordinal: int) -> Properties:
        return Properties(f"Emulated {ordinal}", 9, 0, self.total, 1)

    def free_memory(self, ordinal: int) -> int:
        return self.total - sum(m.nbytes for m in self.memory.values())

    def allocate(self, ordinal: int, size: int, shared: bool) -> int:
        room = np.full(size, 0xA5, np.uint8)
        address = room.ctypes.data
        self.memory[address] = room
        return address

    def release(self, ordinal: int, address: int) -> None:
        del self.memory[address]

    def _at(self, address: int) -> np.ndarray[Any, Any] | None:
        """The memory from an address on, to the end of what was allocated there."""
        starts = sorted(self.memory)
        if not (found := bisect_right(starts, address)):
            return None
        room, offset = self.memory[starts[found - 1]], address - starts[found - 1]
        return room[offset:] if offset < room.size else None

    def _bytes(self, address: int, size: int) -> np.ndarray[Any, Any]:
        room = self._at(address)
        assert room is not None and room.size >= size, "an address that was not allocated"
        return room[:size]

    def copy_in(self, ordinal: int, address: int, array: np.ndarray[Any, Any]) -> None:
        self.copied += array.nbytes
        self._bytes(address, array.nbytes)[...] = array.reshape(-1).view(np.uint8)

    def copy_out(self, ordinal: int, array: np.ndarray[Any, Any], address: int) -> None:
        self.copied += array.nbytes
        array.reshape(-1).view(np.uint8)[...] = self._bytes(address, array.nbytes)

    def copy(self, ordinal: int, target: int, source: int, size: int) -> None:
        self._bytes(target, size)[...] = self._bytes(source, size)

    def synchronize(self, ordinal: int) -> None:
        pass

    def load(self, ordinal: int, ptx: str) -> Emulator:
        return Emulator(ptx)

    def unload(self, ordinal: int, module: Any) -> None:
        pass

    def start(
        self, ordinal: int, module: Any, name: str, grid: Sizes, block: Sizes,
        arguments: Sequence[bytes], shared_bytes: int,
    ) -> None:  # fmt: skip
        self.started.append(name)
        parameters = module.module.functions[name].parameters
        values = [self._value(p, raw) for p, raw in zip(parameters, arguments, strict=True)]
        module.launch(name, grid, block, values, shared_bytes)

    def _value(self, parameter: Any, raw: bytes) -> Any:
        """An argument as the emulator takes it: the memory behind an address, or a number."""
        if len(raw) == _POINTER_BYTES and not parameter.array:
            address = struct.unpack("<Q", raw)[0]
            room = self._at(address)
            if room is not None:
                assert address % ALIGN == 0, "a GPU would load vectors of it from odd addresses"
                return room
        if parameter.array:
            return raw
        if parameter.type.startswith("f"):
            return struct.unpack({4: "<f", 8: "<d", 2: "<e"}[len(raw)], raw)[0]
        return int.from_bytes(raw, "little")


@contextmanager
def host_gpus() -> Iterator[HostDriver]:
    """Within, the machine has two such GPUs."""
    driver = HostDriver()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"driver": driver, "current": 0, "allocated": {}, "most": {}}.items():
            patch.setattr(ACCELERATOR, name, value)
        for name in ("has_gpus", "has_readings"):
            patch.setattr(MODES, name, getattr(MODES, name))
        yield driver
        gc.collect()
