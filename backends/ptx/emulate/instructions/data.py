"""ld and st (PTX ISA 9.7.9), in every space, with vectors."""

from __future__ import annotations

import numpy as np

from ..access import (
    Reach,
    check_race,
    check_writable,
    check_written,
    mark_written,
    reach,
)
from ..banks import conflicts
from ..binder import Binder, elements
from ..machine import Machine, Step
from ..syntax import Address, Instruction, Register, Symbol
from ..types import DTYPES, UNSIGNED, Array, width
from .alu import Refusal

SPACES = {
    "global": "global",
    "shared": "shared",
    "shared::cta": "shared",
    "local": "local",
    "const": "const",
    "param": "param",
    "param::entry": "param",
    "param::func": "param",
}
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}
_STRONG = {"relaxed", "acquire", "release", "volatile", "mmio"}
_HINTS = frozenset(
    {
        "weak",
        "cta",
        "cluster",
        "gpu",
        "sys",
        "nc",
        "ca",
        "cg",
        "cs",
        "lu",
        "cv",
        "wb",
        "wt",
        "unified",
        "L1::evict_last",
        "L1::evict_normal",
        "L1::evict_first",
        "L1::evict_unchanged",
        "L1::no_allocate",
        "L2::64B",
        "L2::128B",
        "L2::256B",
    }
)


def _read_modifiers(instruction: Instruction) -> tuple[str, int, bool]:
    """(space, vector length, is a strong access)."""
    space, vector, strong = "generic", 1, False
    for word in instruction.parts[1:-1]:
        if word in SPACES:
            space = SPACES[word]
        elif word in _VECTORS:
            vector = _VECTORS[word]
        elif word in _STRONG:
            strong = True
        elif word not in _HINTS:
            raise Refusal(f"modifier .{word} is not emulated")
    return space, vector, strong


def _space_of(binder: Binder, space: str, address: Address) -> str:
    """Parameters of inlined device functions live in local memory; the symbol knows."""
    if space == "param" and isinstance(address.base, Symbol):
        return binder.place(address.base.name).space
    return space


def _count(machine: Machine, part: Reach, store: bool, size: int) -> None:
    statistics, lanes = machine.statistics, part.lanes.size
    if part.space == "global" and store:
        statistics.global_stores += lanes
        statistics.global_store_bytes += lanes * size
    elif part.space == "global":
        statistics.global_loads += lanes
        statistics.global_load_bytes += lanes * size
    elif part.space == "shared":
        statistics.shared_stores += lanes * store
        statistics.shared_loads += lanes * (not store)
        if machine.banks:
            statistics.bank_conflicts += conflicts(machine, part, size)
    elif part.space == "local":
        statistics.local_stores += lanes * store
        statistics.local_loads += lanes * (not store)


def bind_load(instruction: Instruction, binder: Binder) -> Step:
    """`ld{.sem}{.space}{.nc}{.vec}.type d, [a]`."""
    type_name = instruction.parts[-1]
    space, vector, strong = _read_modifiers(instruction)
    if len(instruction.operands) != 2 or not isinstance(instruction.operands[1], Address):
        raise Refusal("ld needs a result and an address")
    if isinstance(target := instruction.operands[0], Register):
        strong |= (instruction.operands[1], target.name) in binder.swapped
    space = _space_of(binder, space, instruction.operands[1])
    address = binder.address(instruction.operands[1], space)
    results = elements(instruction.operands[0])
    if len(results) != vector:
        raise Refusal(f"{len(results)} results for a vector of {vector}")
    targets = [binder.target(result, type_name) for result in results]
    element, dtype = width(type_name), DTYPES[type_name]
    size, kind = element * vector, "atomic" if strong else "read"

    def step(machine: Machine) -> None:
        select, lanes = machine.active, machine.active_lanes
        values: list[Array] = []
        for part in reach(machine, space, address(machine, select), size, lanes):
            check_race(machine, part, kind, size)
            _count(machine, part, False, size)
            whole = isinstance(part.positions, slice)
            if not whole and not values:
                values = [np.zeros(lanes.size, UNSIGNED[element]) for _ in targets]
            index = part.offsets // element
            view = part.region.view(element)
            for position in range(vector):
                check_written(machine, part, element, index + position)
                loaded = view[index + position]
                if whole:
                    values.append(loaded)
                else:
                    values[position][part.positions] = loaded
        for target, value in zip(targets, values, strict=True):
            target(machine, select, value.view(dtype))

    return step


def bind_store(instruction: Instruction, binder: Binder) -> Step:
    """`st{.sem}{.space}{.vec}.type [a], b`."""
    type_name = instruction.parts[-1]
    space, vector, strong = _read_modifiers(instruction)
    if len(instruction.operands) != 2 or not isinstance(instruction.operands[0], Address):
        raise Refusal("st needs an address and a value")
    space = _space_of(binder, space, instruction.operands[0])
    address = binder.address(instruction.operands[0], space)
    values = elements(instruction.operands[1])
    if len(values) != vector:
        raise Refusal(f"{len(values)} values for a vector of {vector}")
    sources = [binder.source(value, type_name) for value in values]
    element = width(type_name)
    size, kind = element * vector, "atomic" if strong else "write"
    bits = UNSIGNED[element]

    def step(machine: Machine) -> None:
        select, lanes = machine.active, machine.active_lanes
        found = [source(machine, select).view(bits) for source in sources]
        for part in reach(machine, space, address(machine, select), size, lanes):
            check_writable(machine, part)
            check_race(machine, part, kind, size)
            _count(machine, part, True, size)
            index = part.offsets // element
            view = part.region.view(element)
            for position, value in enumerate(found):
                one = value if value.shape[0] == 1 else value[part.positions]
                view[index + position] = one
                mark_written(part, element, index + position)

    return step
