"""A kernel made ready to run: device functions inlined, straight-line segments, bound steps.

A segment is the unit of scheduling. It ends where control may go elsewhere or where lanes must
wait for each other: branches, exits, barriers, and warp-synchronous instructions (which stand in
a segment of their own).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from tensorscript.base.records import dataclass

from .binder import Binder, Place, Source
from .errors import UnsupportedInstruction
from .inline import FlatKernel, flatten_kernel
from .instructions.alu import Refusal
from .instructions.barrier import Barrier, bind_barrier
from .instructions.table import bind
from .instructions.warp import members_of
from .machine import Step
from .memory import LOCAL_BASE, PARAM_BASE, SHARED_BASE
from .syntax import Address, Instruction, Label, Module, Register, Symbol, Variable

_WARP_SYNC = frozenset({"shfl", "vote", "redux", "match", "mma", "ldmatrix"})


@dataclass(slots=True)
class Segment:
    """Straight-line steps and how they end.

    `kind` is "fall", "branch", "table", "exit", "trap", "barrier" or "warp". `target` and
    `targets` are segment numbers; `condition` is read as a predicate (branch) or index (table).
    """

    kind: str = "fall"
    steps: list[tuple[int, Step]] = field(default_factory=list)
    end: int = -1
    condition: Source | None = None
    negated: bool = False
    target: int = -1
    targets: tuple[int, ...] = ()
    members: Source | None = None
    barrier: Barrier | None = None


@dataclass(frozen=True, slots=True)
class Kernel:
    """An entry, executable: what a launch needs to know."""

    name: str
    segments: list[Segment]
    instructions: list[Instruction]
    register_types: list[str]
    parameters: list[tuple[Variable, int]]
    parameter_bytes: int
    shared_bytes: int
    local_bytes: int
    required_threads: tuple[int, ...] | None
    maximum_threads: tuple[int, ...] | None


def build_kernel(module: Module, name: str, globals_at: dict[str, Place]) -> Kernel:
    """Compile one entry of a module.

    Raises:
        UnsupportedInstruction: an instruction outside the tables, named with its line.
    """
    flat = flatten_kernel(module, name)
    registers = {
        register: (slot, type_name)
        for slot, (register, type_name) in enumerate(flat.registers.items())
    }
    places = dict(globals_at)
    parameters, parameter_bytes = _lay_out(flat.parameters, "param", PARAM_BASE, places)
    _, local_bytes = _lay_out(flat.local, "local", LOCAL_BASE, places)
    _, shared_bytes = _lay_out(flat.shared, "shared", SHARED_BASE, places)
    shared_bytes = -(-shared_bytes // 16) * 16 if flat.dynamic else shared_bytes
    for variable in flat.dynamic:
        places[variable.name] = Place("shared", SHARED_BASE + shared_bytes)
    binder = Binder(registers, places, _swapped(flat))
    segments, instructions = _segments(flat, binder)
    return Kernel(
        name,
        segments,
        instructions,
        [type_name for _, type_name in registers.values()],
        parameters,
        parameter_bytes,
        shared_bytes,
        local_bytes,
        flat.required_threads,
        flat.maximum_threads,
    )


def _swapped(flat: FlatKernel) -> frozenset[tuple[Address, str]]:
    """(address, register) of every compare-and-swap's expected value, and what is moved into it."""
    found: set[tuple[Address, str]] = set()
    moved: dict[str, set[str]] = {}
    for item in flat.body:
        if not isinstance(item, Instruction):
            continue
        if item.parts[0] == "mov" and isinstance(item.operands[1], Register):
            target = item.operands[0]
            if isinstance(target, Register):
                moved.setdefault(target.name, set()).add(item.operands[1].name)
        elif item.parts[0] == "atom" and "cas" in item.parts:
            _, address, expected, *_ = item.operands
            if isinstance(address, Address) and isinstance(expected, Register):
                found.add((address, expected.name))
    for address, name in list(found):
        found.update((address, source) for source in moved.get(name, ()))
    return frozenset(found)


