"""The callable that `compile` returns: specialisations behind a guard, and what it knows of itself.

The specialisation that was used last becomes the object's `__call__` itself (a native builtin) if
its arguments and results are plain; whatever its guard refuses comes to `dispatch`.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tensorscript.backends import target as targets
from tensorscript.backends.cpu.signature import Signature
from tensorscript.base.errors import GuardError, NotCompilable
from tensorscript.eager.tensor import Tensor
from tensorscript.frontends.script.signature import Signature as ScriptSignature
from tensorscript.frontends.script.signature import signature_text
from tensorscript.lowering.ts_to_tg.specialise import (
    ArgumentSpec,
    ListSpec,
    Options,
    TensorSpec,
    specialise,
)

from .arguments import (
    Bound,
    bind,
    fill_defaults,
    is_array,
    is_plain,
    rebuild,
    scalar_leaves,
    tensor_of,
    wrapper,
)
from .cache import DiskCache, cache_key, compiler_identity
from .convert import convert, schema_of
from .export import export_library, export_object
from .folding import folded_program
from .gpu import GPUCode, GPULoaded, GPUModule, contiguous
from .lists import list_spec
from .lowered import Lowered
from .native import Kernel, Loaded, NativeCode, NativeModule
from .observe import Report, dump, run_passes
from .options import CompileOptions
from .pipeline import PASSES
from .program import Program, object_value
from .stages import print_module
from .state import attribute, form, state_values, store_state
from .stored import CallPlan, from_metadata, to_metadata

MOST_CHANGES_OF_FORM = 8
"""So often a method is compiled again because its state took another shape."""


@dataclass
class Stats:
    """What ran how.

    Attributes:
        native: names of specialisations compiled to native code.
        fallbacks: for each that is not, why (one line each).
        interpreted_calls: calls that the graph interpreter ran.
        compile_seconds: spent compiling.
    """

    native: list[str] = field(default_factory=list)
    fallbacks: list[str] = field(default_factory=list)
    interpreted_calls: int = 0
    compile_seconds: float = 0.0

    @property
    def is_native(self) -> bool:
        """Everything so far ran as native code."""
        return not self.fallbacks and self.interpreted_calls == 0


@dataclass
class Specialisation:
    """One compiled form of the program. `report` is None if it came from the disk cache;
    `fast_class` is the class that answers its calls natively, if there is one."""

    specs: tuple[ArgumentSpec, ...]
    plan: CallPlan
    code: NativeCode | GPUCode
    loaded: Loaded | GPULoaded
    report: Report | None
    state_forms: tuple[object, ...]
    fast_class: type[CompiledFunction] | None = None


def _spec_text(specs: Sequence[ArgumentSpec]) -> str:
    def one(spec: ArgumentSpec) -> str:
        if isinstance(spec, TensorSpec):
            return "x".join(map(str, spec.shape)) + f":{spec.dtype.short}"
        return type(spec).__name__.removesuffix("Spec").lower()

    return "(" + ", ".join(map(one, specs)) + ")"


class CompiledFunction:
    """A function compiled on demand, one specialisation per kind of arguments.

    Args:
        program: what to compile.
        options: how.
        name: shown in reports and used for dumps.
    """

    def __init__(
        self, program: Program, options: CompileOptions, name: str, fold: bool = False
    ) -> None:
        self.program = program
        self._fold = fold
        self.options = options
        self.__name__ = name
        self.stats = Stats()
        self._cache = DiskCache(options.cache_dir)
        self._on_gpu = targets.parse(options.target, options.cpu).is_ptx
        self._names = program.names
        self._listed: Mapping[str, ListSpec] = {} if self._on_gpu else self._list_specs()
        self._known: dict[tuple[object, ...], Specialisation | None] = {}
        self._symbolic: list[tuple[tuple[ArgumentSpec, ...], Specialisation]] = []
        self._latest: Specialisation | None = None
        self.latest_specs: tuple[ArgumentSpec, ...] | None = None
        self.changing: dict[str, None] = {}
        self._changes_of_form = 0

    def __repr__(self) -> str:
        return f"<compiled {self.__name__}{list(self.stats.native)}>"

    # -- calling ---------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.dispatch(*args, **kwargs)

    def dispatch(self, *args: Any, **kwargs: Any) -> Any:
        """A call that no installed builtin answered.

        Raises:
            GuardError: arguments that do not fit the function's signature.
            NotCompilable: no native form, with `fallback="error"`.
        """
        values = list(args)
        if kwargs or len(args) != len(self._names):
            values = fill_defaults(
                self._names, self.program.defaults, args, kwargs, self.declaration
            )
        bound = bind(self._names, values, self._listed)
        if bound.key not in self._known:
            values = [convert(self.schema, at, value) for at, value in enumerate(values)]
            bound = bind(self._names, values, self._listed)
        if self._on_gpu:
            bound.specs = contiguous(bound.specs)
            bound.key = tuple(bound.specs)
        found = self._lookup(bound)
        if found is None and _has_lists(bound.specs):
            bound = bind(self._names, values, self._listed)
            found = self._lookup(bound)
        if found is not None and not self._fits_state(found):
            found = self._for_other_state(bound)
        if found is None or (found.plan.mutated_inputs and overlap(bound.leaves)):
            return self._interpret(values, bound.kind)
        if found.fast_class is not None and bound.kind in ("", "numpy"):
            self.__class__ = found.fast_class  # the next call of this kind needs no dispatch
        return self._run(found, bound)

    @property
    def declaration(self) -> str:
        """The schema text of the function."""
        return signature_text(self.schema)

    @cached_property
    def schema(self) -> ScriptSignature:
        """The arguments' names and types, without `self`."""
        program = self.program
        return schema_of(program.function, self.__name__, int(program.receiver is not None))

    def _list_specs(self) -> dict[str, ListSpec]:
        """Arguments that may be lists of any length."""
        found = ((a.name, list_spec(a.type)) for a in self.schema.arguments)
        return {name: spec for name, spec in found if spec is not None}

    def spec_of(self, at: int, value: Any) -> ArgumentSpec:
        """The spec of a value for argument `at`."""
        fitted = convert(self.schema, at, value)
        return bind([self._names[at]], [fitted], self._listed).specs[0]

    def _lookup(self, bound: Bound) -> Specialisation | None:
        if bound.key in self._known:
            return self._known[bound.key]
        for specs, candidate in self._symbolic:
            if _admits(specs, bound.specs):
                self._known[bound.key] = candidate
                return candidate
        return self.specialise(bound.specs)

    def _run(self, found: Specialisation, bound: Bound) -> Any:
        own = found.plan
        state = state_values(self.program.receiver, own.state_inputs)
        leaves = found.loaded.call(*bound.leaves, *state)
        results = leaves if isinstance(leaves, tuple) else (leaves,)
        if own.mutated_inputs:
            for path, leaf in own.mutated_inputs:
                bound.paths[path][...] = results[leaf]
        same = dict(own.aliases)
        if own.state_inputs:
            self._store_state(found, bound, results)
        wrap = wrapper(bound.kind)
        dtypes = [spec.dtype for spec in found.code.signature.outputs]

        def tensor(leaf: int, part: np.ndarray | None) -> Any:
            if (path := same.get(leaf)) in bound.given:
                return bound.given[path]
            return wrap(results[leaf] if part is None else part, dtypes[leaf])

        return rebuild(own.output, results, tensor)

    def _fits_state(self, found: Specialisation) -> bool:
        """Whether the state is still of the shapes and types that code was made for."""
        state = state_values(self.program.receiver, found.plan.state_inputs)
        return tuple(map(form, state)) == found.state_forms

    def _for_other_state(self, bound: Bound) -> Specialisation | None:
        """A specialisation for the state as it is now; after some such changes None: the
        interpreter runs what would be compiled for every call."""
        self._known.clear()
        self._symbolic.clear()
        self._changes_of_form += 1
        if self._changes_of_form <= MOST_CHANGES_OF_FORM:
            return self._lookup(bound)
        if not any("keeps changing" in reason for reason in self.stats.fallbacks):
            self.stats.fallbacks.append("the state of self keeps changing its shape")
        self._known[bound.key] = None
        return None

    def _store_state(self, found: Specialisation, bound: Bound, results: Sequence[Any]) -> None:
        """Write what the call changed of the object."""
        own, receiver = found.plan, self.program.receiver
        same = dict(own.aliases)
        dtypes = [spec.dtype for spec in found.code.signature.outputs]

        def tensor(leaf: int) -> Tensor:
            path = same.get(leaf, "")
            if path in bound.given:
                return tensor_of(bound.given[path])
            if path in own.state_inputs:
                held: Tensor = attribute(receiver, path)
                return held
            return Tensor(results[leaf], dtypes[leaf])

        store_state(receiver, own, results, tensor)

    def _interpret(self, values: list[Any], kind: str) -> Any:
        self.stats.interpreted_calls += 1
        inside = [_to_tensor(v) for v in values]
        return _from_tensor(self.program.interpret(inside), wrapper(kind))

    # -- compiling -------------------------------------------------------------------------------

    def specialise(self, specs: Sequence[ArgumentSpec]) -> Specialisation | None:
        """Compile for arguments of these specs; None if the interpreter has to run them, or if
        lists of any length do not do and the caller has to ask again for those at hand.

        Raises:
            NotCompilable: no native form, with `fallback="error"`.
        """
        start = time.perf_counter()
        if self._on_gpu:
            specs = contiguous(specs)
        key = self.latest_specs = tuple(specs)
        try:
            found = self._compile(specs)
        except NotCompilable as refusal:
            if _has_lists(specs):
                # Lists of any length do not do: from now on, one specialisation for each length.
                self._listed = {}
                self._known[key] = None
                return None
            if self.options.fallback == "error":
                raise
            self.stats.fallbacks.append(f"{_spec_text(specs)}: {refusal.message}")
            self._known[key] = None
            return None
        finally:
            self.stats.compile_seconds += time.perf_counter() - start
        self.stats.native.append(_spec_text(specs))
        self._known[key] = self._latest = found
        if found.plan.sizes:
            self._symbolic.append((key, found))
        found.fast_class = self._builtin_class(found)
        return found

    @cached_property
    def _source(self) -> Program:
        """What native code is made from: the program, with batch norms folded if that is asked."""
        return folded_program(self.program) if self._fold else self.program

    def lower(self, specs: Sequence[ArgumentSpec], keep: bool = False) -> Lowered:
        """Run the pipeline without generating code.

        Args:
            keep: keep the module of every stage in the report.
        """
        options, report = self.options, Report()
        receiver = self.program.receiver
        arguments: list[ArgumentSpec] = list(specs)
        if receiver is not None:
            arguments.insert(0, object_value(receiver))
        start = time.perf_counter()
        wanted = Options(lists=not self._on_gpu)
        source = self._source
        own = specialise(source.module, source.entry, arguments, wanted, self.changing)
        self._learn(own.state_inputs)
        report.seconds["specialise"] = time.perf_counter() - start
        if options.dump_dir is not None:
            dump(self._source.module, "ts", options.dump_dir, self.__name__)
        module = run_passes(own.module, PASSES, options, report, self.__name__, keep)
        return Lowered(own, module, report)

    def _learn(self, paths: Sequence[str]) -> None:
        """Attributes that a specialisation changes are constants of none: others are dropped."""
        if new := dict.fromkeys(path for path in paths if path not in self.changing):
            self.changing |= new
            self._known.clear()
            self._symbolic.clear()

    def _compile(self, specs: Sequence[ArgumentSpec]) -> Specialisation:
        if self._on_gpu:
            return self._compile_gpu(specs)
        key = self._cache_key(specs)
        if key is not None and (hit := self._cache.load(key)) is not None:
            code, plan = from_metadata(hit.data, hit.metadata)
            loaded = Loaded(self.__name__, code, {}, self.dispatch, self._cache)
            return Specialisation(tuple(specs), plan, code, loaded, None, ())
        lowered = self.lower(specs)
        plan = CallPlan.of(lowered.specialised)
        native = NativeModule(lowered.module, self.options, scalar_leaves(plan.output))
        code = native.compile()
        if key is not None and not code.constants and not plan.state_inputs:
            self._cache.store(key, code.data, to_metadata(code, plan))
        cache = self._cache if self.options.cache else None
        loaded = Loaded(self.__name__, code, native.arrays(), self.dispatch, cache)
        forms = tuple(map(form, state_values(self.program.receiver, plan.state_inputs)))
        return Specialisation(tuple(specs), plan, code, loaded, lowered.report, forms)

    def _compile_gpu(self, specs: Sequence[ArgumentSpec]) -> Specialisation:
        lowered = self.lower(specs)
        plan = CallPlan.of(lowered.specialised)
        module = GPUModule(lowered.module, self.options, scalar_leaves(plan.output))
        code = module.compile()
        loaded = GPULoaded(module, code)
        forms = tuple(map(form, state_values(self.program.receiver, plan.state_inputs)))
        return Specialisation(tuple(specs), plan, code, loaded, lowered.report, forms)

    def _cache_key(self, specs: Sequence[ArgumentSpec]) -> str | None:
        """The key in the disk cache; None for what is never stored (methods: their weights are
        not in the object)."""
        if not self.options.cache or self.program.receiver is not None:
            return None
        target = targets.parse(self.options.target, self.options.cpu)
        parts = (compiler_identity(), self.program.digest, self.program.entry, repr(tuple(specs)))
        return cache_key(*parts, self.options.key, target.key)

    def _builtin_class(self, found: Specialisation) -> type[CompiledFunction] | None:
        """A class whose `__call__` is the builtin, if that can answer a call by itself."""
        own = found.plan
        flat = len(own.inputs) == len(self._names)
        # With no input nothing tells the builtin in which kind results are wanted.
        if self._on_gpu or own.has_effects or not flat or not own.inputs:
            return None
        if _has_lists(found.specs) or not is_plain(own.output):
            return None
        call: Callable[..., Any] = found.loaded.call
        members = {"__call__": call, "__slots__": (), "__doc__": CompiledFunction.__doc__}
        return type(f"Compiled_{self.__name__}", (CompiledFunction,), members)

    # -- looking inside --------------------------------------------------------------------------

    def _one(self) -> Specialisation:
        if self._latest is None:
            reasons = "; ".join(self.stats.fallbacks) or "it has not been called yet"
            raise NotCompilable(f"{self.__name__} has no native code: {reasons}")
        return self._latest

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels of the latest specialisation."""
        return self._one().code.kernels

    def ir(self, stage: str = "tg") -> str:
        """The text of a stage of the latest specialisation: ts, tg, kernels, te, scheduled, ll, s
        (for a GPU also ptx).

        Raises:
            GuardError: no such stage.
        """
        if stage == "ts":
            return print_module(self.program.module)
        lowered = self.lower(self._one().specs, keep=True)
        modules = lowered.report.modules
        if stage in modules:
            return print_module(modules[stage])
        plan = CallPlan.of(lowered.specialised)
        make = GPUModule if self._on_gpu else NativeModule
        native = make(lowered.module, self.options, scalar_leaves(plan.output))
        if stage == "ll":
            return native.llvm_text
        if stage in ("s", "asm") or (stage == "ptx" and self._on_gpu):
            return native.assembly()
        raise GuardError(f"unknown stage {stage!r}; known are ts, {', '.join(modules)}, ll, s")

    def asm(self) -> str:
        """Assembly of the latest specialisation."""
        return self.ir("s")

    # -- ahead of time ---------------------------------------------------------------------------

    def export_object(
        self, path: str | Path, header: str | Path | None = None, name: str | None = None
    ) -> Signature:
        """Write the latest specialisation as a `.o` file; see `compiler.export.export_object`."""
        return export_object(self, path, header, name)

    def export_library(
        self, path: str | Path, header: str | Path | None = None, name: str | None = None
    ) -> Signature:
        """Write it as a `.so` or `.a`; see `compiler.export.export_library`."""
        return export_library(self, path, header, name)


def overlap(leaves: Sequence[Any]) -> bool:
    """Two of the arrays may share memory: a write to one would have to show in the other."""
    arrays = [leaf for leaf in leaves if isinstance(leaf, np.ndarray)]
    pairs = itertools.combinations(arrays, 2)
    return any(np.may_share_memory(a, b) for a, b in pairs)


def _has_lists(specs: Sequence[ArgumentSpec]) -> bool:
    """A list of any length is among the arguments."""
    return any(isinstance(spec, ListSpec) for spec in specs)


def _admits(symbolic: Sequence[ArgumentSpec], specs: Sequence[ArgumentSpec]) -> bool:
    """Concrete specs fit symbolic ones: equal but for named sizes, each above 1 and consistent."""
    sizes: dict[str, object] = {}
    for wanted, given in zip(symbolic, specs, strict=True):
        if not isinstance(wanted, TensorSpec) or not isinstance(given, TensorSpec):
            if wanted != given:
                return False
            continue
        same = (
            wanted.dtype is given.dtype
            and wanted.strides == given.strides
            and len(wanted.shape) == len(given.shape)
        )
        if not same:
            return False
        for name, size in zip(wanted.shape, given.shape, strict=True):
            if isinstance(name, int):
                if name != size:
                    return False
            elif sizes.setdefault(name, size) != size or not isinstance(size, int) or size < 2:
                return False
    return True


def _to_tensor(value: Any) -> Any:
    if is_array(value):
        return tensor_of(value)
    match value:
        case tuple() if hasattr(value, "_fields"):
            return type(value)(*map(_to_tensor, value))
        case tuple() | list():
            return type(value)(map(_to_tensor, value))
        case dict():
            return {k: _to_tensor(v) for k, v in value.items()}
    return value


def _from_tensor(value: Any, wrap: Callable[[np.ndarray, Any], Any]) -> Any:
    match value:
        case Tensor():
            return wrap(value._array, value.dtype)
        case tuple() if hasattr(value, "_fields"):
            return type(value)(*(_from_tensor(v, wrap) for v in value))
        case tuple() | list():
            return type(value)(_from_tensor(v, wrap) for v in value)
        case dict():
            return {k: _from_tensor(v, wrap) for k, v in value.items()}
    return value
