"""Names of live Python: what the objects around a function mean in script.

A name is looked up in the function's closure, its globals and Python's builtins, and what is found
is translated by kind.
"""

from __future__ import annotations

import enum
import inspect
import math
import types
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from tensorscript.base.records import dataclass
from tensorscript.base.source import Span
from tensorscript.dialects.ts.constants import EnumRef
from tensorscript.dialects.ts.types import (
    INFERRED_TENSOR,
    ClassType,
    EnumType,
    InterfaceType,
    TupleType,
)

from .annotations import type_of_object
from .callables import (
    Builtin,
    Deferred,
    DeviceClass,
    Dispatch,
    EnumClass,
    ExceptionClass,
    Function,
    ModuleClass,
    NamedTupleClass,
    Overloads,
    PythonClass,
)
from .calls import BUILTINS
from .composites import FLAGGED, OVERLOADED, Flags, composite_library, overload_names
from .contexts import context_class, context_library
from .draft import Value
from .emission import Emission
from .function import FunctionEmitter
from .live_classes import LiveClasses
from .live_functions import LiveResolver
from .overloads import is_stub, lasting, stubs_of
from .python_names import (
    MATH_CONSTANTS,
    TORCH_ROOTS,
    field_default,
    find_operator,
    home_of,
    is_variadic,
    modifier_of,
    operator_packet,
    prepared,
    python_constant,
    qualified_name,
)
from .signature import NO_DEFAULT, Formal, Signature
from .text import TextWorld
from .values import Args, Kwargs, Parts, Simple, Sugared, Undefined, undefined
from .written_out import AutogradFunction, PythonValue, is_autograd_function, legacy_tensor


@dataclass
class Namespace(Sugared):
    """A Python module: only for looking up attributes."""

    kind = "python value of type 'module'"
    module: types.ModuleType
    world: World

    def as_value(self, em: Emission, span: Span | None) -> Value:
        return Undefined("module").as_value(em, span)

    def attr(self, em: FunctionEmitter, span: Span | None, name: str) -> Sugared:  # type: ignore[override]  # live code is only ever emitted by FunctionEmitter
        if not hasattr(self.module, name):
            raise em.error(f"object has no attribute {name}", span)
        found = getattr(self.module, name)
        if type(found) in (bool, int, float, complex, str):
            return Simple(em.constant(found, span))
        return self.world.wrap(found, em, span, self.module.__name__, name)


class LooseModule(Sugared):
    """A scripted module that is not held by the module whose code names it."""

    kind = "module"

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        raise em.error("Cannot call a ScriptModule that is not a submodule of the caller", span)


def is_compiled(module: object) -> bool:
    """Whether a module is scripted, traced or loaded."""
    return getattr(module, "_script_object", None) is not None


def is_compiled_by_torch(module: object) -> bool:
    """Whether PyTorch compiled a module."""
    return any(
        base.__name__ == "ScriptModule" and base.__module__ == "torch.jit._script"
        for base in type(module).__mro__
    )


