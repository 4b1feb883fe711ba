"""Schedules of kernels for a CPU, chosen by category.

| category | schedule |
|---|---|
| pointwise | collapse loops, strips of vectors, outermost loop parallel |
| reduction, rows | collapse, fuse neighbouring inner loops, rows parallel; vectorise each inner
loop, or the last outer loop if that is the one that walks memory |
| contraction | blocked product where it pays, else as a reduction |
| attention | products tiled around a softmax of blocks of keys |
| scan, scatter | outermost independent loop parallel |
| sort | networks and merges or a selection per line, the outermost loop parallel |
| (host) | iterations of counting loops as lanes, recurrences of integers as scans |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation

from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, const
from tensorscript.dialects.te.ops import ForOp, FuncOp, UpdateOp, functions
from tensorscript.dialects.te.schedule import Schedule, record

from ..schedule import Scheduler
from ..te import vectorize_outer
from ..te.affine import accesses, coefficient, flat_index, known
from ..te.dependence import carried
from ..te.full_unroll import copies
from ..te.squares import crossing
from .attention_shape import recognise_attention
from .attention_tile import attention_blocking
from .carried_last import carried_last
from .cases import in_cases
from .channel_filter import channel_filter, fits
from .columns import fold_columns, stretch_arguments
from .contraction_dots import as_dots, dot_parameters, worth_dots
from .contraction_groups import as_groups, worth_grouping
from .contraction_plan import blocking_for, worth_blocking
from .contraction_shape import Product, made_of, product_of
from .contraction_tile import Blocking
from .contraction_tiles import tiles_blocking, tiles_misfit, worth_tiles
from .convolution import as_convolution, convolution_step
from .convolution_nest import ConvolutionBlocking
from .cpu_vectors import (
    CPUParameters,
    in_vectors,
    is_innermost,
    lanes_of,
    loops_in,
    make_parallel,
    shrunk,
    vectorize_inside,
    writes_contiguous,
)
from .crossed import in_squares, put_together
from .grouped_moments import cut_moments, group_moments
from .iterations import vectorize_iterations
from .list_buffers import lists_as_buffers
from .list_reads import lists_read
from .loops import collapse_all, outer_loops
from .order_line import ranking_of
from .pieces import cut_in_pieces
from .places import narrow_places, track_places
from .plane_filter import as_plane_filter, worth_turning_planes
from .prepack import constant_arguments
from .product_parts import parts_blocking, product_in_parts
from .rows import fuse_rows, hoist_numbers
from .rows_ahead import look_ahead
from .rows_aside import copy_aside, rows_aside
from .scans import scan_recurrences
from .short_rows import rows_as_lanes, short_rows, worth_turning
from .streamed import handed_out, stream_results

# --- pointwise ----------------------------------------------------------------------------------


def _schedule_pointwise(scheduler: Scheduler, parameters: CPUParameters) -> None:
    block = scheduler.func.block
    collapse_all(scheduler, block)
    for loop in loops_in(block):
        cut_in_pieces(scheduler, loop)
    for loop in loops_in(block):
        if in_cases(scheduler, loop, parameters):
            continue
        if (found := crossing(loop, scheduler.nest.buffers, parameters.vector_bytes)) is not None:
            in_squares(scheduler, found, parameters)
        elif not put_together(scheduler, loop, parameters):
            vectorize_inside(scheduler, loop, parameters)
    for loop in loops_in(block):
        if loop.kind.data == "serial":
            make_parallel(scheduler, loop, parameters)


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
    for reduction in (r for r in reductions if is_innermost(r)):
        for name, indices in accesses(reduction):
            position = flat_index(buffers[name], indices)
            outer, inner = coefficient(position, loop.var), coefficient(position, reduction.var)
            outer_gathers += _gathers(outer)
            inner_gathers += _gathers(inner)
            along_outer += not _gathers(outer, MOST_STEP) and outer is not const(0)
    if tiny:
        return along_outer > 0 or size is None
    return outer_gathers < inner_gathers


def _gathers(step: Expr | None, most: int = 2) -> bool:
    """Neighbouring lanes are so far apart that each costs a load; two steps cost a shuffle."""
    return step is None or not (step.is_const and 0 <= int(str(step)) <= most)


MOST_STEP = 8
"""Steps that cost shuffles of as many vectors; masked vectors of short rows cost more."""


TINY_REDUCTION = 16
"""Reductions shorter than this go along the lanes of the loop around them."""
MOST_TAPS = 16
"""Copies of a short reduction's body; more would cost more in decoding than masks do."""


