"""mov with pack and unpack, cvta, isspacep (PTX ISA 9.7.9)."""

from __future__ import annotations

import numpy as np

from ..binder import Binder, flatten
from ..machine import Machine, Step
from ..memory import WINDOWS, space_of_generic
from ..syntax import Group, Instruction, Operand
from ..types import DTYPES, UNSIGNED, Array, width
from .alu import Refusal, require
from .data import SPACES

_MOVABLE = frozenset(DTYPES) - {"b8", "u8", "s8", "tf32"}


def bind_move(instruction: Instruction, binder: Binder) -> Step:
    """`mov.type d, a`; one of the two may be a group of equal parts."""
    type_name = instruction.parts[-1]
    if len(instruction.parts) != 2 or len(instruction.operands) != 2:
        raise Refusal("mov needs one type and two operands")
    require(type_name, _MOVABLE)
    target, source = instruction.operands
    if isinstance(source, Group):
        return _pack(binder, type_name, target, source)
    if isinstance(target, Group):
        return _unpack(binder, type_name, target, source)
    read, write = binder.source(source, type_name), binder.target(target, type_name)

    def step(machine: Machine) -> None:
        write(machine, machine.select, read(machine, machine.select))

    return step


def _part_width(type_name: str, group: Group) -> int:
    size, rest = divmod(width(type_name), len(group.items))
    if rest or size not in (1, 2, 4):
        raise Refusal(f"{len(group.items)} parts of a .{type_name}")
    return size


def _pack(binder: Binder, type_name: str, target: Operand, source: Group) -> Step:
    size = _part_width(type_name, source)
    reads = [binder.source(item, f"b{size * 8}") for item in source.items]
    write, whole = binder.target(target, type_name), UNSIGNED[width(type_name)]

    def step(machine: Machine) -> None:
        result: Array = np.zeros(1, whole)
        for position, read in enumerate(reads):
            part = read(machine, machine.select).astype(whole)
            result = result | (part << whole.type(8 * size * position))
        write(machine, machine.select, result)

    return step


def _unpack(binder: Binder, type_name: str, target: Group, source: Operand) -> Step:
    size = _part_width(type_name, target)
    whole, part = UNSIGNED[width(type_name)], UNSIGNED[size]
    read = binder.source(source, type_name)
    writes = [binder.target(item, f"b{size * 8}") for item in target.items]

    def step(machine: Machine) -> None:
        value = read(machine, machine.select).view(whole)
        for position, write in enumerate(writes):
            shifted = value >> whole.type(8 * size * position)
            write(machine, machine.select, shifted.astype(part))

    return step


def bind_address_conversion(instruction: Instruction, binder: Binder) -> Step:
    """`cvta{.to}.space.u64 d, a`: between a space's addresses and generic ones."""
    words = instruction.parts[1:-1]
    to_space = "to" in words
    spaces = [SPACES[word] for word in words if word in SPACES]
    if len(spaces) != 1 or len(words) != 1 + to_space or len(instruction.operands) != 2:
        raise Refusal("cvta needs one space")
    type_name = instruction.parts[-1]
    require(type_name, ("u64",))
    window = np.uint64(WINDOWS[spaces[0]])
    read = binder.source(instruction.operands[1], type_name)
    write = binder.target(instruction.operands[0], type_name)

    def step(machine: Machine) -> None:
        value = read(machine, machine.select)
        write(machine, machine.select, value - window if to_space else value + window)

    return step


def bind_space_test(instruction: Instruction, binder: Binder) -> Step:
    """`isspacep.space p, a`."""
    if len(instruction.parts) != 2 or instruction.parts[1] not in SPACES:
        raise Refusal("isspacep needs one space")
    space = SPACES[instruction.parts[1]]
    target, source = flatten(instruction.operands)
    read, write = binder.source(source, "u64"), binder.target(target, "pred")

    def step(machine: Machine) -> None:
        addresses = read(machine, machine.select)
        inside = np.zeros(addresses.shape, np.bool_)
        for name, where in space_of_generic(addresses):
            if name == space:
                inside = inside | where
        write(machine, machine.select, inside)

    return step
