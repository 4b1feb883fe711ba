"""Schedules of kernels for a CPU, chosen by category.

| category | schedule |
|---|---|
| pointwise | collapse loops, strips of vectors, outermost loop parallel |
| reduction, rows | collapse, fuse neighbouring inner loops, rows parallel; vectorise each inner
loop, or the last outer loop if that is the one that walks memory |
| contraction | blocked product where it pays, else as a reduction |
| attention | products tiled around a softmax of blocks of keys |
| scan, scatter | outermost independent loop parallel |
| sort | a merge sort or a selection per line, the outermost loop parallel |
| (host) | iterations of counting loops as lanes |
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation

from tensorscript.dialects.te.buffers import Buffer, ExprAttr
from tensorscript.dialects.te.expr import Expr, as_expr, binary, const, load, mul, var, walk
from tensorscript.dialects.te.ops import (
    AllocOp,
    ForOp,
    FuncOp,
    StoreOp,
    UpdateOp,
    functions,
)
from tensorscript.dialects.tg.ops import identity

from ..te.affine import accesses, all_buffers, coefficient, expressions, flat_index, known
from ..te.rebuild import substituting
from .accumulate import accumulate_rows
from .attention import tile_attention
from .collapse import collapse, outer_loops
from .contraction import block_contraction
from .fuse_rows import fuse_rows
from .iterations import vectorize_iterations
from .lanes import vectorize_map, vectorize_outer, vectorize_reduction
from .order import schedule_sort
from .prepack import constant_arguments
from .taps import expand_taps
from .temporaries import name_temporaries
from .transpose import transpose_tiles


@dataclass(frozen=True)
class CPUParameters:
    """What a schedule needs to know of the machine.

    Attributes:
        vector_bytes: width of a vector register.
        grain: element operations (of vector code) worth handing to another thread, about 10 us.
        reduction_chunk: elements of a full reduction that one thread takes at a time.
        fixed: parameters of the kernel at hand that every call passes a constant for.
    """

    vector_bytes: int = 64
    grain: int = 1 << 18
    reduction_chunk: int = 1 << 15
    fixed: frozenset[str] = frozenset()


MATH_WEIGHT = 12
"""A math function costs about this many additions."""
TINY_REDUCTION = 16


def _weight(op: Operation) -> int:
    """Operations of one innermost iteration."""
    total = 0
    for inner in op.walk():
        for e in expressions(inner):
            total += sum(MATH_WEIGHT if n.op == "call" else 1 for n in walk(e))
    return max(1, total)


def _widest(op: Operation, buffers: dict[str, Buffer]) -> int:
    """Bytes of the narrowest element type accessed: lanes are counted in the widest vectors."""
    sizes = [buffers[name].dtype.itemsize for name, _ in accesses(op) if name in buffers]
    return min(8, max(4, min(sizes, default=4)))


def _lanes(op: Operation, buffers: dict[str, Buffer], parameters: CPUParameters) -> int:
    """Elements per vector loop: several registers when the body is small."""
    weight = _weight(op)
    registers = 4 if weight <= 40 else 2 if weight <= 120 else 1
    return registers * parameters.vector_bytes // _widest(op, buffers)


def _shrunk(lanes: int, extent: Expr) -> int:
    """No more lanes than the loop fills, or half fills one vector of."""
    size = known(extent)
    while size is not None and lanes > 4 and (lanes // 2 >= size or lanes > max(size, 16)):
        lanes //= 2
    return lanes


def _replace(op: Operation, made: list[Operation]) -> None:
    block = op.parent
    assert block is not None
    for statement in made:
        statement.location = op.location
        block.insert_op_before(statement, op)
    op.detach()
    op.erase()


def _is_innermost(loop: ForOp) -> bool:
    return not any(isinstance(op, ForOp) for op in loop.block.ops)


def _loops(block: Block) -> Iterable[ForOp]:
    return [op for op in block.ops if isinstance(op, ForOp)]


def _trip_work(loop: ForOp) -> int:
    """Estimated operations of one iteration of a loop (unknown sizes count as 64)."""
    total = 0
    for op in loop.block.ops:
        if isinstance(op, ForOp):
            total += (known(op.extent) or 64) * _trip_work(op)
        else:
            total += _weight(op)
    return max(1, total)


def _grain(loop: ForOp, parameters: CPUParameters) -> int:
    return max(1, parameters.grain // _trip_work(loop))


def _make_parallel(loop: ForOp, parameters: CPUParameters) -> None:
    """Mark an independent loop parallel unless all of its work is too little for two threads."""
    grain, size = _grain(loop, parameters), known(loop.extent)
    if size is not None and size < 2 * grain:
        return
    loop.properties["kind"] = StringAttr("parallel")
    loop.properties["grain_attr"] = ExprAttr(as_expr(grain))


# --- pointwise ----------------------------------------------------------------------------------


def _schedule_pointwise(func: FuncOp, parameters: CPUParameters) -> None:
    buffers = all_buffers(func)
    collapse(func.block, buffers)
    for loop in _loops(func.block):
        if (squares := transpose_tiles(loop, buffers)) is not None:
            _replace(loop, squares)
        else:
            _vectorize_inside(loop, buffers, parameters)
    for loop in _loops(func.block):
        if loop.kind.data == "serial":
            _make_parallel(loop, parameters)


def _stores_contiguous(loop: ForOp, buffers: dict[str, Buffer]) -> bool:
    steps = [
        coefficient(flat_index(buffers[op.buffer], op.indices), loop.var)
        for op in loop.walk()
        if isinstance(op, StoreOp)
    ]
    return all(step is not None and step.is_int(1) for step in steps)


def _vectorize_inside(loop: ForOp, buffers: dict[str, Buffer], parameters: CPUParameters) -> None:
    """Vectorise the innermost loops in (and including) `loop`."""
    if not _is_innermost(loop):
        for inner in _loops(loop.block):
            _vectorize_inside(inner, buffers, parameters)
        return
    if (known(loop.extent) or 64) < 2:
        return
    name_temporaries(loop)
    lanes = _shrunk(_lanes(loop, buffers, parameters), loop.extent)
    if any(isinstance(op, UpdateOp) for op in loop.block.ops):
        _replace(loop, vectorize_reduction(loop, lanes))
    elif _stores_contiguous(loop, buffers):
        _replace(loop, vectorize_map(loop, lanes))


# --- reductions ---------------------------------------------------------------------------------


def _prefers_outer(loop: ForOp, buffers: dict[str, Buffer]) -> bool:
    """Lanes along `loop` gather from memory less often than lanes along its reductions."""
    reductions = [op for op in loop.walk() if isinstance(op, ForOp) and op.is_reduction]
    size = known(loop.extent)
    if not reductions or (size is not None and size < 4):
        return False
    trips = [known(r.extent) for r in reductions]
    tiny = all(t is not None and t < TINY_REDUCTION for t in trips)
    outer_gathers = inner_gathers = along_outer = 0
    for reduction in (r for r in reductions if _is_innermost(r)):
        for name, indices in accesses(reduction):
            position = flat_index(buffers[name], indices)
            outer, inner = coefficient(position, loop.var), coefficient(position, reduction.var)
            outer_gathers += _gathers(outer)
            inner_gathers += _gathers(inner)
            along_outer += not _gathers(outer) and outer is not const(0)
    if tiny:
        return along_outer > 0 or size is None
    return outer_gathers < inner_gathers


def _gathers(step: Expr | None) -> bool:
    """Neighbouring lanes are so far apart that each costs a load; two steps cost a shuffle."""
    return step is None or not (step.is_const and 0 <= int(str(step)) <= 2)


def _simple_body(loop: ForOp) -> bool:
    """Only what `vectorize_outer` distributes over lanes, with bounds that all lanes share."""
    for op in loop.block.ops:
        for inner in op.walk():
            if not isinstance(inner, ForOp | StoreOp | UpdateOp | AllocOp):
                return False
            if isinstance(inner, ForOp) and loop.var in inner.extent.free | inner.start.free:
                return False
    return True


def _schedule_rows(func: FuncOp, parameters: CPUParameters) -> None:
    buffers = all_buffers(func)
    collapse(func.block, buffers)
    chunk_full_reduction(func, parameters)
    buffers = all_buffers(func)
    loops, row = outer_loops(func)
    if loops and _prefers_outer(loops[-1], buffers) and _simple_body(loops[-1]):
        last = loops[-1]
        lanes = _shrunk(_lanes(last, buffers, parameters), last.extent)
        block = last.parent
        _replace(last, accumulate_rows(last, lanes) or vectorize_outer(last, lanes))
        assert block is not None
        expand_taps(block)
    else:
        fuse_rows(row)
        for loop in _loops(row):
            _vectorize_inside(loop, buffers, parameters)
    for loop in _loops(func.block):
        if loop.kind.data == "serial" and not loop.is_reduction:
            _make_parallel(loop, parameters)


def chunk_full_reduction(func: FuncOp, parameters: CPUParameters) -> None:
    """Cut a long reduction to a single element into partial ones.

    ```
    s[] = 0                             s[] = 0
    for r in 0 .. n { s[] += x[r] } --> for c in 0 .. n / chunk { p[c] = 0; for r.. { p[c] += .. } }
                                        for c in 0 .. n / chunk { s[] += p[c] }
    ```
    """
    for loop in list(_loops(func.block)):
        size, chunk = known(loop.extent), parameters.reduction_chunk
        body = list(loop.block.ops)
        plain = len(body) == 1 and isinstance(body[0], UpdateOp)
        if not loop.is_reduction or size is None or size < 2 * chunk or not plain:
            continue
        update = body[0]
        assert isinstance(update, UpdateOp)
        dtype, c = update.value.dtype, var(f"{loop.var}_c")
        count = -(-size // chunk)
        left = const(size) - mul(c, const(chunk))
        here = substituting({loop.var: c * chunk + var(loop.var)})
        extent = binary("min", const(chunk), left) if size % chunk else const(chunk)
        name = f"p_{loop.var}"
        step = UpdateOp(name, [c], update.combiner, here(update.value))
        partial = ForOp(
            str(c.value),
            count,
            [
                StoreOp(name, [c], identity(update.combiner, dtype)),
                ForOp(loop.var, extent, [step], reduction=True),
            ],
        )
        last = var(f"{loop.var}_d")
        total = UpdateOp(update.buffer, update.indices, update.combiner, load(name, [last], dtype))
        combine = ForOp(str(last.value), count, [total], reduction=True)
        _replace(loop, [AllocOp(Buffer(name, dtype, (const(count),)), "stack"), partial, combine])


# --- the rest -----------------------------------------------------------------------------------


def _schedule_contraction(func: FuncOp, parameters: CPUParameters) -> None:
    if not block_contraction(func, parameters.vector_bytes, parameters.fixed):
        _schedule_rows(func, parameters)


def _schedule_attention(func: FuncOp, parameters: CPUParameters) -> None:
    if not tile_attention(func, parameters.vector_bytes):
        _schedule_rows(func, parameters)


def _schedule_lines(func: FuncOp, parameters: CPUParameters) -> None:
    """Lines are independent, the outermost loop takes them in parallel."""
    for loop in _loops(func.block):
        alone = len(list(func.block.ops)) == 1
        if alone and not loop.is_reduction:
            _make_parallel(loop, parameters)


def _schedule_sort(func: FuncOp, parameters: CPUParameters) -> None:
    schedule_sort(func)
    _schedule_lines(func, parameters)


def _schedule_scatter(func: FuncOp, parameters: CPUParameters) -> None:
    """The copy of the base is a map; the updates stay in order."""
    if any(b.mode == "inout" for b in func.buffers):
        return  # updates only
    buffers = all_buffers(func)
    collapse(func.block, buffers)
    first = next(iter(_loops(func.block)), None)
    if first is not None:
        _vectorize_inside(first, buffers, parameters)


_SCHEDULES = {
    "pointwise": _schedule_pointwise,
    "reduction": _schedule_rows,
    "rows": _schedule_rows,
    "contraction": _schedule_contraction,
    "attention": _schedule_attention,
    "scan": _schedule_lines,
    "sort": _schedule_sort,
    "scatter": _schedule_scatter,
}


def schedule_cpu(module: ModuleOp, parameters: CPUParameters) -> None:
    """Schedule every logical function of a te module in place."""
    passed = constant_arguments(module)
    for func in functions(module):
        if func.level.data != "logical":
            continue
        if func.role.data == "host":
            vectorize_iterations(func, parameters.vector_bytes)
        else:
            fixed = passed.get(func.sym_name.data, frozenset())
            _SCHEDULES[func.category.data or "scan"](func, replace(parameters, fixed=fixed))
        func.properties["level"] = StringAttr("scheduled")
