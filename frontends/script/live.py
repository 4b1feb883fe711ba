"""Names of live Python: what the objects around a function mean in script.

A name is looked up in the function's closure, its globals and Python's builtins, and what is found
is translated by kind. `torch` and `tensorscript` are recognised by the names of their modules;
neither is imported here.
"""

from __future__ import annotations

import ast
import builtins
import enum
import inspect
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute

from tensorscript.base.dtypes import BY_NAME, DType
from tensorscript.base.errors import CompileError
from tensorscript.base.schema import has_operator
from tensorscript.base.source import Span
from tensorscript.dialects.ts.constants import Device, EnumRef
from tensorscript.dialects.ts.types import (
    INT,
    TENSOR,
    ClassType,
    EnumType,
    InterfaceType,
    ListType,
    TupleType,
)

from .annotations import NOT_FOUND, type_of_object, type_of_syntax
from .calls import BUILTINS
from .contexts import CONTEXTS, context_library
from .dataclasses import field_defaults, field_types, generated_source, is_dataclass
from .function import (
    Definition,
    FunctionEmitter,
    class_type,
    compile_definition,
    declared_signature,
)
from .functional import functional_library, overloads
from .overloads import stubs_of
from .program import ClassInfo, Program
from .schema_match import convert
from .signature import NO_DEFAULT, Formal, Signature, constant_type
from .source import FunctionSource, class_source, function_source
from .text import TextWorld
from .values import (
    Args,
    Builtin,
    Class,
    Deferred,
    Dispatch,
    EnumClass,
    ExceptionClass,
    Form,
    Function,
    Kwargs,
    NamedTupleClass,
    Overloads,
    Parts,
    PythonCall,
    Repeat,
    Simple,
    Sugared,
    Undefined,
)

TORCH_ROOTS = frozenset({"torch", "tensorscript"})
_OWN_FUNCTIONS = ("tensorscript.eager.namespace", "tensorscript.eager.nn.functional")
"""Modules of operators' faces: their functions are never compiled from their Python."""
_PREFIXES = {"linalg": "linalg_", "fft": "fft_", "special": "special_"}
_FORMS = {
    "annotate": "annotate", "is_scripting": "is_scripting", "is_tracing": "is_tracing",
    "fork": "fork", "_fork": "fork", "_unwrap_optional": "unwrap_optional",
    "unwrap_optional": "unwrap_optional",
    "_isinstance": "isinstance",
    "isinstance": "isinstance", "isinstance_of": "isinstance",
    "has_torch_function": "has_torch_function",
    "has_torch_function_unary": "has_torch_function",
    "has_torch_function_variadic": "has_torch_function",
    "_has_torch_function": "has_torch_function",
    "_has_torch_function_unary": "has_torch_function",
    "_has_torch_function_variadic": "has_torch_function",
}  # fmt: skip
_RENAMED = {"wait": "aten::wait", "_wait": "aten::wait", "_assert": "aten::_assert"}
_DATACLASS_ONLY = frozenset({"__repr__", "__hash__", "__replace__", "__setattr__", "__delattr__"})
_REPEATS = {"_single": 1, "_pair": 2, "_triple": 3, "_quadruple": 4}
_MATH_CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "tau": math.tau}
_MATH_NAMES = {"fabs": "prim::abs", "remainder": "aten::mathremainder"}
_NOT_MATH = frozenset(
    {"trunc", "hypot", "log2", "prod", "isclose", "sumprod", "cbrt", "exp2", "dist"}
)
"""Functions of `math` whose names are operators of tensors only."""


def qualified_name(thing: Callable[..., object] | type) -> str:
    """`__torch__.pkg.name`; `__main__` is left out."""
    module = thing.__module__ or "__main__"
    prefix = "__torch__" if module == "__main__" else f"__torch__.{module}"
    return f"{prefix}.{thing.__name__}"


