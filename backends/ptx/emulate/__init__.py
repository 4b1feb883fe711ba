"""Executes PTX text on the CPU, with NumPy lanes for threads, and checks what a GPU would not.

`Emulator(text).launch(name, grid, block, args)` reads and writes NumPy arrays in place. Every
access is checked for bounds and alignment; races, reads of uninitialised shared memory, divergent
barriers and deadlocks are errors. It needs NumPy alone.
"""

from .errors import (
    BarrierError,
    EmulationError,
    LaunchError,
    MemoryFault,
    PtxSyntaxError,
    RaceError,
    StepLimit,
    Trap,
    UninitializedRead,
    UnsupportedInstruction,
)
from .launch import Emulator
from .machine import Statistics

__all__ = [
    "BarrierError",
    "EmulationError",
    "Emulator",
    "LaunchError",
    "MemoryFault",
    "PtxSyntaxError",
    "RaceError",
    "Statistics",
    "StepLimit",
    "Trap",
    "UninitializedRead",
    "UnsupportedInstruction",
]