@dataclass
class World(LiveClasses):
    """The Python side of a program: which object became which function or class."""

    @cached_property
    def contexts(self) -> TextWorld:
        """The definitions of torch's context managers."""
        return TextWorld(self.program, context_library())

    @cached_property
    def composites(self) -> TextWorld:
        """The definitions of torch's functions that are several operators."""
        return TextWorld(self.program, composite_library())

    def wrap(
        self, value: object, em: FunctionEmitter, span: Span | None, module: str, name: str
    ) -> Sugared:
        """What a Python object means as a value of the language."""
        if isinstance(value, types.ModuleType):
            return Namespace(value, self)
        value = lasting(value)
        if isinstance(scripted := vars(type(value)).get("SCRIPTED"), str):
            # Scripted before: its Python original is compiled into this program, too.
            if (original := getattr(value, scripted)) is None:
                return self._linked(value)
            value, module = original, ""
        elif type(value).__name__ == "ScriptFunction" and hasattr(value, "_torchdynamo_inline"):
            # PyTorch's: its original is kept under this name.
            value, module = value._torchdynamo_inline, ""
        elif isinstance(value, types.FunctionType):
            value = prepared(value)
        if (constant := _named_constant(value, em, span, module, name)) is not None:
            return constant
        label = getattr(value, "__name__", "")
        if (name_of_class := context_class(value)) is not None:
            context = self.contexts.named_type(name_of_class)
            assert isinstance(context, ClassType)
            return PythonClass(context)
        if isinstance(value, type):
            return self._class(value, em, span)
        if found := (
            operator_packet(value)
            or self._composite(value, label, em, span)
            or find_operator(value, module, name)
        ):
            return found
        if isinstance(value, enum.Enum):
            type_ = self.type_of_class(type(value), span)
            return Simple(em.constant(python_constant(value), span, type_))
        if type(value).__module__.partition(".")[0] in TORCH_ROOTS and not callable(value):
            try:
                return Simple(em.constant(python_constant(value), span))
            except TypeError:
                return undefined(value)
        if isinstance(value, types.FunctionType | types.MethodType):
            return self._python_function(value, em, span)
        if isinstance(value, types.BuiltinFunctionType):
            raise em.error(
                f"Python builtin {value!r} is currently not supported in Torchscript", span
            )
        if isinstance(value, tuple):
            parts = [self.wrap(v, em, span, "", "") for v in value]
            return Parts(parts)
        if is_compiled(value) or is_compiled_by_torch(value):
            return LooseModule()
        if callable(value):
            return self._stays(value)
        return undefined(value)

    def _python_function(
        self, fn: types.FunctionType | types.MethodType, em: FunctionEmitter, span: Span | None
    ) -> Sugared:
        """A function of the program, compiled unless its decorators leave it to Python.

        Raises:
            UserError: declarations of overloads alone.
        """
        if fn.__qualname__ == "boolean_dispatch.<locals>.fn":
            return self._dispatch(fn, em, span)
        if modifier_of(fn) in ("ignore", "unused"):
            if is_variadic(fn):  # nothing says what it takes: tensors
                return PythonValue(self.program, fn, qualified_name(fn))
            return self.python_call(fn)
        if is_stub(fn):
            raise em.error(
                f'Implementation for the function "{qualified_name(fn)}" is missing. Please make '
                "sure a definition is provided and defined after all overload declarations.",
                span,
            )
        if stubs := stubs_of(fn):
            return self._overloaded(fn, stubs, em, span)
        return self.function(fn, em, span)

    def _stays(self, value: Callable[..., object]) -> Sugared:
        """An object that Python calls; one around a function (`lru_cache`) takes what that does."""
        inner = inspect.unwrap(value)
        if not isinstance(inner, types.FunctionType):
            name = type(value).__name__
            call = inspect.getattr_static(type(value), "__call__", None)
            if (getattr(call, "__module__", None) or "").partition(".")[0] in TORCH_ROOTS:
                # A module's call is annotated for those who read us; it takes and gives tensors.
                return PythonValue(self.program, value, name)
            return PythonValue(self.program, value, name, lambda a: type_of_object(a, self, None))
        stays = self.python_call(inner)
        self.program.python_functions[stays.name] = value
        return stays

    def _composite(
        self, value: object, label: str, em: FunctionEmitter, span: Span | None
    ) -> Sugared | None:
        """A function of torch that is several operators, ours or PyTorch's."""
        if label not in OVERLOADED and label not in FLAGGED:
            return None
        home = home_of(value)
        if home != "torch.functional" and not home.startswith("tensorscript.eager"):
            return None

        def form(name: str) -> Function:
            made = self.composites.value(name, em, span)
            assert isinstance(made, Function)
            return made

        if label in FLAGGED:
            return Flags(label, form).dispatch()
        return Overloads([form(name) for name in overload_names(label)])

    def _linked(self, value: Any) -> Function:
        """A compiled function without a Python original (traced, loaded, from text)."""
        signature = value.signature
        renaming = self.linker.link(value.__tensorscript_linkable__(), [signature])
        made = renaming.signature(signature)
        return Function(made.name, made)

    def _dispatch(
        self, fn: Callable[..., object], em: FunctionEmitter, span: Span | None
    ) -> Sugared:
        """PyTorch's pairs of functions chosen by a flag, read from their closure."""
        cells = LiveResolver(self, fn).names
        default, index = cells["default"], cells["arg_index"]
        assert isinstance(default, bool) and isinstance(index, int)
        choices = {
            flag: self.wrap(cells[name], em, span, "torch.nn.functional", "")
            for flag, name in ((True, "if_true"), (False, "if_false"))
            if flag is default
        }
        other = "if_false" if default else "if_true"
        choices[not default] = Deferred(
            lambda: self.wrap(cells[other], em, span, "torch.nn.functional", "")
        )
        return Dispatch(choices, str(cells["arg_name"]), index, default)

    def _class(self, cls: type, em: FunctionEmitter, span: Span | None) -> Sugared:
        if cls.__module__ == "builtins" and cls.__name__ in BUILTINS:
            return BUILTINS[cls.__name__]
        if cls is OrderedDict:
            return Builtin("aten::dict")
        if issubclass(cls, BaseException):
            return ExceptionClass(f"{cls.__module__}.{cls.__name__}")
        if cls.__module__ == "builtins":
            return PythonValue(self.program, cls, cls.__name__)
        if cls.__module__.partition(".")[0] in TORCH_ROOTS:
            if cls.__name__ == "device":
                return DeviceClass("aten::device")
            if cls.__name__ == "Parameter":
                return ModuleClass(cls, lambda key: None)
            if cls.__name__ in ("Generator", "Size", "Tensor", "set_grad_enabled"):
                return Builtin(f"aten::{cls.__name__}")
            if (legacy := legacy_tensor(cls.__name__)) is not None:
                return legacy
        if is_autograd_function(cls):
            return AutogradFunction(self.program, cls, lambda: self._declared(cls, em, span))
        if modifier_of(cls) == "ignore":
            return ModuleClass(cls, lambda key: None)
        is_module = any(base.__name__ == "Module" for base in cls.__mro__[:-1])
        if is_module and not getattr(cls, "__torch_script_interface__", False):
            name = qualified_name(cls)
            compiled = name if name in self.program.classes else ""
            return ModuleClass(cls, lambda key: self._static(cls, key, em, span), compiled)
        return self._declared(cls, em, span)

    def _declared(self, cls: type, em: FunctionEmitter, span: Span | None) -> Sugared:
        """A class that the program declares: of objects, an enum or a NamedTuple."""
        name = qualified_name(cls)
        type_ = em.calling(name, span, lambda: self.type_of_class(cls, span), shown=name)
        if isinstance(type_, TupleType):
            return NamedTupleClass(type_, self._fields(cls, type_))
        if isinstance(type_, EnumType):
            members: dict[str, object] = {
                m.name: EnumRef(type_.class_name.data, m.name) for m in _members(cls)
            }
            return EnumClass(type_, members)
        if isinstance(type_, InterfaceType):
            return ModuleClass(cls, lambda key: None)  # nothing makes one
        assert isinstance(type_, ClassType)
        return PythonClass(type_)

    def _static(
        self, cls: type, name: str, em: FunctionEmitter, span: Span | None
    ) -> Sugared | None:
        """A static method of a class of modules."""
        member = inspect.getattr_static(cls, name, None)
        if not isinstance(member, staticmethod):
            return None
        return self.wrap(member.__func__, em, span, "", name)

    def _fields(self, cls: type, type_: TupleType) -> Signature:
        defaults: Mapping[str, object] = getattr(cls, "_field_defaults", {})
        declared = {name for base in cls.__mro__ for name in vars(base).get("__annotations__", ())}
        formals = tuple(
            Formal(
                n,
                t if n in declared else INFERRED_TENSOR,
                field_default(defaults[n]) if n in defaults else NO_DEFAULT,
            )
            for n, t in zip(type_.field_names, type_.elements, strict=True)
        )
        return Signature(cls.__name__, formals, ())


def _named_constant(
    value: object, em: FunctionEmitter, span: Span | None, module: str, name: str
) -> Simple | None:
    """A constant that is one as an object, or by the name it has in its module."""
    if value is None or isinstance(value, bool) or value is math.inf:
        return Simple(em.constant(value, span))
    root = module.partition(".")[0]
    of_torch = root in TORCH_ROOTS and name in ("inf", "nan", "pi", "e")
    if of_torch or (module == "math" and name in MATH_CONSTANTS):
        return Simple(em.constant(MATH_CONSTANTS[name], span))
    return None


def _members(cls: type) -> list[enum.Enum]:
    assert issubclass(cls, enum.Enum)
    return list(cls)
