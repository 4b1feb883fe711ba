"""Compile-time values that are called: operators, functions, methods, classes and casts."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import field

from xdsl.ir import Attribute

from tensorscript.base.errors import FrontendError
from tensorscript.base.records import dataclass
from tensorscript.base.source import Span
from tensorscript.dialects.ts.constants import ListLiteral
from tensorscript.dialects.ts.type_text import message_text
from tensorscript.dialects.ts.types import (
    BOOL,
    NONE,
    ClassType,
    EnumType,
    ListType,
    TensorType,
    TupleType,
)

from .draft import CALL, RAISE, UNINITIALIZED, Value, constant_of, is_constant
from .emission import Emission, has_length
from .schema_match import Matched
from .signature import Signature
from .values import Args, Elements, Iterable, Kwargs, Simple, Sugared, Undefined

PYTHON_TYPE = "Python type"
"""The kind of a class that live Python names; a class that text names is a "class"."""
UNUSED_MESSAGE = "This Python function is annotated to be ignored and cannot be run"


@dataclass
class Builtin(Sugared):
    """An operator, possibly bound to its `self`."""

    name: str
    self_value: Value | None = None

    @property
    def kind(self) -> str:  # type: ignore[override]  # some are called by the method of a class
        return _MAGIC.get(self.name, "builtin") if self.self_value is None else "builtin"

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        return Simple(em.builtin(self.name, args, span, dict(kwargs), self.self_value))


class DeviceClass(Builtin):
    """`torch.device`, whose `type` may stand alone under that name, too."""

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        if not args and set(kwargs) == {"type"}:
            args, kwargs = list(kwargs.values()), {}
        return super().call(em, span, args, kwargs)


_MAGIC = {"aten::round": "__round__", "aten::hex": "__hex__", "aten::oct": "__oct__"}


@dataclass
class Form(Sugared):
    """A name with a meaning of its own (`isinstance`, `annotate`); the emitter knows it by name."""

    name: str

    @property
    def kind(self) -> str:  # type: ignore[override]  # a form is called by its name
        return _FORM_KINDS.get(self.name, self.name)


_FORM_KINDS = {
    "tuple": "TupleConstruct", "getattr": "GetAttr", "hasattr": "HasAttr",
    "len": "__len__", **dict.fromkeys(("is_scripting", "is_tracing", "tensor"), "builtin"),
}  # fmt: skip
"""Forms that TorchScript knows as operators or by the names of their nodes."""


@dataclass
class Cast(Sugared):
    """`int`, `float`, `bool`, `str`, `complex` called on a value."""

    name: str
    method: str
    type: Attribute

    @property
    def kind(self) -> str:  # type: ignore[override]  # a cast is called by its method's name
        return self.method

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        if len(args) == 1 and not kwargs:
            if args[0].type == self.type and not isinstance(args[0].type, TensorType):
                return Simple(args[0])
            if isinstance(args[0].type, ClassType):
                return method_call(em, args[0], self.method, [], span)
            if self.type == BOOL and has_length(args[0].type):
                return Simple(em.to_bool(args[0], span))
        return Simple(em.builtin(self.name, args, span, dict(kwargs)))


def method_call(
    em: Emission,
    value: Value,
    name: str,
    args: Args,
    span: Span | None,
    kwargs: Kwargs | None = None,
) -> Sugared:
    """Call a method of an object that is an SSA value."""
    found = em.object_attr(value, name, span)
    assert isinstance(found, Sugared)
    return found.call(em, span, args, kwargs or {})


def _call_function(em: Emission, name: str, matched: Matched, span: Span | None) -> Value:
    """Call a function of the program, a constant that is made after those of the arguments."""
    inputs = [em.function_constant(name, span), *matched.inputs]
    return em.insert(CALL, inputs, matched.returns, span, callee=name).output


@dataclass
class Function(Sugared):
    """A compiled function of the program."""

    kind = "function"
    name: str
    signature: Signature

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        _, matched = em.matched([self.signature], args, kwargs, span)
        return Simple(_call_function(em, self.name, matched, span))


@dataclass
class Overloads(Sugared):
    """Compiled functions of one name: a call takes the first whose signature fits."""

    kind = "function"
    choices: list[Function]

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        signatures = [c.signature for c in self.choices]
        at, matched = em.matched(signatures, args, kwargs, span)
        return Simple(_call_function(em, self.choices[at].name, matched, span))


@dataclass
class Method(Sugared):
    """A compiled method bound to an object."""

    kind = "method"
    object: Value
    name: str
    signature: Signature

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        _, matched = em.matched([self.signature], [self.object, *args], kwargs, span)
        method = {"method": self.name, "owner": self.object.type}
        node = em.insert("prim::CallMethod", matched.inputs, matched.returns, span, **method)
        return Simple(node.output)


@dataclass
class MethodOverloads(Sugared):
    """Compiled methods of one name: a call takes the first whose signature fits."""

    kind = "method"
    object: Value
    choices: list[tuple[str, Signature]]

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        signatures = [signature for _, signature in self.choices]
        arguments = [self.object, *args]
        at, matched = em.matched(signatures, arguments, kwargs, span)
        method = {"method": self.choices[at][0]}
        node = em.insert("prim::CallMethod", matched.inputs, matched.returns, span, **method)
        return Simple(node.output)


@dataclass
class HookedModule(Sugared):
    """A module with forward hooks, about to be called.

    As in eager mode the arguments travel as one tuple, which pre-hooks may replace; a hook that
    gives None changes nothing.
    """

    kind = "module"
    object: Value
    forward: Sugared
    pre_hooks: list[tuple[str, Signature]]
    hooks: list[tuple[str, Signature]]

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        given = em.make_tuple(args, None)
        for name, signature in self.pre_hooks:
            changed = Function(name, signature).call(em, span, [self.object, given], kwargs)
            value = changed.as_value(em, span)
            if value.type != NONE:
                is_tuple = isinstance(value.type, TupleType)
                given = value if is_tuple else em.make_tuple([value], None)
        if self.pre_hooks and args:
            args = em.unpack_tuple(given, None)
        out = self.forward.call(em, span, args, kwargs).as_value(em, span)
        for name, signature in self.hooks:
            changed = Function(name, signature).call(em, span, [self.object, given, out], kwargs)
            value = changed.as_value(em, span)
            out = out if value.type == NONE else value
        return Simple(out)


@dataclass
class ModuleClass(Sugared):
    """A class of modules: only its static methods are of the language. Of one that is ignored, or
    of an interface, nothing is.

    Attributes:
        compiled: what the program calls the class, if a module of it is compiled.
    """

    python: type
    member: Callable[[str], Sugared | None]
    compiled: str = ""

    @property
    def kind(self) -> str:  # type: ignore[override]  # the program knows some of them
        return "Python type" if self.compiled else Undefined("type").kind

    def as_value(self, em: Emission, span: Span | None) -> Value:
        if self.compiled:
            return super().as_value(em, span)
        return Undefined("type").as_value(em, span)

    def attr(self, em: Emission, span: Span | None, name: str) -> Sugared:
        if (found := self.member(name)) is not None:
            return found
        if self.compiled:
            raise em.error(f"Tried to lookup unknown attribute on class {self.compiled}", span)
        return super().attr(em, span, name)

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        if self.compiled:
            raise em.error(
                f"Class {self.python.__name__} does not have an __init__ function defined", span
            )
        raise FrontendError(
            f"Cannot instantiate class '{self.python.__name__}' in a script function", span
        )


@dataclass
class NamedTupleClass(Sugared):
    """The class of a NamedTuple."""

    type: TupleType
    signature: Signature

    @property
    def kind(self) -> str:  # type: ignore[override]  # the class is called by its name
        return message_text(self.type)

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        _, matched = em.matched([self.signature], args, kwargs, span)
        return Simple(em.make_tuple(matched.inputs, span, self.type))


@dataclass
class EnumClass(Sugared):
    """An Enum class; its members are constants."""

    kind = "EnumClass"
    type: EnumType
    members: dict[str, object] = field(default_factory=dict)

    def attr(self, em: Emission, span: Span | None, name: str) -> Sugared:
        if name in self.members:
            return Simple(em.constant(self.members[name], span, self.type))
        raise em.error(f"{message_text(self.type)}' has no attribute '{name}'", span)

    def iterate(self, em: Emission, span: Span | None) -> Iterable:
        listed = ListLiteral(tuple(self.members.values()))
        return Elements(em.constant(listed, span, ListType(self.type)))


@dataclass
class Class(Sugared):
    """A script class: calling it makes an object."""

    kind = "class"
    type: ClassType

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        found = em.class_method(self.type, "__init__", span)
        if found is None:
            name = self.type.class_name.data.rpartition(".")[2]
            raise em.error(f"Class {name} does not have an __init__ function defined", span)
        made = em.insert("prim::CreateObject", [], [self.type], span).output
        Method(made, "__init__", found).call(em, span, args, kwargs)
        return Simple(made)

    def attr(self, em: Emission, span: Span | None, name: str) -> Sugared:
        if name == "__new__":
            return BareObject(self.type)
        found = em.static_attr(self.type, name, span)
        assert isinstance(found, Sugared)
        return found


class PythonClass(Class):
    """A script class that live Python names."""

    kind = PYTHON_TYPE


@dataclass
class BareObject(Sugared):
    """`C.__new__`: called with the class it makes an object without `__init__`."""

    kind = "special form"
    ignores_arguments = True
    type: ClassType

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        return Simple(em.insert("prim::CreateObject", [], [self.type], span).output)


@dataclass
class Repeat(Sugared):
    """`_single`, `_pair`, ...: an int stands for a list of that many."""

    kind = "builtin"
    count: int

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        if isinstance(args[0].type, ListType):
            return Simple(args[0])
        if isinstance(args[0].type, TupleType):
            parts = em.unpack_tuple(args[0], span)
            return Simple(em.make_list(parts[0].type, parts, span))
        return Simple(em.make_list(args[0].type, [args[0]] * self.count, span))


@dataclass
class Dispatch(Sugared):
    """A function that a compile-time flag chooses between two (`return_indices=True`)."""

    kind = "boolean dispatch"
    choices: dict[bool, Sugared]
    argument: str
    index: int
    default: bool

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        flag = kwargs.get(self.argument)
        if flag is None and len(args) > self.index:
            flag = args[self.index]
        if flag is None:
            return self.choices[self.default].call(em, span, args, kwargs)
        if not is_constant(flag):
            raise em.error("value for boolean dispatch should be a compile time constant", span)
        return self.choices[bool(constant_of(flag))].call(em, span, args, kwargs)


@dataclass
class PythonCall(Sugared):
    """A function that stays in Python: the interpreter calls back, or raises if it is `unused`."""

    kind = "function"
    name: str
    signature: Signature
    unused: bool = False
    object: Value | None = None

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        if self.object is not None:
            args = [self.object, *args]
        _, matched = em.matched([self.signature], args, kwargs, span)
        if self.unused:
            inputs = [em.constant(UNUSED_MESSAGE), em.constant(None)]
            em.insert(RAISE, inputs, [], span)
            return Simple(em.insert(UNINITIALIZED, [], matched.returns, span).output)
        callee = {"callee": self.name}
        node = em.insert("prim::PythonOp", matched.inputs, matched.returns, span, **callee)
        return Simple(node.output)


@dataclass
class Deferred(Sugared):
    """A value that is only looked up when it is called."""

    kind = "function"
    find: Callable[[], Sugared]

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        return self.find().call(em, span, args, kwargs)


@dataclass
class Listing(Sugared):
    """A bound method without arguments whose result is known now (`ModuleDict.items`)."""

    kind = "method"
    result: Sugared

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        return self.result


@dataclass
class Closure(Sugared):
    """A nested function of archive text; only `fork` takes it."""

    kind = "closure"
    tree: ast.FunctionDef


@dataclass
class ExceptionClass(Sugared):
    """An exception class; only `raise` can use it."""

    kind = "Python exception"
    qualified_name: str

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        if self.qualified_name == "builtins.AssertionError":
            # A failed assert and a raised AssertionError look the same: text, and no class.
            text = em.constant("AssertionError: ", span)
            for arg in args:
                text = em.builtin("aten::add", [text, em.to_string(arg, span)], span)
            return ExceptionMessage(text, em.constant(None))
        if not args:
            message = em.constant("", span)
        elif len(args) == 1:
            message = args[0]
        else:
            message = em.make_tuple(args, span)
        return ExceptionMessage(message, em.constant(self.qualified_name, span))


@dataclass
class ExceptionMessage(Sugared):
    """An exception about to be raised."""

    kind = "exception message"
    message: Value
    class_name: Value
