"""The classes of a traced module: one per instance, with parameters, buffers and submodules.

A module of ours or of PyTorch is read through the tables every module has. Which call belongs to
which submodule is seen by hooks around `forward`, put in place while the trace is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute

from tensorscript.dialects.ts.types import BOOL, TENSOR, ClassType
from tensorscript.eager.storage import TensorBase
from tensorscript.frontends.script.draft import Block
from tensorscript.frontends.script.link import Linker
from tensorscript.frontends.script.modules import is_compiled
from tensorscript.frontends.script.program import ClassInfo, Compiled
from tensorscript.frontends.script.python_names import qualified_name

from .function import compiled_block
from .tracer import Tracer

Path = tuple[str, ...]
Convert = Callable[[Any], TensorBase]


@dataclass
class Member:
    """One module of the tree.

    Attributes:
        tensors: parameters and buffers by name, as eager tensors.
        children: submodules by name.
    """

    module: Any
    info: ClassInfo
    tensors: dict[str, TensorBase] = field(default_factory=dict)
    children: dict[str, Member | Any] = field(default_factory=dict)


class ModuleTree:
    """A module with everything below it.

    Args:
        linker: takes scripted submodules into the program.
        convert: gives the eager tensor of a parameter or buffer.

    Attributes:
        types: the type of each module, parameter and buffer by path; the module itself is ().
    """

    def __init__(self, linker: Linker, module: Any, convert: Convert) -> None:
        self.types: dict[Path, Attribute] = {}
        self.linker = linker
        self._program = linker.program
        self._convert = convert
        self._scripted: list[tuple[Any, Path]] = []
        self._modules: list[tuple[Any, Path]] = []
        self._tensors: list[tuple[TensorBase, Path]] = []
        self._foreign: dict[int, TensorBase] = {}
        self._by_class: dict[str, ClassInfo] = {}
        self.member = self._member(module, ())

    @property
    def root(self) -> ClassInfo:
        return self.member.info

    @property
    def class_names(self) -> frozenset[str]:
        """The classes that were made for this trace."""
        return frozenset(self._by_class)

    def _member(self, module: Any, path: Path) -> Member:
        if module._backward_hooks:
            raise ValueError(
                f"Modules that have backward hooks assigned can't be compiled: {module}"
            )
        name = self._program.unique(qualified_name(type(module)))
        info = ClassInfo(ClassType(StringAttr(name)), "module")
        self._program.classes[name] = self._by_class[name] = info
        self.types[path] = info.type
        self._modules.append((module, path))
        made = Member(module, info)
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
        for key, child in module._modules.items():
            if child is not None:
                self._child(made, key, child, path)
        return made

    def _tensor(self, made: Member, key: str, tensor: Any, path: Path, seen: set[int]) -> None:
        if id(tensor) in seen:
            raise ValueError("TracedModules don't support parameter sharing between modules")
        seen.add(id(tensor))
        made.tensors[key] = self._foreign[id(tensor)] = self._convert(tensor)
        made.info.attributes[key] = self.types[*path, key] = TENSOR
        self._tensors.append((made.tensors[key], (*path, key)))

    def _child(self, made: Member, key: str, child: Any, path: Path) -> None:
        below = (*path, key)
        if is_compiled(child):
            made.children[key] = child
            made.info.attributes[key] = self.types[below] = self._linked(child)
            self._scripted.append((child, below))
        else:
            member = made.children[key] = self._member(child, below)
            made.info.attributes[key] = member.info.type
        made.info.children.append(key)

    def _linked(self, child: Any) -> ClassType:
        """The class of a submodule that is scripted already, taken into the program."""
        renaming = self.linker.link(child.__tensorscript_linkable__())
        return ClassType(StringAttr(renaming.name(child._script_object.class_name)))

    # -- while recording ----------------------------------------------------------------------

    def introduce(self, tracer: Tracer) -> None:
        """Let the tracer know modules, parameters and buffers."""
        for module, path in self._modules:
            tracer.attribute(path, self.types[path])
            tracer.submodule(module, path)
        tracer.foreign.update(self._foreign)
        for child, path in self._scripted:
            place = tracer.attribute(path, self.types[path])
            tracer.objects[id(child._script_object)] = place
        for tensor, path in self._tensors:
            place = tracer.attribute(path, TENSOR)
            if not tracer.knows(tensor):
                tracer.know(tensor, place)

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
                    hooks.enter_context(module.register_forward_pre_hook(enter))
                    handle = module.register_forward_hook(leave, prepend=True, always_call=True)
                    hooks.enter_context(handle)
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
        """Make `body` the method `name` of a class."""
        made = compiled_block(f"{info.name}.{name}", body, is_method=True)
        info.compiled[name] = made.signature
        self._program.add(made)
        return made
