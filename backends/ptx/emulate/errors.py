"""What the emulator reports: each is a fault in a kernel that we emitted, with its place.

A message names the kernel, the instruction's text and line in the PTX, the block, the thread and,
where there is one, the address, so that a failing test can be read without a debugger.
"""

from __future__ import annotations

from tensorscript.base.errors import InternalError

STAGE = "ptx-emulate"


class EmulationError(InternalError):
    """Base of everything that the emulator finds wrong with a kernel or a launch."""

    def __init__(self, message: str) -> None:
        super().__init__(message, STAGE)


class PtxSyntaxError(EmulationError):
    """PTX text that the parser cannot read."""


class UnsupportedInstruction(EmulationError):
    """An instruction (or a modifier or type of it) that has no row in our tables."""


class LaunchError(EmulationError):
    """Arguments, grid or block that do not fit the kernel."""


class MemoryFault(EmulationError):
    """An access outside every allocation, misaligned, or a store to read-only memory."""


class RaceError(EmulationError):
    """Two threads touched one byte, unordered, and one of them wrote it without an atomic."""


class UninitializedRead(EmulationError):
    """A load of shared memory that no thread of the block has written."""


class BarrierError(EmulationError):
    """A barrier or warp-synchronous instruction that can never be released, or is divergent."""


class Trap(EmulationError):
    """The kernel executed `trap`."""


class StepLimit(EmulationError):
    """The launch did not end within its step limit."""
