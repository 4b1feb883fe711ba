"""Python functions as functions of a program: sources, annotations and the names around them."""

from __future__ import annotations

import ast
import builtins
import copy
import inspect
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property
from weakref import WeakKeyDictionary

from xdsl.ir import Attribute

from tensorscript.base.errors import CompileError, DefaultError, ModuleTypeError
from tensorscript.base.records import dataclass
from tensorscript.base.source import Span
from tensorscript.dialects.ts.types import ANY, ClassType

from .annotations import NOT_FOUND, type_of_object, type_of_syntax
from .callables import Function, Overloads, PythonCall
from .function import Definition, FunctionEmitter, compile_definition
from .left_in_python import without_python
from .link import Linker
from .observed import ObservedTypes, declared_types
from .overloads import overloaded_body
from .program import ClassInfo, Program
from .python_names import default_value, is_plain_data, modifier_of, qualified_name
from .signature import NOT_CONSTANT
from .source import FunctionSource, SourceUnavailable, annotations_of, function_source
from .type_comments import comment_annotations
from .values import Sugared, undefined


@dataclass
class LiveFunctions(ABC):
    """The functions of a world: which Python function became which function of the program.

    Attributes:
        observed: types that examples showed, for parameters without annotations.
    """

    program: Program
    functions: dict[object, str] = field(default_factory=dict)
    observed: ObservedTypes = field(default_factory=dict)

    @cached_property
    def linker(self) -> Linker:
        """Takes in what was compiled apart."""
        return Linker(self.program)

    @abstractmethod
    def wrap(
        self, value: object, em: FunctionEmitter, span: Span | None, module: str, name: str
    ) -> Sugared:
        """What a Python object means as a value of the language."""

    @abstractmethod
    def type_of_class(self, cls: type, span: Span | None) -> Attribute:
        """The type that a Python class stands for."""

    def function(
        self, fn: Callable[..., object], em: FunctionEmitter, span: Span | None
    ) -> Function:
        """A Python function as a function of the program, compiled at first use."""
        original = getattr(fn, "__original_fn", None) or inspect.unwrap(fn)
        name = self.functions.get(original)
        if name is None:
            target = qualified_name(original)
            name = em.calling(target, span, lambda: self.compile(original))
        if name in self.program.compiling:
            short = name.rpartition(".")[2]
            raise em.error(
                f"function '{short}' is called recursively. Recursive calls are not supported", span
            )
        return Function(name, self.program.functions[name].signature)

    def _overloaded(
        self,
        fn: Callable[..., object],
        stubs: list[Callable[..., object]],
        em: FunctionEmitter,
        span: Span | None,
    ) -> Overloads:
        """A function with `jit._overload` stubs: its body once per stub."""
        out: list[Function] = []
        for stub in stubs:
            name = self.functions.get(stub)
            if name is None:
                target = qualified_name(fn)
                name = em.calling(target, span, lambda: self._overload(fn, stub, target))  # noqa: B023  # called at once
            out.append(Function(name, self.program.functions[name].signature))
        return Overloads(out)

    def _overload(self, fn: Callable[..., object], stub: Callable[..., object], target: str) -> str:
        name = self.program.unique(target)
        made = overloaded_body(self.definition(stub, name), self.definition(fn, name))
        compile_definition(self.program, made)
        self.functions[stub] = name
        return name

    def compile(self, fn: Callable[..., object]) -> str:
        """Compile a function; gives its qualified name."""
        name = self.program.unique(qualified_name(fn))
        self.functions[fn] = name
        try:
            compile_definition(self.program, self.definition(fn, name))
        except BaseException:
            del self.functions[fn]
            raise
        return name

    def python_call(
        self,
        fn: Callable[..., object],
        name: str = "",
        self_type: ClassType | None = None,
        span: Span | None = None,
    ) -> PythonCall:
        """A function that stays in Python (`ignore`, `unused`); only its signature is read.

        Raises:
            CompileError: a method without `self`, which is asked for at `span`.
        """
        if self_type is not None and not inspect.signature(fn).parameters:
            raise CompileError("Non-static method does not have a self argument", span)
        name = name or qualified_name(fn)
        unused = modifier_of(fn) == "unused"
        info = self.program.classes.get(self_type.class_name.data) if self_type else None
        if unused and info is not None and info.category != "module":
            definition = self._dropped(fn, name, self_type)
        else:
            definition = self.definition(fn, name, self_type)
        emitter = FunctionEmitter(self.program, definition.resolver, definition.source.text, name)
        self.program.python_functions[name] = fn
        return PythonCall(name, emitter.declared(definition), unused)

    def definition(
        self,
        fn: Callable[..., object],
        name: str,
        self_type: ClassType | None = None,
        of_class: bool = False,
    ) -> Definition:
        source = function_source(fn)
        span = source.text.span(source.tree)
        plain = getattr(fn, "__func__", fn)
        info = self.program.classes.get(self_type.class_name.data) if self_type else None
        resolver = LiveResolver(self, plain, info.python if info else None)
        source, left = without_python(source, {**resolver.globals, **resolver.names})
        resolver.names.update(left)
        if of_class and info is not None:
            source, receiver = _on_an_object(source)
            resolver.names[receiver] = info.python
        parameters = inspect.signature(plain).parameters
        defaults: dict[str, object] = {}
        for key, parameter in parameters.items():
            if parameter.default is inspect.Parameter.empty:
                continue
            if _is_mutable(parameter.default):
                raise DefaultError(
                    "Mutable default parameters are not supported because Python binds them to "
                    "the function and they persist across function calls.\n As a workaround, make "
                    "the default None and instantiate the default parameter within the body of "
                    f"the function. Found {type(parameter.default)} on parameter {key}",
                    span,
                )
            try:
                defaults[key] = default_value(parameter.default)
            except TypeError:
                defaults[key] = NOT_CONSTANT
        is_method = self_type is not None
        lines = source.text.source.text.split("\n")
        head = source.text.head(source.tree)
        comments = comment_annotations(source.tree, lines, span, head, is_method)
        if comments is None:
            annotations, comments = self._annotations(plain, resolver, source, is_method), {}
        else:  # they come before annotations
            annotations = {key: resolver.annotation(node, span) for key, node in comments.items()}
        return Definition(name, source, resolver, defaults, annotations, self_type, comments)

    def _dropped(
        self, fn: Callable[..., object], name: str, self_type: ClassType | None
    ) -> Definition:
        """A method of a class that is never run: it takes anything, as in TorchScript."""
        source = function_source(fn)
        tree = copy.deepcopy(source.tree)
        tree.args.vararg = tree.args.kwarg = None
        parameters = (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)
        annotations: dict[str, Attribute] = {p.arg: ANY for p in parameters}
        plain = getattr(fn, "__func__", fn)
        found = FunctionSource(tree, source.text)
        return Definition(name, found, LiveResolver(self, plain), {}, annotations, self_type)

    def _annotations(
        self,
        fn: Callable[..., object],
        resolver: LiveResolver,
        source: FunctionSource,
        is_method: bool,
    ) -> dict[str, Attribute]:
        """Annotations by their objects."""
        text = source.text.source.text
        span = source.text.span(source.tree)
        out: dict[str, Attribute] = {}
        places = annotations_of(source.tree)
        raw: Mapping[str, object] = getattr(fn, "__annotations__", {})
        for key, value in raw.items():
            if value in (None, types.NoneType) and "BroadcastingList" in text:
                # Such annotations evaluate to None: only their syntax tells.
                continue
            if "ForwardRef(" in repr(value):
                # So does what a name in quotes means here.
                continue
            where = source.text.span(places[key]) if key in places else span
            if isinstance(value, str):
                out[key] = resolver.annotation(ast.parse(value, mode="eval").body, where)
                continue
            try:
                out[key] = type_of_object(value, self, where)
            except (ModuleTypeError, SourceUnavailable):  # named as the source names it
                if key not in places:
                    raise
                out[key] = resolver.annotation(places[key], where)
        for key, found in self._observed(fn, source, is_method).items():
            if key not in places and key not in raw:
                out[key] = type_of_object(found, self, span)
        return out

    def _observed(
        self, fn: Callable[..., object], source: FunctionSource, is_method: bool
    ) -> Mapping[str, object]:
        """The types that examples showed of a function's parameters, `self` left out."""
        code: types.CodeType | None = getattr(fn, "__code__", None)
        declared = declared_types(self.observed.get(code, {})) if code is not None else {}
        if is_method and (first := (source.tree.args.posonlyargs or source.tree.args.args)[:1]):
            declared.pop(first[0].arg, None)
        return declared


