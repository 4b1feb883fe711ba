"""From one instruction to the step that does it: the table over all families."""

from __future__ import annotations

from collections.abc import Callable

from ..binder import Binder, flatten
from ..errors import UnsupportedInstruction
from ..machine import Machine, Step
from ..syntax import Instruction
from ..types import FLOATS
from .alu import Alu, Builder, Refusal
from .async_copy import bind_async
from .atomic import bind_atomic
from .carry import bind_carry, carries
from .compare import build_select, build_select_sign, build_set, build_setp
from .convert import build_convert
from .data import bind_load, bind_store
from .floating import FLOATING
from .integer import INTEGER
from .matrix import bind_load_matrix, bind_product
from .move import bind_address_conversion, bind_move, bind_space_test
from .warp import WARP_SYNC, bind_active_mask

Bind = Callable[[Instruction, Binder], Step]


def _nothing(instruction: Instruction, binder: Binder) -> Step:
    """Fences and prefetches: lanes here see every store at once."""
    return lambda machine: None


_BOUND: dict[str, Bind] = {
    "ld": bind_load,
    "ldu": bind_load,
    "st": bind_store,
    "atom": bind_atomic,
    "red": bind_atomic,
    "mov": bind_move,
    "cvta": bind_address_conversion,
    "isspacep": bind_space_test,
    "activemask": bind_active_mask,
    "fence": _nothing,
    "membar": _nothing,
    "cp": bind_async,
    "prefetch": _nothing,
    "prefetchu": _nothing,
    "nanosleep": _nothing,
    "mma": bind_product,
    "ldmatrix": bind_load_matrix,
    **WARP_SYNC,
}
_BUILT: dict[str, Builder] = {
    "cvt": build_convert,
    "setp": build_setp,
    "set": build_set,
    "selp": build_select,
    "slct": build_select_sign,
}


def bind(instruction: Instruction, binder: Binder) -> Step:
    """The step of an instruction, its guard included.

    Raises:
        UnsupportedInstruction: no row for it, or a modifier, type or operand that its row refuses.
    """
    try:
        step = _bind(instruction, binder)
        if instruction.guard is None:
            return step
        return _guarded(instruction, binder, step)
    except Refusal as refusal:
        raise UnsupportedInstruction(
            f"PTX line {instruction.line}, {instruction.text!r}: {refusal}"
        ) from None


def _bind(instruction: Instruction, binder: Binder) -> Step:
    base = instruction.parts[0]
    if base in _BOUND:
        return _BOUND[base](instruction, binder)
    if carries(instruction):
        return bind_carry(instruction, binder)
    *modifiers, type_name = instruction.parts[1:] or ("",)
    builder = _BUILT.get(base)
    if builder is None:
        builder = (FLOATING if type_name in FLOATS else INTEGER).get(base)
    if builder is None:
        raise Refusal("this instruction is not emulated")
    return _bind_alu(instruction, binder, builder(tuple(modifiers), type_name))


def _bind_alu(instruction: Instruction, binder: Binder, alu: Alu) -> Step:
    operands = flatten(instruction.operands)
    count = len(operands) - len(alu.sources)
    if not 1 <= count <= len(alu.results):
        raise Refusal("wrong number of operands")
    targets = [
        binder.target(operand, type_name)
        for operand, type_name in zip(operands[:count], alu.results, strict=False)
    ]
    sources = [
        binder.source(operand, type_name)
        for operand, type_name in zip(operands[count:], alu.sources, strict=True)
    ]
    compute = alu.compute

    def step(machine: Machine) -> None:
        select = machine.select
        result = compute(*[source(machine, select) for source in sources])
        results = result if isinstance(result, tuple) else (result,)
        for target, value in zip(targets, results, strict=False):
            target(machine, select, value)

    return step


def _guarded(instruction: Instruction, binder: Binder, step: Step) -> Step:
    guard = instruction.guard
    assert guard is not None
    source, negated = binder.source(guard, "pred"), instruction.guard_negated

    def run(machine: Machine) -> None:
        before = machine.select, machine.active
        flags = source(machine, machine.active)
        lanes = machine.active_lanes[~flags if negated else flags]
        if lanes.size:
            if lanes.size != machine.active_count:
                machine.select = machine.active = lanes
            step(machine)
        machine.select, machine.active = before

    return run
