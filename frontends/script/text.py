"""Names in TorchScript text: archives' `code/*.py` and `CompilationUnit` sources.

Text is parsed by `ast`, which executes nothing. Functions and classes are found by qualified name
in a `Library` and compiled when they are first needed, so that definitions may come in any order.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import field

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute

from tensorscript.base.errors import CompileError, FrontendError
from tensorscript.base.records import dataclass
from tensorscript.base.source import Span
from tensorscript.dialects.ts.constants import EnumRef, ListLiteral
from tensorscript.dialects.ts.types import ClassType, EnumType, InterfaceType, TupleType

from .annotations import NOT_FOUND, ClassTable, type_of_syntax
from .callables import Class, EnumClass, ExceptionClass, Function, NamedTupleClass
from .calls import BUILTINS
from .function import (
    Definition,
    FunctionEmitter,
    class_type,
    compile_definition,
    declared_signature,
)
from .program import ClassInfo, Program
from .signature import NO_DEFAULT, Formal, Signature, constant_type
from .source import FunctionSource, Text
from .text_library import Library, TextLibrary
from .text_names import ConstantTable, Operators, Outer, Package
from .type_comments import comment_annotations
from .values import Simple, Sugared

_FLOATS = {"inf": math.inf, "nan": math.nan}
_COMPLEX = {"infj": complex(0, math.inf), "nanj": complex(0, math.nan)}


@dataclass
class _TextClass(Class):
    """A class of the text.

    A hook of a module is named as a function (`__torch__.C.hook`), and called with the module.
    """

    world: TextWorld

    def attr(self, em: FunctionEmitter, span: Span | None, name: str) -> Sugared:  # type: ignore[override]  # text is only ever emitted by FunctionEmitter
        info = self.world.program.classes[self.type.class_name.data]
        full = f"{info.name}.{name}"
        if full not in (*info.hooks, *info.pre_hooks):
            return super().attr(em, span, name)
        signature = info.compiled.get(name) or em.calling(full, span, info.methods[name])
        return Function(full, signature)


@dataclass
class TextWorld:
    """The definitions of a library as they are compiled into a program.

    Attributes:
        constants: what `CONSTANTS.c0` and so on are; None in a text that has no such table.
    """

    program: Program
    library: Library
    constants: Sequence[object] | None = None
    outer: Outer | None = None
    classes: ClassTable | None = None
    types: dict[str, Attribute] = field(default_factory=dict)

    def value(self, name: str, em: FunctionEmitter, span: Span | None) -> Sugared | None:
        """The function or class called `name`; None if there is none."""
        found = self.library.find(name)
        if found is None:
            return None
        if isinstance(found.tree, ast.FunctionDef):
            if name in self.program.compiling:
                raise em.error(
                    f"function '{found.tree.name}' is called recursively. Recursive calls are not "
                    "supported",
                    span,
                )
            signature = em.calling(name, span, lambda: self.function(name))
            return Function(name, signature)
        type = self.named_type(name)
        if isinstance(type, TupleType):
            fields = zip(type.field_names, type.elements, strict=True)
            formals = tuple(Formal(n, t) for n, t in fields)
            return NamedTupleClass(type, Signature(found.tree.name, formals, (type,)))
        if isinstance(type, EnumType):
            info = self.program.classes[name]
            return EnumClass(type, {m: EnumRef(name, m) for m in info.constants})
        assert isinstance(type, ClassType)
        return _TextClass(type, self)

    def function(self, name: str) -> Signature:
        """Compile the function called `name`, if it is not yet.

        Raises:
            CompileError: no such function, or it does not compile.
        """
        if name not in self.program.functions:
            found = self.library.find(name)
            if found is None or not isinstance(found.tree, ast.FunctionDef):
                raise CompileError(f"Unknown function '{name}'")
            compile_definition(self.program, self._definition(name, found.tree, found.text))
        return self.program.functions[name].signature

    def _definition(
        self, name: str, tree: ast.FunctionDef, text: Text, self_type: ClassType | None = None
    ) -> Definition:
        resolver = TextResolver(self)
        arguments = tree.args.args
        values = arguments[len(arguments) - len(tree.args.defaults) :]
        defaults = {
            arg.arg: self._default(default, text)
            for arg, default in zip(values, tree.args.defaults, strict=True)
        }
        source = FunctionSource(tree, text)
        annotations = self._commented(source, resolver, self_type is not None)
        return Definition(name, source, resolver, defaults, annotations, self_type)

    def _commented(
        self, source: FunctionSource, resolver: TextResolver, is_method: bool
    ) -> dict[str, Attribute]:
        """The types that a comment between a signature and its body gives."""
        tree, text = source.tree, source.text
        lines = text.source.text.split("\n")[tree.lineno : tree.body[0].lineno - 1]
        comments = [line for line in lines if line.strip().startswith("# type:")]
        span, head = text.span(tree), text.head(tree)
        found = comment_annotations(tree, comments[:1], span, head, is_method) or {}
        return {name: resolver.annotation(node, span) for name, node in found.items()}

    def _default(self, node: ast.expr, text: Text) -> object:
        match node:
            case ast.Attribute(ast.Name("CONSTANTS"), name):
                return (self.constants or ())[int(name[1:])]
            case ast.Attribute():
                path, _, member = ast.unparse(node).rpartition(".")
                return EnumRef(path, member)
            case ast.Name(name) if name in _FLOATS:
                return _FLOATS[name]
            case ast.UnaryOp(ast.USub(), ast.Name(name)) if name in _FLOATS:
                return -_FLOATS[name]
            case ast.List(elements):
                return ListLiteral(tuple(self._default(e, text) for e in elements))
            case ast.Tuple(elements):
                return tuple(self._default(e, text) for e in elements)
        try:
            return ast.literal_eval(node)
        except ValueError as error:
            raise FrontendError("Unknown default value", text.span(node)) from error

    # Classes

    def named_type(self, name: str) -> Attribute:
        """The type called `name`, declared if it is not yet.

        Raises:
            CompileError: there is no such class.
        """
        if name not in self.types:
            found = self.library.find(name)
            if found is None or not isinstance(found.tree, ast.ClassDef):
                raise CompileError(f"Unknown type name '{name}'")
            self._declare(name, found.tree, found.text)
        return self.types[name]

    def _declare(self, name: str, tree: ast.ClassDef, text: Text) -> None:
        base = tree.bases[0].id if tree.bases and isinstance(tree.bases[0], ast.Name) else ""
        if base == "NamedTuple":
            self._named_tuple(name, tree, text)
            return
        if base == "Enum":
            self._enum(name, tree)
            return
        category = {"Module": "module", "ModuleInterface": "interface", "Interface": "interface"}
        info = ClassInfo(class_type(name), category.get(base, "class"))
        is_interface = info.category == "interface"
        info.is_module_interface = base == "ModuleInterface"
        self.types[name] = InterfaceType(StringAttr(name)) if is_interface else info.type
        self.program.classes[name] = info
        resolver = TextResolver(self)
        for node in tree.body:
            match node:
                case ast.AnnAssign():
                    self._attribute(info, node, resolver, text)
                case ast.Assign([ast.Name(key)], ast.List(elements)):
                    listed = [str(e.value) for e in elements if isinstance(e, ast.Constant)]
                    self._listed(info, key, listed)
                case ast.Assign([ast.Subscript(_, ast.Constant(str(key)))], value):
                    info.attributes[key] = resolver.annotation(value, text.span(node))
                case ast.FunctionDef():
                    self._method(info, node, text)
        self._initialised(info)

    def _initialised(self, info: ClassInfo) -> None:
        """Where no attributes are declared, as in the text of PyTorch before 1.5, the first
        assignments in `__init__` define them."""
        if info.category == "class" and not info.attributes and "__init__" in info.methods:
            info.defining = True
            info.methods["__init__"]()
            info.defining = False

    def _listed(self, info: ClassInfo, key: str, names: list[str]) -> None:
        """Take in `__parameters__ = [...]` and the like; hooks have qualified names."""
        match key:
            case "__parameters__":
                info.parameters = names
            case "__buffers__":
                info.buffers = names
            case "__forward_hooks__":
                info.hooks = [f"{info.name}.{name}" for name in names]
            case "__forward_pre_hooks__":
                info.pre_hooks = [f"{info.name}.{name}" for name in names]

    def _attribute(
        self, info: ClassInfo, node: ast.AnnAssign, resolver: TextResolver, text: Text
    ) -> None:
        assert isinstance(node.target, ast.Name)
        if node.value is not None:  # `k : Final[int] = 3`: the value has the type
            info.constants[node.target.id] = self._default(node.value, text)
        else:
            span = text.span(node)
            info.attributes[node.target.id] = resolver.annotation(node.annotation, span)

    def define_methods(self, info: ClassInfo, library: TextLibrary) -> list[str]:
        """Add the functions of a text as methods of a class; gives their names.

        Raises:
            CompileError: there is such a method already.
        """
        out: list[str] = []
        for found in library.definitions.values():
            assert isinstance(found.tree, ast.FunctionDef)  # a library of functions
            if found.tree.name in info.methods:
                raise CompileError(
                    f"Can't redefine method: {found.tree.name} on class: {info.name} "
                    "(of Python compilation unit)"
                )
            self._method(info, found.tree, found.text)
            out.append(found.tree.name)
        return out

    def _method(self, info: ClassInfo, tree: ast.FunctionDef, text: Text) -> None:
        def compile() -> Signature:
            name = f"{info.name}.{tree.name}"
            definition = self._definition(name, tree, text, info.type)
            if info.category == "interface":
                signature = declared_signature(self.program, definition, self.types[info.name])
            else:
                signature = compile_definition(self.program, definition).signature
            info.compiled[tree.name] = signature
            return signature

        info.methods[tree.name] = compile

    def _named_tuple(self, name: str, tree: ast.ClassDef, text: Text) -> None:
        fields = [n for n in tree.body if isinstance(n, ast.AnnAssign)]
        resolver = TextResolver(self)
        types = [resolver.annotation(f.annotation, text.span(f)) for f in fields]
        names = [f.target.id for f in fields if isinstance(f.target, ast.Name)]
        made = self.types[name] = TupleType.of(types, names, name)
        self.program.named_tuples[name] = made

    def _enum(self, name: str, tree: ast.ClassDef) -> None:
        info = ClassInfo(class_type(name), "enum")
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                info.constants[node.targets[0].id] = ast.literal_eval(node.value)
        value = next(iter(info.constants.values()), NO_DEFAULT)
        self.program.classes[name] = info
        self.types[name] = EnumType(StringAttr(name), constant_type(value))

    def compile_class(self, name: str) -> ClassInfo:
        """Declare a class and compile all its methods.

        Raises:
            CompileError: there is no such class, or a method does not compile.
        """
        self.named_type(name)
        info = self.program.classes[name]
        for key, compile in info.methods.items():
            if key not in info.compiled:
                compile()
        return info

    # As the table of classes for annotations

    def type_of_class(self, cls: type, span: Span | None) -> Attribute:
        if self.classes is not None:
            return self.classes.type_of_class(cls, span)
        raise CompileError(f"Unknown type name '{cls.__name__}'", span)


class TextResolver:
    """Resolves names of TorchScript text."""

    nested_functions = True

    def __init__(self, world: TextWorld) -> None:
        self.world = world

    @property
    def modules_are_values(self) -> bool:
        return self.world.constants is not None

    def resolve(self, name: str, em: FunctionEmitter, span: Span) -> Sugared | None:
        if name in _FLOATS:
            return Simple(em.constant(_FLOATS[name], span))
        if name in _COMPLEX:
            return Simple(em.constant(_COMPLEX[name], span))
        if name == "torch":
            # What the caller calls so has more in it than operators.
            outer = self.world.outer.resolve(name, em, span) if self.world.outer else None
            return outer or Operators("aten", world=self.world)
        if name == "ops":
            return Operators("", world=self.world)
        if name == "CONSTANTS" and self.world.constants is not None:
            return ConstantTable(self.world.constants)
        if name == "__torch__":
            return Package(name, self.world)
        if name in BUILTINS:
            return BUILTINS[name]
        if name.endswith(("Error", "Exception")):
            return ExceptionClass(f"builtins.{name}")
        found = self.world.value(f"__torch__.{name}", em, span)
        if found is None and self.world.outer is not None:
            return self.world.outer.resolve(name, em, span)
        return found

    def annotation(self, node: ast.expr, span: Span) -> Attribute:
        return type_of_syntax(node, self._object, self.world, span)

    def _object(self, node: ast.expr) -> object:
        path = ast.unparse(node)
        if path.startswith("__torch__."):
            outer = self.world.outer
            if outer is not None and self.world.library.find(path) is None:
                return outer.qualified_object(path)
            return self.world.named_type(path)
        if self.world.library.find(f"__torch__.{path}") is not None:
            return self.world.named_type(f"__torch__.{path}")
        outer = self.world.outer
        return outer.annotation_object(node) if outer is not None else NOT_FOUND

    def static_attr(self, info: ClassInfo, name: str, em: FunctionEmitter) -> Sugared | None:
        outer = self.world.outer
        return outer.static_attr(info, name, em) if outer is not None else None


def compile_source(text: str, world: TextWorld | None = None) -> TextWorld:
    """Compile every function of a text (`CompilationUnit`).

    Raises:
        TextError: the text does not parse, or holds something else.
        CompileError: a type or name error.
    """
    library = TextLibrary.of_functions(text)
    world = world or TextWorld(Program(), library)
    for name in library.definitions:
        world.function(name)
    world.program.declare_classes()
    return world
