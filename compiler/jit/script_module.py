"""`ScriptModule` as a base class: `@script_method` marks what is compiled when `__init__` is done.

The older form of scripting a module. The instance keeps a RecursiveScriptModule, to which
everything goes once it is made.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

from tensorscript.base.errors import GuardError
from tensorscript.eager.nn.module import Module
from tensorscript.frontends.script.module_attributes import Typed, typed

from .enabled import jit_enabled
from .module import RecursiveScriptModule, callers_names
from .script import script_module

ACTUAL = "_actual_script_module"


class ScriptWarning(Warning):
    """Something about script that is not as it seems."""


class ScriptMethodStub:
    """A method that `@script_method` marked."""

    def __init__(self, original_method: Callable[..., Any]) -> None:
        self.original_method = original_method


def script_method(fn: Callable[..., Any]) -> Any:
    """Mark a method of a `ScriptModule` subclass for compilation."""
    warnings.warn(
        "`torch.jit.script_method` is deprecated. Please switch to `torch.compile` or "
        "`torch.export`.",
        DeprecationWarning,
        stacklevel=2,
    )
    return ScriptMethodStub(fn) if jit_enabled() else fn


class ScriptMeta(type):
    """Takes the marked methods out of a class, and compiles an instance once it is initialised."""

    def __init__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> None:
        marked: dict[str, Callable[..., Any]] = {}
        for base in reversed(bases):
            marked |= getattr(base, "_script_methods", {})
        for key, value in members.items():
            if isinstance(value, ScriptMethodStub):
                delattr(cls, key)
                marked[value.original_method.__name__] = value.original_method
        cls._script_methods = marked
        cls.__init__ = _then_script(cls, cls.__init__)  # type: ignore[misc]  # wrapped on purpose
        super().__init__(name, bases, members)

    def __instancecheck__(cls, instance: Any) -> bool:
        """Whatever is scripted counts as a ScriptModule."""
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, subclass: type) -> bool:
        is_base = "_is_script_base" in vars(cls)
        return super().__subclasscheck__(subclass) or (
            is_base and issubclass(subclass, RecursiveScriptModule)
        )


def _then_script(cls: Any, original: Callable[..., None]) -> Callable[..., None]:
    @wraps(original)
    def init_then_script(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if type(self) is cls and jit_enabled():
            _compile(self)

    return init_then_script


def _compile(instance: Any) -> None:
    """Make the script module behind an instance, which gives up its own attributes."""
    held = instance.__dict__
    actual = script_module(instance, type(instance)._script_methods, held.pop("_defined", ()))
    for name in [*actual._script_object.attributes, "_parameters", "_buffers", "_modules"]:
        held.pop(name, None)
    held[ACTUAL] = actual


def _actual(instance: Any) -> RecursiveScriptModule:
    """The script module behind an instance.

    Raises:
        GuardError: there is none yet.
    """
    if ACTUAL not in instance.__dict__:
        raise GuardError(
            "ScriptModule has not been initialized, did you forget to call super's init?"
        )
    made: RecursiveScriptModule = instance.__dict__[ACTUAL]
    return made


def _delegating(name: str) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(_actual(self), name)(*args, **kwargs)

    call.__name__ = name
    call.__doc__ = getattr(RecursiveScriptModule, name).__doc__
    return call


def _reading(name: str) -> property:
    doc = getattr(RecursiveScriptModule, name).__doc__
    return property(lambda self: getattr(_actual(self), name), doc=doc)


_METHODS = ("graph_for", "save", "save_to_buffer", "get_debug_state", "forward_magic_method",
            "__copy__", "__deepcopy__", "__len__", "__contains__", "__getitem__",
            "__iter__", "_replicate_for_data_parallel",
            "__tensorscript_linkable__", "__tensorscript_program__")  # fmt: skip
_PROPERTIES = ("code", "code_with_constants", "graph", "inlined_graph", "original_name")
_Delegates: Any = type(
    "_Delegates",
    (),
    {name: _delegating(name) for name in _METHODS} | {n: _reading(n) for n in _PROPERTIES},
)


class ScriptModule(_Delegates, Module, metaclass=ScriptMeta):  # type: ignore[misc]  # made from the lists above
    """A module whose marked methods are script."""

    _is_script_base = True
    _script_methods: dict[str, Callable[..., Any]]

    def __init__(self) -> None:
        super().__init__()

    def __getattribute__(self, name: str) -> Any:
        # nn.Module has a `forward`, which hides the compiled one.
        if name == "forward":
            held = object.__getattribute__(self, "__dict__")
            if ACTUAL in held:
                return getattr(held[ACTUAL], name)
        return super().__getattribute__(name)

    def __getattr__(self, name: str) -> Any:
        if ACTUAL not in self.__dict__:
            return super().__getattr__(name)
        return getattr(self.__dict__[ACTUAL], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if ACTUAL in self.__dict__:
            setattr(self.__dict__[ACTUAL], name, value)
            return
        if (given := typed(value)) is not None:
            self._annotate(name, given)
            value = given.value
        super().__setattr__(name, value)

    def _annotate(self, name: str, given: Typed) -> None:
        """Keep the type that `jit.Attribute` gave an attribute, for when the module is compiled."""
        cls = type(self)
        cls.__annotations__ = {**vars(cls).get("__annotations__", {}), name: given.type}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if ACTUAL in self.__dict__:
            return self.__dict__[ACTUAL](*args, **kwargs)
        return super().__call__(*args, **kwargs)

    def define(self, src: str) -> None:
        """Compile more methods from a text of `def`s; in `__init__`, when that is done.

        Raises:
            FrontendError: the text does not parse.
            CompileError: a type or name error, or a method of that name exists.
        """
        names = callers_names()
        if ACTUAL not in self.__dict__:
            self.__dict__.setdefault("_defined", []).append((src, names))
            return
        actual = self.__dict__[ACTUAL]
        actual._home.define(actual._script_object.class_name, src, names)

    def __repr__(self) -> str:
        return repr(self.__dict__[ACTUAL]) if ACTUAL in self.__dict__ else super().__repr__()

    def __bool__(self) -> bool:
        return True
