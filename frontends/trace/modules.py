"""The classes of a traced module: one per instance, with parameters, buffers and submodules.

A module of ours or of PyTorch is read through the tables every module has. Which call belongs to
which submodule is seen by hooks around `forward`, put in place while the trace is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import field
from typing import Any

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute

from tensorscript.base.errors import GuardError
from tensorscript.base.records import dataclass
from tensorscript.dialects.ts.types import BOOL, NONE, TENSOR, ClassType
from tensorscript.eager.nn.calling import Observer
from tensorscript.eager.storage import TensorBase
from tensorscript.frontends.script.draft import Block
from tensorscript.frontends.script.live import World, is_compiled
from tensorscript.frontends.script.module_attributes import AttributeReader
from tensorscript.frontends.script.module_members import ModuleMembers, container_kind
from tensorscript.frontends.script.modules import is_exported
from tensorscript.frontends.script.program import ClassInfo, Compiled
from tensorscript.frontends.script.python_names import qualified_name

from .facts import type_of
from .function import compiled_block
from .pytorch import spoken_for
from .tracer import Tracer

Path = tuple[str, ...]
Convert = Callable[[Any], TensorBase]


def exported_methods(module: Any) -> list[str]:
    """The methods of a module that are marked with `jit.export`."""
    return [name for name in dir(type(module)) if is_exported(module, name)]


@dataclass
class Member:
    """One module of the tree.

    Attributes:
        exported: methods that are scripted.
        tensors: parameters and buffers by name, as eager tensors.
        children: submodules by name.
    """

    module: Any
    info: ClassInfo
    exported: list[str]
    tensors: dict[str, TensorBase] = field(default_factory=dict)
    children: dict[str, Member | Any] = field(default_factory=dict)


class ModuleTree:
    """A module with everything below it.

    Args:
        world: of the program that is being recorded.
        convert: gives the eager tensor of a parameter or buffer.

    Attributes:
        types: the type of each module, parameter and buffer by path; the module itself is ().
    """

    def __init__(self, world: World, module: Any, convert: Convert) -> None:
        self.types: dict[Path, Attribute] = {}
        self.linker = world.linker
        self._world = world
        self._program = world.program
        self._convert = convert
        self._scripted_classes: set[str] = set()
        self._scripted: list[tuple[Any, Path]] = []
        self._modules: list[tuple[Any, Path]] = []
        self._tensors: list[tuple[TensorBase, Path]] = []
        self._foreign: dict[int, TensorBase] = {}
        self._by_class: dict[str, ClassInfo] = {}
        self.member = self._member(module, ())

    def script_exports(self, member: Member | None = None) -> None:
        """Compile the exported methods, of the submodules first.

        Raises:
            CompileError: a type or name error in one of them.
        """
        member = self.member if member is None else member
        for child in member.children.values():
            if isinstance(child, Member):
                self.script_exports(child)
        for name in member.exported:
            if name not in member.info.compiled:
                member.info.methods[name]()

    @property
    def root(self) -> ClassInfo:
        return self.member.info

    @property
    def traced_classes(self) -> frozenset[str]:
        """The classes made for this trace; without those that have scripted methods, too."""
        return frozenset(self._by_class) - self._scripted_classes

    def _member(self, module: Any, path: Path, scripted: bool = False) -> Member:
        """A module, with its submodules.

        Args:
            scripted: methods of a module around it are, and may call any of its own.
        """
        if module._backward_hooks:
            raise ValueError(
                f"Modules that have backward hooks assigned can't be compiled: {module}"
            )
        name = self._program.unique(qualified_name(type(module)))
        info = ClassInfo(ClassType(StringAttr(name)), "module")
        self._program.classes[name] = self._by_class[name] = info
        self.types[path] = info.type
        self._modules.append((module, path))
        made = Member(module, info, exported_methods(module))
        seen: set[int] = set()
        for table, names in (
            (module._parameters, info.parameters),
            (module._buffers, info.buffers),
        ):
            for key, tensor in table.items():
                if tensor is not None:
                    self._tensor(made, key, tensor, path, seen)
                    names.append(key)
        info.attributes["training"] = BOOL
        if scripted := scripted or bool(made.exported):
            self._scripted_classes.add(name)
            self._note_absent(module, info)
            AttributeReader(self._world, module, info).others()
        for key, child in module._modules.items():
            if child is not None:
                self._child(made, key, child, path, scripted)
        if scripted:
            info.container = container_kind(type(module))
            members = ModuleMembers(self._world, info)
            members.read(type(module))
            members.generate()
        return made

    def _note_absent(self, module: Any, info: ClassInfo) -> None:
        """Parameters, buffers and submodules that are None, which methods ask about."""
        for table in (module._parameters, module._buffers, module._modules):
            info.attributes |= dict.fromkeys((k for k, v in table.items() if v is None), NONE)

    def _tensor(self, made: Member, key: str, tensor: Any, path: Path, seen: set[int]) -> None:
        if id(tensor) in seen:
            raise ValueError("TracedModules don't support parameter sharing between modules")
        seen.add(id(tensor))
        made.tensors[key] = self._foreign[id(tensor)] = self._convert(tensor)
        made.info.attributes[key] = self.types[*path, key] = TENSOR
        self._tensors.append((made.tensors[key], (*path, key)))

    def _child(self, made: Member, key: str, child: Any, path: Path, scripted: bool) -> None:
        below = (*path, key)
        if is_compiled(child):
            made.children[key] = child
            made.info.attributes[key] = self.types[below] = self._linked(child)
            self._scripted.append((child, below))
        else:
            member = made.children[key] = self._member(child, below, scripted)
            made.info.attributes[key] = member.info.type
        made.info.children.append(key)

    def _linked(self, child: Any) -> ClassType:
        """The class of a submodule that is scripted already, taken into the program."""
        renaming = self.linker.link(child.__tensorscript_linkable__())
        return ClassType(StringAttr(renaming.name(child._script_object.class_name)))

    # -- while recording ----------------------------------------------------------------------

    def introduce(self, tracer: Tracer) -> None:
        """Let the tracer know modules, parameters and buffers.

        A module that stands in several places is called at the last, in one parent at the first,
        and so is what is below it; a tensor is that of the first.
        """
        seen: set[tuple[Path, int]] = set()
        again: set[Path] = set()
        for module, path in self._modules:
            tracer.attribute(path, self.types[path])
            if (key := (path[:-1], id(module))) in seen or path[:-1] in again:
                again.add(path)
                continue
            seen.add(key)
            tracer.submodule(module, path)
        tracer.foreign.update(self._foreign)
        for child, path in self._scripted:
            place = tracer.attribute(path, self.types[path])
            tracer.objects[id(child._script_object)] = place
        for tensor, path in self._tensors:
            place = tracer.attribute(path, TENSOR)
            if not tracer.knows(tensor):
                tracer.know(tensor, place)

    def complete_types(self) -> dict[Path, Attribute]:
        """The types of parameters and buffers with sizes, strides and gradient flags."""
        return {path: type_of(tensor) for tensor, path in self._tensors}

    @contextmanager
    def observed(self, tracer: Tracer) -> Iterator[None]:
        """Within, calls of submodules are recorded as such."""
        before: list[Block] = []

        def enter(module: Any, arguments: Any) -> None:
            before.append(tracer.enter(module))

        def leave(module: Any, arguments: Any, result: Any) -> None:
            tracer.leave(before.pop())

        with ExitStack() as hooks:
            seen: set[int] = set()
            for module, path in self._modules:
                if path and id(module) not in seen:
                    seen.add(id(module))
                    hooks.enter_context(module.register_forward_pre_hook(Observer(enter)))
                    left = Observer(leave)
                    handle = module.register_forward_hook(left, prepend=True, always_call=True)
                    hooks.enter_context(handle)
            modules = [module for module, _ in self._modules]
            hooks.enter_context(spoken_for(modules, self._foreign))
            yield

    # -- methods ------------------------------------------------------------------------------

    def add_method(self, module: ClassType, body: Block) -> str:
        """A call of a submodule as a method: `forward`, `forward1`, ..."""
        info = self._by_class[module.class_name.data]
        name, count = "forward", 1
        while name in info.compiled:
            name, count = f"forward{count}", count + 1
        self.define(info, name, body)
        return name

    def define(self, info: ClassInfo, name: str, body: Block) -> Compiled:
        """Make `body` the method `name` of a class.

        Raises:
            GuardError: an exported method has needed that method, and it is scripted.
        """
        if name in info.compiled:
            raise GuardError(f"method '{info.name}.{name}' already defined.")
        made = compiled_block(f"{info.name}.{name}", body, is_method=True)
        info.compiled[name] = made.signature
        self._program.add(made)
        return made
