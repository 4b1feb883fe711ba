"""nn.Module instances: the type of an instance, and its methods as functions of the program.

A module is recognised by its class hierarchy (a base called `Module`) and read through the tables
that every module has: `_parameters`, `_buffers`, `_modules` and its instance dictionary. Two
instances share a type if their class, attribute types, constants and children agree.
"""

from __future__ import annotations

import inspect
import types
import typing as python
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from xdsl.ir import Attribute

from tensorscript.base.errors import CompileError, FrontendError
from tensorscript.dialects.ts.types import (
    BOOL,
    NONE,
    TENSOR,
    DictType,
    ListType,
    TupleType,
)

from .annotations import type_of_object
from .function import class_type
from .live import World
from .program import ClassInfo
from .python_names import python_constant, qualified_name
from .signature import constant_type

_CONTAINERS = {"ModuleList": "list", "Sequential": "list", "ModuleDict": "dict",
               "ParameterList": "list", "ParameterDict": "dict"}  # fmt: skip
_HIDDEN = frozenset(
    {"_parameters", "_buffers", "_modules", "_non_persistent_buffers_set", "training"}
)


def is_module(value: object) -> bool:
    """Whether `value` is an instance of an nn.Module, ours or PyTorch's."""
    return any(c.__name__ == "Module" and ".nn" in c.__module__ for c in type(value).__mro__[:-1])


def _table(module: object, name: str) -> Mapping[str, object]:
    found = getattr(module, name, None)
    if not isinstance(found, Mapping):
        raise CompileError(
            f"'{type(module).__module__}.{type(module).__qualname__}' has not been initialized, "
            "did you forget to call 'super()'?"
        )
    return found


class NotInferable(Exception):
    """An attribute whose type cannot be told from its value; the text says why."""


def infer_type(value: object, world: World) -> Attribute:
    """The type of a Python value.

    Raises:
        NotInferable: the language has no such type.
    """
    match value:
        case list():
            if not value:
                raise NotInferable("List trace inputs must have elements")
            inner = {infer_type(v, world) for v in value}
            if len(inner) != 1:
                raise NotInferable("List inputs to traced functions must have consistent type")
            return ListType(inner.pop())
        case dict():
            if not value:
                raise NotInferable("Dictionary inputs must have entries")
            keys = {infer_type(k, world) for k in value}
            values = {infer_type(v, world) for v in value.values()}
            if len(keys) != 1 or len(values) != 1:
                raise NotInferable("Dictionary inputs must have consistent types")
            return DictType(keys.pop(), values.pop())
        case tuple() if not hasattr(value, "_fields"):
            return TupleType.of(infer_type(v, world) for v in value)
    if any(c.__name__ in ("Tensor", "TensorBase") for c in type(value).__mro__):
        return TENSOR
    if hasattr(value, "_fields") or type(value) in world.classes:
        return world.type_of_class(type(value), None)
    try:
        return constant_type(python_constant(value))
    except TypeError:
        raise NotInferable(
            f"Cannot infer concrete type of torch.nn.Module attribute of type "
            f"'{type(value).__name__}'"
        ) from None