def _schedule_rows(scheduler: Scheduler, parameters: CPUParameters) -> None:
    func = scheduler.func
    loops, row = outer_loops(func)
    hoist_numbers(scheduler, row)
    if not (_turned(scheduler, loops, parameters) or _aside(scheduler, loops, parameters)):
        collapse_all(scheduler, func.block)
        narrow_places(scheduler, outer_loops(func)[1])
        _chunk_full_reductions(scheduler, parameters)
        loops, row = outer_loops(func)
        if loops and (block := cut_moments(scheduler, loops[-1], parameters)) is not None:
            _schedule_row(scheduler, block, parameters)
        elif not loops or not _by_columns(scheduler, loops[-1], parameters):
            around = look_ahead(scheduler, loops[-1], parameters) if loops else None
            _schedule_row(scheduler, around.block if around else row, parameters)
    for loop in loops_in(func.block):
        if loop.kind.data == "serial" and not loop.is_reduction:
            make_parallel(scheduler, loop, parameters)


def _turned(scheduler: Scheduler, loops: list[ForOp], parameters: CPUParameters) -> bool:
    """Schedule the last of the loops around short rows with a row in each lane, if it wants that.
    What is only read in steps of a few is shuffled out of the vectors that it lies in instead."""
    rows = short_rows(loops[-1], scheduler.nest.buffers) if loops else None
    if rows is None or not worth_turning(loops, rows, parameters.vector_bytes):
        return False
    if not rows.written and _prefers_outer(loops[-1], scheduler.nest.buffers):
        return False
    for rest in rows_as_lanes(scheduler, loops[-1], rows, parameters.vector_bytes):
        _schedule_row(scheduler, rest.block, parameters)
    collapse_all(scheduler, scheduler.func.block)
    return True


def _aside(scheduler: Scheduler, loops: list[ForOp], parameters: CPUParameters) -> bool:
    """Schedule the last of the loops around a row with copies of what it reads, if it wants."""
    if (found := rows_aside(loops, scheduler.nest.buffers)) is None:
        return False
    row = copy_aside(scheduler, loops[-1], found, parameters)
    _schedule_row(scheduler, row.block, parameters)
    collapse_all(scheduler, scheduler.func.block)
    return True


def _schedule_row(scheduler: Scheduler, row: Block, parameters: CPUParameters) -> None:
    group_moments(scheduler, row, parameters)
    fuse_rows(scheduler, row)
    track_places(scheduler, row, parameters)
    for loop in loops_in(row):
        _vectorize_row(scheduler, loop, parameters)


def _by_columns(scheduler: Scheduler, loop: ForOp, parameters: CPUParameters) -> bool:
    """Schedule a loop around reductions along itself, if that is the way to walk memory."""
    if folded := fold_columns(scheduler, loop):
        for name in folded:
            _vectorize_row(scheduler, scheduler.nest.loops[name], parameters)
        return True
    if not _prefers_outer(loop, scheduler.nest.buffers) or not _fits_lanes(loop):
        return False
    _vectorize_last(scheduler, loop, parameters)
    return True


def _vectorize_row(scheduler: Scheduler, loop: ForOp, parameters: CPUParameters) -> None:
    """A loop of a row: along itself or along the loops inside it."""
    if loop.kind.data != "serial":
        return
    if is_innermost(loop):
        vectorize_inside(scheduler, loop, parameters)
    elif loop.is_reduction or not _by_columns(scheduler, loop, parameters):
        for inner in loops_in(loop.block):
            _vectorize_row(scheduler, inner, parameters)


def _fits_lanes(loop: ForOp) -> bool:
    return vectorize_outer.unfit(loop) is None


def _vectorize_last(scheduler: Scheduler, loop: ForOp, parameters: CPUParameters) -> None:
    """Lanes along the last outer loop; its short reductions are written out."""
    lanes = shrunk(lanes_of(loop, scheduler.nest.buffers, parameters), loop.extent)
    block = loop.parent
    assert block is not None  # a loop of the function
    if (arguments := stretch_arguments(loop, lanes)) is not None:
        scheduler.do("stretch", loop.var, *arguments)
    else:
        beside = set(block.ops)
        scheduler.do("vectorize_outer", loop.var, lanes)
        _write_out_taps(scheduler, [op for op in block.ops if op not in beside])


