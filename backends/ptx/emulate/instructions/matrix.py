"""mma.sync and ldmatrix (PTX ISA 9.7.15): a warp multiplies small matrices held in its registers.

With group g = lane / 4 and t = lane % 4, and e elements a register, the manual's fragments are:
register r of A holds row g + 8 (r % 2), columns e t + 4 e (r / 2) + 0..e; register r of B holds
rows e t + 4 e r + 0..e of column g; accumulator i is row g + 8 (i / 2), column 2 t + i % 2.
Products are exact and summed in doubles; a device sums in an order and width of its own.
"""

from __future__ import annotations

import numpy as np

from tensorscript.base.records import dataclass

from ..access import check_race, check_written, reach
from ..banks import conflicts
from ..binder import Binder, elements
from ..errors import BarrierError
from ..machine import WARP, Machine, Step
from ..rounding import narrow, widen
from ..syntax import Instruction
from ..types import DTYPES, UNSIGNED, Array, width
from .alu import Refusal

_INNER = {
    "f16": (8, 16),
    "bf16": (8, 16),
    "tf32": (4, 8),
    "s8": (16, 32),
    "u8": (16, 32),
}
_ROWS, _COLUMNS = 16, 8


def _whole_warps(machine: Machine) -> int:
    """The number of active warps, all of whose 32 lanes must be active."""
    lanes = machine.active_lanes
    counts = np.bincount(machine.warp_of[lanes])
    partial = counts[machine.warp_of[lanes]] != WARP
    if partial.any():
        lane = int(lanes[int(np.argmax(partial))])
        machine.fail(BarrierError, "a matrix instruction needs all 32 lanes of the warp", lane)
    return lanes.size // WARP


@dataclass(frozen=True, slots=True)
class _Product:
    """Types of one mma and its inner extent."""

    result: str
    left: str
    right: str
    depth: int

    @property
    def elements(self) -> int:
        """Elements of A or B in one register."""
        return 4 // width(self.left)


def _read_product(instruction: Instruction) -> _Product:
    words = instruction.parts[1:]
    if len(words) != 9 or words[:2] != ("sync", "aligned") or words[3:5] != ("row", "col"):
        raise Refusal("only mma.sync.aligned.m16n8kK.row.col with four types is emulated")
    result, left, right, addend = words[5:]
    integer = left in ("s8", "u8")
    allowed = ("s32",) if integer else ("f32", "f16") if left == "f16" else ("f32",)
    if left not in _INNER or right not in _INNER or result not in allowed or addend != result:
        raise Refusal("this mix of types is not emulated")
    if left != right and not (integer and right in ("s8", "u8")):
        raise Refusal("this mix of types is not emulated")
    for depth in _INNER[left]:
        if words[2] == f"m16n8k{depth}":
            return _Product(result, left, right, depth)
    raise Refusal(f"shape .{words[2]} of .{left} is not emulated")


def _numbers(registers: Array, type_name: str) -> Array:
    """32-bit registers (..., n) as exact doubles (..., n, elements)."""
    if type_name == "tf32":
        return registers.view(np.float32).astype(np.float64)[..., None]
    dtype = DTYPES[type_name]
    parts = np.ascontiguousarray(registers)[..., None].view(dtype)
    return widen(parts, type_name) if dtype.itemsize == 2 else parts.astype(np.float64)


def bind_product(instruction: Instruction, binder: Binder) -> Step:
    """`mma.sync.aligned.m16n8kK.row.col.d.a.b.c {d}, {a}, {b}, {c}`."""
    product = _read_product(instruction)
    if len(instruction.operands) != 4:
        raise Refusal("mma needs four groups")
    groups = [elements(operand) for operand in instruction.operands]
    per = product.elements
    a_count, b_count = product.depth // (2 * per), product.depth // (4 * per)
    packed = product.result == "f16"
    c_count = 2 if packed else 4
    if [len(group) for group in groups] != [c_count, a_count, b_count, c_count]:
        raise Refusal("wrong number of registers for this shape")
    targets = [binder.target(item, "b32") for item in groups[0]]
    sources = [[binder.source(item, "b32") for item in group] for group in groups[1:]]

    def step(machine: Machine) -> None:
        select, count = machine.active, machine.active_count
        warps = _whole_warps(machine)
        values = [
            np.stack([np.broadcast_to(s(machine, select), (count,)) for s in group], axis=1)
            for group in sources
        ]
        a, b, c = (v.reshape(warps, 8, 4, -1) for v in values)
        left = _left(_numbers(a, product.left), product.depth)
        right = _right(_numbers(b, product.right), product.depth)
        sums = left @ right + _accumulators(c, product.result)
        for target, value in zip(targets, _registers(sums, product.result), strict=True):
            target(machine, select, value.reshape(count))

    return step


