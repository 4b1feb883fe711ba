"""atom and red (PTX ISA 9.7.13): lanes that meet at one address go one after another, in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..access import check_race, check_writable, check_written, mark_written, reach
from ..binder import Binder
from ..machine import Lanes, Machine, Step
from ..rounding import from_bfloat, narrow
from ..syntax import Address, Instruction, Operand
from ..types import DTYPES, Array, width
from .alu import Refusal
from .data import SPACES

Update = Callable[..., Array]

_FLOATS = ("f32", "f64", "f16", "bf16")


def _increment(old: Array, limit: Array) -> Array:
    answer: Array = np.where(old >= limit, old.dtype.type(0), old + old.dtype.type(1))
    return answer


def _decrement(old: Array, limit: Array) -> Array:
    return np.where((old == 0) | (old > limit), limit, old - old.dtype.type(1))


def _compare_and_swap(old: Array, expected: Array, new: Array) -> Array:
    return np.where(old == expected, new, old)


def _add_bfloat(old: Array, value: Array) -> Array:
    return narrow((from_bfloat(old) + from_bfloat(value)).astype(np.float64), "bf16")


_UPDATES: dict[str, tuple[Update, tuple[str, ...]]] = {
    "add": (np.add, ("u32", "s32", "u64", "s64", *_FLOATS)),
    "min": (np.minimum, ("u32", "s32", "u64", "s64")),
    "max": (np.maximum, ("u32", "s32", "u64", "s64")),
    "and": (np.bitwise_and, ("b32", "b64")),
    "or": (np.bitwise_or, ("b32", "b64")),
    "xor": (np.bitwise_xor, ("b32", "b64")),
    "inc": (_increment, ("u32",)),
    "dec": (_decrement, ("u32",)),
    "exch": (lambda old, value: value, ("b32", "b64", "u32", "u64", "s32", "s64", "f32")),
    "cas": (_compare_and_swap, ("b16", "b32", "b64", "u32", "u64", "s32", "s64")),
}
_ORDER = set(["relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys", "noftz"])


def bind_atomic(instruction: Instruction, binder: Binder) -> Step:
    """`atom{.sem}{.scope}{.space}.op.type d, [a], b{, c}` and `red` without the result."""
    returns = instruction.parts[0] == "atom"
    type_name = instruction.parts[-1]
    space, operation = "generic", ""
    for word in instruction.parts[1:-1]:
        if word in SPACES:
            space = SPACES[word]
        elif word in _UPDATES and not operation:
            operation = word
        elif word not in _ORDER:
            raise Refusal(f"modifier .{word} is not emulated")
    update, types = _UPDATES.get(operation, (None, ()))
    if update is None or type_name not in types:
        raise Refusal(f"atomic .{operation}.{type_name} is not emulated")
    if type_name == "bf16":
        update = _add_bfloat
    operands = list(instruction.operands)
    result = operands.pop(0) if returns else None
    expected = 3 if operation == "cas" else 2
    if len(operands) != expected or not isinstance(operands[0], Address):
        raise Refusal("wrong operands of an atomic")
    return _atomic_step(binder, space, type_name, update, result, operands)


def _atomic_step(
    binder: Binder,
    space: str,
    type_name: str,
    update: Update,
    result: Operand | None,
    operands: list[Operand],
) -> Step:
    address = binder.address(operands[0], space)
    sources = [binder.source(operand, type_name) for operand in operands[1:]]
    target = binder.target(result, type_name) if result is not None else None
    size, dtype = width(type_name), DTYPES[type_name]

    def step(machine: Machine) -> None:
        select, lanes = machine.active, machine.active_lanes
        values = [np.broadcast_to(s(machine, select), lanes.shape) for s in sources]
        old = np.zeros(lanes.size, dtype)
        for part in reach(machine, space, address(machine, select), size, lanes):
            check_writable(machine, part)
            check_race(machine, part, "atomic", size)
            machine.statistics.atomics += part.lanes.size
            index = part.offsets // size
            check_written(machine, part, size, index)
            view = part.region.view(size).view(dtype)
            here = [v[part.positions] for v in values]
            old[part.positions] = apply_in_order(view, index, update, here)
            mark_written(part, size, index)
        if target is not None:
            target(machine, select, old)

    return step


def apply_in_order(view: Array, index: Lanes, update: Update, values: list[Array]) -> Array:
    """`view[i] = update(view[i], *v)` lane by lane; gives what each lane found before its own.

    Lanes of one address run in lane order. Where few addresses are shared by many lanes and the
    update is a ufunc, each address is one `accumulate`, which adds in the same order.
    """
    order = np.argsort(index, kind="stable")
    sorted_index = index[order]
    first = np.ones(index.size, np.bool_)
    first[1:] = sorted_index[1:] != sorted_index[:-1]
    starts = np.flatnonzero(first)
    sizes = np.diff(np.append(starts, index.size))
    old = np.zeros(index.size, view.dtype)
    if isinstance(update, np.ufunc) and starts.size < sizes.max():
        for start, size in zip(starts, sizes, strict=True):
            _accumulate(view, index, update, values[0], order[start : start + size], old)
        return old
    rank = np.arange(index.size) - np.repeat(starts, sizes)
    by_rank = order[np.argsort(rank, kind="stable")]
    ends = np.cumsum(np.bincount(rank))
    begin = 0
    for end in ends:
        turn = by_rank[begin:end]
        found = view[index[turn]]
        old[turn] = found
        view[index[turn]] = update(found, *(v[turn] for v in values))
        begin = end
    return old


def _accumulate(
    view: Array, index: Lanes, update: np.ufunc, value: Array, lanes: Lanes, old: Array
) -> None:
    cell: Any = index[lanes[0]]
    chain = np.empty(lanes.size + 1, view.dtype)
    chain[0] = view[cell]
    chain[1:] = value[lanes]
    running = update.accumulate(chain, dtype=view.dtype)
    old[lanes] = running[:-1]
    view[cell] = running[-1]
