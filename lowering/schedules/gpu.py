"""Schedules of kernels for a GPU.

| kernel | schedule |
|---|---|
| pointwise | one thread per element, or per vector of 4 where memory is walked in one stride |
| rows, inner reduction, a matrix times a vector | a block or a warp per row (`gpu_rows.py`) |
| few results of reductions across memory | neighbouring ones a block (`gpu_rows.py`) |
| stages that share loops | these around all of them first (`gpu_shared_loops.py`) |
| several stages without a common loop | one block, as for a row |
| products of matrices, convolutions | tiles through shared memory (`gpu_staged_product.py`) |
| other reductions, scans, sorts | one thread per outer iteration |
| scatter | one thread, since its updates are ordered |
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import astuple

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from tensorscript.base.dtypes import DType
from tensorscript.base.errors import NotCompilable
from tensorscript.dialects.te.expr import (
    var,
)
from tensorscript.dialects.te.ops import (
    AllocOp,
    ForOp,
    FuncOp,
    IfOp,
    StoreOp,
    functions,
)
from tensorscript.dialects.te.schedule import record

from ..schedule import Scheduler
from ..te.affine import accesses, all_buffers, coefficient, flat_index, known
from ..te.rebuild import copy_all, substituting
from .gpu_row_threads import THREADS
from .gpu_row_writer import ceil_div, private
from .gpu_rows import column_schedule, elements, row_schedule
from .gpu_shared_loops import share_loops
from .gpu_staged_product import product_on_gpu
from .gpu_tensor_tile import tensor_dtype, tensor_tile_for
from .gpu_tile import tile_for, worth_tiles
from .gpu_walks import axis_of, walks_columns, walks_depth, walks_rows
from .loops import collapse_all, outer_loops
from .units import dissolve_units

VECTOR = 4


def _reset(func: FuncOp, made: list[Operation]) -> None:
    for op in list(func.block.ops):
        op.detach()
        op.erase()
    func.block.add_ops(made)


def _can_vectorize(loop: ForOp, func: FuncOp) -> bool:
    size = known(loop.extent)
    if size is None or size % VECTOR:
        return False
    if not all(isinstance(op, StoreOp) for op in loop.block.ops):
        return False
    buffers = all_buffers(func)
    steps = [coefficient(flat_index(buffers[n], i), loop.var) for n, i in accesses(loop)]
    return all(s is not None and (s.is_int(0) or s.is_int(1)) for s in steps)


def per_thread(func: FuncOp) -> None:
    """One thread per iteration of the outer loops (per 4 of them for a straight walk)."""
    loops, block = outer_loops(func)
    axis = axis_of(loops)
    thread = var("bx") * THREADS + var("tx")
    vector = len(loops) == 1 and _can_vectorize(loops[0], func)
    if vector:
        item = thread * VECTOR
        body: list[Operation] = copy_all(
            block.ops, substituting({loops[0].var: item + var("lane")})
        )
        body = [ForOp("lane", VECTOR, body, "vector")]
    else:
        item = thread
        body = [private(op) for op in copy_all(block.ops, substituting(axis.unflatten(item)))]
    total = axis.size
    width = THREADS * (VECTOR if vector else 1)
    size = known(total)
    if size is None or size % width:
        body = [IfOp(item < total, body)]
    threads = ForOp("tx", THREADS, body, "tx")
    _reset(func, [ForOp("bx", ceil_div(total, width), [threads], "bx")])


LOCAL_LIMIT = 64 * 1024
"""Bytes of arrays that one thread may keep for itself."""


def _check_local(func: FuncOp) -> None:
    """A thread's arrays fit its local memory.

    Raises:
        NotCompilable: they do not.
    """
    total = 0
    for op in func.walk():
        if isinstance(op, AllocOp) and op.scope.data == "stack":
            count = elements(op.buffer)
            total += LOCAL_LIMIT + 1 if count is None else count * op.buffer.dtype.itemsize
    if total > LOCAL_LIMIT:
        raise NotCompilable(
            f"kernel {func.sym_name.data} has no GPU schedule: a row of it fits neither shared "
            "memory nor a thread, and cannot be computed twice"
        )


def _as_product(func: FuncOp, units: Collection[DType]) -> bool:
    """Make a product of matrices one in tiles; False if the kernel is none, or not worth them."""
    product = product_on_gpu(func)
    if product is None or not worth_tiles(product):
        return False
    scheduler = Scheduler(func, checked=False)
    first = outer_loops(func)[0][0].var
    if tensor_dtype(product) in units:
        sizes = astuple(tensor_tile_for(product))
        scheduler.do("tensorize", first, "product on tensor cores", *sizes)
    else:
        scheduler.do("tensorize", first, "product on a GPU", *astuple(tile_for(product)))
    record(func, scheduler.schedule)
    return True


def _schedule(func: FuncOp, units: Collection[DType]) -> None:
    category = func.category.data
    dissolve_units(func)
    if category in ("reduction", "rows") and share_loops(func):
        dissolve_units(func)
    if category in ("pointwise", "reduction", "rows"):
        collapse_all(Scheduler(func, checked=False), func.block)
    if category == "contraction" and _as_product(func, units):
        return
    loops, block = outer_loops(func)
    together = category in ("reduction", "rows") and walks_rows(func)
    together |= category == "contraction" and walks_depth(func)
    if together or (not loops and category in ("pointwise", "reduction", "rows")):
        made = row_schedule(loops, block, all_buffers(func))
    elif category in ("reduction", "rows", "contraction") and walks_columns(func, loops):
        made = column_schedule(loops, block, all_buffers(func))
    else:
        made = None
    if made is not None:
        _reset(func, made)
        return
    per_thread(func)
    _check_local(func)


def schedule_gpu(module: ModuleOp, units: Collection[DType] = ()) -> None:
    """Schedule every logical kernel of a te module in place.

    Args:
        units: dtypes that matrix units multiply.

    Raises:
        NotCompilable: a kernel that has no GPU schedule.
    """
    for func in functions(module):
        if func.role.data == "kernel" and func.level.data == "logical":
            _schedule(func, units)
            func.properties["level"] = StringAttr("scheduled")
