"""What a class of modules defines: methods, overloads, static methods and properties.

Nothing is compiled here; a member is compiled when it is first needed.
"""

from __future__ import annotations

import types
from collections.abc import Callable

from tensorscript.base.errors import CompileError
from tensorscript.base.records import dataclass

from .containers import KINDS, generated_methods
from .function import compile_definition
from .live import World
from .module_attributes import is_root
from .named_objects import NamedObjects
from .overloads import is_stub, overloaded_body, stubs_of
from .program import ClassInfo
from .python_names import TORCH_ROOTS, modifier_of
from .signature import Signature
from .text import TextWorld
from .text_library import TextLibrary


def container_kind(cls: type) -> str:
    """What a class of modules is a container like: "list" or "dict"; empty for others. A class of
    a user's may be called `Sequential`, too."""
    stock = (c.__name__ for c in cls.__mro__ if c.__module__.partition(".")[0] in TORCH_ROOTS)
    return next((KINDS[name] for name in stock if name in KINDS), "")


def _is_for_pickle(key: str, member: object) -> bool:
    """Whether a method says what Python's pickle holds: only exported ones are for archives."""
    if key not in ("__getstate__", "__setstate__") or not isinstance(member, types.FunctionType):
        return False
    return modifier_of(member) != "export"


@dataclass
class ModuleMembers:
    """Registers the members of a class of modules."""

    world: World
    info: ClassInfo

    def read(self, cls: type) -> None:
        """Register what a class and its bases define; errors as `add`."""
        unused = set(getattr(cls, "__jit_unused_properties__", ()))
        unused |= set(getattr(cls, "__jit_ignored_attributes__", ()))
        for base in reversed(cls.__mro__[:-1]):
            if is_root(base) or base.__module__.startswith("tensorscript.compiler.jit"):
                continue
            # Of a stock container only `forward` is script; its children are known without it.
            stock = ".nn" in base.__module__ and base.__module__.endswith("container")
            for key, member in vars(base).items():
                if (key == "forward" if stock else key != "__init__") and key not in unused:
                    self.add(key, member)

    def add(self, key: str, member: object) -> None:
        """Register a member, in place of one of that name which a base class has.

        Raises:
            CompileError: an overload without an implementation.
        """
        info = self.info
        if _is_for_pickle(key, member):
            return
        # What `jit.script_method` marked in a class that is no ScriptModule.
        member = getattr(member, "original_method", member)
        if isinstance(member, types.FunctionType):
            if is_stub(member):
                place = info.name.rpartition(".")[0]
                raise CompileError(
                    f'Implementation for the method "{place}.{key}" is missing. Please make sure '
                    "a definition is provided and defined after all overload declarations."
                )
            if stubs := stubs_of(member):
                self._overloads(key, member, stubs)
            elif getattr(member, "__name__", "") != "_forward_unimplemented":
                info.methods.pop(key, None)
                info.python_methods.pop(key, None)
                self.world.add_method(info, key, member)
        elif isinstance(member, staticmethod):
            info.static_methods[key] = member.__func__
        elif isinstance(member, classmethod):
            self.world.add_method(info, key, member.__func__)  # called on the module
        elif isinstance(member, property) and member.fget is not None:
            self._property(key, member)

    def _property(self, key: str, member: property) -> None:
        assert member.fget is not None
        info = self.info
        if modifier_of(member.fget) in ("ignore", "unused"):
            return
        getter, setter = f"__{key}_getter", f"__{key}_setter" if member.fset is not None else None
        self.world.add_method(info, getter, member.fget)
        if setter is not None and member.fset is not None:
            self.world.add_method(info, setter, member.fset)
        info.properties[key] = (getter, setter)

    def _overloads(
        self,
        key: str,
        body: Callable[..., object],
        stubs: list[Callable[..., object]],
    ) -> None:
        """One method for each stub of an overloaded one: the stub's signature, the body's text."""
        info = self.info
        info.overloads[key] = [f"{key}__{at}" for at in range(len(stubs))]
        for name, stub in zip(info.overloads[key], stubs, strict=True):
            info.methods[name] = self._overload(name, body, stub)

    def _overload(
        self,
        name: str,
        body: Callable[..., object],
        stub: Callable[..., object],
    ) -> Callable[[], Signature]:
        info = self.info

        def compile() -> Signature:
            full = f"{info.name}.{name}"
            declared = self.world.definition(stub, full, info.type)
            made = overloaded_body(declared, self.world.definition(body, full, info.type))
            info.compiled[name] = compile_definition(self.world.program, made).signature
            return info.compiled[name]

        return compile

    def generate(self) -> None:
        """Add the methods that a container answers script with; its children are known."""
        for key, text in generated_methods(self.info.container, self.info.children).items():
            if key not in self.info.methods:
                self.define(text)

    def define(self, text: str, outer: NamedObjects | None = None) -> list[str]:
        """Add the methods that a text of `def`s describes; gives their names."""
        library = TextLibrary.of_functions(text)
        classes = self.world if outer is not None else None
        world = TextWorld(self.world.program, library, outer=outer, classes=classes)
        return world.define_methods(self.info, library)
