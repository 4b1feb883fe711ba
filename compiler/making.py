"""The making of code: the pipeline, and what follows it.

A hit of the disk cache needs none of it, which is why it is imported late.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from tensorscript.base.accelerator import ACCELERATOR
from tensorscript.base.errors import GuardError
from tensorscript.dialects.te.schedule import schedules_of
from tensorscript.lowering.ts_to_tg.plan import CallPlan
from tensorscript.lowering.ts_to_tg.specialise import Options, specialise
from tensorscript.lowering.ts_to_tg.specs import ArgumentSpec

from . import late_folding, late_gpu
from .demanded import refuse
from .flat_calls import flat_call
from .lowered import Lowered
from .native_module import NativeModule
from .observe import Report, dump, run_passes
from .options import CompileOptions
from .pipeline import PASSES
from .program import Program, object_value
from .schedule_file import schedules_text
from .specialisations import Specialisation, Specialisations
from .stages import print_module


class Maker:
    """Runs the pipeline for one program.

    Args:
        program: what to compile.
        options: how.
        name: used for dumps.
        fold: fold batch norms into the weights before them.
        known: learns which attributes the program changes.
        on_gpu: whether the target is one.
        gpu: the number of the one that arguments are on; None for the CPU.
    """

    def __init__(
        self,
        program: Program,
        options: CompileOptions,
        name: str,
        fold: bool,
        known: Specialisations,
        on_gpu: bool,
        gpu: int | None,
    ) -> None:
        self._program = program
        self._options = options
        self._name = name
        self._fold = fold
        self._known = known
        self._on_gpu = on_gpu
        self._gpu = gpu

    def lower(
        self, specs: Sequence[ArgumentSpec], keep: bool = False, alone: bool = False
    ) -> Lowered:
        """Run the pipeline without generating code.

        Args:
            keep: keep the module of every stage in the report.
            alone: the code shows itself what it says, instead of recording it for us.

        Raises:
            NotCompilable: the program has no native form for these arguments.
            OperatorError, ScriptError: it fails for all such arguments.
        """
        options, report = self._options, Report()
        # The caller's frame keeps no stage: the weights of one go when the next has its own.
        plan, unlowered = self._specialised(specs, alone, report)
        module = run_passes(unlowered.pop(), PASSES, options, report, self._name, keep)
        return Lowered(plan, module, report)

    def _specialised(
        self, specs: Sequence[ArgumentSpec], alone: bool, report: Report
    ) -> tuple[CallPlan, list[ModuleOp]]:
        """The plan, and the tg module in a list, for the caller to take out."""
        options, receiver = self._options, self._program.receiver
        arguments: list[ArgumentSpec] = list(specs)
        if receiver is not None:
            arguments.insert(0, object_value(receiver))
        start = time.perf_counter()
        wanted = Options(
            lists=not self._on_gpu,
            alone=alone,
            gradients=self._known.gradients,
            refuse=refuse,
            devices=self._devices(),
            home="cpu" if self._gpu is None else f"cuda:{self._gpu}",
        )
        source = self._source()
        own = specialise(source.module, source.entry, arguments, wanted, self._known.changing)
        self._known.learn(own.plan.state_inputs)
        report.seconds["specialise"] = time.perf_counter() - start
        if options.dump_dir is not None:
            dump(source.module, "ts", options.dump_dir, self._name)
        return own.plan, [own.module]

    def _devices(self) -> frozenset[str]:
        """Where the program may ask for tensors."""
        if self._gpu is None:
            return frozenset(("cpu", "cuda") if self._on_gpu else ("cpu",))
        current = ("cuda",) if ACCELERATOR.current == self._gpu else ()
        return frozenset((f"cuda:{self._gpu}", *current))

    def _source(self) -> Program:
        """What native code is made from: the program, with batch norms folded if that is asked.
        Not kept: the folded weights are packed, and would be a second copy of them."""
        folds = self._fold and self._program.receiver is not None  # functions have no weights
        return late_folding.folded_program(self._program) if folds else self._program

    def native(self, specs: Sequence[ArgumentSpec]) -> tuple[Lowered, NativeModule]:
        """What the pipeline leaves, and the code to be made of it.

        Raises:
            NotCompilable, OperatorError, ScriptError: as `lower`.
        """
        lowered = self.lower(specs)
        plan = lowered.plan
        flat = flat_call(self._program, specs, plan, self._known.gradients)
        calling = flat.calling if flat else None
        return lowered, NativeModule(lowered.module, self._options, plan.scalar_leaves, calling)

    def compile_gpu(self, specs: Sequence[ArgumentSpec]) -> Specialisation:
        """Code for a GPU or the emulator, loaded.

        Raises:
            NotCompilable, OperatorError, ScriptError: as `lower`.
        """
        lowered = self.lower(specs)
        plan = lowered.plan
        module = late_gpu.GPUModule(lowered.module, self._options, plan.scalar_leaves)
        code = module.compile()
        loaded = late_gpu.GPULoaded(module, code, self._gpu)
        return Specialisation(tuple(specs), plan, code, loaded, lowered.report)

    def text(self, stage: str, specs: Sequence[ArgumentSpec]) -> str:
        """The text of a stage of the code for arguments of these specs.

        Raises:
            GuardError: no such stage.
        """
        if stage == "ts":
            return print_module(self._program.module)
        lowered = self.lower(specs, keep=True)
        modules = lowered.report.modules
        if stage in modules:
            return print_module(modules[stage])
        if stage == "schedule":
            return schedules_text(schedules_of(lowered.module))
        make = late_gpu.GPUModule if self._on_gpu else NativeModule
        native = make(lowered.module, self._options, lowered.plan.scalar_leaves)
        if stage == "ll":
            return native.llvm_text
        if stage in ("s", "asm") or (stage == "ptx" and self._on_gpu):
            return native.assembly()
        raise GuardError(f"unknown stage {stage!r}; known are ts, {', '.join(modules)}, ll, s")
