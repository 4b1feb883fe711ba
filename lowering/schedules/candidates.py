"""Other schedules that a tuner may try for a kernel.

The heuristics make them all, from other parameters, so that every one is a schedule as good as the
compiler's own. Parameters are tried one after the other, each with the best of those before:

| kernel | parameters |
|---|---|
| product | rows and columns of the tile, steps of the depth, panels in a block |
| with vector loops | vectors that a body works on at a time: unrolling, independent accumulators |
| with threads | operations worth handing to another thread |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tensorscript.dialects.te.ops import FuncOp
from tensorscript.dialects.te.schedule import Schedule

from .contraction_plan import blocking_for
from .contraction_shape import product_of
from .contraction_tile import Blocking
from .cpu import schedule_kernel
from .cpu_vectors import CPUParameters

REGISTERS = (1, 2, 4, 8)
GRAIN_FACTORS = (8, 64)
"""A grain is tried divided and multiplied by these."""
TILES = {
    64: ((14, 2), (12, 2), (8, 3), (6, 4), (4, 6), (9, 3)),
    32: ((6, 2), (4, 3), (4, 2), (2, 6)),
    16: ((6, 2), (4, 2), (4, 3)),
}
"""By vector bytes: rows, and vectors of columns, of register tiles that fit the registers."""
DEPTHS = (128, 256, 512, 1024)
PANELS = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True)
class Candidate:
    """A schedule and the parameters that gave it."""

    parameters: CPUParameters
    schedule: Schedule


def candidate(func: FuncOp, parameters: CPUParameters) -> Candidate:
    """What the heuristics make of a logical kernel, which stays as it is."""
    return Candidate(parameters, schedule_kernel(func.clone(), parameters))


def rounds(func: FuncOp, parameters: CPUParameters) -> int:
    """How many parameters there are to try, one after the other."""
    return len(_variations(func, parameters, parameters))


def variations(
    func: FuncOp, parameters: CPUParameters, best: CPUParameters, number: int
) -> Iterator[Candidate]:
    """The candidates that differ from `best` in one parameter, the `number`th.

    Args:
        func: a logical kernel.
        parameters: those of the compiler's own choice.
    """
    own = candidate(func, best).schedule
    seen = {own}
    for varied in _variations(func, parameters, best)[number]:
        made = candidate(func, varied)
        if made.schedule not in seen:
            seen.add(made.schedule)
            yield made


def _variations(
    func: FuncOp, parameters: CPUParameters, best: CPUParameters
) -> list[list[CPUParameters]]:
    grains = [parameters.grain // f for f in GRAIN_FACTORS]
    grains += [parameters.grain * f for f in GRAIN_FACTORS]
    found = [[replace(best, grain=grain) for grain in grains]]
    product = product_of(func) if func.category.data == "contraction" else None
    if product is None:
        return [[replace(best, registers=r) for r in REGISTERS], *found]
    now = best.blocking or blocking_for(product, best.vector_bytes)
    shapes = TILES.get(best.vector_bytes, ())
    tiles = [replace(now, rows=r, columns=v * now.lanes) for r, v in shapes]
    blockings: list[list[Blocking]] = [
        tiles,
        [replace(now, depth=depth) for depth in DEPTHS],
        [replace(now, panels=panels) for panels in PANELS],
    ]
    return [[replace(best, blocking=b) for b in options] for options in blockings]