def _left(fragments: Array, depth: int) -> Array:
    """(warp, g, t, register, e) to (warp, 16, depth)."""
    warps, _, _, registers, per = fragments.shape
    split = fragments.reshape(warps, 8, 4, registers // 2, 2, per)
    # register = 2 * column half + row half
    return split.transpose(0, 4, 1, 3, 2, 5).reshape(warps, _ROWS, depth)


def _right(fragments: Array, depth: int) -> Array:
    """(warp, g, t, register, e) to (warp, depth, 8)."""
    return fragments.transpose(0, 3, 2, 4, 1).reshape(fragments.shape[0], depth, _COLUMNS)


def _accumulators(registers: Array, type_name: str) -> Array:
    """(warp, g, t, register) to doubles (warp, 16, 8)."""
    warps = registers.shape[0]
    if type_name == "f16":
        numbers = _numbers(registers, "f16")
    else:
        numbers = registers.view(DTYPES[type_name]).astype(np.float64)
    split = numbers.reshape(warps, 8, 4, 2, 2)
    return split.transpose(0, 3, 1, 2, 4).reshape(warps, _ROWS, _COLUMNS)


def _registers(sums: Array, type_name: str) -> list[Array]:
    """(warp, 16, 8) to the accumulator registers of each lane, as (warp, g, t)."""
    split = sums.reshape(-1, 2, 8, 4, 2).transpose(0, 2, 3, 1, 4)
    if type_name == "f16":
        halves = np.ascontiguousarray(narrow(split, "f16"))
        words = halves.view(np.uint32)[..., 0]
        return [words[..., row] for row in range(2)]
    if type_name == "s32":
        typed = split.astype(np.int64).astype(np.int32).view(np.uint32)
    else:
        typed = np.ascontiguousarray(narrow(split, "f32")).view(np.uint32)
    return [typed[..., row, column] for row in range(2) for column in range(2)]


def bind_load_matrix(instruction: Instruction, binder: Binder) -> Step:
    """`ldmatrix.sync.aligned.m8n8.x{1,2,4}{.trans}.shared.b16 {d}, [a]`.

    Lanes 8 i to 8 i + 7 give the addresses of the rows of matrix i.
    """
    words = [word for word in instruction.parts[1:] if word not in ("trans", "shared::cta")]
    transposed = "trans" in instruction.parts
    words = [word for word in words if word != "shared"]
    count = {"x1": 1, "x2": 2, "x4": 4}.get(words[3] if len(words) == 5 else "", 0)
    if not count or words[:3] != ["sync", "aligned", "m8n8"] or words[4] != "b16":
        raise Refusal("only ldmatrix.sync.aligned.m8n8.x{1,2,4}{.trans}.shared.b16 is emulated")
    results = elements(instruction.operands[0])
    if len(results) != count:
        raise Refusal(f"{len(results)} results for {count} matrices")
    targets = [binder.target(result, "b32") for result in results]
    address = binder.address(instruction.operands[1], "shared")
    bits = UNSIGNED[2]

    def step(machine: Machine) -> None:
        select, lanes = machine.active, machine.active_lanes
        warps = _whole_warps(machine)
        given = np.broadcast_to(address(machine, select), lanes.shape).reshape(warps, WARP)
        rows, givers = given[:, : 8 * count].reshape(-1), lanes.reshape(warps, WARP)
        values = np.zeros((rows.size, 8), bits)
        matrix_of = np.arange(rows.size) // 8
        for part in reach(machine, "shared", rows, 16, givers[:, : 8 * count].reshape(-1)):
            check_race(machine, part, "read", 16)
            machine.statistics.shared_loads += part.lanes.size
            if machine.banks:
                given_by = matrix_of[part.positions]
                machine.statistics.bank_conflicts += conflicts(machine, part, 16, given_by)
            for column in range(8):
                index = part.offsets // 2 + column
                check_written(machine, part, 2, index)
                values[part.positions, column] = part.region.view(2)[index]
        matrices = values.reshape(warps, count, 8, 8)
        if transposed:
            matrices = matrices.transpose(0, 1, 3, 2)
        words = np.ascontiguousarray(matrices).view(np.uint32).reshape(warps, count, WARP)
        for number, target in enumerate(targets):
            target(machine, select, words[:, number].reshape(-1))

    return step
