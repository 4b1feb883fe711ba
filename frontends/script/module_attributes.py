"""What the attributes of an nn.Module instance become: typed slots, constants or functions."""

from __future__ import annotations

import ast
import sys
import types
import typing as python
import warnings
from collections.abc import Iterator, Mapping

from xdsl.ir import Attribute

from tensorscript.base.errors import CompileError, ConstantError, FrontendError
from tensorscript.base.records import dataclass
from tensorscript.dialects.ts.constants import EnumRef
from tensorscript.dialects.ts.types import (
    NONE,
    TENSOR,
)
from tensorscript.eager.nn.module import Module

from .annotations import type_of_object, type_of_syntax
from .inference import NotInferable, RefusedKey, infer_type
from .live import World
from .named_objects import NamedObjects
from .overloads import stubs_of
from .program import ClassInfo
from .python_names import TORCH_ROOTS, find_operator, modifier_of, python_constant, qualified_name

_BOOKKEEPING = frozenset({
    "_version", "_parameters", "_buffers", "_non_persistent_buffers_set", "_backward_hooks",
    "_backward_pre_hooks", "_forward_hooks", "_forward_hooks_with_kwargs", "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs", "_forward_hooks_always_called", "_state_dict_hooks",
    "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
    "_modules", "_initializing", "dump_patches", "training",
})  # fmt: skip
"""Entries of an instance dictionary that are nn.Module's own."""

_CONSTANT_KINDS = (
    "1. a nn.ModuleList\n2. a value of type {bool, float, int, str, NoneType, torch.device, "
    "torch.layout, torch.dtype, torch.qscheme}\n3. a list or tuple of (2)\n"
)


def is_module_class(cls: type) -> bool:
    """Whether a class is or derives from nn.Module, ours or PyTorch's."""
    return any(c.__name__ == "Module" and ".nn" in c.__module__ for c in cls.__mro__[:-1])


def is_module(value: object) -> bool:
    """Whether `value` is an instance of an nn.Module, ours or PyTorch's."""
    return is_module_class(type(value))


def is_root(cls: type) -> bool:
    """Whether a class is nn.Module itself, or one of those that ours is put together from."""
    return cls in Module.__mro__ or (cls.__name__ == "Module" and ".nn" in cls.__module__)


@dataclass(frozen=True)
class Typed:
    """A value and the annotation it was given by `jit.Attribute`."""

    value: object
    type: object


def typed(value: object) -> Typed | None:
    """A `jit.Attribute`, ours or PyTorch's."""
    if type(value).__name__ != "Attribute" or getattr(value, "_fields", ()) != ("value", "type"):
        return None
    return Typed(*value)  # type: ignore[misc]  # a NamedTuple of two


def table(module: object, name: str) -> Mapping[str, object]:
    """One of the tables that every initialised module has.

    Raises:
        CompileError: the module has none.
    """
    found = getattr(module, name, None)
    if not isinstance(found, Mapping):
        raise CompileError(
            f"'{type(module).__module__}.{type(module).__qualname__}' has not been initialized, "
            "did you forget to call 'super()'?"
        )
    return found


def is_final(hint: object) -> bool:
    """Whether an annotation is `Final` or `Final[...]`."""
    return (
        python.get_origin(hint) is python.Final
        or hint is python.Final
        or (isinstance(hint, str) and "Final[" in hint)
    )


def class_hints(cls: type) -> dict[str, object]:
    """The annotations in the bodies of a class and its bases."""
    hints: dict[str, object] = {}
    for base in reversed(cls.__mro__[:-1]):
        if not is_root(base):
            found = vars(base).get("__annotations__", {})
            hints.update({name: _unquoted(hint, base) for name, hint in found.items()})
    return hints


def _names_around(cls: type) -> Mapping[str, object]:
    """The names that the module of a class defines."""
    return vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}


def _unquoted(hint: object, cls: type) -> object:
    """What a quoted name of a class body means; other annotations as they are."""
    return _names_around(cls).get(hint, hint) if isinstance(hint, str) else hint


_SHARED = "tensorscript.compiler.jit.containers"
"""Where lists and dicts that scripts share with Python are defined: no attribute is one."""


def attribute_type(value: object, world: World) -> Attribute:
    """The type of an attribute by its value; its class is compiled for it.

    Raises:
        NotInferable: the language has no such type.
    """

    def type_of_class(cls: type) -> Attribute:
        if is_module_class(cls):
            raise NotInferable("Cannot infer concrete type of torch.nn.Module")
        if cls.__module__ == _SHARED:
            raise NotInferable(
                "Only tensors and (possibly nested) tuples of tensors, lists, or dicts are "
                "supported as inputs or outputs of traced functions, but instead got value of "
                f"type {cls.__name__}."
            )
        return world.type_of_class(cls, None)

    try:
        return infer_type(value, type_of_class)
    except RefusedKey as reason:
        raise NotInferable(str(reason)) from None


