"""nn.Module instances: the type of an instance, and its methods as functions of the program.

A module is recognised by its class hierarchy (a base called `Module`) and read through the tables
that every module has: `_parameters`, `_buffers`, `_modules` and its instance dictionary. Two
instances share a type if their class, attribute types, constants, functions, hooks and children
agree.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from xdsl.ir import Attribute

from tensorscript.base.errors import CompileError
from tensorscript.base.records import dataclass
from tensorscript.dialects.ts.types import BOOL, NONE, ClassType, InterfaceType

from .annotations import type_of_object
from .function import class_type
from .live import World, is_compiled
from .module_attributes import AttributeReader, class_hints, is_module, table
from .module_hooks import compile_hooks, hooks_of
from .module_members import ModuleMembers, container_kind
from .named_objects import NamedObjects
from .objects import incompatibility
from .program import ClassInfo
from .python_names import qualified_name

__all__ = ["ModuleTypes", "is_module"]


@dataclass
class ModuleTypes:
    """The module types of a world.

    Attributes:
        marked: by identity of a module, the methods that alone are compiled of it.
        defined: likewise, texts with further methods and the names they may refer to; `named`
            are these methods.
    """

    world: World
    shared: dict[object, ClassInfo] = field(default_factory=dict)
    instances: dict[int, tuple[object, ClassInfo]] = field(default_factory=dict)
    prepared: dict[int, tuple[object, object]] = field(default_factory=dict)
    complete: set[str] = field(default_factory=set)
    marked: dict[int, Mapping[str, Callable[..., object]]] = field(default_factory=dict)
    defined: dict[int, Sequence[tuple[str, Mapping[str, object]]]] = field(default_factory=dict)
    named: dict[int, list[str]] = field(default_factory=dict)

    def original(self, module: object) -> object:
        """The module to compile for `module`: what its `__prepare_scriptable__` gives.

        Raises:
            CompileError: PyTorch compiled it.
        """
        if id(module) not in self.prepared:
            self.prepared[id(module)] = module, _original(module)
        return self.prepared[id(module)][1]

    def children(self, module: object) -> Iterator[tuple[str, object]]:
        """The submodules of a module by name, those that are None left out."""
        for name, child in table(module, "_modules").items():
            if child is not None:
                yield name, child

    def info(self, module: object) -> ClassInfo:
        """The class of a module instance, declared on first sight.

        Raises:
            CompileError: the instance is not initialised, or lazy.
        """
        module = self.original(module)
        if id(module) in self.instances:
            return self.instances[id(module)][1]
        if is_compiled(module):
            linked = self._linked(module)
            self.instances[id(module)] = (module, linked)
            return linked
        info = ClassInfo(class_type(""), "module")
        _refuse_lazy(module)
        reader = AttributeReader(self.world, module, info)
        reader.slots()
        info.attributes["training"] = BOOL
        reader.others()
        for name, child in table(module, "_modules").items():
            if name not in reader.ignored:
                info.attributes[name] = NONE if child is None else self._child(module, name, child)
        info.container = container_kind(type(module))
        info.children = [name for name, _ in self.children(module)]
        if info.container and not info.children:
            info.children = list(info.parameters)
        info.sharing = (
            type(module),
            repr(info.constants),
            tuple(reader.functions.items()),
            tuple(hooks_of(module)),
            _own_forward(module),
        )
        key = (tuple(info.attributes.items()), *info.sharing)
        known = self.shared.get(key)
        if known is None:
            known = self.shared[key] = self._declare(module, info)
        self.instances[id(module)] = (module, known)
        return known

    def _linked(self, module: Any) -> ClassInfo:
        """The class of a module that was compiled apart, taken into the program."""
        renaming = self.world.linker.link(module.__tensorscript_linkable__())
        name = renaming.name(module._script_object.class_name)
        return self.world.program.classes[name]

    def _link_first(self, module: object) -> None:
        """Take in the compiled modules below one before its own classes take their names."""
        for _, child in self.children(self.original(module)):
            if is_compiled(child):
                self.info(child)
            else:
                self._link_first(child)

    def _child(self, module: object, name: str, child: object) -> Attribute:
        """The type of a submodule: its own, or the interface it is annotated with."""
        hint = class_hints(type(module)).get(name)
        if hint is not None and getattr(hint, "__torch_script_interface__", False):
            return type_of_object(hint, self.world, None)
        return self.info(child).type

    def _declare(self, module: object, info: ClassInfo) -> ClassInfo:
        cls = type(module)
        name = self.world.program.unique(qualified_name(cls))
        info.type = class_type(name)
        info.module_class = cls
        self.world.program.classes[name] = info
        members = ModuleMembers(self.world, info)
        members.read(cls)
        if (forward := _own_forward(module)) is not None:
            members.add("forward", forward)
        for key, fn in self.marked.get(id(module), {}).items():
            self.world.add_method(info, key, fn)
        for text, outer in self.defined.get(id(module), ()):
            added = members.define(text, NamedObjects(self.world, outer))
            self.named.setdefault(id(module), []).extend(added)
        members.generate()
        return info

    def compile(self, module: object) -> ClassInfo:
        """Compile `forward`, exported methods, properties and hooks of a module and its children.

        Raises:
            CompileError: a type or name error.
        """
        module = self.original(module)
        if is_compiled(module):
            return self.info(module)
        if not self.instances:
            self._link_first(module)
        info = self.info(module)
        for name, child in self.children(module):
            if not isinstance(declared := info.attributes.get(name), InterfaceType):
                self.compile(child)
            else:
                self._compile_interface(name, child, declared)
        if info.name not in self.complete:
            self.complete.add(info.name)
            self._compile_methods(module, info)
            compile_hooks(self.world, info, module)
        self.world.program.declare_classes()
        return info

    def _compile_interface(self, name: str, module: object, interface: InterfaceType) -> None:
        """Of a module behind an interface only the interface's methods are compiled."""
        info, declared = self.info(module), self.world.program.classes[interface.class_name.data]
        for _, child in self.children(self.original(module)):
            self.compile(child)
        for key in declared.methods:
            if key in info.methods and key not in info.compiled:
                info.methods[key]()
        if (why := incompatibility(info, declared)) is not None:
            shown = declared.name
            raise CompileError(
                f"Could not cast attribute '{name}' to type {shown}: Object of type {info.name} is "
                f"not compatible with interface {shown}\n{why}"
            )

    def _compile_methods(self, module: object, info: ClassInfo) -> None:
        overloaded = [name for names in info.overloads.values() for name in names]
        accessors = [name for pair in info.properties.values() for name in pair if name]
        generated = [name for name in ("__len__", "__contains__") if info.container]
        marked = self.marked.get(id(module))
        if marked is not None:
            exported = [*marked, *self.named.get(id(module), ())]
        else:
            exported = [key for key in info.methods if is_exported(module, key)]
        roots = [*accessors, *overloaded, "forward", *sorted(exported), *generated]
        for key in roots:
            if key in info.methods and key not in info.compiled:
                info.methods[key]()


