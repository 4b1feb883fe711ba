"""`tensorscript.jit.script`: Python functions, classes and modules as script."""

from __future__ import annotations

import enum
import os
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from tensorscript.base.errors import FrontendError, GuardError
from tensorscript.dialects.ts.types import ClassType, EnumType
from tensorscript.frontends.script.api import compile_function
from tensorscript.frontends.script.live import World
from tensorscript.frontends.script.modules import ModuleTypes, is_module
from tensorscript.frontends.script.program import ClassInfo, Program
from tensorscript.frontends.script.text import TextLibrary, TextWorld
from tensorscript.runtime.interpreter import Interpreter
from tensorscript.runtime.values import ScriptObject

from .boundary import Classes, Mismatch, inferred, to_python, to_script
from .callables import Entry, ScriptFunction
from .module import RecursiveScriptClass, RecursiveScriptModule

_TRUE, _FALSE = ("1", "true", "yes", "1v"), ("0", "false", "no", "0v")


def jit_enabled() -> bool:
    """What `TENSORSCRIPT_JIT` or else `PYTORCH_JIT` says; True without either.

    Raises:
        ValueError: it says something else than yes or no.
    """
    name = "TENSORSCRIPT_JIT" if "TENSORSCRIPT_JIT" in os.environ else "PYTORCH_JIT"
    word = os.environ.get(name, "1").lower()
    if word not in (*_TRUE, *_FALSE):
        raise ValueError(f"Unknown setting of {name}. Try using 0 or 1.")
    return word in _TRUE


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
        self.classes = Classes(wrap=self.wrap, attributes=lambda n: self.class_info(n).attributes)
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


_functions: WeakKeyDictionary[Callable[..., Any], ScriptFunction] = WeakKeyDictionary()


def script(
    obj: Any,
    optimize: Any = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> Any:
    """Compile Python as TorchScript.

    Args:
        obj: a function or method (gives a ScriptFunction, the same each time), a module (a
            RecursiveScriptModule that shares its tensors), a class (compiled; the class itself is
            given back), an instance of a plain class, or something scripted already.
        example_inputs: not supported; annotate the arguments instead.

    Raises:
        FrontendError: Python outside the language.
        CompileError: a type or name error.
        GuardError: something that cannot be scripted.
    """
    if optimize is not None:
        warnings.warn(
            "`optimize` is deprecated and has no effect. Use `with "
            "torch.jit.optimized_execution()` instead",
            FutureWarning,
            stacklevel=2,
        )
    if example_inputs is not None:
        raise GuardError("example_inputs is not supported: annotate the arguments instead")
    if not jit_enabled() or isinstance(
        obj, ScriptFunction | RecursiveScriptModule | RecursiveScriptClass
    ):
        return obj
    if isinstance(obj, type):
        return _script_class(obj)
    if is_module(obj):
        return script_module(obj)
    if isinstance(obj, types.FunctionType | types.MethodType):
        return _script_function(obj)
    if isinstance(obj, list | dict) or callable(obj) or not hasattr(obj, "__dict__"):
        raise GuardError(f"cannot script an object of type {type(obj).__name__}")
    return _script_instance(obj)


def _script_function(fn: Callable[..., Any]) -> ScriptFunction:
    if (known := _functions.get(fn)) is not None:
        return known
    original = getattr(fn, "__original_fn", fn)
    world = World(Program())
    compiled = compile_function(original, world)
    home = ProgramHome(world.program, world)
    made = _functions[fn] = ScriptFunction(home.function(compiled.name), original)
    return made


def _script_class(cls: type) -> type:
    if is_module(cls) or any(base.__name__ == "Module" for base in cls.__mro__[1:]):
        raise GuardError(
            f"Type '{cls}' cannot be compiled since it inherits from nn.Module, consider passing "
            "an instance instead"
        )
    if not getattr(cls, "__torch_script_interface__", False):
        World(Program()).type_of_class(cls, None)
    return cls


def _script_instance(obj: Any) -> RecursiveScriptClass:
    world = World(Program())
    world.type_of_class(type(obj), None)
    world.program.declare_classes()
    home = ProgramHome(world.program, world)
    try:
        target = to_script(obj, home.classes.objects[type(obj)], home.classes)
    except Mismatch as mismatch:
        raise GuardError(f"cannot script the object {obj!r:.200}: {mismatch}") from None
    return RecursiveScriptClass(home, target)


def script_module(module: Any) -> RecursiveScriptModule:
    """Compile an nn.Module; its tensors are shared, not copied.

    Raises:
        GuardError: an attribute's value is not of its type.
    """
    hook = getattr(module, "__prepare_scriptable__", None)
    module = hook() if hook is not None else module
    module_types = ModuleTypes(World(Program()))
    module_types.compile(module)
    home = ProgramHome(module_types.world.program, module_types.world)
    made: RecursiveScriptModule = home.wrap(_Instances(module_types, home.classes).object(module))
    return made


class _Instances:
    """Script objects of module instances; an instance that occurs twice is one object."""

    def __init__(self, module_types: ModuleTypes, classes: Classes) -> None:
        self._types = module_types
        self._classes = classes
        self._made: dict[int, ScriptObject] = {}

    def object(self, module: Any) -> ScriptObject:
        if (known := self._made.get(id(module))) is not None:
            return known
        info = self._types.info(module)
        made = self._made[id(module)] = ScriptObject(info.name)
        for name, type_ in info.attributes.items():
            value = getattr(module, name)
            if is_module(value):
                made.attributes[name] = self.object(value)
                continue
            try:
                made.attributes[name] = to_script(value, type_, self._classes)
            except Mismatch as mismatch:
                raise GuardError(f"attribute '{name}' of {info.name}: {mismatch}") from None
        return made


class CompilationUnit:
    """Functions compiled from TorchScript text.

    Raises:
        FrontendError: the text does not parse.
        CompileError: a type or name error, or a class in the text.
    """

    def __init__(self, source: str = "") -> None:
        self._library = TextLibrary({})
        self._world = TextWorld(Program(), self._library)
        self._home = ProgramHome(self._world.program)
        if source:
            self.define(source)

    def define(self, source: str) -> None:
        """Compile more functions."""
        added = TextLibrary.parse(source)
        for name, found in added.definitions.items():
            if not hasattr(found.tree, "args"):
                raise FrontendError(
                    "expected def but found 'class' here", found.text.word(found.tree, 5)
                )
            if name in self._library.definitions:
                raise GuardError(f"method '{found.tree.name}' already defined.")
        self._library.definitions.update(added.definitions)
        for name in added.definitions:
            self._world.function(name)
        self._world.program.declare_classes()
        self._home.interpreter.refresh()

    def find_function(self, name: str) -> ScriptFunction | None:
        """The function called `name`; None if there is none."""
        qualified = f"__torch__.{name}"
        if qualified not in self._library.definitions:
            return None
        return ScriptFunction(self._home.function(qualified))

    def get_functions(self) -> list[ScriptFunction]:
        return [f for f in map(self.find_function, self._names()) if f is not None]

    def _names(self) -> Iterator[str]:
        return (name.removeprefix("__torch__.") for name in self._library.definitions)

    def __getattr__(self, name: str) -> ScriptFunction:
        if name.startswith("_") or (found := self.find_function(name)) is None:
            raise AttributeError(f"'CompilationUnit' has no attribute '{name}'")
        return found