@dataclass
class AttributeReader:
    """Reads the attributes of one module into its class.

    Attributes:
        functions: instance attributes that are functions; two modules share a type only if these
            are the same.
    """

    world: World
    module: object
    info: ClassInfo

    def __post_init__(self) -> None:
        self.cls = type(self.module)
        self.hints = class_hints(self.cls)
        self.ignored = set(getattr(self.cls, "__jit_ignored_attributes__", ()))
        self.functions: dict[str, object] = {}
        self.seen: set[str] = set()

    def slots(self) -> None:
        """Parameters and buffers."""
        info = self.info
        for name_of, names in (("_parameters", info.parameters), ("_buffers", info.buffers)):
            for name, value in table(self.module, name_of).items():
                if name in self.ignored:
                    continue
                self.seen.add(name)
                if name in self.hints:
                    self._attribute(name, value)
                else:
                    info.attributes[name] = NONE if value is None else TENSOR
                if value is not None:
                    names.append(name)

    def others(self) -> None:
        """Constants, functions and data of the instance."""
        self.seen |= set(table(self.module, "_modules"))
        for name in self._constant_names():
            self._constant(name)
        for name, value in vars(self.module).items():
            if name in self.seen or name in self.ignored or name in _BOOKKEEPING:
                continue
            if not (name.startswith("__") or self._function(name, value)):
                self._attribute(name, value)
        for name in self.ignored:
            self._refuse(name, "attribute was ignored during compilation")

    def _constant_names(self) -> Iterator[str]:
        """Names declared constant that have a value; others are warned about."""
        declared = dict.fromkeys(getattr(self.cls, "__constants__", ()))
        declared |= dict.fromkeys(n for n, hint in self.hints.items() if is_final(hint))
        for name in declared:
            head = f"'{name}' was found in ScriptModule constants, "
            if name in self.seen:
                kind = self._kind(name)
                warnings.warn(
                    f"{head} but it is a non-constant {kind}. Consider removing it.", stacklevel=2
                )
            elif not hasattr(self.module, name):
                warnings.warn(
                    f"{head}but was not actually set in __init__. Consider removing it.",
                    stacklevel=2,
                )
            else:
                yield name

    def _kind(self, name: str) -> str:
        kinds = {"_modules": "submodule", "_buffers": "buffer", "_parameters": "parameter"}
        return next(kind for key, kind in kinds.items() if name in table(self.module, key))

    def _constant(self, name: str) -> None:
        value = getattr(self.module, name)
        self.seen.add(name)
        try:
            self.info.constants[name] = _module_constant(value)
        except TypeError:
            kind = type(_not_constant(value))
            shown = qualified_name(kind).removeprefix("__torch__.").removeprefix("builtins.")
            raise ConstantError(
                f"'{shown}' object in attribute '{self.cls.__name__}.{name}' is not a valid "
                f"constant.\nValid constants are:\n{_CONSTANT_KINDS}"
            ) from None

    def _function(self, name: str, value: object) -> bool:
        """Take in a function or operator; False for anything else."""
        scripted = isinstance(vars(type(value)).get("SCRIPTED"), str)
        original = getattr(value, "_torchdynamo_inline", None)
        if isinstance(value, types.FunctionType) and self._is_users(value):
            try:
                if value not in self.world.functions:
                    self.world.compile(value)
            except (CompileError, FrontendError) as reason:
                self._refuse(
                    name,
                    "(This function exists as an attribute on the Python module, but we failed to "
                    "compile it to a TorchScript function. \nThe error stack is reproduced here:\n"
                    f"{reason})",
                )
                return True
        elif original is not None and type(value).__name__ == "ScriptFunction":
            value = original
        elif not (
            scripted
            or isinstance(value, types.FunctionType | types.BuiltinFunctionType)
            or find_operator(value, "", "") is not None
        ):
            return False
        self.functions[name] = value
        self.info.static_methods[name] = value
        return True

    def _is_users(self, fn: types.FunctionType) -> bool:
        """Whether a function is compiled from its Python, and not one that the language knows."""
        return (
            (fn.__module__ or "").partition(".")[0] not in TORCH_ROOTS
            and modifier_of(fn) not in ("ignore", "unused")
            and not hasattr(fn, "__original_fn")
            and not stubs_of(fn)
        )

    def _attribute(self, name: str, value: object) -> None:
        hint = self.hints.get(name)
        if (given := typed(value)) is not None:
            value, hint = given.value, hint if hint is not None else given.type
        try:
            if hint is not None:
                self.info.attributes[name] = self._type(hint)
            else:
                self.info.attributes[name] = attribute_type(value, self.world)
        except (CompileError, FrontendError) as reason:
            self._refuse(name, f"({reason.message})")
        except NotInferable as reason:
            self._refuse(
                name,
                "(This attribute exists on the Python module, but we failed to convert Python "
                f"type: '{type(value).__name__}' to a TorchScript type. {reason}. Its type was "
                "inferred; try adding a type annotation for the attribute.)",
            )

    def _type(self, hint: object) -> Attribute:
        if not isinstance(hint, str):
            return type_of_object(hint, self.world, None)
        names = NamedObjects(self.world, _names_around(self.cls))
        node = ast.parse(hint, mode="eval").body
        return type_of_syntax(node, names.annotation_object, self.world, None)

    def _refuse(self, name: str, why: str) -> None:
        self.info.refused[name] = f"Module '{self.cls.__name__}' has no attribute '{name}' {why}"


def _not_constant(value: object) -> object:
    """What is no constant in a value that is none: itself, or an element of a list or tuple."""
    if isinstance(value, list | tuple):
        return next(filter(_is_not_constant, map(_not_constant, value)), value)
    return value


def _is_not_constant(value: object) -> bool:
    try:
        _module_constant(value)
    except TypeError:
        return True
    return False


def _module_constant(value: object) -> object:
    """The constant of a module.

    Raises:
        TypeError: it may not be one, such as a member of an enum.
    """
    made = python_constant(_as_tuple(value))
    for part in made if isinstance(made, tuple) else (made,):
        if isinstance(part, EnumRef):
            raise TypeError(f"not a constant of a module: {part!r}")
    return made


def _as_tuple(value: object) -> object:
    if isinstance(value, list | tuple):
        return tuple(map(_as_tuple, value))
    return value
