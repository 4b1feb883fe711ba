"""Schedules of kernels for a CPU, chosen by category.

| category | schedule |
|---|---|
| pointwise | collapse loops, strips of vectors, outermost loop parallel |
| reduction, rows | collapse, fuse neighbouring inner loops, rows parallel; vectorise each inner
loop, or the last outer loop if that is the one that walks memory |
| contraction | blocked product where it pays, else as a reduction |
| iterated | points as lanes, which a loop inside iterates in registers; vectors parallel |
| attention | products tiled around a softmax of blocks of keys |
| scan | lines side by side as lanes, outermost independent loop parallel |
| scatter | rows copied and updated by one thread where that pays, else the copy parallel |
| sort | networks and merges or a selection per line, the outermost loop parallel |
| (host) | iterations of counting loops as lanes, recurrences of integers as scans |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp, StringAttr

from tensorscript.dialects.te.lists import InvokeOp
from tensorscript.dialects.te.ops import FuncOp, WhileOp, functions
from tensorscript.dialects.te.schedule import Schedule, record
from tensorscript.dialects.walks import walk_ops

from ..schedule import Scheduler
from ..te.squares import crossing
from . import late_cpu
from .cases import in_cases
from .cpu_vectors import CPUParameters, loops_in, make_parallel, vectorize_inside
from .crossed import in_squares, put_together
from .loops import collapse_all, unfuse_all
from .pieces import cut_around_short, cut_in_pieces
from .prepack import constant_arguments
from .steady import run_steady
from .streamed import handed_out, stream_results


def _schedule_pointwise(scheduler: Scheduler, parameters: CPUParameters) -> None:
    block = scheduler.func.block
    unfuse_all(scheduler)
    collapse_all(scheduler, block)
    for loop in loops_in(block):
        if crossing(loop, scheduler.nest.buffers, parameters.vector_bytes) is None:
            cut_around_short(scheduler, loop)
    for loop in loops_in(block):
        cut_in_pieces(scheduler, loop)
    for loop in loops_in(block):
        if in_cases(scheduler, loop, parameters):
            continue
        if (found := crossing(loop, scheduler.nest.buffers, parameters.vector_bytes)) is not None:
            in_squares(scheduler, found, parameters)
        elif not (
            put_together(scheduler, loop, parameters) or run_steady(scheduler, loop, parameters)
        ):
            vectorize_inside(scheduler, loop, parameters)
    for loop in loops_in(block):
        if loop.kind.data == "serial":
            make_parallel(scheduler, loop, parameters)


_SCHEDULES: dict[str, Callable[[Scheduler, CPUParameters], None]] = {
    "pointwise": _schedule_pointwise,
    "reduction": lambda *given: late_cpu.schedule_rows(*given),
    "rows": lambda *given: late_cpu.schedule_rows(*given),
    "contraction": lambda *given: late_cpu.schedule_contraction(*given),
    "attention": lambda *given: late_cpu.schedule_attention(*given),
    "scan": lambda *given: late_cpu.schedule_scan(*given),
    "iterated": lambda *given: late_cpu.schedule_iterated(*given),
    "sort": lambda *given: late_cpu.schedule_sort(*given),
    "scatter": lambda *given: late_cpu.schedule_scatter(*given),
}
"""By category; all but the first are imported when they are used, as is that of host functions with
loops or lists."""

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
            if any(isinstance(op, WhileOp | InvokeOp) for op in walk_ops(func)):
                late_cpu.schedule_host(func, parameters.vector_bytes)
        else:
            name = func.sym_name.data
            fixed, results = passed.get(name, frozenset()), given.get(name, frozenset())
            schedule_kernel(func, replace(parameters, fixed=fixed, handed_out=results))
        func.properties["level"] = StringAttr("scheduled")