@dataclass
class ModuleTypes:
    """The module types of a world."""

    world: World
    shared: dict[object, ClassInfo] = field(default_factory=dict)
    instances: dict[int, tuple[object, ClassInfo]] = field(default_factory=dict)

    def info(self, module: object) -> ClassInfo:
        """The class of a module instance, declared on first sight.

        Raises:
            CompileError: the instance is not initialised, or lazy.
        """
        if id(module) in self.instances:
            return self.instances[id(module)][1]
        info = ClassInfo(class_type(""), "module")
        functions: dict[str, Callable[..., object]] = {}
        hints = _hints(type(module))
        self._slots(module, info, hints)
        self._others(module, info, functions, hints)
        for name, child in _table(module, "_modules").items():
            info.attributes[name] = NONE if child is None else self.info(child).type
            if child is not None:
                info.children.append(name)
        info.container = next(
            (_CONTAINERS[c.__name__] for c in type(module).__mro__ if c.__name__ in _CONTAINERS), ""
        )
        if info.container and not info.children:
            info.children = list(info.parameters)
        key = (
            type(module),
            tuple(info.attributes.items()),
            repr(info.constants),
            tuple(functions.items()),
        )
        known = self.shared.get(key)
        if known is None:
            known = self.shared[key] = self._declare(module, info, functions)
        self.instances[id(module)] = (module, known)
        return known

    def _slots(self, module: object, info: ClassInfo, hints: dict[str, object]) -> None:
        for table, names in (("_parameters", info.parameters), ("_buffers", info.buffers)):
            for name, value in _table(module, table).items():
                if name in hints:
                    self._attribute(info, name, value, hints[name])
                else:
                    info.attributes[name] = NONE if value is None else TENSOR
                if value is not None:
                    names.append(name)
        info.attributes["training"] = BOOL

    def _others(
        self,
        module: object,
        info: ClassInfo,
        functions: dict[str, Callable[..., object]],
        hints: dict[str, object],
    ) -> None:
        """Attributes of the instance, by annotation or by value."""
        cls = type(module)
        constants = set(getattr(cls, "__constants__", ()))
        finals = {n for n, h in hints.items() if _is_final(h)}
        ignored = set(getattr(cls, "__jit_ignored_attributes__", ()))
        instance: Iterable[tuple[str, object]] = vars(module).items()
        for name, value in instance:
            if name in _HIDDEN or name in ignored:
                continue
            if name in constants or name in finals:
                self._constant(info, name, value)
            elif isinstance(value, types.FunctionType | types.BuiltinFunctionType):
                functions[name] = value
                info.static_methods[name] = value
            else:
                self._attribute(info, name, value, hints.get(name))

    def _constant(self, info: ClassInfo, name: str, value: object) -> None:
        try:
            info.constants[name] = python_constant(
                tuple(value) if isinstance(value, list) else value
            )
        except TypeError:
            info.refused[name] = f"'{name}' cannot be a constant"

    def _attribute(self, info: ClassInfo, name: str, value: object, hint: object) -> None:
        if hint is not None:
            try:
                info.attributes[name] = type_of_object(hint, self.world, None)
            except (CompileError, FrontendError) as reason:
                info.refused[name] = f"has no attribute '{name}' ({reason.message})"
            return
        try:
            info.attributes[name] = infer_type(value, self.world)
        except NotInferable as reason:
            info.refused[name] = (
                f"has no attribute '{name}' (This attribute exists on the Python module, but we "
                f"failed to convert Python type: '{type(value).__name__}' to a TorchScript type. "
                f"{reason}. Its type was inferred; try adding a type annotation for the attribute.)"
            )

    def _declare(
        self, module: object, info: ClassInfo, functions: dict[str, Callable[..., object]]
    ) -> ClassInfo:
        cls = type(module)
        name = self.world.program.unique(qualified_name(cls))
        info.type = class_type(name)
        for key, reason in info.refused.items():
            if reason.startswith("has no attribute"):
                info.refused[key] = f"Module '{cls.__name__}' {reason}"
        self.world.program.classes[name] = info
        for base in reversed(cls.__mro__[:-1]):
            if _is_root(base):
                continue
            for key, member in vars(base).items():
                if key != "__init__":
                    self._member(info, key, member)
        return info

    def _member(self, info: ClassInfo, key: str, member: object) -> None:
        world = self.world
        if isinstance(member, types.FunctionType):
            world.add_method(info, key, member)
        elif isinstance(member, staticmethod):
            info.static_methods[key] = member.__func__
        elif isinstance(member, property) and member.fget is not None:
            world.add_method(info, f"__{key}_getter", member.fget)
            if member.fset is not None:
                world.add_method(info, f"__{key}_setter", member.fset)
            setter = f"__{key}_setter" if member.fset is not None else None
            info.properties[key] = (f"__{key}_getter", setter)

    def compile(self, module: object) -> ClassInfo:
        """Compile `forward` and every exported method of a module.

        Raises:
            CompileError: a type or name error.
        """
        info = self.info(module)
        for child in _table(module, "_modules").values():
            if child is not None:
                self.compile(child)
        for key in list(info.methods):
            fn = inspect.getattr_static(type(module), key, None)
            exported = getattr(fn, "_torchscript_modifier", None)
            is_root = key == "forward" or "EXPORT" in str(exported).upper()
            if is_root and key not in info.compiled and not _is_abstract(fn):
                info.methods[key]()
        self.world.program.declare_classes()
        return info


def _is_final(hint: object) -> bool:
    return (
        python.get_origin(hint) is python.Final
        or hint is python.Final
        or (isinstance(hint, str) and "Final[" in hint)
    )


def _hints(cls: type) -> dict[str, object]:
    """The annotations in the bodies of a class and its bases."""
    hints: dict[str, object] = {}
    for base in reversed(cls.__mro__[:-1]):
        if not _is_root(base):
            hints.update(vars(base).get("__annotations__", {}))
    return hints


def _is_root(cls: type) -> bool:
    """Whether a class is nn.Module itself."""
    return cls.__name__ == "Module" and ".nn" in cls.__module__


def _is_abstract(fn: object) -> bool:
    return getattr(fn, "__name__", "") == "_forward_unimplemented"
