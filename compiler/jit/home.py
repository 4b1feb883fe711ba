"""The classes and functions of one program compiled from live Python, and what calls them."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from xdsl.ir import Attribute

from tensorscript.base.errors import GuardError, UserError
from tensorscript.base.source import Origin
from tensorscript.dialects.ts.ops import CallMethodOp
from tensorscript.dialects.ts.type_text import message_text
from tensorscript.dialects.ts.types import ClassType, EnumType, InterfaceType
from tensorscript.frontends.script.link import Linkable
from tensorscript.frontends.script.live import World
from tensorscript.frontends.script.named_objects import NamedObjects
from tensorscript.frontends.script.program import ClassInfo, Program
from tensorscript.frontends.script.text import TextWorld
from tensorscript.frontends.script.text_library import TextLibrary
from tensorscript.runtime.interpreter import Interpreter
from tensorscript.runtime.values import ScriptObject

from .adoption import adopt, check_interface
from .boundary import Classes, to_python, to_script
from .callables import Entry
from .faces import RecursiveScriptClass
from .hooked import HOOKED_CALL
from .module import RecursiveScriptModule
from .plain_values import Mismatch
from .python_errors import PythonErrors


class _PythonCalls(Mapping[str, Callable[..., Any]]):
    """The ignored functions of a program: called with Python values, giving script values."""

    def __init__(self, home: ProgramHome) -> None:
        self._home = home

    def __getitem__(self, name: str) -> Callable[..., Any]:
        fn, classes = self._home.program.python_functions[name], self._home.classes

        def call(type_: Attribute, *arguments: Any) -> Any:
            given = [to_python(a, classes) for a in arguments]
            with PythonErrors():
                found = fn(*given)
            try:
                return to_script(found, type_, classes)
            except Mismatch as error:
                raise GuardError(
                    f"expected value of type {message_text(type_)} for return value but "
                    f"instead got value of type {type(found).__name__}.\nValue: {found}\n"
                    f"Cast error details: {error}"
                ) from error

        return call

    def __iter__(self) -> Iterator[str]:
        return iter(self._home.program.python_functions)

    def __len__(self) -> int:
        return len(self._home.program.python_functions)


class ProgramHome:
    """The classes of one program compiled from live Python."""

    def __init__(self, program: Program, world: World | None = None) -> None:
        self.program = program
        self.world = World(program) if world is None else world
        self.interpreter = Interpreter(program.module, _PythonCalls(self))
        self.origin: Origin | None = None
        self.classes = Classes(
            info=self.class_info,
            methods=self.methods,
            wrap=self.wrap,
            linkable=self.linkable,
            adopt=self._adopted,
            check=self._fulfils,
            declare=self._declared,
        )
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

    def _declared(self, cls: type) -> Attribute:
        """The type of a class of which a call got an instance, compiled for it if need be."""
        if cls not in self.world.classes:
            try:
                self.world.type_of_class(cls, None)
            except UserError:
                self.world.classes.pop(cls, None)
                raise
            self.program.declare_classes()
            self.learn(self.world)
        return self.world.classes[cls]

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
            return list(dict.fromkeys([*_callers_first(info, self.interpreter), *hooks]))
        accessors = [name for pair in info.properties.values() for name in pair if name]
        return [*accessors, *sorted(info.compiled.keys() - set(accessors))]

    def has_method(self, class_name: str, name: str) -> bool:
        """Whether Python sees a method: of a module those that were compiled with it."""
        info = self.class_info(class_name)
        known = info.compiled.keys() | info.overloads.keys()
        return name in known or (info.category != "module" and name in info.methods)

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

    def wrap(self, target: ScriptObject, original: Any = None) -> Any:
        """The one face of a module; of another object a new instance of its Python class.

        Args:
            original: the Python module that `target` was made of.
        """
        if self.class_info(target.class_name).category != "module":
            return self._instance(target)
        if id(target) not in self._faces:
            self._faces[id(target)] = RecursiveScriptModule(self, target, original)
        return self._faces[id(target)]

    def _instance(self, target: ScriptObject) -> Any:
        """An object as Python has it: as in TorchScript a copy, whose attributes Python owns."""
        named = (cls for cls, type_ in self.classes.objects.items()
                 if type_.class_name.data == target.class_name)  # fmt: skip
        if (cls := next(named, None)) is None:
            return RecursiveScriptClass(self, target)
        made: Any = object.__new__(cls)
        for name, value in target.attributes.items():
            object.__setattr__(made, name, to_python(value, self.classes))
        return made

    def linkable(self) -> Linkable:
        """All that is compiled, to be taken into another program."""
        p = self.program
        return Linkable(p.module, p.classes, p.named_tuples, p.python_functions)

    def adopt(self, value: Any, declared: Attribute) -> ScriptObject:
        """The object of a scripted module as one of this program, to stand in an attribute.

        Raises:
            GuardError: it does not fulfil the attribute's interface.
        """
        target = adopt(value, self.world.linker, self)
        if isinstance(declared, InterfaceType):
            check_interface(self.program, target, declared)
        self.interpreter.refresh()
        return target

    def _adopted(self, value: Any, declared: Attribute) -> ScriptObject | None:
        """The object of a module that was compiled in another program; None for anything else.

        Raises:
            Mismatch: it does not fulfil the interface.
        """
        if not isinstance(value, RecursiveScriptModule) or value._home is self:
            return None
        try:
            return self.adopt(value, declared)
        except GuardError as error:
            raise Mismatch(error.message) from error

    def _fulfils(self, target: ScriptObject, declared: InterfaceType) -> None:
        """Refuse an object for an interface.

        Raises:
            Mismatch: it does not fulfil it.
        """
        try:
            check_interface(self.program, target, declared)
        except GuardError as error:
            raise Mismatch(error.message) from error

    def show(self, target: ScriptObject, face: RecursiveScriptModule) -> None:
        """Let `face` be what Python sees of an object."""
        self._faces[id(target)] = face

    def python_method(self, class_name: str, name: str) -> Callable[..., Any] | None:
        """A method that was left in Python; None if there is none."""
        make = self.class_info(class_name).python_methods.get(name)
        if make is None:
            return None
        make(None)
        return self.program.python_functions[f"{class_name}.{name}"]

    def define(self, class_name: str, text: str, names: Mapping[str, Any]) -> list[str]:
        """Add methods from a text of `def`s to a class; gives their names.

        Args:
            names: what the text may refer to besides operators.

        Raises:
            FrontendError: the text does not parse.
            CompileError: a type or name error, or a method of that name exists.
        """
        info = self.class_info(class_name)
        library = TextLibrary.of_functions(text)
        text_world = TextWorld(
            self.program, library, outer=NamedObjects(self.world, names), classes=self.world
        )
        added = text_world.define_methods(info, library)
        for name in added:
            info.methods[name]()
        self.program.declare_classes()
        self.interpreter.refresh()
        return added


def _callers_first(info: ClassInfo, interpreter: Interpreter) -> list[str]:
    """The compiled methods of a module: `forward`, other roots, then each called one when met."""
    interpreter.refresh()
    called: dict[str, list[str]] = {}
    for method in info.compiled:
        if method == HOOKED_CALL:
            continue
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