def _is_mutable(value: object) -> bool:
    return isinstance(value, list | dict | set) or (
        isinstance(value, tuple) and any(map(_is_mutable, value))
    )


def _on_an_object(source: FunctionSource) -> tuple[FunctionSource, str]:
    """A class method as a method of objects, and the name by which it calls its class."""
    tree = copy.deepcopy(source.tree)
    first = (tree.args.posonlyargs or tree.args.args)[0]
    receiver, first.arg = first.arg, "self"
    return FunctionSource(tree, source.text), receiver


_SEEN_AT: WeakKeyDictionary[type, Mapping[str, type]] = WeakKeyDictionary()
"""Classes that were seen, by name, where a class was scripted inside a function: what only comments
name is in no closure."""


def remember_classes(cls: type, names: Mapping[str, object]) -> None:
    """Let the annotations of a class name the classes that are seen where it is scripted."""
    found = {n: v for n, v in names.items() if isinstance(v, type) and v is not cls}
    if found:
        _SEEN_AT[cls] = found


class LiveResolver:
    """Resolves the names around one Python function, or around a method of the class `own`."""

    nested_functions = False
    modules_are_values = False

    def __init__(
        self, world: LiveFunctions, fn: Callable[..., object], own: type | None = None
    ) -> None:
        self.world = world
        # A decorator sees a class before its name is bound.
        self.names: dict[str, object] = {}
        if own is not None:
            self.names |= {**_SEEN_AT.get(own, {}), own.__name__: own}
        code = getattr(fn, "__code__", None)
        cells = getattr(fn, "__closure__", None) or ()
        for name, cell in zip(code.co_freevars if code else (), cells, strict=False):
            # A cell stays empty until its variable is assigned.
            if (content := _cell_content(cell)) is not NOT_FOUND:
                self.names[name] = content
        self.globals: Mapping[str, object] = getattr(fn, "__globals__", {})

    def lookup(self, name: str) -> object:
        if name in self.names:
            return self.names[name]
        if name in self.globals:
            return self.globals[name]
        return getattr(builtins, name, NOT_FOUND)

    def resolve(self, name: str, em: FunctionEmitter, span: Span) -> Sugared | None:
        found = self.lookup(name)
        if found is NOT_FOUND or found is None:
            return None
        if is_plain_data(found):
            return undefined(found)
        home = "builtins" if getattr(builtins, name, NOT_FOUND) is found else ""
        return self.world.wrap(found, em, span, home, name)

    def annotation(self, node: ast.expr, span: Span) -> Attribute:
        return type_of_syntax(node, self.annotation_object, self.world, span)

    def annotation_object(self, node: ast.expr) -> object:
        match node:
            case ast.Name():
                return self.lookup(node.id)
            case ast.Attribute():
                base = self.annotation_object(node.value)
                return getattr(base, node.attr, NOT_FOUND) if base is not NOT_FOUND else NOT_FOUND
        return NOT_FOUND

    def static_attr(self, info: ClassInfo, name: str, em: FunctionEmitter) -> Sugared | None:
        fn = info.static_methods.get(name)
        if fn is None:
            return None
        return self.world.wrap(fn, em, None, "", name)


def _cell_content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return NOT_FOUND
