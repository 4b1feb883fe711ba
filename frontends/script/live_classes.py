"""Python classes as types of a program: classes, dataclasses, enums, NamedTuples and interfaces."""

from __future__ import annotations

import ast
import builtins
import enum
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import ForwardRef

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute

from tensorscript.base.errors import CompileError, FrontendError, ModuleTypeError
from tensorscript.base.records import dataclass
from tensorscript.base.source import Span
from tensorscript.dialects.ts.type_text import ir_text
from tensorscript.dialects.ts.types import (
    FLOAT,
    INT,
    STRING,
    TENSOR,
    AnyType,
    EnumType,
    InterfaceType,
    TupleType,
)
from tensorscript.dialects.ts.typing import make_union

from .annotations import NOT_FOUND, type_of_object, type_of_syntax
from .dataclasses import field_defaults, field_types, generated_source, is_dataclass
from .function import Definition, class_type, compile_definition, declared_signature
from .live_functions import LiveFunctions, LiveResolver
from .program import ClassInfo
from .python_names import field_default, modifier_of, python_constant, qualified_name
from .signature import Signature, plain_text
from .source import FunctionSource, class_source

_DATACLASS_ONLY = frozenset({"__repr__", "__hash__", "__replace__", "__setattr__", "__delattr__"})