def module_type_key(info: ClassInfo, class_info: Callable[[str], ClassInfo]) -> object:
    """What is equal for modules of one type, also for those of different programs."""
    if info.sharing is None:
        return id(info)

    def part(type_: Attribute) -> object:
        if isinstance(type_, ClassType):
            held = class_info(type_.class_name.data)
            if held.category == "module":
                return module_type_key(held, class_info)
        return type_

    return (tuple((name, part(kind)) for name, kind in info.attributes.items()), *info.sharing)


def _own_forward(module: object) -> types.FunctionType | None:
    """The `forward` that an instance has instead of its class's."""
    found = getattr(vars(module).get("forward"), "__func__", None)
    is_other = isinstance(found, types.FunctionType) and found is not _class_forward(module)
    return found if is_other else None


def _class_forward(module: object) -> object:
    return getattr(type(module), "forward", None)


def _original(module: object) -> object:
    if is_compiled(module):
        return module
    if is_compiled_by_torch(module):
        raise CompileError(
            "a module that PyTorch compiled cannot be part of one that tensorscript compiles; "
            "script the whole Python module, or load the archive that PyTorch saves of it"
        )
    hook = getattr(module, "__prepare_scriptable__", None)
    return hook() if hook is not None else module


def is_compiled_by_torch(value: object) -> bool:
    """Whether PyTorch scripted or traced this function or module."""
    kind = type(value)
    return kind.__module__.startswith("torch.jit") or (
        kind.__name__ == "ScriptFunction" and hasattr(value, "_torchdynamo_inline")
    )


def _refuse_lazy(module: object) -> None:
    for name_of, kind in (("_parameters", "parameters"), ("_buffers", "buffers")):
        for name, value in table(module, name_of).items():
            if type(value).__name__ in ("UninitializedParameter", "UninitializedBuffer"):
                cls = type(module)
                raise CompileError(
                    f"'{cls.__module__}.{cls.__qualname__}' has uninitialized {kind} {name}. Did "
                    "you forget to run a forward pass?"
                )


def is_exported(module: object, key: str) -> bool:
    """Whether a method of a module is marked with `jit.export`."""
    fn = inspect.getattr_static(type(module), key, None)
    return "EXPORT" in str(getattr(fn, "_torchscript_modifier", "")).upper()
