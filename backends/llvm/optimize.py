"""LLVM's passes over a parsed module: few, named, and chosen by the caller.

Kernels are vectorised and unrolled before they become text, so the default is no pass at all
beyond what inlines `alwaysinline` functions. Functions with loops over single elements are marked
(`SIMPLIFY`), and get what a C compiler gives its functions: elements that the next turn reads stay
in registers, tests that an earlier one decides and what a loop does not change are gone.
"""

from __future__ import annotations

import llvmlite.binding as llvm

from tensorscript.base.records import dataclass

from .emit_text import SIMPLIFY


@dataclass(frozen=True)
class Optimization:
    """How much LLVM is asked to do.

    Attributes:
        passes: names out of `PASSES`, run in order on the module.
        codegen_level: 0 (FastISel) to 3, independent of the passes.
    """

    passes: tuple[str, ...] = ("always-inline",)
    codegen_level: int = 2

    @property
    def key(self) -> str:
        return f"{','.join(self.passes)};O{self.codegen_level}"


PASSES = {
    "always-inline": "add_always_inliner_pass",
    "sroa": "add_sroa_pass",
    "instcombine": "add_instruction_combine_pass",
    "simplifycfg": "add_simplify_cfg_pass",
    "licm-rotate": "add_loop_rotate_pass",
    "lsr": "add_loop_strength_reduce_pass",
    "dce": "add_dead_code_elimination_pass",
    "dse": "add_dead_store_elimination_pass",
    "globaldce": "add_global_dead_code_eliminate_pass",
}

VECTOR_CODE = Optimization(("always-inline", "sroa"))


def optimize(module: llvm.ModuleRef, machine: llvm.TargetMachine, options: Optimization) -> None:
    """Run the passes of `options` on `module` in place.

    Raises:
        KeyError: a pass name is not in `PASSES`.
    """
    if options.passes:
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
        pass_manager(options).run(module, builder)
    simplify(module, machine)


def pass_manager(options: Optimization) -> llvm.ModulePassManager:
    """What runs the passes of `options`.

    Raises:
        KeyError: a pass name is not in `PASSES`.
    """
    manager = llvm.create_new_module_pass_manager()
    for name in options.passes:
        getattr(manager, PASSES[name])()
    return manager


def simplify(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    """Run LLVM's own order of scalar passes (its O2: GVN, LICM, induction variables, ...) on the
    functions that are marked `SIMPLIFY`. It neither unrolls nor vectorises."""
    mark = SIMPLIFY.encode()
    marked = [f for f in module.functions if any(mark in words for words in f.attributes)]
    if not marked:
        return
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    tuning.loop_unrolling = tuning.loop_vectorization = tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, tuning)
    manager = builder.getFunctionPassManager()
    for function in marked:
        manager.run(function, builder)
