"""Extended-precision arithmetic (PTX ISA 9.7.2): add.cc, addc, sub.cc, subc, mad.cc, madc.

Each lane has a carry bit, which `.cc` writes and the `c` forms read; for subtraction it is the
borrow.
"""

from __future__ import annotations

import numpy as np

from ..binder import Binder
from ..machine import Machine, Step
from ..syntax import Instruction
from ..types import UNSIGNED, Array, width
from .alu import Refusal, only, require
from .integer import multiply_high

_TYPES = ("u32", "s32", "b32", "u64", "s64", "b64")
_READERS = {"addc": "add", "subc": "sub", "madc": "mad"}


def _add(a: Array, b: Array, carry: Array) -> tuple[Array, Array]:
    first = a + b
    total = first + carry
    return total, (first < a) | (total < first)


def _subtract(a: Array, b: Array, carry: Array) -> tuple[Array, Array]:
    first = a - b
    return first - carry, (a < b) | (first < carry)


def carries(instruction: Instruction) -> bool:
    """Whether the instruction reads or writes the carry bit."""
    base, *modifiers = instruction.parts
    return base in _READERS or (base in _READERS.values() and "cc" in modifiers)


def bind_carry(instruction: Instruction, binder: Binder) -> Step:
    """The step of an instruction for which `carries` holds."""
    base, *modifiers, type_name = instruction.parts
    kind, reads, writes = _READERS.get(base, base), base in _READERS, "cc" in modifiers
    only(modifiers, "cc lo hi" if kind == "mad" else "cc")
    require(type_name, _TYPES)
    plain = f"u{8 * width(type_name)}"
    target = binder.target(instruction.operands[0], plain)
    sources = [binder.source(operand, plain) for operand in instruction.operands[1:]]
    if len(sources) != (3 if kind == "mad" else 2):
        raise Refusal("wrong number of operands")
    product = multiply_high if "hi" in modifiers else np.multiply
    combine = _subtract if kind == "sub" else _add
    dtype = UNSIGNED[width(type_name)]

    def step(machine: Machine) -> None:
        select = machine.select
        values = [source(machine, select) for source in sources]
        if kind == "mad":
            values = [product(values[0], values[1]), values[2]]
        carry = machine.carry[select].astype(dtype) if reads else np.zeros(1, dtype)
        total, out = combine(values[0], values[1], carry)
        if writes:
            machine.carry[select] = out
        target(machine, select, total)

    return step
