"""The classes and functions of one program compiled from live Python, and what calls them."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tensorscript.dialects.ts.ops import CallMethodOp
from tensorscript.dialects.ts.types import ClassType, EnumType
from tensorscript.frontends.script.live import World
from tensorscript.frontends.script.program import ClassInfo, Program
from tensorscript.runtime.interpreter import Interpreter
from tensorscript.runtime.values import ScriptObject

from .boundary import Classes, inferred, to_python
from .callables import Entry
from .module import RecursiveScriptClass, RecursiveScriptModule


class _PythonCalls(Mapping[str, Callable[..., Any]]):
    """The ignored functions of a program: called with Python values, giving script values."""

    def __init__(self, home: ProgramHome) -> None:
        self._home = home

    def __getitem__(self, name: str) -> Callable[..., Any]:
        fn, classes = self._home.program.python_functions[name], self._home.classes

        def call(*arguments: Any) -> Any:
            found = fn(*(to_python(a, classes) for a in arguments))
            return inferred(found, classes)

        return call

    def __iter__(self) -> Iterator[str]:
        return iter(self._home.program.python_functions)

    def __len__(self) -> int:
        return len(self._home.program.python_functions)


class ProgramHome:
    """The classes of one program compiled from live Python."""

    def __init__(self, program: Program, world: World | None = None) -> None:
        self.program = program
        self.interpreter = Interpreter(program.module, _PythonCalls(self))
        self.classes = Classes(info=self.class_info, methods=self.methods, wrap=self.wrap)
        self._faces: dict[int, RecursiveScriptModule] = {}
        self._entries: dict[tuple[int, str], Entry] = {}
        if world is not None:
            self.learn(world)

    def learn(self, world: World) -> None:
        """Take in the Python classes that the world compiled."""
        for cls, type_ in world.classes.items():
            if isinstance(type_, EnumType) and issubclass(cls, enum.Enum):
                self.classes.enums[type_.class_name.data] = cls
            elif isinstance(type_, ClassType):
                self.classes.objects[cls] = type_
        self.interpreter.refresh()

    def class_info(self, name: str) -> ClassInfo:
        return self.program.classes[name]

    def methods(self, name: str) -> list[str]:
        """The compiled methods of a class, in the order in which PyTorch writes them."""
        info = self.class_info(name)
        if info.category == "interface":
            for declare in info.methods.values():
                declare()
            return list(info.methods)
        if info.category == "module":
            hooks = [hook.rpartition(".")[2] for hook in (*info.hooks, *info.pre_hooks)]
            return [*_callers_first(info, self.interpreter), *hooks]
        accessors = [name for pair in info.properties.values() for name in pair if name]
        return [*accessors, *sorted(info.compiled.keys() - set(accessors))]

    def entry(self, target: ScriptObject, method: str) -> Entry:
        if (known := self._entries.get((id(target), method))) is not None:
            return known
        info = self.class_info(target.class_name)
        if method not in info.compiled:
            info.methods[method]()
            self.program.declare_classes()
        symbol = f"{info.name}.{method}"
        made = Entry(symbol, info.compiled[method], self.interpreter, self.classes, target)
        if info.category == "module":
            self._entries[id(target), method] = made
        return made

    def function(self, name: str) -> Entry:
        """A function of the program."""
        signature = self.program.functions[name].signature
        return Entry(name, signature, self.interpreter, self.classes)

    def wrap(self, target: ScriptObject) -> Any:
        """The one face of a module; a new one for other objects."""
        if self.class_info(target.class_name).category != "module":
            return RecursiveScriptClass(self, target)
        if id(target) not in self._faces:
            self._faces[id(target)] = RecursiveScriptModule(self, target)
        return self._faces[id(target)]


def _callers_first(info: ClassInfo, interpreter: Interpreter) -> list[str]:
    """The compiled methods of a module: `forward`, other roots, then each called one when met."""
    interpreter.refresh()
    called: dict[str, list[str]] = {}
    for method in info.compiled:
        walk = interpreter.functions[f"{info.name}.{method}"].walk()
        called[method] = [
            op.method.data
            for op in walk
            if isinstance(op, CallMethodOp) and op.arguments[0].type == info.type
        ]
    inner = {callee for callees in called.values() for callee in callees}
    order = dict.fromkeys(["forward"] if "forward" in called else [])
    order |= dict.fromkeys(sorted(method for method in called if method not in inner))
    todo = list(order)
    for method in todo:
        added = [callee for callee in called[method] if callee not in order]
        order |= dict.fromkeys(added)
        todo += added
    return list(order)
