"""The pipeline, top to bottom.

A program enters as `ts` (or at any later stage, from a dumped file) and leaves as a scheduled `te`
module, which the backends turn into text and code. Each step says why it stands where it stands.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp

from tensorscript.backends import target as targets
from tensorscript.backends.target import Target
from tensorscript.base.dtypes import int16
from tensorscript.dialects.te.ops import FuncOp as LoopFunc
from tensorscript.dialects.te.ops import functions as loop_functions
from tensorscript.dialects.tg.ops import FuncOp, functions
from tensorscript.lowering.schedule import apply_schedules
from tensorscript.lowering.schedules.cpu import schedule_cpu
from tensorscript.lowering.schedules.cpu_vectors import CPUParameters
from tensorscript.lowering.te.quotients import name_quotients
from tensorscript.lowering.te.simplify import simplify_function
from tensorscript.lowering.te.storage import plan_storage
from tensorscript.lowering.te.unswitch import unswitch
from tensorscript.lowering.tg.channels_last import channels_last
from tensorscript.lowering.tg.fold_constants import fold_constants
from tensorscript.lowering.tg.fuse_attention import fuse_attention
from tensorscript.lowering.tg.fuse_cpu import fuse_cpu
from tensorscript.lowering.tg.fuse_places import fuse_tested_places
from tensorscript.lowering.tg.inline_points import inline_points
from tensorscript.lowering.tg.inline_producers import inline_producers
from tensorscript.lowering.tg.integer_products import integer_products
from tensorscript.lowering.tg.normalize import normalize
from tensorscript.lowering.tg.separate_windows import separate_windows
from tensorscript.lowering.tg.split_batch import split_batch
from tensorscript.lowering.tg.turn_pairs import turn_pairs
from tensorscript.lowering.tg.winograd import winograd
from tensorscript.lowering.tg_to_te.host import tg_to_te

from . import late_gpu
from .cache import DiskCache
from .observe import Pass, Run
from .options import CompileOptions
from .packed import prepack


def _each_function(run: Callable[[FuncOp], object]) -> Run:
    def on_module(module: ModuleOp, options: CompileOptions) -> ModuleOp:
        for func in functions(module):
            run(func)
        return module

    return on_module


def _on_kernels(run: Callable[[LoopFunc], object]) -> Run:
    def on_module(module: ModuleOp, options: CompileOptions) -> ModuleOp:
        for func in loop_functions(module):
            if func.role.data == "kernel":
                run(func)
        return module

    return on_module


def _on_cpu_kernels(run: Callable[[LoopFunc], object]) -> Run:
    def on_module(module: ModuleOp, options: CompileOptions) -> ModuleOp:
        is_ptx = targets.parse(options.target, options.cpu).is_ptx
        return module if is_ptx else _on_kernels(run)(module, options)

    return on_module


def _integer_products(module: ModuleOp, options: CompileOptions) -> ModuleOp:
    target = targets.parse(options.target, options.cpu)
    if int16 in target.groups and not options.strict:
        for func in functions(module):
            integer_products(func)
    return module


def _winograd(module: ModuleOp, options: CompileOptions) -> ModuleOp:
    if options.winograd and not targets.parse(options.target, options.cpu).is_ptx:
        for func in functions(module):
            winograd(func, options.winograd)
    return module


def _channels_last(module: ModuleOp, options: CompileOptions) -> ModuleOp:
    target = targets.parse(options.target, options.cpu)
    if not target.is_ptx:
        units = target.exact_tiles if options.strict else target.tiles
        for func in functions(module):
            channels_last(func, units)
    return module


def _split_batch(module: ModuleOp, options: CompileOptions) -> ModuleOp:
    if not targets.parse(options.target, options.cpu).is_ptx:
        for func in functions(module):
            split_batch(func)
    return module


def _separate_windows(module: ModuleOp, options: CompileOptions) -> ModuleOp:
    if not targets.parse(options.target, options.cpu).is_ptx:
        for func in functions(module):
            separate_windows(func, options.strict)
    return module


def _fuse_attention(module: ModuleOp, options: CompileOptions) -> ModuleOp:
    if not targets.parse(options.target, options.cpu).is_ptx:
        for func in functions(module):
            fuse_attention(func)
    return module


def _fuse(module: ModuleOp, options: CompileOptions) -> ModuleOp:
    on_cpu = not targets.parse(options.target, options.cpu).is_ptx
    for func in functions(module):
        if on_cpu:
            fuse_tested_places(func)
        fuse_cpu(func, on_cpu)
    return module


def _plan_storage(module: ModuleOp, options: CompileOptions) -> ModuleOp:
    for func in loop_functions(module):
        if func.role.data == "host":
            plan_storage(func)
    return module


def _lower(module: ModuleOp, options: CompileOptions) -> ModuleOp:
    return tg_to_te(module)


def cpu_parameters(target: Target, options: CompileOptions) -> CPUParameters:
    """What schedules for a CPU know of it."""
    return CPUParameters(
        target.vector_bytes,
        last_cache=target.last_cache,
        first_cache=target.first_cache,
        far=target.far,
        groups=target.exact_groups if options.strict else target.groups,
        tiles=target.exact_tiles if options.strict else target.tiles,
        checked=options.verify,
    )


def _schedule(module: ModuleOp, options: CompileOptions) -> ModuleOp:
    target = targets.parse(options.target, options.cpu)
    apply_schedules(module, dict(options.schedules))
    if target.is_ptx:
        late_gpu.schedule_gpu(module, target.exact_tiles if options.strict else target.tiles)
    else:
        schedule_cpu(module, cpu_parameters(target, options))
    return module


def _prepack(module: ModuleOp, options: CompileOptions) -> ModuleOp:
    if not targets.parse(options.target, options.cpu).is_ptx:
        prepack(module, DiskCache(options.cache_dir) if options.cache else None)
    return module


PASSES: tuple[Pass, ...] = (
    Pass(
        "normalize",
        "tg",
        _each_function(normalize),
        "give every result an op of its own, so that kernels write results in place",
        ends=True,
    ),
    Pass(
        "fold-constants",
        "kernels",
        _each_function(fold_constants),
        "what is small and made of constants alone is a constant, one number a part of bodies",
    ),
    Pass(
        "integer-products",
        "kernels",
        _integer_products,
        "bytes on grids are multiplied as integers (CPU); before their conversions go elsewhere",
    ),
    Pass(
        "inline-producers",
        "kernels",
        _each_function(inline_producers),
        "views and pointwise chains vanish into their consumers; what is left is worth storing",
    ),
    Pass(
        "inline-points",
        "kernels",
        _each_function(inline_points),
        "0-dim tensors are computed by the host code that reads them; after chains have become one",
    ),
    Pass(
        "winograd",
        "kernels",
        _winograd,
        "convolutions of 3x3 by fewer products, if asked (CPU); after chains, before layouts",
    ),
    Pass(
        "channels-last",
        "kernels",
        _channels_last,
        "images lie as convolutions by channel want them (CPU); after views have gone into reads",
    ),
    Pass(
        "fuse-attention",
        "kernels",
        _fuse_attention,
        "two products around a softmax become one kernel (CPU); before their parts join others",
    ),
    Pass(
        "split-batch",
        "kernels",
        _split_batch,
        "images go one by one through ops whose results leave the caches (CPU); ops are final",
    ),
    Pass(
        "turn-pairs",
        "kernels",
        _each_function(turn_pairs),
        "what all pairs of rows read is turned, so that pairs lie side by side; ops are final",
    ),
    Pass(
        "separate-windows",
        "kernels",
        _separate_windows,
        "what windows are combined to is found by rows first (CPU); when images lie as they will",
    ),
    Pass(
        "fuse",
        "kernels",
        _fuse,
        "ops that share outer loops become one kernel; after inlining, so that groups are small",
        ends=True,
    ),
    Pass(
        "lower-to-loops",
        "te",
        _lower,
        "each kernel becomes loop nests, control flow and scalars become host code",
    ),
    Pass(
        "simplify-loops",
        "te",
        _on_kernels(simplify_function),
        "dimensions of size 1 are loops no longer, so that what is adjacent can be fused",
        ends=True,
    ),
    Pass(
        "schedule",
        "scheduled",
        _schedule,
        "loops get vectors, threads and tiles (CPU) or blocks and threads (GPU)",
    ),
    Pass(
        "simplify",
        "scheduled",
        _on_kernels(simplify_function),
        "schedules leave single-trip loops and index arithmetic that their ranges decide",
    ),
    Pass(
        "unswitch",
        "scheduled",
        _on_cpu_kernels(unswitch),
        "loops that broadcast where a found size is 1 have a copy for where none is (CPU)",
    ),
    Pass(
        "name-quotients",
        "scheduled",
        _on_cpu_kernels(name_quotients),
        "divisions by sizes that the program finds stand before loops (CPU); indices are final",
    ),
    Pass(
        "prepack",
        "scheduled",
        _prepack,
        "what kernels make of weights alone is made now; before storage is planned",
    ),
    Pass(
        "plan-storage",
        "scheduled",
        _plan_storage,
        "buffers that are never live at once share memory; last, when all buffers are known",
        ends=True,
    ),
)
"""From a specialised `tg` module to a scheduled `te` module."""


def passes_from(stage: str) -> tuple[Pass, ...]:
    """The passes that a module of `stage` still has to go through."""
    order = ["tg", "kernels", "te", "scheduled"]
    if stage not in order:
        raise ValueError(f"no passes from stage {stage!r}")
    # A dumped tg module is normalized already, and normalizing again changes nothing.
    done = {"tg": [], "kernels": ["tg", "kernels"], "te": ["tg", "kernels", "te"]}.get(stage)
    if done is None:
        return ()
    return tuple(p for p in PASSES if p.stage not in done)
