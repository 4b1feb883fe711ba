"""From a program and the kinds of its arguments to code: the disk cache, or the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorscript.backends import target as targets
from tensorscript.base.exclusive import COMPILING
from tensorscript.base.stack import with_room
from tensorscript.lowering.ts_to_tg.plan import CallPlan
from tensorscript.lowering.ts_to_tg.specs import ArgumentSpec, TensorSpec

from . import kept, late
from .cache import DiskCache
from .flat_calls import flat_call
from .native import Loaded, NativeCode, raise_as_is
from .observe import Report
from .options import CompileOptions
from .program import Program
from .specialisations import Specialisation, Specialisations
from .state import check_state_place

if TYPE_CHECKING:  # what a hit of the cache does not need
    from .lowered import Lowered
    from .making import Maker


class Specialiser:
    """Compiles one program, for one kind of arguments at a time.

    Args:
        program: what to compile.
        options: how.
        name: shown in reports and used for dumps.
        fold: fold batch norms into the weights before them.
        known: what is compiled already; learns which attributes the program changes.
        gpu: the number of the GPU that arguments are on; None for the CPU.
    """

    def __init__(
        self,
        program: Program,
        options: CompileOptions,
        name: str,
        fold: bool,
        known: Specialisations,
        gpu: int | None = None,
    ) -> None:
        self._program = program
        self._options = options
        self._name = name
        self._fold = fold
        self._known = known
        self._gpu = gpu
        self.cache = DiskCache(options.cache_dir)
        self.on_gpu = targets.parse(options.target, options.cpu).is_ptx

    def fitted(self, specs: Sequence[ArgumentSpec]) -> Sequence[ArgumentSpec]:
        """The specs that code is compiled for: a GPU copies its arguments, whatever strides."""
        return [_contiguous(s) for s in specs] if self.on_gpu else specs

    @cached_property
    def _maker(self) -> Maker:
        options, gpu = self._options, self._gpu
        return late.Maker(
            self._program, options, self._name, self._fold, self._known, self.on_gpu, gpu
        )

    @COMPILING.held()
    def lower(
        self, specs: Sequence[ArgumentSpec], keep: bool = False, alone: bool = False
    ) -> Lowered:
        """Run the pipeline without generating code; see `Maker.lower`."""
        return with_room(lambda: self._maker.lower(specs, keep, alone))

    @COMPILING.held()
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
        check_state_place(self._program.receiver, self._gpu)
        if self.on_gpu:
            return with_room(lambda: self._maker.compile_gpu(specs))
        options = self._options
        cache = self.cache if options.cache else None
        code, plan, arrays, report = self._native_code(specs, cache)
        flat = flat_call(self._program, specs, plan, self._known.gradients)
        told, objects = (failed, flat.objects) if flat else (raise_as_is, None)
        loaded = Loaded(self._name, code, arrays, miss, cache, told, options.timed, objects)
        return Specialisation(tuple(specs), plan, code, loaded, report, flat)

    def _native_code(
        self, specs: Sequence[ArgumentSpec], cache: DiskCache | None
    ) -> tuple[NativeCode, CallPlan, dict[str, np.ndarray], Report | None]:
        """The code, how it is called, its weights, and how it was made if it was not kept."""
        known = self._known
        place = kept.place_of(self._program, self._options, specs, self._fold, known)
        if place is not None and (hit := kept.load(self.cache, place)) is not None:
            return *hit, None
        lowered, native = with_room(lambda: self._maker.native(specs))
        plan = lowered.plan
        # Without weights the entry holds the code; else the code is one by itself.
        whole = place is not None and plan.is_stateless and not native.has_constants
        code = with_room(lambda: native.compile(None if whole else cache))
        if place is not None and plan.is_stateless:
            kept.store(self.cache, place, code, plan, native)
        return code, plan, native.arrays(), lowered.report

    @COMPILING.held()
    def text(self, stage: str, specs: Sequence[ArgumentSpec]) -> str:
        """The text of a stage of the code for arguments of these specs; see `Maker.text`."""
        return with_room(lambda: self._maker.text(stage, specs))


def _contiguous(spec: ArgumentSpec) -> ArgumentSpec:
    """Without strides: an argument is copied to the device, row-major."""
    return replace(spec, strides=None) if isinstance(spec, TensorSpec) else spec
