"""Instructions that look at other lanes of the warp (PTX ISA 9.7.9.6, 9.7.14).

The scheduler runs a `.sync` instruction only once every live lane that its member mask names has
arrived, so a step sees all members among the active lanes. Reading a lane that is not a live
member is undefined on a device and an error here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ..binder import Binder, Source, flatten
from ..errors import BarrierError
from ..machine import WARP, Lanes, Machine, Step
from ..syntax import Immediate, Instruction, Operand, Pair
from ..types import DTYPES, Array
from .alu import Refusal, only, require

Masks = npt.NDArray[np.uint32]
_SEGMENT = np.int64(31)


class WarpView:
    """The active lanes as a (warps, 32) grid."""

    def __init__(self, machine: Machine, masks: Array) -> None:
        self.machine = machine
        self.lanes = machine.active_lanes
        self.slots = machine.slot[self.lanes]
        self.warps = machine.blocks * machine.shape.warps
        self.lane = self.slots % WARP
        self.warp = self.slots // WARP
        self.masks = np.broadcast_to(masks, self.lanes.shape).astype(np.uint32)
        self.active = self.bits(np.ones(self.lanes.size, np.bool_))

    def grid(self, values: Array, fill: int = 0) -> Array:
        """Values of the active lanes laid out by warp; others hold `fill`."""
        full = np.full(self.warps * WARP, fill, values.dtype)
        full[self.slots] = values
        return full.reshape(self.warps, WARP)

    def bits(self, flags: Array) -> Masks:
        """Each active lane's view of its warp's flags, one bit a lane."""
        octets = np.packbits(self.grid(flags), axis=1, bitorder="little")
        answer: Masks = octets.view(np.uint32).reshape(-1)[self.warp]
        return answer

    def fail(self, message: str, where: Array) -> None:
        """Raise for the first lane where `where` holds."""
        if where.any():
            self.machine.fail(BarrierError, message, int(self.lanes[int(np.argmax(where))]))


def _all(view: WarpView, values: Array) -> Array:
    """One value for each active lane, spread if it was an immediate."""
    return np.broadcast_to(values, view.lanes.shape)


def bind_shuffle(instruction: Instruction, binder: Binder) -> Step:
    """`shfl.sync.mode.b32 d{|p}, a, b, c, mask`."""
    words = instruction.parts[1:]
    if len(words) != 3 or words[0] != "sync" or words[2] != "b32" or words[1] not in _SHUFFLES:
        raise Refusal("only shfl.sync.{up,down,bfly,idx}.b32 is emulated")
    operands = list(instruction.operands)
    has_predicate = isinstance(operands[0], Pair)
    results = flatten((operands[0],))
    target = binder.target(results[0], "b32")
    predicate = binder.target(results[1], "pred") if has_predicate else None
    value, offset, control, mask = (binder.source(o, "b32") for o in operands[1:])
    choose = _SHUFFLES[words[1]]

    def step(machine: Machine) -> None:
        select = machine.active
        view = WarpView(machine, mask(machine, select))
        lane = view.lane
        b = _all(view, offset(machine, select)).astype(np.int64) & 31
        c = _all(view, control(machine, select)).astype(np.int64)
        clamp, segment = c & 31, (c >> 8) & _SEGMENT
        highest = (lane & segment) | (clamp & ~segment)
        source, inside = choose(lane, b, lane & segment, segment, highest)
        source = np.where(inside, source, lane)
        member = (view.masks & view.active) >> source.astype(np.uint32) & np.uint32(1)
        view.fail("shuffle reads a lane that is not a live member of its mask", member == 0)
        grid = view.grid(_all(view, value(machine, select)))
        target(machine, select, grid[view.warp, source])
        if predicate is not None:
            predicate(machine, select, inside)

    return step


Chosen = tuple[Lanes, npt.NDArray[np.bool_]]


def _up(lane: Lanes, b: Lanes, low: Lanes, segment: Lanes, highest: Lanes) -> Chosen:
    return lane - b, lane - b >= highest


def _down(lane: Lanes, b: Lanes, low: Lanes, segment: Lanes, highest: Lanes) -> Chosen:
    return lane + b, lane + b <= highest


def _butterfly(lane: Lanes, b: Lanes, low: Lanes, segment: Lanes, highest: Lanes) -> Chosen:
    return lane ^ b, lane ^ b <= highest


def _index(lane: Lanes, b: Lanes, low: Lanes, segment: Lanes, highest: Lanes) -> Chosen:
    source = low | (b & ~segment)
    return source, source <= highest


_SHUFFLES: dict[str, Callable[[Lanes, Lanes, Lanes, Lanes, Lanes], Chosen]] = {
    "up": _up,
    "down": _down,
    "bfly": _butterfly,
    "idx": _index,
}


def bind_vote(instruction: Instruction, binder: Binder) -> Step:
    """`vote.sync.{all,any,uni}.pred p, {!}a, mask` and `vote.sync.ballot.b32 d, {!}a, mask`."""
    words = instruction.parts[1:]
    if len(words) != 3 or words[0] != "sync" or words[1] not in ("all", "any", "uni", "ballot"):
        raise Refusal("only vote.sync.{all,any,uni,ballot} is emulated")
    result, flag, members = instruction.operands
    mode = words[1]
    target = binder.target(result, "b32" if mode == "ballot" else "pred")
    source, mask = binder.source(flag, "pred"), binder.source(members, "b32")

    def step(machine: Machine) -> None:
        select = machine.active
        view = WarpView(machine, mask(machine, select))
        asked = view.masks & view.active
        yes = view.bits(_all(view, source(machine, select))) & view.masks
        answers: dict[str, Callable[[], Array]] = {
            "ballot": lambda: yes,
            "any": lambda: yes != 0,
            "all": lambda: yes == asked,
            "uni": lambda: (yes == 0) | (yes == asked),
        }
        target(machine, select, answers[mode]())

    return step


_REDUCTIONS: dict[str, tuple[np.ufunc, tuple[str, ...]]] = {
    "add": (np.add, ("u32", "s32")),
    "min": (np.minimum, ("u32", "s32")),
    "max": (np.maximum, ("u32", "s32")),
    "and": (np.bitwise_and, ("b32",)),
    "or": (np.bitwise_or, ("b32",)),
    "xor": (np.bitwise_xor, ("b32",)),
}


def bind_reduction(instruction: Instruction, binder: Binder) -> Step:
    """`redux.sync.op.type d, a, mask`."""
    words = instruction.parts[1:]
    if len(words) != 3 or words[0] != "sync" or words[1] not in _REDUCTIONS:
        raise Refusal("only redux.sync.{add,min,max,and,or,xor} is emulated")
    function, types = _REDUCTIONS[words[1]]
    type_name = words[2]
    require(type_name, types)
    result, operand, members = instruction.operands
    target = binder.target(result, type_name)
    source, mask = binder.source(operand, type_name), binder.source(members, "b32")

    def step(machine: Machine) -> None:
        select = machine.active
        view = WarpView(machine, mask(machine, select))
        values = _all(view, source(machine, select))
        found = np.zeros(view.lanes.size, DTYPES[type_name])
        for members in np.unique(view.masks):
            here = view.masks == members
            warp, value = view.warp[here], values[here]
            order = np.argsort(warp, kind="stable")
            starts = np.flatnonzero(np.diff(warp[order], prepend=-1))
            reduced = function.reduceat(value[order], starts, dtype=value.dtype)
            by_warp = np.zeros(view.warps, value.dtype)
            by_warp[warp[order][starts]] = reduced
            found[here] = by_warp[warp]
        target(machine, select, found)

    return step


def bind_match(instruction: Instruction, binder: Binder) -> Step:
    """`match.any.sync.{b32,b64} d, a, mask`: the member lanes that hold the same value."""
    words = instruction.parts[1:]
    if len(words) != 3 or words[:2] != ("any", "sync"):
        raise Refusal("only match.any.sync is emulated")
    require(words[2], ("b32", "b64"))
    result, operand, members = instruction.operands
    target = binder.target(result, "b32")
    source, mask = binder.source(operand, words[2]), binder.source(members, "b32")

    def step(machine: Machine) -> None:
        select = machine.active
        view = WarpView(machine, mask(machine, select))
        grid = view.grid(_all(view, source(machine, select)))
        same = grid[:, :, None] == grid[:, None, :]
        octets = np.packbits(same, axis=2, bitorder="little")
        bits = octets.reshape(-1, 4).view(np.uint32).reshape(view.warps, WARP)
        target(machine, select, bits[view.warp, view.lane] & view.masks & view.active)

    return step


def bind_active_mask(instruction: Instruction, binder: Binder) -> Step:
    """`activemask.b32 d`: the lanes of the warp that run together just now."""
    only(instruction.parts[1:], "b32")
    target = binder.target(instruction.operands[0], "b32")

    def step(machine: Machine) -> None:
        view = WarpView(machine, np.zeros(1, np.uint32))
        target(machine, machine.active, view.active)

    return step


def bind_warp_barrier(instruction: Instruction, binder: Binder) -> Step:
    """`bar.warp.sync mask`: orders memory among the members.

    The race detector learns of it only when the mask names every live lane of the warp.
    """
    mask = binder.source(instruction.operands[0], "b32")

    def step(machine: Machine) -> None:
        view = WarpView(machine, mask(machine, machine.active))
        live_grid = np.zeros(view.warps * WARP, np.bool_)
        live_grid[machine.slot[machine.live]] = True
        octets = np.packbits(live_grid.reshape(view.warps, WARP), axis=1, bitorder="little")
        live = octets.view(np.uint32).reshape(-1)[view.warp]
        whole = (live & ~(view.masks & view.active)) == 0
        machine.warp_since[view.lanes[whole]] = machine.clock.tick()

    return step


def members_of(instruction: Instruction, binder: Binder) -> Source:
    """The member mask of a `.sync` instruction: its last operand, or all for matrices."""
    operand: Operand = instruction.operands[-1]
    if instruction.parts[0] in ("mma", "ldmatrix"):
        operand = Immediate(-1)
    return binder.source(operand, "b32")


WARP_SYNC: dict[str, Callable[[Instruction, Binder], Step]] = {
    "shfl": bind_shuffle,
    "vote": bind_vote,
    "redux": bind_reduction,
    "match": bind_match,
    "bar": bind_warp_barrier,
}