def _write_out_taps(scheduler: Scheduler, body: Sequence[Operation]) -> None:
    """Write out the short reductions among statements and in what is inside them: only the first
    and last taps of a window reach over the edge, so that most lose their mask."""
    for op in body:
        if isinstance(op, ForOp) and op.is_reduction and 0 < copies(op, True) <= MOST_TAPS:
            scheduler.do("full_unroll", op.var, True)
            continue
        for region in op.regions:
            _write_out_taps(scheduler, list(region.block.ops))


def _chunk_full_reductions(scheduler: Scheduler, parameters: CPUParameters) -> None:
    """Cut a long reduction to a single element into partial ones, for the threads.

    ```
    s[] = 0                             s[] = 0
    for r in 0 .. n { s[] += x[r] } --> for c in 0 .. n / chunk { p[c] = 0; for r.. { p[c] += .. } }
                                        for c in 0 .. n / chunk { s[] += p[c] }
    ```
    The chunks are of one size, so that the result is the same however many threads there are.
    """
    chunk = parameters.reduction_chunk
    for loop in loops_in(scheduler.func.block):
        size = scheduler.nest.most_iterations(loop)
        body = list(loop.block.ops)
        plain = len(body) == 1 and isinstance(body[0], UpdateOp)
        if not loop.is_reduction or not plain or (size is not None and size < 2 * chunk):
            continue
        outer, _ = scheduler.do("split", loop.var, chunk, "short")
        known_buffers = set(scheduler.nest.buffers)
        clear, _ = scheduler.do("rfactor", outer)
        (partial,) = scheduler.nest.buffers.keys() - known_buffers
        if known(loop.extent) is not None:
            scheduler.do("set_scope", partial, "stack")
        scheduler.do("fuse_loops", clear, outer)


# --- the rest -----------------------------------------------------------------------------------


def _schedule_contraction(scheduler: Scheduler, parameters: CPUParameters) -> None:
    product = product_of(scheduler.func)
    step = None if product is None else _product_step(product, scheduler.nest.buffers, parameters)
    if step is not None:
        _tensorize(scheduler, *step)
    elif (cut := product_in_parts(scheduler.func)) is not None:
        blocking = parts_blocking(cut, parameters.vector_bytes)
        _tensorize(scheduler, "product in parts", *astuple(blocking))
    elif (form := channel_filter(scheduler.func)) is not None and fits(
        form, parameters.vector_bytes
    ):
        _tensorize(scheduler, "channel filter", parameters.vector_bytes)
    else:
        _schedule_rows(scheduler, parameters)


def _product_step(
    product: Product, buffers: dict[str, Buffer], parameters: CPUParameters
) -> tuple[str, *tuple[int, ...]] | None:
    """The kernel that a product becomes, and its parameters; None if it is not worth one."""
    width = parameters.vector_bytes
    planes = as_plane_filter(product, buffers)
    if planes is not None and worth_turning_planes(planes, width, buffers):
        return "plane filter", width
    kind, steps = product_kernel(product, buffers, parameters)
    convolution = as_convolution(product) if kind not in UNIT_KERNELS else None
    if convolution is not None:
        constant = made_of(convolution.product.x, parameters.fixed)
        name, sizes = convolution_step(
            convolution, width, buffers, constant, parameters.first_cache
        )
        if isinstance(parameters.blocking, ConvolutionBlocking):
            sizes = astuple(parameters.blocking)
        return name, *sizes
    # A blocking that is given is one of tiles.
    dots = as_dots(product, buffers) if parameters.blocking is None else None
    if dots is not None and worth_dots(dots, width, parameters.fixed, steps):
        return "dots", *dot_parameters(dots, width)
    if not worth_blocking(product, parameters.fixed, buffers):
        return None
    constant = made_of(product.y, parameters.fixed)  # packed at compile time (prepack.py)
    blocking = parameters.blocking or (
        blocking_for(product, buffers, width, constant)
        if kind not in UNIT_KERNELS
        else tiles_blocking(product)
    )
    return f"packed {kind}" if constant else kind, *astuple(blocking)


UNIT_KERNELS = {"tiles of quads": 4, "tiles of pairs": 2}
"""Kernels for a matrix unit, and the numbers of a group."""


