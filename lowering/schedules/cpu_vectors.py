"""What schedules for a CPU share: parameters, numbers of lanes, loops as vectors and by threads."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from xdsl.ir import Block, Operation

from tensorscript.base.dtypes import DType
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.ops import ForOp, StoreOp, UpdateOp

from ..schedule import Scheduler
from ..te import search
from ..te.affine import accesses, coefficient, flat_index, known
from ..te.lanes import REST_LANES
from ..te.temporaries import temporaries
from .scattered import load_apart
from .work import calls, depth_of, grain_of, weight_of

if TYPE_CHECKING:  # kernels that few programs have
    from .attention_tile import AttentionBlocking
    from .contraction_tile import Blocking
    from .convolution_nest import ConvolutionBlocking


@dataclass(frozen=True)
class CPUParameters:
    """What a schedule needs to know of the machine.

    Attributes:
        vector_bytes: width of a vector register.
        grain: element operations (of vector code) worth handing to another thread, about 10 us.
        reduction_chunk: elements of a full reduction that one thread takes at a time.
        fixed: parameters of the kernel at hand that every call passes a constant for.
        handed_out: results of the kernel at hand that every call hands to the program's caller.
        last_cache: bytes of the cache that all processors share.
        first_cache: bytes of the cache of data next to a processor.
        far: bytes from which on what is read here and there is loaded element by element, None
            where it is gathered.
        groups: dtypes of which the machine multiplies and adds all that 32 bits hold in one
            instruction; uint8 by int8.
        tiles: dtypes that the machine's matrix unit multiplies; int8 is for bytes of either sign.
        checked: have the steps checked, which are legal by construction.
        registers: vectors that a loop's body works on at a time, None for as many as its size
            suggests.
        blocking: of a product, a convolution or an attention, None for the one that its size and
            the vectors suggest.
    """

    vector_bytes: int = 64
    grain: int = 1 << 18
    reduction_chunk: int = 1 << 15
    fixed: frozenset[str] = frozenset()
    handed_out: frozenset[str] = frozenset()
    last_cache: int = 32 << 20
    first_cache: int = 48 << 10
    far: int | None = None
    groups: frozenset[DType] = frozenset()
    tiles: frozenset[DType] = frozenset()
    checked: bool = False
    registers: int | None = None
    blocking: Blocking | ConvolutionBlocking | AttentionBlocking | None = None


LIGHT, HEAVY = 40, 120
"""Operations up to which a body works on four vectors at a time, and on two."""
HEAVIEST_CHAIN = 400
"""Operations that are written out for several vectors, at most: each takes a while to compile."""
LONGEST_CHAIN = 32
"""Additions in a row to one accumulator of a long sum."""
MANY_PARTS = 16
"""Parts of a long sum that are added up side by side, not in a row."""


def _widest(op: Operation, buffers: dict[str, Buffer]) -> int:
    """Bytes of the narrowest element type accessed: lanes are counted in the widest vectors."""
    sizes = [buffers[name].dtype.itemsize for name, _ in accesses(op) if name in buffers]
    return min(8, max(4, min(sizes, default=4)))


def lanes_of(op: Operation, buffers: dict[str, Buffer], parameters: CPUParameters) -> int:
    """Elements per vector loop: several registers when the body is small."""
    registers = _registers_of(op, weight_of(op), parameters)
    return registers * parameters.vector_bytes // _widest(op, buffers)


def map_lanes(loop: ForOp, buffers: dict[str, Buffer], parameters: CPUParameters) -> int:
    """Elements per vector loop of one without reductions. What waits for each other in it is done
    for several vectors meanwhile, where there are 32 registers of whole vectors."""
    weight = weight_of(loop)
    registers = _registers_of(loop, weight, parameters)
    if parameters.registers is None and parameters.vector_bytes >= 64:
        waits = HEAVY < weight <= HEAVIEST_CHAIN and weight <= 2 * depth_of(loop)
        registers = 4 if weight <= HEAVY or waits else registers
    return registers * parameters.vector_bytes // _widest(loop, buffers)


def _registers_of(op: Operation, weight: int, parameters: CPUParameters) -> int:
    if parameters.registers is not None:
        return parameters.registers
    if parameters.vector_bytes < 64 and calls(op):
        return _registers_of_calls(op, weight) if parameters.vector_bytes == 32 else 1
    return 4 if weight <= LIGHT else 2 if weight <= HEAVY else 1


def _registers_of_calls(op: Operation, weight: int) -> int:
    """The same for math functions without AVX-512, each of which takes most of the 16 registers
    that there are: more only where few other values are kept. One vector's steps wait for each
    other, and an AMD processor does not see far enough to find others meanwhile."""
    if weight > HEAVY:
        return 1
    body = list(op.walk())
    written = {o.buffer for o in body if isinstance(o, (StoreOp, UpdateOp))}
    kept = {name for name, _ in accesses(op)} - written
    updates, stores = (any(isinstance(o, kind) for o in body) for kind in (UpdateOp, StoreOp))
    if updates and stores:  # as a softmax: two spill
        return 1
    return 2 if updates or len(kept) > 1 else 4


def shrunk(lanes: int, extent: Expr) -> int:
    """No more lanes than the loop fills, or half fills one vector of."""
    size = known(extent)
    while size is not None and lanes > 4 and (lanes // 2 >= size or lanes > max(size, 16)):
        lanes //= 2
    return lanes


def is_innermost(loop: ForOp) -> bool:
    return not any(isinstance(op, ForOp) for op in loop.block.ops)


def loops_in(block: Block) -> Iterable[ForOp]:
    return [op for op in block.ops if isinstance(op, ForOp)]


def make_parallel(scheduler: Scheduler, loop: ForOp, parameters: CPUParameters) -> None:
    """Mark an independent loop parallel unless all of its work is too little for two threads."""
    grain = grain_of(scheduler.nest, loop, parameters.grain)
    size = scheduler.nest.most_iterations(loop)
    if size is not None and size < 2 * grain:
        return
    scheduler.do("parallel", loop.var, grain)


def writes_contiguous(loop: ForOp, buffers: dict[str, Buffer]) -> bool:
    steps = [
        coefficient(flat_index(buffers[op.buffer], op.indices), loop.var)
        for op in loop.walk()
        if isinstance(op, (StoreOp, UpdateOp))
    ]
    return all(step is not None and step.is_int(1) for step in steps)


def vectorize_inside(scheduler: Scheduler, loop: ForOp, parameters: CPUParameters) -> None:
    """Vectorise the innermost loops in (and including) `loop`."""
    if not is_innermost(loop):
        for inner in loops_in(loop.block):
            vectorize_inside(scheduler, inner, parameters)
        return
    if (known(loop.extent) or 64) < 2:
        return
    if temporaries(loop):
        scheduler.do("name_temporaries", loop.var)
    buffers = scheduler.nest.buffers
    wanted = lanes_of if loop.is_reduction else map_lanes
    lanes = shrunk(wanted(loop, buffers, parameters), loop.extent)
    if search.first_place(loop) is not None and (known(loop.extent) or lanes) >= lanes:
        scheduler.do("search", loop.var, lanes)
    elif loop.is_reduction and any(isinstance(op, UpdateOp) for op in loop.block.ops):
        _accumulate(scheduler, loop, lanes)
    elif writes_contiguous(loop, buffers) and not load_apart(scheduler, loop, parameters.far):
        in_vectors(scheduler, loop, lanes)


def _accumulate(scheduler: Scheduler, loop: ForOp, lanes: int) -> None:
    """Vector accumulators; a long sum of floats in parts, since rounding errors add up."""
    target, chunk = loop.var, lanes * LONGEST_CHAIN
    size = scheduler.nest.most_iterations(loop)
    sums = any(
        isinstance(op, UpdateOp) and op.combiner == "add" and op.value.dtype.is_floating_point
        for op in loop.block.ops
    )
    if sums and size is not None and size >= 2 * chunk:
        parts, target = scheduler.do("split", target, chunk, "short")
        if size >= MANY_PARTS * chunk:
            side = math.isqrt(size // chunk)
            *_, last = scheduler.do("rfactor", scheduler.do("split", parts, side, "short")[1])
            scheduler.do("accumulate", last, 4)
    scheduler.do("accumulate", target, lanes)


def in_vectors(scheduler: Scheduler, loop: ForOp, lanes: int) -> None:
    """Whole vectors and a masked rest; of a length that the program finds in vectors that are not
    wider than they have to be."""
    wide = known(loop.extent) is None and lanes > REST_LANES
    for made in scheduler.do("split", loop.var, lanes, "loop" if wide else "rest"):
        inner = scheduler.nest.loops[made]
        if is_innermost(inner) and known(inner.extent) is None:
            made = scheduler.do("split", made, REST_LANES, "guard")[1]
        if is_innermost(scheduler.nest.loops[made]):
            scheduler.do("vectorize", made)