def _lay_out(
    variables: list[Variable], space: str, base: int, places: dict[str, Place]
) -> tuple[list[tuple[Variable, int]], int]:
    """Give variables addresses in order; answers them with offsets, and the bytes used."""
    placed: list[tuple[Variable, int]] = []
    top = 0
    for variable in variables:
        top = -(-top // variable.align) * variable.align
        places[variable.name] = Place(space, base + top)
        placed.append((variable, top))
        top += variable.size
    return placed, top


def _segments(flat: FlatKernel, binder: Binder) -> tuple[list[Segment], list[Instruction]]:
    numbers = _number_labels(flat)
    instructions: list[Instruction] = []
    segments: list[Segment] = []
    current = Segment()
    for item in flat.body:
        if isinstance(item, Label):
            if current.steps:
                segments.append(current)
                current = Segment()
            continue
        instructions.append(item)
        ending = _ending(item)
        if ending is None:
            current.steps.append((len(instructions) - 1, bind(item, binder)))
            continue
        if current.steps and ending in ("barrier", "warp"):
            segments.append(current)
            current = Segment()
        current.kind, current.end = ending, len(instructions) - 1
        _finish(current, item, flat, binder, numbers)
        segments.append(current)
        current = Segment()
    current.kind = "exit"
    segments.append(current)
    return segments, instructions


def _number_labels(flat: FlatKernel) -> dict[str, int]:
    """The segment each label begins, by the same rules that cut the segments."""
    numbers: dict[str, int] = {}
    count, pending = 0, False
    for item in flat.body:
        if isinstance(item, Label):
            count += pending
            pending = False
            numbers[item.name] = count
            continue
        ending = _ending(item)
        if ending is None:
            pending = True
            continue
        count += 1 + (pending and ending in ("barrier", "warp"))
        pending = False
    return numbers


def _ending(instruction: Instruction) -> str | None:
    """The segment kind that an instruction ends, if it ends one."""
    base = instruction.parts[0]
    if base in ("bar", "barrier"):
        return "warp" if "warp" in instruction.parts else "barrier"
    if base in _WARP_SYNC:
        return "warp"
    simple = {"bra": "branch", "brx": "table", "ret": "exit", "exit": "exit", "trap": "trap"}
    return simple.get(base)


def _finish(
    segment: Segment,
    instruction: Instruction,
    flat: FlatKernel,
    binder: Binder,
    numbers: dict[str, int],
) -> None:
    try:
        _ENDINGS[segment.kind](segment, instruction, flat, binder, numbers)
        if instruction.guard is not None and segment.kind in ("branch", "exit", "trap"):
            segment.condition = binder.source(instruction.guard, "pred")
            segment.negated = instruction.guard_negated
        elif instruction.guard is not None:
            raise Refusal("a guard is not emulated here")
    except Refusal as refusal:
        raise UnsupportedInstruction(
            f"PTX line {instruction.line}, {instruction.text!r}: {refusal}"
        ) from None


def _label(name: str, numbers: dict[str, int]) -> int:
    if name not in numbers:
        raise Refusal(f"unknown label {name!r}")
    return numbers[name]


def _end_branch(
    segment: Segment,
    instruction: Instruction,
    flat: FlatKernel,
    binder: Binder,
    numbers: dict[str, int],
) -> None:
    target = instruction.operands[0]
    if not isinstance(target, Symbol):
        raise Refusal("a branch needs a label")
    segment.target = _label(target.name, numbers)


def _end_table(
    segment: Segment,
    instruction: Instruction,
    flat: FlatKernel,
    binder: Binder,
    numbers: dict[str, int],
) -> None:
    index, table = instruction.operands
    if not isinstance(table, Symbol) or table.name not in flat.tables:
        raise Refusal("brx.idx needs a list of targets")
    segment.condition = binder.source(index, "u32")
    segment.targets = tuple(_label(name, numbers) for name in flat.tables[table.name])


def _end_barrier(
    segment: Segment,
    instruction: Instruction,
    flat: FlatKernel,
    binder: Binder,
    numbers: dict[str, int],
) -> None:
    segment.barrier = bind_barrier(instruction, binder)


def _end_warp(
    segment: Segment,
    instruction: Instruction,
    flat: FlatKernel,
    binder: Binder,
    numbers: dict[str, int],
) -> None:
    segment.members = members_of(instruction, binder)
    segment.steps.append((segment.end, bind(instruction, binder)))


def _end_thread(
    segment: Segment,
    instruction: Instruction,
    flat: FlatKernel,
    binder: Binder,
    numbers: dict[str, int],
) -> None:
    """Exits and traps carry nothing but their guard."""


_ENDINGS: dict[str, Callable[[Segment, Instruction, FlatKernel, Binder, dict[str, int]], None]] = {
    "branch": _end_branch,
    "table": _end_table,
    "barrier": _end_barrier,
    "warp": _end_warp,
    "exit": _end_thread,
    "trap": _end_thread,
}