def product_kernel(
    product: Product, buffers: dict[str, Buffer], parameters: CPUParameters
) -> tuple[str, int]:
    """The kernel whose instruction takes the most steps of the depth, and how many these are. A
    blocking that is given may be one of vectors."""
    given = parameters.blocking
    is_of_tiles = given is None or (
        isinstance(given, Blocking) and tiles_misfit(*astuple(given)) is None
    )
    for kernel, count in UNIT_KERNELS.items() if is_of_tiles else ():
        form = as_groups(product, count, buffers, any_signs=True)
        if form is not None and worth_tiles(form, parameters.tiles, parameters.fixed):
            return kernel, count
    for kernel, count in (("quads", 4), ("pairs", 2)):
        form = as_groups(product, count, buffers)
        if form is None or form.instruction not in parameters.groups:
            continue
        if worth_grouping(form, parameters.fixed):
            return kernel, count
    return "product", 1


def _schedule_attention(scheduler: Scheduler, parameters: CPUParameters) -> None:
    if (form := recognise_attention(scheduler.func)) is not None:
        blocking = parameters.blocking or attention_blocking(
            form, parameters.vector_bytes, parameters.first_cache
        )
        _tensorize(scheduler, "attention", *astuple(blocking))
    else:
        _schedule_rows(scheduler, parameters)


def _tensorize(scheduler: Scheduler, kernel: str, *parameters: int) -> None:
    first = next(iter(loops_in(scheduler.func.block)))
    scheduler.do("tensorize", first.var, kernel, *parameters)


def _schedule_lines(scheduler: Scheduler, parameters: CPUParameters) -> None:
    """Lines are independent, the outermost loop takes them in parallel."""
    block = scheduler.func.block
    for loop in loops_in(block):
        alone = len(list(block.ops)) == 1
        if alone and not loop.is_reduction:
            make_parallel(scheduler, loop, parameters)


def _schedule_sort(scheduler: Scheduler, parameters: CPUParameters) -> None:
    if ranking_of(scheduler.func) is not None:
        _tensorize(scheduler, "sort", parameters.vector_bytes)
    _schedule_lines(scheduler, parameters)


COPY_FACTOR = 8
"""What the base has to be larger than others to be copied by threads: one thread updates all of
it, and finds what another one copied in that one's cache."""


def _schedule_scatter(scheduler: Scheduler, parameters: CPUParameters) -> None:
    """The copy of the base is a map; the updates stay in order, each as vectors where it can be."""
    block = scheduler.func.block
    collapse_all(scheduler, block)
    for loop in loops_in(block):
        if carried(scheduler.nest, loop, reductions_commute=False) is None:
            vectorize_inside(scheduler, loop, parameters)
        else:
            _vectorize_updates(scheduler, loop, parameters)
    copying = replace(parameters, grain=COPY_FACTOR * parameters.grain)
    for loop in loops_in(block):
        if loop.kind.data == "serial" and carried(scheduler.nest, loop, False) is None:
            make_parallel(scheduler, loop, copying)


def _vectorize_updates(scheduler: Scheduler, loop: ForOp, parameters: CPUParameters) -> None:
    """Lanes along the innermost loops where updates go to neighbouring elements."""
    for inner in loops_in(loop.block):
        _vectorize_updates(scheduler, inner, parameters)
    nest = scheduler.nest
    if not is_innermost(loop) or not writes_contiguous(loop, nest.buffers):
        return
    if carried(nest, loop, reductions_commute=False) is None:
        lanes = shrunk(lanes_of(loop, nest.buffers, parameters), loop.extent)
        in_vectors(scheduler, loop, lanes)


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


STREAMED = ("pointwise", "reduction", "rows")
"""Kernels that write each element once, in the order of memory."""


def schedule_kernel(func: FuncOp, parameters: CPUParameters) -> Schedule:
    """Choose and apply the schedule of one logical kernel, and note it on the function."""
    scheduler = Scheduler(func, parameters.checked)
    category = func.category.data or "scan"
    _SCHEDULES[category](scheduler, parameters)
    if category in STREAMED:
        stream_results(scheduler, parameters)
    record(func, scheduler.schedule)
    return scheduler.schedule


def schedule_cpu(module: ModuleOp, parameters: CPUParameters) -> None:
    """Schedule every logical function of a te module in place."""
    passed, given = constant_arguments(module), handed_out(module)
    for func in functions(module):
        if func.level.data != "logical":
            continue
        if func.role.data == "host":
            lists_as_buffers(func)
            vectorize_iterations(func, parameters.vector_bytes)
            lists_read(func)
            carried_last(func)
            scan_recurrences(func, parameters.vector_bytes)
        else:
            name = func.sym_name.data
            fixed, results = passed.get(name, frozenset()), given.get(name, frozenset())
            schedule_kernel(func, replace(parameters, fixed=fixed, handed_out=results))
        func.properties["level"] = StringAttr("scheduled")
