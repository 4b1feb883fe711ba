"""Which results are written past the caches: those that would leave them before they are read.

Of a function's own result nobody knows when it is read; while its caller holds one, the next call
writes another. Where what both calls touch is more than the last cache, the first one is not in it
any more. A result inside of a program is read soon: it alone has to be more than that cache.
Between the two, stores are as fast either way (`docs/performance.md`, "Past the caches"). Lines
that are written in parts lose, so all vectors begin at one: those of rows of 500 floats do not. So
does without AVX-512 what takes longer to compute than to store.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from tensorscript.dialects.te.buffers import LINE, Buffer
from tensorscript.dialects.te.expr import const
from tensorscript.dialects.te.ops import CallOp, ForOp, StoreOp, functions
from tensorscript.dialects.te.rewriting import substitute
from tensorscript.dialects.walks import walk_ops

from ..schedule import Scheduler
from ..te import stream
from ..te.affine import bytes_of, coefficient, flat_index, known
from ..te.nest import Nest
from .cpu_vectors import CPUParameters
from .work import calls

LEAST_SHARE = 4
"""A result is at least one part in so many of the last cache: less is found there afterwards."""


def handed_out(module: ModuleOp) -> dict[str, frozenset[str]]:
    """Kernel name to the results that every call of it hands to the caller of the program."""
    found: dict[str, frozenset[str]] = {}
    params = {f.sym_name.data: f.params for f in functions(module)}
    for func in functions(module):
        own = {b.name for b in func.buffers if b.mode == "out"}
        for op in walk_ops(func):
            if isinstance(op, CallOp) and op.callee in params:
                pairs = zip(params[op.callee], op.arguments, strict=True)
                here = frozenset(p.name for p, a in pairs if a.op == "var" and str(a.value) in own)
                found[op.callee] = found.get(op.callee, here) & here
    return found


def stream_results(scheduler: Scheduler, parameters: CPUParameters) -> None:
    """Stream what leaves the last cache of what a kernel writes."""
    func, cache = scheduler.func, parameters.last_cache
    touched = sum(map(bytes_of, func.buffers))
    for buffer in func.buffers:
        size = bytes_of(buffer)
        if buffer.name in parameters.handed_out:
            leaves = 4 * (touched + size) >= 5 * cache and LEAST_SHARE * size >= cache
        else:
            leaves = 2 * size >= 3 * cache
        nest = scheduler.nest
        by_lines = leaves and _by_lines(nest, buffer, parameters.vector_bytes < 64)
        if by_lines and stream.check(nest, buffer.name) is None:
            scheduler.do("stream", buffer.name)


def _by_lines(nest: Nest, buffer: Buffer, only_moved: bool) -> bool:
    """Whether all stores are vectors that begin at a line where the buffer does, and if asked for,
    beside no calls of math functions."""
    stores = [op for op in walk_ops(nest.func) if isinstance(op, StoreOp)]
    own = [op for op in stores if op.buffer == buffer.name]
    return all(
        _begins_line(nest, op, buffer) and not (only_moved and calls(nest.enclosing(op)[-1]))
        for op in own
    )


def _begins_line(nest: Nest, store: StoreOp, buffer: Buffer) -> bool:
    loops = nest.enclosing(store)
    if not loops or not _is_lane(loops[-1]):
        return False
    position = flat_index(buffer, store.indices)
    *steps, own = (coefficient(position, loop.var) for loop in loops)
    if own is None or not own.is_int(1):
        return False
    start = substitute(position, {loop.var: const(0) for loop in loops})
    found = [None if step is None else known(step) for step in (start, *steps)]
    return all(n is not None and n * buffer.dtype.itemsize % LINE == 0 for n in found)


def _is_lane(loop: ForOp) -> bool:
    return loop.kind.data == "vector" and loop.start.is_int(0)
