"""LLVM's passes over a parsed module: few, named, and chosen by the caller.

Kernels are vectorised and unrolled before they become text, so the default is no pass at all
beyond what inlines `alwaysinline` functions; scalar code gets the light list.
"""

from __future__ import annotations

from dataclasses import dataclass

import llvmlite.binding as llvm


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
# Not NewGVN, the only value numbering that llvmlite offers: it ends the process with an assertion
# on some programs with many branches, and gains nothing measurable on the rest.
SCALAR_CODE = Optimization(("always-inline", "sroa", "instcombine", "simplifycfg"))


def optimize(module: llvm.ModuleRef, machine: llvm.TargetMachine, options: Optimization) -> None:
    """Run the passes of `options` on `module` in place.

    Raises:
        KeyError: a pass name is not in `PASSES`.
    """
    if not options.passes:
        return
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    pass_manager(options).run(module, builder)


def pass_manager(options: Optimization) -> llvm.ModulePassManager:
    """What runs the passes of `options`.

    Raises:
        KeyError: a pass name is not in `PASSES`.
    """
    manager = llvm.create_new_module_pass_manager()
    for name in options.passes:
        getattr(manager, PASSES[name])()
    return manager
