"""Operands to closures: where an instruction reads its sources and puts its results.

PTX registers are untyped bits of a width; the instruction's type says how to read them. A source
wider than the type is truncated; a result narrower than its register is extended, by its sign for
signed types.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tensorscript.base.records import dataclass

from .instructions.alu import Refusal
from .machine import Machine, Selection
from .memory import WINDOWS
from .specials import SPECIALS
from .syntax import Address, Group, Immediate, Negated, Operand, Pair, Register, Symbol
from .types import DTYPES, SIGNED, UNSIGNED, Array, width

Source = Callable[[Machine, Selection], Array]
Target = Callable[[Machine, Selection, Array], None]

_SINK = "_"
_FLOAT_LITERALS = {"f32": ("f32", "b32", "u32", "s32"), "f64": ("f64", "b64", "u64", "s64")}


@dataclass(frozen=True, slots=True)
class Place:
    """A variable's state space and its address there."""

    space: str
    address: int


@dataclass(frozen=True, slots=True)
class Binder:
    """The names of one kernel: registers as (slot, type), variables as places.

    `swapped` holds the (address, expected register) of every compare-and-swap. LLVM expands an
    atomic update into a loop around one and reads the first expected value by a plain load; such
    a load is part of the atomic, not a race with it.
    """

    registers: dict[str, tuple[int, str]]
    places: dict[str, Place]
    swapped: frozenset[tuple[Address, str]] = frozenset()

    def source(self, operand: Operand, type_name: str) -> Source:
        """Reads `operand` as `type_name`; immediates give one element."""
        if isinstance(operand, Register):
            return self._register_source(operand.name, type_name)
        if isinstance(operand, Immediate):
            value = _immediate(operand, type_name)
            return lambda machine, select: value
        if isinstance(operand, Symbol):
            value = np.array([self.address_of(operand)], DTYPES[type_name])
            return lambda machine, select: value
        if isinstance(operand, Negated):
            inner = self._register_source(operand.register.name, "pred")
            return lambda machine, select: ~inner(machine, select)
        raise Refusal("an operand of this form is not a source")

    def address_of(self, symbol: Symbol) -> int:
        """A symbol's address in its own space (WARP_SZ is the one symbolic constant)."""
        if symbol.name == "WARP_SZ":
            return 32
        return self.place(symbol.name).address + symbol.offset

    def place(self, name: str) -> Place:
        if name not in self.places:
            raise Refusal(f"unknown name {name!r}")
        return self.places[name]

    def _register_source(self, name: str, type_name: str) -> Source:
        if name not in self.registers:
            return _special_source(name, type_name)
        slot, own = self.registers[name]
        dtype = DTYPES[type_name]
        if (own == "pred") != (type_name == "pred"):
            raise Refusal(f"register {name} is .{own}, read as .{type_name}")
        if width(own) == width(type_name):
            return lambda machine, select: machine.registers[slot][select].view(dtype)
        if width(own) < width(type_name):
            raise Refusal(f"register {name} is .{own}, narrower than .{type_name}")
        part = UNSIGNED[width(type_name)]
        return lambda machine, select: machine.registers[slot][select].astype(part).view(dtype)

    def target(self, operand: Operand, type_name: str) -> Target:
        """Writes a result of `type_name`; the sink `_` drops it."""
        if not isinstance(operand, Register):
            raise Refusal("a result must be a register")
        if operand.name == _SINK:
            return lambda machine, select, value: None
        if operand.name not in self.registers:
            raise Refusal(f"{operand.name} is not a declared register")
        slot, own = self.registers[operand.name]
        if (own == "pred") != (type_name == "pred") or width(own) < width(type_name):
            raise Refusal(f"register {operand.name} is .{own}, too narrow for .{type_name}")
        dtype = DTYPES[own]
        if width(own) == width(type_name):
            return lambda machine, select, value: machine.write(slot, select, value.view(dtype))
        signed = np.dtype(f"i{width(own)}")
        if type_name in SIGNED:
            return lambda machine, select, value: machine.write(
                slot, select, value.astype(signed).view(dtype)
            )
        part = UNSIGNED[width(type_name)]
        return lambda machine, select, value: machine.write(
            slot, select, value.view(part).astype(dtype)
        )

    def address(self, operand: Operand, space: str) -> Source:
        """Reads `[base+offset]` as addresses of `space` ("generic" for none named)."""
        if not isinstance(operand, Address):
            raise Refusal("expected an address in brackets")
        offset = np.array([operand.offset & 0xFFFFFFFFFFFFFFFF], np.uint64)
        if operand.base is None:
            return lambda machine, select: offset
        if isinstance(operand.base, Symbol):
            place = self.place(operand.base.name)
            window = WINDOWS[place.space] if space == "generic" else 0
            fixed = offset + np.uint64(place.address + window)
            return lambda machine, select: fixed
        slot, own = self.registers.get(operand.base.name, (-1, ""))
        if own not in ("b64", "u64", "s64", "b32", "u32", "s32"):
            raise Refusal(f"{operand.base.name} cannot hold an address")
        if width(own) == 4:
            return lambda machine, select: (
                machine.registers[slot][select].astype(np.uint64) + offset
            )
        if operand.offset == 0:
            return lambda machine, select: machine.registers[slot][select].view(np.uint64)
        return lambda machine, select: machine.registers[slot][select].view(np.uint64) + offset


def _special_source(name: str, type_name: str) -> Source:
    special = SPECIALS.get(name)
    if special is None:
        raise Refusal(f"{name} is neither a declared register nor an emulated special register")
    dtype = DTYPES[type_name]

    def read(machine: Machine, select: Selection) -> Array:
        return special(machine)[select].astype(dtype)

    return read


def _immediate(operand: Immediate, type_name: str) -> Array:
    if type_name == "pred":
        return np.array([operand.value != 0])
    if operand.kind != "int" and type_name not in _FLOAT_LITERALS[operand.kind]:
        raise Refusal(f"a .{operand.kind} literal where .{type_name} is expected")
    size = width(type_name)
    bits = operand.value & ((1 << (8 * size)) - 1)
    return np.array([bits], UNSIGNED[size]).view(DTYPES[type_name])


def flatten(operands: tuple[Operand, ...]) -> list[Operand]:
    """Pairs `a|b` as two operands."""
    found: list[Operand] = []
    for operand in operands:
        if isinstance(operand, Pair):
            found += [operand.first, operand.second]
        else:
            found.append(operand)
    return found


def elements(operand: Operand) -> tuple[Operand, ...]:
    """The members of `{a, b}`, or the operand alone."""
    return operand.items if isinstance(operand, Group) else (operand,)
