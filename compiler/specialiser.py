"""From a program and the kinds of its arguments to code: the disk cache, or the pipeline."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.backends import target as targets
from tensorscript.base.errors import GuardError
from tensorscript.dialects.te.schedule import schedules_of
from tensorscript.lowering.ts_to_tg.plan import CallPlan
from tensorscript.lowering.ts_to_tg.specialise import Options, specialise
from tensorscript.lowering.ts_to_tg.specs import ArgumentSpec

from . import kept
from .cache import DiskCache
from .folding import folded_program
from .gpu import GPULoaded, GPUModule, contiguous
from .lowered import Lowered
from .native import Loaded, NativeCode, NativeModule, raise_as_is
from .observe import Report, dump, run_passes
from .options import CompileOptions
from .pipeline import PASSES
from .program import Program, object_value
from .schedule_file import schedules_text
from .specialisations import Specialisation, Specialisations, is_flat
from .stages import print_module


class Specialiser:
    """Compiles one program, for one kind of arguments at a time.

    Args:
        program: what to compile.
        options: how.
        name: shown in reports and used for dumps.
        fold: fold batch norms into the weights before them.
        known: what is compiled already; learns which attributes the program changes.
    """

    def __init__(
        self,
        program: Program,
        options: CompileOptions,
        name: str,
        fold: bool,
        known: Specialisations,
    ) -> None:
        self._program = program
        self._options = options
        self._name = name
        self._fold = fold
        self._known = known
        self.cache = DiskCache(options.cache_dir)
        self.on_gpu = targets.parse(options.target, options.cpu).is_ptx

    def fitted(self, specs: Sequence[ArgumentSpec]) -> Sequence[ArgumentSpec]:
        """The specs that code is compiled for: a GPU copies its arguments, whatever strides."""
        return contiguous(specs) if self.on_gpu else specs

    def lower(self, specs: Sequence[ArgumentSpec], keep: bool = False) -> Lowered:
        """Run the pipeline without generating code.

        Args:
            keep: keep the module of every stage in the report.

        Raises:
            NotCompilable: the program has no native form for these arguments.
            OperatorError, ScriptError: it fails for all such arguments.
        """
        options, report = self._options, Report()
        receiver = self._program.receiver
        arguments: list[ArgumentSpec] = list(specs)
        if receiver is not None:
            arguments.insert(0, object_value(receiver))
        start = time.perf_counter()
        wanted = Options(lists=not self.on_gpu)
        source = self._source()
        own = specialise(source.module, source.entry, arguments, wanted, self._known.changing)
        self._known.learn(own.plan.state_inputs)
        report.seconds["specialise"] = time.perf_counter() - start
        if options.dump_dir is not None:
            dump(source.module, "ts", options.dump_dir, self._name)
        module = run_passes(own.module, PASSES, options, report, self._name, keep)
        return Lowered(own, module, report)

    def _source(self) -> Program:
        """What native code is made from: the program, with batch norms folded if that is asked.
        Not kept: the folded weights are packed, and would be a second copy of them."""
        return folded_program(self._program) if self._fold else self._program

    def compile(
        self,
        specs: Sequence[ArgumentSpec],
        miss: Callable[..., Any],
        failed: Callable[..., Any],
    ) -> Specialisation:
        """Code for arguments of these specs.

        Args:
            miss: called with arguments that the code's guard refuses.
            failed: called with the error of a failed call and the program's arguments; raises.

        Raises:
            NotCompilable, OperatorError, ScriptError: as `lower`.
        """
        if self.on_gpu:
            return self._compile_gpu(specs)
        options = self._options
        cache = self.cache if options.cache else None
        code, plan, arrays, report = self._native_code(specs, cache)
        told = failed if is_flat(specs, plan) else raise_as_is
        loaded = Loaded(self._name, code, arrays, miss, cache, told, options.timed)
        return Specialisation(tuple(specs), plan, code, loaded, report)

    def _native_code(
        self, specs: Sequence[ArgumentSpec], cache: DiskCache | None
    ) -> tuple[NativeCode, CallPlan, dict[str, np.ndarray], Report | None]:
        """The code, how it is called, its weights, and how it was made if it was not kept."""
        known = self._known
        place = kept.place_of(self._program, self._options, specs, self._fold, known.changing)
        if place is not None and (hit := kept.load(self.cache, place)) is not None:
            return *hit, None
        lowered = self.lower(specs)
        plan = lowered.specialised.plan
        native = NativeModule(lowered.module, self._options, plan.scalar_leaves)
        # Without weights the entry holds the code; else the code is one by itself.
        whole = place is not None and plan.is_stateless and not native.has_constants
        code = native.compile(None if whole else cache)
        if place is not None and plan.is_stateless:
            kept.store(self.cache, place, code, plan, native)
        return code, plan, native.arrays(), lowered.report

    def _compile_gpu(self, specs: Sequence[ArgumentSpec]) -> Specialisation:
        lowered = self.lower(specs)
        plan = lowered.specialised.plan
        module = GPUModule(lowered.module, self._options, plan.scalar_leaves)
        code = module.compile()
        loaded = GPULoaded(module, code)
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
        make = GPUModule if self.on_gpu else NativeModule
        native = make(lowered.module, self._options, lowered.specialised.plan.scalar_leaves)
        if stage == "ll":
            return native.llvm_text
        if stage in ("s", "asm") or (stage == "ptx" and self.on_gpu):
            return native.assembly()
        raise GuardError(f"unknown stage {stage!r}; known are ts, {', '.join(modules)}, ll, s")
