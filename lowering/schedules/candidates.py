"""Other schedules that a tuner may try for a kernel.

The heuristics make them all, from other parameters, so that every one is a schedule as good as the
compiler's own. Parameters are tried one after the other, each with the best of those before:

| kernel | parameters |
|---|---|
| product | rows and columns of the tile, steps of the depth, panels in a block |
| convolution | rows and columns of the tile, steps of the depth, output rows of a task |
| attention | rows and columns of the tile, queries and keys of a block |
| with vector loops | vectors that a body works on at a time: unrolling, independent accumulators |
| with threads | operations worth handing to another thread |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, replace

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.ops import FuncOp
from tensorscript.dialects.te.schedule import Schedule

from ..te.affine import all_buffers
from .attention_shape import Attention, recognise_attention
from .attention_tile import AttentionBlocking, attention_blocking
from .contraction_plan import blocking_for
from .contraction_shape import Product, made_of, product_of
from .contraction_tile import Blocking
from .contraction_tiles import tiles_blocking
from .convolution import Convolution, as_convolution, convolution_step
from .convolution_nest import ConvolutionBlocking
from .cpu import schedule_kernel
from .cpu_kernels import UNIT_KERNELS, product_kernel
from .cpu_vectors import CPUParameters
from .kernels import KERNELS
from .product_rows import product_with_rows

REGISTERS = (1, 2, 4, 8)
GRAIN_FACTORS = (8, 64)
"""A grain is tried divided and multiplied by these."""
TILES = {
    64: ((14, 2), (12, 2), (8, 3), (6, 4), (4, 6), (9, 3)),
    32: ((6, 2), (4, 3), (4, 2), (2, 6)),
    16: ((6, 2), (4, 2), (4, 3)),
}
"""By vector bytes: rows, and vectors of columns, of register tiles that fit the registers."""
UNIT_TILES = ((32, 32), (16, 64), (64, 16), (48, 16), (16, 48), (16, 32), (32, 16), (16, 16))
"""Rows and columns in the registers of a matrix unit."""
UNIT_DEPTHS = (64, 128, 256, 512)
"""Groups of a block of the depth there."""
DEPTHS = (128, 256, 512, 1024)
PANELS = (1, 2, 4, 8, 16, 32)
OUTPUT_ROWS = (1, 2, 4, 7, 8, 14, 16, 28, 32, 56)
CONVOLUTIONS = frozenset(
    f"{packed}{turned}convolution" for packed in ("", "packed ") for turned in ("", "turned ")
)
QUERIES = (32, 64, 128, 256, 512)
KEYS = (128, 256, 512, 1024, 2048)


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
    if (blockings := _blockings(func, best)) is None:
        return [[replace(best, registers=r) for r in REGISTERS], *found]
    return [[replace(best, blocking=b) for b in options] for options in blockings]


Blockings = Sequence[Sequence[Blocking | ConvolutionBlocking | AttentionBlocking]]


def _blockings(func: FuncOp, best: CPUParameters) -> Blockings | None:
    """The blockings of what a kernel becomes, by parameter; None where it has none."""
    category = func.category.data
    product = product_of(func) if category == "contraction" else None
    if category == "contraction" and (rows := product_with_rows(func)) is not None:
        return _of_product(rows.product, all_buffers(func), best)
    if product is not None:
        convolution = as_convolution(product)
        if convolution is not None:
            return _of_convolution(func, convolution, best)
        return _of_product(product, all_buffers(func), best)
    attention = recognise_attention(func) if category == "attention" else None
    return None if attention is None else _of_attention(attention, best)


def _of_product(product: Product, buffers: dict[str, Buffer], best: CPUParameters) -> Blockings:
    kernel, _ = product_kernel(product, buffers, replace(best, blocking=None))
    of_tiles = kernel in UNIT_KERNELS
    own = (
        tiles_blocking(product)
        if of_tiles
        else blocking_for(product, buffers, best.vector_bytes, best.first_cache)
    )
    now = best.blocking if isinstance(best.blocking, Blocking) else own
    if of_tiles:
        return [
            [replace(now, rows=r, columns=c) for r, c in UNIT_TILES],
            [replace(now, depth=depth) for depth in UNIT_DEPTHS],
            [replace(now, panels=panels) for panels in PANELS],
        ]
    return [
        [replace(now, rows=r, columns=v * now.lanes) for r, v in TILES.get(best.vector_bytes, ())],
        [replace(now, depth=depth) for depth in DEPTHS],
        [replace(now, panels=panels) for panels in PANELS],
    ]


def _of_convolution(func: FuncOp, form: Convolution, best: CPUParameters) -> Blockings:
    constant = made_of(form.product.x, best.fixed)
    name, sizes = convolution_step(
        form, best.vector_bytes, all_buffers(func), constant, best.first_cache
    )
    if name not in CONVOLUTIONS:
        return []
    own = ConvolutionBlocking(*sizes)
    now = best.blocking if isinstance(best.blocking, ConvolutionBlocking) else own
    most = max((rows for rows, _ in TILES.get(best.vector_bytes, ())), default=1)
    tiles = [(rows, vectors) for vectors in (2, 1) for rows in range(most, most // 2, -1)]
    options = [
        [replace(now, rows=rows, columns=vectors * now.lanes) for rows, vectors in tiles],
        [replace(now, depth=depth) for depth in DEPTHS],
        [replace(now, block=block) for block in OUTPUT_ROWS],
    ]
    unfit = KERNELS[name].unfit
    return [[b for b in blockings if unfit(form, *astuple(b)) is None] for blockings in options]


def _of_attention(form: Attention, best: CPUParameters) -> Blockings:
    own = attention_blocking(form, best.vector_bytes, best.first_cache)
    now = best.blocking if isinstance(best.blocking, AttentionBlocking) else own
    shapes = TILES.get(best.vector_bytes, ())
    tiles = [(rows, vectors * now.lanes) for rows, vectors in shapes if not vectors & (vectors - 1)]
    return [
        [now.of_tile(rows, columns) for rows, columns in tiles],
        [now.of_blocks(queries, now.keys) for queries in QUERIES],
        [now.of_blocks(now.queries, keys) for keys in KEYS],
    ]