def python_constant(value: object) -> object:
    """A Python default or attribute as a constant of the dialect.

    Raises:
        TypeError: it is not one.
    """
    kind = type(value)
    if isinstance(value, DType):
        return value.code
    if kind.__module__.partition(".")[0] in TORCH_ROOTS:
        if kind.__name__ == "dtype":
            return BY_NAME[str(value).rpartition(".")[2]].code
        if kind.__name__ in ("device", "Device"):
            return Device(str(value))
        if kind.__name__ in ("layout", "memory_format", "Layout", "MemoryFormat"):
            return _ENUM_WORDS[str(value).rpartition(".")[2]]
    if isinstance(value, enum.Enum):
        return EnumRef(qualified_name(kind), value.name)
    if isinstance(value, tuple):
        return tuple(map(python_constant, value))
    constant_type(value)
    return value


_ENUM_WORDS = {
    "strided": 0, "sparse_coo": 1, "sparse_csr": 2, "contiguous_format": 0, "preserve_format": 1,
    "channels_last": 2, "channels_last_3d": 3,
}  # fmt: skip


@dataclass
class Namespace(Sugared):
    """A Python module: only for looking up attributes."""

    kind = "module"
    module: types.ModuleType
    world: World

    def attr(self, em: FunctionEmitter, span: Span | None, name: str) -> Sugared:  # type: ignore[override]  # live code is only ever emitted by FunctionEmitter
        if not hasattr(self.module, name):
            raise em.error(f"object has no attribute {name}", span)
        found = getattr(self.module, name)
        if type(found) in (bool, int, float, complex, str):
            return Simple(em.constant(found, span))
        return self.world.wrap(found, em, span, self.module.__name__, name)


