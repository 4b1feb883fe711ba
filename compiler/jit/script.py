"""`tensorscript.jit.script`: Python functions, classes and modules as script."""

from __future__ import annotations

import enum
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from tensorscript.base.errors import ArgumentError, GuardError
from tensorscript.base.stack import with_room
from tensorscript.frontends.script.api import compile_function
from tensorscript.frontends.script.live import World, is_compiled
from tensorscript.frontends.script.live_functions import remember_classes
from tensorscript.frontends.script.modules import ModuleTypes, is_module
from tensorscript.frontends.script.observed import ObservedTypes, observed
from tensorscript.frontends.script.program import Program
from tensorscript.frontends.script.python_names import prepared

from .boundary import to_script
from .callables import Entry, ScriptFunction
from .containers import ScriptDict, ScriptList
from .enabled import jit_enabled
from .faces import RecursiveScriptClass
from .home import ProgramHome
from .instances import Instances
from .language import is_tracing
from .module import RecursiveScriptModule, callers_locals
from .plain_values import Mismatch
from .references import Reference

T = TypeVar("T")
P = ParamSpec("P")

_functions: WeakKeyDictionary[Callable[..., Any], ScriptFunction] = WeakKeyDictionary()


def script(
    obj: Any,
    optimize: Any = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> Any:
    """Compile Python as TorchScript.

    Args:
        obj: a function or method (gives a ScriptFunction, the same each time), a module (a
            RecursiveScriptModule that shares its tensors), a class (compiled; the class itself is
            given back), an instance of a plain class, a list or a dict (copied into one that
            scripts and Python share), or something scripted already.
        example_inputs: a list of tuples of arguments (for a module or class: such a list by the
            module or method to call). They are run as Python, and what unannotated parameters were
            called with, also in functions called on the way, is their type: that of all examples,
            `Optional` where some are None, else `Any`.

    Raises:
        FrontendError: Python outside the language.
        CompileError: a type or name error.
        GuardError: something that cannot be scripted.
        ValueError: example inputs of another form.
    """
    if optimize is not None:
        warnings.warn(
            "`optimize` is deprecated and has no effect. Use `with "
            "torch.jit.optimized_execution()` instead",
            FutureWarning,
            stacklevel=2,
        )
    is_scripted = isinstance(obj, ScriptFunction | RecursiveScriptClass | Reference)
    is_scripted = is_scripted or is_compiled(obj)
    if not jit_enabled() or is_scripted:
        return obj
    seen = observed(obj, example_inputs) if example_inputs else {}
    if isinstance(obj, type):
        remember_classes(obj, callers_locals(_frames_up))
        return _script_class(obj, seen)
    if is_module(obj):
        return script_module(obj, seen=seen)
    if isinstance(obj, types.FunctionType | types.MethodType):
        return _script_function(obj, seen)
    if isinstance(obj, list):
        return ScriptList.of(obj)
    if isinstance(obj, dict):
        return ScriptDict.of(obj)
    if type(obj).__module__ == "builtins":
        raise ArgumentError(f"{type(obj)} is a built-in class")
    if callable(obj) or not hasattr(obj, "__dict__"):
        raise GuardError(f"cannot script an object of type {type(obj).__name__}")
    return _script_instance(obj, seen)


def script_if_tracing(fn: Callable[P, T]) -> Callable[P, T]:
    """Call `fn` as Python, except while a trace is recorded: then it is script."""

    @wraps(fn)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        called: Callable[P, T] = script(fn) if is_tracing() else fn
        return called(*args, **kwargs)

    run.__original_fn = fn  # type: ignore[attr-defined]  # what scripting a call of `run` compiles
    run.__script_if_tracing_wrapper = True  # type: ignore[attr-defined]  # as PyTorch marks it
    return run


def _script_function(fn: Callable[..., Any], seen: ObservedTypes) -> ScriptFunction:
    if (known := _functions.get(fn)) is not None:
        return known
    if (reason := getattr(fn, "__script_unsupported", None)) is not None:
        raise GuardError(f"TorchScript error: {reason}")
    original = prepared(getattr(fn, "__original_fn", fn))
    made = _functions[fn] = ScriptFunction(function_entry(original, seen), original)
    return made


def function_entry(fn: Callable[..., Any], seen: ObservedTypes | None = None) -> Entry:
    """A Python function compiled as a program of its own; `seen` are types that examples showed."""

    def compiled() -> Entry:
        world = World(Program(), observed=seen or {})
        name = compile_function(prepared(fn), world).name
        return ProgramHome(world.program, world).function(name)

    return with_room(compiled)


def _script_class(cls: type, seen: ObservedTypes) -> type:
    if is_module(cls) or any(base.__name__ == "Module" for base in cls.__mro__[1:]):
        raise GuardError(
            f"Type '{cls}' cannot be compiled since it inherits from nn.Module, pass an "
            "instance instead"
        )
    if issubclass(cls, enum.Enum) or getattr(cls, "__torch_script_interface__", False):
        return cls
    if len(cls.__mro__) > 2 and not issubclass(cls, tuple):
        raise GuardError(
            "TorchScript classes does not support inheritance yet. Please directly inherit from "
            "'object'."
        )
    with_room(lambda: World(Program(), observed=seen).type_of_class(cls, None))
    return cls


def _script_instance(obj: Any, seen: ObservedTypes) -> RecursiveScriptClass:
    world = World(Program(), observed=seen)
    world.type_of_class(type(obj), None)
    world.program.declare_classes()
    home = ProgramHome(world.program, world)
    try:
        target = to_script(obj, home.classes.objects[type(obj)], home.classes)
    except Mismatch as mismatch:
        raise GuardError(f"cannot script the object {obj!r:.200}: {mismatch}") from None
    return RecursiveScriptClass(home, target)


def script_module(
    module: Any,
    methods: Mapping[str, Callable[..., Any]] | None = None,
    defined: Sequence[tuple[str, Mapping[str, object]]] = (),
    seen: ObservedTypes | None = None,
) -> RecursiveScriptModule:
    """Compile an nn.Module; its tensors are shared, not copied.

    Args:
        methods: what to compile of it; by default `forward` and what is exported.
        defined: texts with further methods, and the names they may refer to.
        seen: types that examples showed, for parameters without annotations.

    Raises:
        GuardError: an attribute's value is not of its type.
    """

    def compiled() -> ModuleTypes:
        types = ModuleTypes(
            World(Program(), observed=seen or {}),
            marked={} if methods is None else {id(module): methods},
            defined={id(module): defined} if defined else {},
        )
        types.compile(module)
        return types

    module_types = with_room(compiled)
    home = ProgramHome(module_types.world.program, module_types.world)
    made: RecursiveScriptModule = home.wrap(Instances(module_types, home).object(module))
    return made
