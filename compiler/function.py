"""The callable that `compile` returns: specialisations behind a guard, and what it knows of itself.

The specialisation that was used last becomes the object's `__call__` itself (a native builtin) if
its arguments and results are plain; whatever its guard refuses comes to `dispatch`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorscript.backends.cpu.signature import Signature
from tensorscript.base.errors import (
    GuardError,
    NotCompilable,
    OperatorError,
    ScriptError,
    UserError,
)
from tensorscript.base.exclusive import COMPILING
from tensorscript.eager.modes import MODES
from tensorscript.frontends.script.signature import Signature as ScriptSignature
from tensorscript.frontends.script.signature import signature_text
from tensorscript.lowering.ts_to_tg.specs import ArgumentSpec, ListSpec
from tensorscript.runtime.values import ScriptObject

from . import late, late_gpu
from .arguments import Bound, OnGPU, Taking, bind, wrapper
from .collecting import collect_made, uncollected
from .convert import call_values, convert, schema_of
from .eager_values import from_tensors, to_tensors
from .inspected import Inspected, Stats
from .jit.boundary import to_python
from .jit.failure import script_failure
from .lists import list_spec
from .native import NativeCode
from .native_call import NativeCall, mixes
from .options import CompileOptions
from .program import Program
from .sharing import Sharing, state_sharing
from .specialisations import (
    CHANGING_NUMBERS,
    CHANGING_STATE,
    MOST_STATES,
    Refused,
    Specialisation,
    Specialisations,
    has_bits,
    has_lists,
    has_unknown_numbers,
    spec_text,
)
from .specialiser import Specialiser
from .state import bind_state, fingerprints
from .tensor_calls import array_call, tensor_call

if TYPE_CHECKING:  # what a hit of the disk cache does not need
    from .lowered import Lowered


class CompiledFunction(Inspected):
    """A function compiled on demand, one specialisation per kind of arguments.

    Args:
        program: what to compile.
        options: how.
        name: shown in reports and used for dumps.
        fold: fold batch norms into the weights before them.
        gpu: the number of the GPU that arguments are on; None for the CPU.
    """

    def __init__(
        self, program: Program, options: CompileOptions, name: str, fold: bool = False,
        gpu: int | None = None,
    ) -> None:  # fmt: skip
        self.program = program
        self._fold = fold
        self.options = options
        self.__name__ = name
        self.stats = Stats()
        self._known = Specialisations()
        self._specialiser = Specialiser(program, options, name, fold, self._known, gpu)
        self._on_gpu = self._specialiser.on_gpu
        self._gpu = gpu
        self._others: dict[int, CompiledFunction] = {}
        self._names = program.names
        self._by_name_only = any(formal.kwarg_only for formal in self.schema.arguments)
        lists = {} if self._on_gpu else self._list_specs()
        self._taking = Taking(lists, gpu=gpu, objects=program.asks_objects)
        self.keep: Callable[[Specialisation], None] | None = None
        self._latest: Specialisation | None = None
        self.latest_specs: tuple[ArgumentSpec, ...] | None = None

    def with_options(self, options: CompileOptions) -> CompiledFunction:
        """The same program, compiled in another way."""
        return CompiledFunction(self.program, options, self.__name__, self._fold)

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
        if kwargs or len(args) != len(self._names) or self._by_name_only:
            values = call_values(self.schema, self.program.defaults, args, kwargs)
        return self.call_with(values)

    def answer(self, values: list[Any]) -> Any:
        """`call_with`, by an installed builtin if one takes these values."""
        return self.call_with(values) if self._by_name_only else self(*values)

    def call_with(self, values: list[Any]) -> Any:
        """A call with one value per argument, those that are given by name alone among them.

        Raises:
            GuardError, NotCompilable: as `dispatch`.
        """
        if self.program.asks_gradients:
            self._known.gradients = MODES.grad_enabled
        try:
            bound = bind(self._names, values, self._taking)
        except OnGPU as found_there:
            return self._for_gpu(found_there.ordinal).call_with(values)
        except GuardError:
            self._converted(values)  # tells more, if the type is not the argument's
            raise
        if bound.key not in self._known:
            values = self._converted(values)
            bound = bind(self._names, values, self._taking)
        try:
            found = self._found(bound)
            while found is None and bound.taking is not self._taking:
                bound = bind(self._names, values, self._taking)
                found = self._found(bound)
        except OnGPU as found_there:
            return self._for_gpu(found_there.ordinal).call_with(values)
        except (ScriptError, OperatorError) as error:  # the program fails for all such arguments
            raise self._explained(error, values) from None
        if found is None or mixes(found.plan, bound):
            self._forget_builtin()
            return self._interpret(values, bound.kind)
        self._expect(found, bound.kind)
        call = NativeCall(self.program, found, bound, self._gpu)
        return call.run(lambda error: self._explained(error, values))

    def _expect(self, found: Specialisation, kind: str) -> None:
        """Have the next call answered without dispatch if it is of this kind."""
        if found.fast_class is None or (kind != "ts" and has_bits(found.specs)):
            self._forget_builtin()
        elif kind in ("", "numpy"):
            self.__class__ = found.fast_class
        elif kind == "ts":
            if found.tensor_class is None:
                found.tensor_class = self._calling_class(tensor_call(found))
            self.__class__ = found.tensor_class

    def _forget_builtin(self) -> None:
        """Have the next call dispatched: its code may hold as a constant what others change."""
        self.__class__ = CompiledFunction

    def pass_in(self, paths: Sequence[str]) -> None:
        """From now on native code is handed these attributes of `self` at every call."""
        self._known.learn(paths)
        self._forget_builtin()

    def _for_gpu(self, ordinal: int) -> CompiledFunction:
        """The same program as code for a GPU, where its arguments or what it holds are."""
        if (known := self._others.get(ordinal)) is None:
            options = replace(self.options, target=late_gpu.target_of(ordinal))
            known = CompiledFunction(self.program, options, self.__name__, self._fold, ordinal)
            known.stats = self.stats
            self._others[ordinal] = known
        return known

    def _converted(self, values: Sequence[Any]) -> list[Any]:
        """The values as the schema wants them."""
        classes = self.program.classes
        return [convert(self.schema, at, value, classes) for at, value in enumerate(values)]

    def _failed(self, error: UserError, *arguments: Any) -> Any:
        """Raise what native code failed with that is called with the program's arguments, or with
        the arrays that stand for lists of its numbers."""
        values = call_values(self.schema, self.program.defaults, arguments, {})
        listed = self._list_specs()
        given = zip(self._names, values, strict=True)
        raise self._explained(error, [_as_list(v) if n in listed else v for n, v in given])

    def _explained(self, error: UserError, values: Sequence[Any]) -> UserError:
        """The error of a call with TorchScript's call stack and text.

        Native code knows the place and the fixed part of a message. Nothing has been written
        before it fails, so the interpreter, called again, fails at the same place and tells all.
        """
        try:
            self.program.interpret(to_tensors(values))
        except UserError as told:
            script_failure(told, self.program.origin)
            return told
        return error

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
        fitted = convert(self.schema, at, value, self.program.classes)
        return bind([self._names[at]], [fitted], self._taking).specs[0]

    def _found(self, bound: Bound) -> Specialisation | None:
        """The specialisation for arguments and for the state as it is now, made if need be; None
        if the interpreter has to run them, or arguments are taken in another way from now on."""
        specs = self._specialiser.fitted(bound.specs)
        if (known := self._settled(specs, bound)) is None:
            with COMPILING.held():
                known = self._settled(specs, bound)  # by another thread meanwhile
                if known is None:
                    return self._made(specs, bound)
        if not isinstance(known, Refused):
            return known
        if not any(told.endswith(known.message) for told in self.stats.fallbacks):
            self._leave(known, specs)
        return None

    def _made(self, specs: Sequence[ArgumentSpec], bound: Bound) -> Specialisation | None:
        """`specialise`, and the state as it is now."""
        made = self.specialise(self._opened(specs))
        if made is not None:
            bound.state = bind_state(self.program.receiver, made.plan, self._gpu)
        return made

    def _settled(
        self, specs: Sequence[ArgumentSpec], bound: Bound
    ) -> Specialisation | Refused | None:
        """The specialisation that fits, or why there is none; None if that has to be found out."""
        forms = self._known.of(specs)
        if isinstance(forms, Refused):
            return forms
        for made in forms:
            if made.admits(specs) and (state := self._state_of(made)) is not None:
                bound.state = state
                return made
        return None if len(forms) < MOST_STATES else CHANGING_STATE

    def _state_of(self, made: Specialisation) -> Bound | None:
        """The state as it is now, None where the form is for another one."""
        state = bind_state(self.program.receiver, made.plan, self._gpu)
        same = state.key == made.plan.state_specs and self._sharing(made, state) == made.sharing
        return state if same else None

    def _opened(self, specs: Sequence[ArgumentSpec]) -> Sequence[ArgumentSpec]:
        """What a form is made for: sizes that other forms leave open are open in it, too, unless
        there is such a form and it is for other sizes."""
        forms = self._known.of(specs)
        if isinstance(forms, Refused) or not forms or not forms[0].plan.sizes:
            return specs
        named = forms[0].specs
        mine = any(made.specs == named and self._state_of(made) is not None for made in forms)
        return specs if mine else named

    def _sharing(self, made: Specialisation, state: Bound | None = None) -> Sharing:
        """How the tensors of the object that a program changes share memory now."""
        receiver = self.program.receiver
        return state_sharing(
            receiver, made.plan, state or bind_state(receiver, made.plan, self._gpu)
        )

    def _leave(self, why: Refused, specs: Sequence[ArgumentSpec] | None = None) -> None:
        """Leave arguments (of these specs alone, or all) to the interpreter, visibly, or raise with
        `fallback="error"`."""
        if self.options.fallback == "error":
            raise why.error()
        reason = why.message if specs is None else f"{spec_text(specs)}: {why.message}"
        if reason not in self.stats.fallbacks:
            self.stats.fallbacks.append(reason)

    def _interpret(self, values: list[Any], kind: str) -> Any:
        self.stats.interpreted_calls += 1
        inside = to_tensors(values)
        receiver = self.program.receiver
        before = {} if receiver is None else fingerprints(receiver)
        try:
            found = self.program.interpret(inside)
        except UserError as error:
            script_failure(error, self.program.origin)
            raise
        finally:
            if receiver is not None:  # what it changed may be a constant of native code
                now = fingerprints(receiver)
                self._known.learn([p for p in now if before.get(p) != now[p]])
        result = from_tensors(found, wrapper(kind))
        return to_python(result, self.program.classes)

    # -- compiling -------------------------------------------------------------------------------

    @COMPILING.held()
    def specialise(
        self, specs: Sequence[ArgumentSpec], flexible: bool = True
    ) -> Specialisation | None:
        """Compile for arguments of these specs; None if the interpreter has to run them, or if
        the arguments are taken in another way from now on and the caller has to ask again.

        Args:
            flexible: arguments that are refused may be taken in another way.

        Raises:
            NotCompilable: no native form, with `fallback="error"`.
        """
        start = time.perf_counter()
        specs = self._specialiser.fitted(specs)
        if self._known.too_many(specs):
            self._leave(CHANGING_NUMBERS)
            return None
        try:
            with uncollected():
                found: Specialisation | Refused = self._specialiser.compile(
                    specs, self.dispatch, self._failed
                )
        except NotCompilable as refusal:
            found = self._known.refuse(specs, refusal)
        finally:
            self.stats.compile_seconds += time.perf_counter() - start
        if isinstance(found, Specialisation):
            found.sharing = self._sharing(found)
        self.latest_specs = tuple(specs)  # not of arguments that the program itself refuses
        if isinstance(found, Refused):
            if not (flexible and self._take_otherwise(specs)):
                self._leave(found, specs)
            return None
        if found.report is not None and isinstance(found.code, NativeCode) and found.code.constants:
            collect_made()  # modules are cycles, and hold weights as they were before packing
        self.stats.native.append(spec_text(specs))
        self._known.add(specs, found)
        self._latest = found
        found.fast_class = self._builtin_class(found)
        if self.keep is not None and not (self.program.asks_gradients or self.program.asks_objects):
            self.keep(found)
        return found

    def _take_otherwise(self, specs: Sequence[ArgumentSpec]) -> bool:
        """Whether arguments that were refused are now taken in another way: lists of any length
        one by one, numbers as parts of the specialisation."""
        if has_lists(specs):
            self._taking = replace(self._taking, lists={})
        elif self._taking.known is None and has_unknown_numbers(specs) and not self._on_gpu:
            self._taking = replace(self._taking, known=True)
        elif self._taking.known and not self._known.has_numbers:
            self._taking = replace(self._taking, known=False)  # that did not help
            return False
        else:
            return False
        return True

    def lower(
        self, specs: Sequence[ArgumentSpec], keep: bool = False, alone: bool = False
    ) -> Lowered:
        """Run the pipeline without generating code; see `Specialiser.lower`."""
        return self._specialiser.lower(specs, keep, alone)

    def _builtin_class(self, found: Specialisation) -> type[CompiledFunction] | None:
        """A class whose `__call__` is the builtin, or code around it that puts results together, if
        that answers a call by itself."""
        if found.flat is None or self._by_name_only:
            return None
        is_plain = found.plan.output.is_plain
        return self._calling_class(found.loaded.call if is_plain else array_call(found))

    def _calling_class(self, call: Callable[..., Any]) -> type[CompiledFunction]:
        """A class with this `__call__`."""
        members = {"__call__": call, "__slots__": (), "__doc__": CompiledFunction.__doc__}
        return type(f"Compiled_{self.__name__}", (CompiledFunction,), members)

    # -- ahead of time ---------------------------------------------------------------------------

    @property
    def receiver(self) -> ScriptObject | None:
        """The object whose method this is."""
        return self.program.receiver

    def handed(self, paths: Sequence[str]) -> CompiledFunction:
        """The same, to be compiled as one of several methods that share these attributes of
        `self`: all are handed them, and no weights are folded that another may change."""
        made = CompiledFunction(self.program, self.options, self.__name__)
        made.latest_specs = self.latest_specs
        made._known.gradients = self._known.gradients
        made.pass_in(paths)
        return made

    def export_object(
        self,
        path: str | Path,
        header: str | Path | None = None,
        name: str | None = None,
        weights: str | Path | None = None,
        methods: Sequence[CompiledFunction] = (),
    ) -> Signature:
        """Write the latest specialisation as a `.o` file; see `compiler.export.export_object`."""
        return late.export_object(self, path, header, name, weights, methods)

    def export_library(
        self,
        path: str | Path,
        header: str | Path | None = None,
        name: str | None = None,
        weights: str | Path | None = None,
        methods: Sequence[CompiledFunction] = (),
    ) -> Signature:
        """Write it as a `.so` or `.a`; see `compiler.export.export_library`."""
        return late.export_library(self, path, header, name, weights, methods)


def _as_list(value: Any) -> Any:
    """A list of what an array holds; anything else as it is."""
    return value.tolist() if isinstance(value, np.ndarray) else value