class ListWithDefault(Sugared):
    """`_list_with_default(sizes, defaults)`: in script the sizes are always complete."""

    kind = "builtin"

    def call(self, em: FunctionEmitter, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:  # type: ignore[override]  # as above
        sizes = convert(em, args[0], ListType(INT), True, span)
        lengths = [em.length(args[1], span), em.length(sizes, span)]
        longer = em.builtin("aten::gt", lengths, span)
        em.check(longer, "AssertionError: ", span)
        return Simple(sizes)


@dataclass
class World:
    """The Python side of a program: which object became which function or class."""

    program: Program
    functions: dict[object, str] = field(default_factory=dict)
    classes: dict[type, Attribute] = field(default_factory=dict)

    @cached_property
    def contexts(self) -> TextWorld:
        """The definitions of torch's context managers."""
        return TextWorld(self.program, context_library())

    @cached_property
    def functional(self) -> TextWorld:
        """The functions of `nn.functional` that are written in the language."""
        return TextWorld(self.program, functional_library())

    # Values

    def wrap(
        self, value: object, em: FunctionEmitter, span: Span | None, module: str, name: str
    ) -> Sugared:
        """What a Python object means as a value of the language."""
        if isinstance(value, types.ModuleType):
            return Namespace(value, self)
        if isinstance(scripted := vars(type(value)).get("SCRIPTED"), str):
            # Scripted before: its Python original is compiled into this program, too.
            value, module = getattr(value, scripted), ""
        if value is None or isinstance(value, bool):
            return Simple(em.constant(value, span))
        if module == "math" and name in _MATH_CONSTANTS:
            return Simple(em.constant(_MATH_CONSTANTS[name], span))
        root = module.partition(".")[0]
        if root in TORCH_ROOTS and name in ("inf", "nan", "pi", "e"):
            return Simple(em.constant(_MATH_CONSTANTS[name], span))
        label = getattr(value, "__name__", "")
        if label in CONTEXTS and _home(value).partition(".")[0] in TORCH_ROOTS:
            context = self.contexts.named_type(CONTEXTS[label])
            assert isinstance(context, ClassType)
            return Class(context)
        if isinstance(value, type):
            return self._class(value, em, span)
        if found := self._functional(value, module, name, em, span):
            return found
        if found := self._operator(value, module, name):
            return found
        if isinstance(value, enum.Enum):
            type_ = self.type_of_class(type(value), span)
            return Simple(em.constant(python_constant(value), span, type_))
        if type(value).__module__.partition(".")[0] in TORCH_ROOTS and not callable(value):
            try:
                return Simple(em.constant(python_constant(value), span))
            except TypeError:
                return Undefined(type(value).__name__)
        if isinstance(value, types.FunctionType | types.MethodType):
            if value.__qualname__ == "boolean_dispatch.<locals>.fn":
                return self._dispatch(value, em, span)
            if _modifier(value) in ("ignore", "unused"):
                return self.python_call(value)
            if stubs := stubs_of(value):
                return self._overloaded(value, stubs, em, span)
            return self.function(value, em, span)
        if isinstance(value, types.BuiltinFunctionType):
            raise em.error(
                f"Python builtin {value!r} is currently not supported in Torchscript", span
            )
        if isinstance(value, tuple):
            parts = [self.wrap(v, em, span, "", "") for v in value]
            return Parts(parts)
        return Undefined(type(value).__name__)

    def _dispatch(
        self, fn: Callable[..., object], em: FunctionEmitter, span: Span | None
    ) -> Sugared:
        """PyTorch's pairs of functions chosen by a flag, read from their closure."""
        cells = LiveResolver(self, fn).names
        default, index = cells["default"], cells["arg_index"]
        assert isinstance(default, bool) and isinstance(index, int)
        choices = {
            flag: self.wrap(cells[name], em, span, "torch.nn.functional", "")
            for flag, name in ((True, "if_true"), (False, "if_false"))
            if flag is default
        }
        other = "if_false" if default else "if_true"
        choices[not default] = Deferred(
            lambda: self.wrap(cells[other], em, span, "torch.nn.functional", "")
        )
        return Dispatch(choices, str(cells["arg_name"]), index, default)

    def _functional(
        self, value: object, module: str, name: str, em: FunctionEmitter, span: Span | None
    ) -> Sugared | None:
        """A function of our own nn.functional that is written in the language."""
        home = module or _home(value)
        if not (home.startswith("tensorscript.") and home.endswith(".functional")):
            return None
        label = name if module else getattr(value, "__name__", name)
        choices: list[Function] = []
        for full in overloads(label):
            made = self.functional.value(full, em, span)
            assert isinstance(made, Function)
            choices.append(made)
        if not choices:
            return None
        return choices[0] if len(choices) == 1 else Overloads(choices)

    def _operator(self, value: object, module: str, name: str) -> Sugared | None:
        """Functions of torch, math and builtins that are part of the language."""
        home = module or getattr(value, "__module__", None) or ""
        sought, name = name, getattr(value, "__name__", name)
        if not callable(value):
            return None
        owner = getattr(value, "__self__", None)
        if not home and isinstance(value, types.BuiltinFunctionType) and owner is not None:
            home = getattr(owner, "__module__", "") or getattr(owner, "__name__", "")
        root, _, rest = home.partition(".")
        if home == "builtins" and name in BUILTINS:
            return BUILTINS[name]
        if home in ("math", "cmath"):
            operator = _MATH_NAMES.get(name, f"aten::{name}")
            known = has_operator(operator) and name not in _NOT_MATH
            return Builtin(operator) if known else None
        if home == "warnings" and name == "warn":
            return Builtin("aten::warn")
        if root not in TORCH_ROOTS:
            return None
        if root == "tensorscript":
            # Our public functions may have inner names: the name they were found by counts.
            names = (sought, name) if module else (name, sought)
            found = next((f for n in names if n and (f := self._torch(value, rest, n))), None)
            if found is None and home.startswith(_OWN_FUNCTIONS):
                return Builtin(f"aten::{sought}")
            return found
        return self._torch(value, rest, name)

    def _torch(self, value: object, module: str, name: str) -> Sugared | None:
        if name in _FORMS:
            return Form(_FORMS[name])
        if name == "_list_with_default":
            return ListWithDefault()
        if name in _REPEATS and module.endswith("utils"):
            return Repeat(_REPEATS[name])
        if name in _RENAMED:
            return Builtin(_RENAMED[name])
        last = module.rpartition(".")[2]
        if name.startswith("_no_grad_") and has_operator(f"aten::{name}"):
            return Builtin(f"aten::{name}")
        operator = f"aten::{_PREFIXES.get(last, '')}{name}"
        is_python = isinstance(value, types.FunctionType) and value.__module__.startswith("torch.")
        if last in ("functional", "parallel") and is_python and "nn" in module:
            return None
        return Builtin(operator) if has_operator(operator) else None

    def _class(self, cls: type, em: FunctionEmitter, span: Span | None) -> Sugared:
        if cls.__module__ == "builtins" and cls.__name__ in BUILTINS:
            return BUILTINS[cls.__name__]
        if issubclass(cls, BaseException):
            return ExceptionClass(f"{cls.__module__}.{cls.__qualname__}")
        if cls.__module__ == "builtins":
            raise em.error(
                f"Python builtin {cls!r} is currently not supported in Torchscript", span
            )
        if cls.__module__.partition(".")[0] in TORCH_ROOTS and cls.__name__ == "device":
            return Builtin("aten::device")
        type_ = self.type_of_class(cls, span)
        if isinstance(type_, TupleType):
            return NamedTupleClass(type_, self._fields(cls, type_))
        if isinstance(type_, EnumType):
            members: dict[str, object] = {
                m.name: EnumRef(type_.class_name.data, m.name) for m in _members(cls)
            }
            return EnumClass(type_, members)
        assert isinstance(type_, ClassType)
        return Class(type_)

    def _fields(self, cls: type, type_: TupleType) -> Signature:
        defaults: Mapping[str, object] = getattr(cls, "_field_defaults", {})
        formals = tuple(
            Formal(n, t, python_constant(defaults[n]) if n in defaults else NO_DEFAULT)
            for n, t in zip(type_.field_names, type_.elements, strict=True)
        )
        return Signature(cls.__name__, formals, (type_,))

    # Functions

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
        for at, stub in enumerate(stubs):
            name = self.functions.get(stub)
            if name is None:
                target = f"{qualified_name(fn)}__{at}"
                name = em.calling(target, span, lambda: self._overload(fn, stub, target))  # noqa: B023  # called at once
            out.append(Function(name, self.program.functions[name].signature))
        return Overloads(out)

    def _overload(self, fn: Callable[..., object], stub: Callable[..., object], target: str) -> str:
        name = self.program.unique(target)
        declared, body = self.definition(stub, name), self.definition(fn, name)
        defaults = {**body.defaults, **declared.defaults}
        made = replace(body, annotations=declared.annotations, defaults=defaults)
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
        self, fn: Callable[..., object], name: str = "", self_type: ClassType | None = None
    ) -> PythonCall:
        """A function that stays in Python (`ignore`, `unused`); only its signature is read."""
        name = name or qualified_name(fn)
        definition = self.definition(fn, name, self_type)
        emitter = FunctionEmitter(self.program, definition.resolver, definition.source.text, name)
        self.program.python_functions[name] = fn
        unused = _modifier(fn) == "unused"
        return PythonCall(name, emitter.declared(definition), unused)

    def definition(
        self, fn: Callable[..., object], name: str, self_type: ClassType | None = None
    ) -> Definition:
        source = function_source(fn)
        span = source.text.span(source.tree)
        plain = getattr(fn, "__func__", fn)
        resolver = LiveResolver(self, plain)
        parameters = inspect.signature(plain).parameters
        defaults: dict[str, object] = {}
        for key, parameter in parameters.items():
            if parameter.default is inspect.Parameter.empty:
                continue
            if isinstance(parameter.default, list | dict | set):
                raise CompileError(
                    "Mutable default parameters are not supported because Python binds them to "
                    "the function and they persist across function calls.\nAs a workaround, make "
                    "the default None and instantiate the default parameter within the body of "
                    f"the function. Found {type(parameter.default)} on parameter {key}",
                    span,
                )
            try:
                defaults[key] = python_constant(parameter.default)
            except TypeError:
                raise CompileError(
                    f'Expected a default value of type Tensor (inferred) on parameter "{key}".',
                    span,
                ) from None
        annotations = self._annotations(plain, resolver, source.text.source.text, span)
        return Definition(name, source, resolver, defaults, annotations, self_type)

    def _annotations(
        self, fn: Callable[..., object], resolver: LiveResolver, text: str, span: Span
    ) -> dict[str, Attribute]:
        """Annotations by their objects; a `# type:` comment comes before them."""
        lines = [line for line in text.split("\n") if "# type:" in line]
        comment = next((line.partition("# type:")[2] for line in lines if "->" in line), None)
        if comment is not None:
            return self._type_comment(fn, resolver, comment.strip(), span)
        out: dict[str, Attribute] = {}
        raw: Mapping[str, object] = getattr(fn, "__annotations__", {})
        for key, value in raw.items():
            if value in (None, types.NoneType) and "BroadcastingList" in text:
                # Such annotations evaluate to None: only their syntax tells.
                continue
            if isinstance(value, str):
                out[key] = resolver.annotation(ast.parse(value, mode="eval").body, span)
            else:
                out[key] = type_of_object(value, self, span)
        return out

    def _type_comment(
        self, fn: Callable[..., object], resolver: LiveResolver, comment: str, span: Span
    ) -> dict[str, Attribute]:
        arguments, _, result = comment.partition("->")
        listed = ast.parse(arguments.strip(), mode="eval").body
        nodes = listed.elts if isinstance(listed, ast.Tuple) else [listed]
        if isinstance(listed, ast.Constant) and listed.value is Ellipsis:
            nodes = []
        names = [n for n in inspect.signature(fn).parameters if n != "self"]
        out = {n: resolver.annotation(node, span) for n, node in zip(names, nodes, strict=False)}
        result = result.split("#")[0].strip()
        out["return"] = resolver.annotation(ast.parse(result, mode="eval").body, span)
        return out

    # Classes

    def type_of_class(self, cls: type, span: Span | None) -> Attribute:
        found = self.classes.get(cls)
        if found is None:
            found = self._declare(cls, span)
        return found

    def _declare(self, cls: type, span: Span | None) -> Attribute:
        name = qualified_name(cls)
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            hints: Mapping[str, object] = getattr(cls, "__annotations__", {})
            names: tuple[str, ...] = cls._fields
            elements = [
                type_of_object(hints[f], self, span) if f in hints else TENSOR for f in names
            ]
            made: Attribute = TupleType.of(elements, names, name)
            self.classes[cls] = made
            return made
        if issubclass(cls, enum.Enum):
            return self._declare_enum(cls, name, span)
        if getattr(cls, "__torch_script_interface__", False):
            return self._declare_interface(cls, name)
        if any(base.__name__ == "Module" for base in cls.__mro__[:-1]):
            raise CompileError(
                f"Type '{cls}' cannot be compiled since it inherits from nn.Module, pass an "
                "instance instead",
                span,
            )
        return self._declare_class(cls, name)

    def _declare_enum(self, cls: type[enum.Enum], name: str, span: Span | None) -> Attribute:
        types_ = [constant_type(m.value) for m in cls]
        for at, found in enumerate(types_):
            if found != types_[0]:
                raise CompileError(
                    f"Could not unify type list since element {at} of type {int.__name__} did "
                    "not match the types before it",
                    span,
                )
        made = EnumType(StringAttr(name), types_[0])
        self.classes[cls] = made
        info = ClassInfo(class_type(name), "enum")
        info.constants = {m.name: m.value for m in cls}
        self.program.classes[name] = info
        return made

    def _declare_interface(self, cls: type, name: str) -> Attribute:
        """An interface: its methods have signatures only."""
        name = self.program.unique(name)
        made = InterfaceType(StringAttr(name))
        info = ClassInfo(class_type(name), "interface")
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

    def _declare_class(self, cls: type, name: str) -> Attribute:
        name = self.program.unique(name)
        type_ = class_type(name)
        info = ClassInfo(type_)
        self.classes[cls] = type_
        self.program.classes[name] = info
        class_source(cls)
        for key, member in vars(cls).items():
            self._member(cls, info, key, member)
        if "__init__" in info.methods:
            info.defining = True
            info.methods["__init__"]()
            info.defining = False
        for key, compile in list(info.methods.items()):
            if key not in info.compiled and f"{name}.{key}" not in self.program.compiling:
                compile()
        return type_

    def _member(self, cls: type, info: ClassInfo, key: str, member: object) -> None:
        if isinstance(member, staticmethod):
            info.static_methods[key] = member.__func__
        elif isinstance(member, property):
            getter = f"__{key}_getter"
            assert member.fget is not None
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
        elif not (
            key.startswith("__")
            or isinstance(member, types.MemberDescriptorType)
            or key in getattr(cls, "__annotations__", {})
        ):
            raise CompileError(
                f"'{key}' is defined as a class attribute which currently is not supported. "
                "Consider converting this to an instance attribute."
            )

    def _generated(self, cls: type, key: str, member: object) -> FunctionSource | None:
        """The text of a method that `@dataclass` wrote."""
        code = getattr(member, "__code__", None)
        return generated_source(cls, key) if code and code.co_filename == "<string>" else None

    def _generated_method(
        self, cls: type, info: ClassInfo, key: str, source: FunctionSource
    ) -> None:
        resolver = LiveResolver(self, getattr(cls, key))

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

    def add_method(self, info: ClassInfo, key: str, fn: Callable[..., object]) -> None:
        """Register a method of a class; it is compiled when first needed."""

        def compile() -> Signature:
            name = f"{info.name}.{key}"
            definition = self.definition(fn, name, info.type)
            compiled = compile_definition(self.program, definition)
            info.compiled[key] = compiled.signature
            return compiled.signature

        if _modifier(fn) in ("ignore", "unused"):
            full = f"{info.name}.{key}"
            info.python_methods[key] = lambda: self.python_call(fn, full, info.type)
            return
        info.methods[key] = compile


def _modifier(fn: Callable[..., object]) -> str:
    """`ignore`, `unused`, `export` or nothing: how a function was decorated."""
    return str(getattr(fn, "_torchscript_modifier", "")).partition(" ")[0]


def _home(value: object) -> str:
    return getattr(value, "__module__", None) or ""


def _members(cls: type) -> list[enum.Enum]:
    assert issubclass(cls, enum.Enum)
    return list(cls)


class LiveResolver:
    """Resolves the names around one Python function."""

    nested_functions = False

    def __init__(self, world: World, fn: Callable[..., object]) -> None:
        self.world = world
        self.names: dict[str, object] = {}
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
        if found is NOT_FOUND:
            return None
        home = "builtins" if getattr(builtins, name, NOT_FOUND) is found else ""
        return self.world.wrap(found, em, span, home, name)

    def annotation(self, node: ast.expr, span: Span) -> Attribute:
        return type_of_syntax(node, self._annotation_object, self.world, span)

    def _annotation_object(self, node: ast.expr) -> object:
        match node:
            case ast.Name():
                return self.lookup(node.id)
            case ast.Attribute():
                base = self._annotation_object(node.value)
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
