"""bar and barrier (PTX ISA 9.7.13.1): which barrier, for how many threads, and its reduction.

The waiting itself is the scheduler's.
"""

from __future__ import annotations

import numpy as np

from tensorscript.base.records import dataclass

from ..binder import Binder, Source, flatten
from ..machine import Machine, Step
from ..syntax import Instruction, Operand
from ..types import Array
from .alu import Refusal

_WORDS = {"cta", "sync", "aligned", "red", "popc", "and", "or", "pred", "u32"}


@dataclass(frozen=True, slots=True)
class Barrier:
    """`threads` is None for all of the block; `finish` runs on release, over the lanes released.

    An aligned barrier must be reached by all threads of a warp at one and the same instruction.
    """

    number: Source
    threads: Source | None
    aligned: bool
    finish: Step | None


def bind_barrier(instruction: Instruction, binder: Binder) -> Barrier:
    """`bar.sync a{, b}`, `barrier{.cta}.sync{.aligned} a{, b}`, `bar.red.op.type d, a{, b}, c`."""
    base, *words = instruction.parts
    for word in words:
        if word not in _WORDS:
            raise Refusal(f"modifier .{word} is not emulated")
    aligned = base == "bar" or "aligned" in words
    operands = flatten(instruction.operands)
    if "red" in words:
        if len(operands) not in (3, 4):
            raise Refusal("wrong operands of a barrier reduction")
        finish = _reduction(words, binder, operands[0], operands[-1])
        operands = operands[1:-1]
    elif "sync" in words:
        finish = None
    else:
        raise Refusal("only sync and red barriers are emulated")
    threads = binder.source(operands[1], "u32") if len(operands) > 1 else None
    return Barrier(binder.source(operands[0], "u32"), threads, aligned, finish)


def _reduction(words: list[str], binder: Binder, target: Operand, flag: Operand) -> Step:
    mode = next((w for w in words if w in ("popc", "and", "or")), None)
    if mode is None:
        raise Refusal("a barrier reduction needs .popc, .and or .or")
    write = binder.target(target, "u32" if mode == "popc" else "pred")
    read = binder.source(flag, "pred")

    def step(machine: Machine) -> None:
        lanes = machine.active_lanes
        block = machine.block_of[lanes]
        flags = np.broadcast_to(read(machine, machine.active), lanes.shape)
        yes = np.bincount(block, flags, machine.blocks).astype(np.uint32)
        asked = np.bincount(block, minlength=machine.blocks)
        answer: Array = yes if mode == "popc" else yes == asked if mode == "and" else yes > 0
        write(machine, machine.active, answer[block])

    return step