@dataclass
class LiveClasses(LiveFunctions):
    """The classes of a world: which Python class became which type of the program."""

    classes: dict[type, Attribute] = field(default_factory=dict)
    pending: set[type] = field(default_factory=set)
    """NamedTuples whose fields are being read: none has itself as a field."""

    def type_of_class(self, cls: type, span: Span | None) -> Attribute:
        found = self.classes.get(cls)
        if found is None:
            found = self._declare(cls, span)
        return found

    def _declare(self, cls: type, span: Span | None) -> Attribute:
        name = qualified_name(cls)
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            # A class derived from a NamedTuple has the fields of its base.
            hints: Mapping[str, object] = getattr(cls, "__annotations__", None) or getattr(
                cls.__base__, "__annotations__", {}
            )
            names: tuple[str, ...] = cls._fields
            elements = [self._hinted(cls, hints[f], span) if f in hints else TENSOR for f in names]
            values: Mapping[str, object] = getattr(cls, "_field_defaults", {})
            defaults = [plain_text(field_default(v)) for v in values.values()]
            made = TupleType.of(elements, names, name, defaults)
            same = (t for t in self.classes.values() if isinstance(t, TupleType) and t != made)
            if any(t.class_name.data == name for t in same):
                raise CompileError(f"Can't redefine NamedTuple: {name}", span)
            self.classes[cls] = self.program.named_tuples[name] = made
            return made
        if issubclass(cls, enum.Enum):
            return self._declare_enum(cls, name, span)
        if getattr(cls, "__torch_script_interface__", False):
            return self._declare_interface(cls, name)
        if any(base.__name__ == "Module" for base in cls.__mro__[:-1]):
            if known := self._modules_of(cls):
                return make_union(known)
            raise ModuleTypeError(
                f"Type '{cls}' cannot be compiled since it inherits from nn.Module, pass an "
                "instance instead",
                span,
            )
        return self._declare_class(cls, name, span)

    def _hinted(self, cls: type, hint: object, span: Span | None) -> Attribute:
        """The type of a NamedTuple's field; what is in quotes is looked up where the class is."""
        if not isinstance(hint, str | ForwardRef):
            return type_of_object(hint, self, span)
        text = hint if isinstance(hint, str) else hint.__forward_arg__
        home = sys.modules.get(cls.__module__)

        def lookup(node: ast.expr) -> object:
            if isinstance(node, ast.Attribute):
                return getattr(lookup(node.value), node.attr, NOT_FOUND)
            assert isinstance(node, ast.Name)
            found = getattr(home, node.id, getattr(builtins, node.id, NOT_FOUND))
            return NOT_FOUND if isinstance(found, type) and found in self.pending else found

        inside, self.pending = self.pending, self.pending | {cls}
        try:
            return type_of_syntax(ast.parse(text, mode="eval").body, lookup, self, span)
        finally:
            self.pending = inside

    def _modules_of(self, cls: type) -> list[Attribute]:
        """The types of the program's modules that are instances of a class."""
        found = ((info, info.module_class) for info in self.program.classes.values())
        return [info.type for info, made in found if made is not None and issubclass(made, cls)]

    def _declare_enum(self, cls: type[enum.Enum], name: str, span: Span | None) -> Attribute:
        types_ = [self._enum_value_type(m.value, span) for m in cls]
        if not types_:
            raise CompileError(f"No enum values defined for: '{type(cls)}'")
        for at, found in enumerate(types_):
            if found != types_[0]:
                raise CompileError(
                    f"Could not unify type list since element {at} of type {ir_text(found)} did "
                    f"not match the types before it ({ir_text(types_[0])})",
                    span,
                )
            if found not in (INT, FLOAT, STRING):
                raise CompileError(
                    f"Cannot create Enum with value type '{ir_text(found)}', only int, float and "
                    "string are supported"
                )
        made = EnumType(StringAttr(name), types_[0])
        self.classes[cls] = made
        info = ClassInfo(class_type(name), "enum")
        info.constants = {m.name: m.value for m in cls}
        self.program.classes[name] = info
        return made

    def _enum_value_type(self, value: object, span: Span | None) -> Attribute:
        """The type of a member's value; Any if it is a container, as its class says no more."""
        try:
            return type_of_object(type(value), self, span)
        except CompileError:
            return AnyType()

    def _declare_interface(self, cls: type, name: str) -> Attribute:
        """An interface: its methods have signatures only."""
        name = self.program.unique(name)
        made = InterfaceType(StringAttr(name))
        info = ClassInfo(class_type(name), "interface")
        info.is_module_interface = any(base.__name__ == "Module" for base in cls.__mro__[1:])
        self.classes[cls] = made
        self.program.classes[name] = info
        for key, member in vars(cls).items():
            if isinstance(member, types.FunctionType):
                self._interface_method(info, key, member, made)
        return made

    def _interface_method(
        self, info: ClassInfo, key: str, fn: Callable[..., object], self_type: Attribute
    ) -> None:
        def declare() -> Signature:
            definition = self.definition(fn, f"{info.name}.{key}", info.type)
            signature = declared_signature(self.program, definition, self_type)
            info.compiled[key] = signature
            return signature

        info.methods[key] = declare

    def _declare_class(self, cls: type, name: str, span: Span | None) -> Attribute:
        class_source(cls)  # without one it is no class of the program
        name = self.program.unique(name)
        type_ = class_type(name)
        info = ClassInfo(type_, python=cls)
        self.classes[cls] = type_
        self.program.classes[name] = info
        # A copy: asking a class for its annotations may add them to it.
        for key, member in list(vars(cls).items()):
            self._member(cls, info, key, member)
        if "__init__" in info.methods:
            info.defining = True
            self._compile_method(info, "__init__", span)
            info.defining = False
        accessors = [key for pair in info.properties.values() for key in pair if key is not None]
        for key in [*accessors, *sorted(info.methods.keys() - set(accessors))]:
            if key not in info.compiled and f"{name}.{key}" not in self.program.compiling:
                self._compile_method(info, key, span)
        return type_

    def _compile_method(self, info: ClassInfo, key: str, span: Span | None) -> None:
        """Compile a method for its class; an error there names the class, too."""
        try:
            info.methods[key]()
        except (CompileError, FrontendError) as error:
            short = info.name.rpartition(".")[2]
            error.with_call(
                f"'{short}.{key}' is being compiled since it was called from '{info.name}'", span
            )
            raise

    def _member(self, cls: type, info: ClassInfo, key: str, member: object) -> None:
        if isinstance(member, staticmethod):
            info.static_methods[key] = member.__func__
        elif isinstance(member, classmethod):
            self.add_method(info, key, member.__func__, of_class=True)
        elif isinstance(member, property):
            assert member.fget is not None
            is_unused = key in getattr(cls, "__jit_unused_properties__", ())
            if is_unused or modifier_of(member.fget) in ("ignore", "unused"):
                return
            getter = f"__{key}_getter"
            self.add_method(info, getter, member.fget)
            setter = None
            if member.fset is not None:
                setter = f"__{key}_setter"
                self.add_method(info, setter, member.fset)
            info.properties[key] = (getter, setter)
        elif is_dataclass(cls) and (source := self._generated(cls, key, member)):
            self._generated_method(cls, info, key, source)
        elif is_dataclass(cls) and key in _DATACLASS_ONLY:
            pass
        elif isinstance(member, types.FunctionType):
            self.add_method(info, key, member)
        elif not (key.startswith("__") or isinstance(member, types.MemberDescriptorType)):
            info.refused[key] = (
                f"'{info.name}' object has no attribute or method '{key}'. '{key}' is defined as a "
                "class attribute which currently is not supported. Consider converting this to an "
                "instance attribute."
            )

    def _generated(self, cls: type, key: str, member: object) -> FunctionSource | None:
        """The text of a method that `@dataclass` wrote."""
        code = getattr(member, "__code__", None)
        return generated_source(cls, key) if code and code.co_filename == "<string>" else None

    def _generated_method(
        self, cls: type, info: ClassInfo, key: str, source: FunctionSource
    ) -> None:
        resolver = LiveResolver(self, getattr(cls, key), cls)

        def compile() -> Signature:
            annotations = {
                name: resolver.annotation(
                    ast.parse(found, mode="eval").body, source.text.span(source.tree)
                )
                if isinstance(found, str)
                else type_of_object(found, self, None)
                for name, found in field_types(cls, key).items()
            }
            defaults = {n: python_constant(v) for n, v in field_defaults(cls, key).items()}
            full = f"{info.name}.{key}"
            definition = Definition(full, source, resolver, defaults, annotations, info.type)
            info.compiled[key] = compile_definition(self.program, definition).signature
            return info.compiled[key]

        info.methods[key] = compile

    def _restores(self, definition: Definition, info: ClassInfo) -> None:
        """Let what `__setstate__` takes be what `__getstate__` gives, if it does not say so.

        Raises:
            CompileError: there is no `__getstate__`.
        """
        tree = definition.source.tree
        for argument in [*tree.args.posonlyargs, *tree.args.args][1:2]:
            if argument.annotation is not None or argument.arg in definition.annotations:
                continue
            if "__getstate__" not in info.methods:
                raise CompileError(
                    "`__setstate__` defined but not `__getstate__`. You must have both defined on "
                    "a ScriptModule to customize serialization.\n"
                    "Did you forget to use `@torch.jit.export`?",
                    definition.source.text.span(tree),
                )
            given = info.compiled.get("__getstate__") or info.methods["__getstate__"]()
            definition.annotations[argument.arg] = given.returns[0]

    def add_method(
        self, info: ClassInfo, key: str, fn: Callable[..., object], of_class: bool = False
    ) -> None:
        """Register a method of a class; it is compiled when first needed.

        Args:
            of_class: a class method, which is called on objects: its first parameter is the class.
        """

        def compile() -> Signature:
            name = f"{info.name}.{key}"
            definition = self.definition(fn, name, info.type, of_class)
            if key == "__setstate__" and info.category == "module":
                self._restores(definition, info)
            compiled = compile_definition(self.program, definition)
            info.compiled[key] = compiled.signature
            return compiled.signature

        if modifier_of(fn) in ("ignore", "unused"):
            full = f"{info.name}.{key}"
            info.python_methods[key] = lambda span: self.python_call(fn, full, info.type, span)
            return
        info.methods[key] = compile
