"""Compile-time values: what an expression can be besides an SSA value.

TorchScript calls them sugared values. Each kind answers the questions it can (`attr`, `call`,
`items`, ...) and refuses the rest in TorchScript's words.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Attribute

from tensorscript.base.source import Span
from tensorscript.dialects.ts import typing
from tensorscript.dialects.ts.types import (
    BOOL,
    INT,
    ClassType,
    DictType,
    EnumType,
    ListType,
    StringType,
    TensorType,
    TupleType,
)

from .draft import RAISE, UNINITIALIZED, Value, constant_of, is_constant
from .emission import Emission
from .schema_match import ArgumentsMismatch, match_overloads
from .signature import Signature

UNUSED_MESSAGE = "This Python function is annotated to be ignored and cannot be run"

Args = Sequence[Value]
Kwargs = Mapping[str, Value]


class Sugared:
    """Base: refuses everything."""

    kind = "value"
    ignores_arguments = False
    """Whether a call does not even evaluate its arguments (`C.__new__(C)`)."""

    def as_value(self, em: Emission, span: Span | None) -> Value:
        raise em.error(f"{self.kind} cannot be used as a value", span)

    def attr(self, em: Emission, span: Span | None, name: str) -> Sugared:
        raise em.error(f"attribute lookup is not defined on {self.kind}", span)

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        raise em.error(f"cannot call a {self.kind}", span)

    def unpack(self, em: Emission, span: Span | None) -> list[Sugared] | None:
        """The parts, if their number is known now."""
        raise em.error(f"{self.kind} cannot be used as a tuple", span)

    def iterate(self, em: Emission, span: Span | None) -> Iterable:
        raise em.error(f"{self.kind} is not iterable", span)


class Iterable(Sugared):
    """Something a for loop can walk: by trip count and element, or unrolled (`parts`)."""

    kind = "iterable"

    def length(self, em: Emission, span: Span | None) -> Value | None:
        """The number of elements; None if unbounded (enumerate's counter)."""
        raise NotImplementedError

    def element(self, em: Emission, span: Span | None, index: Value) -> Sugared:
        raise NotImplementedError

    def parts(self, em: Emission, span: Span | None) -> list[Sugared] | None:
        """The elements if the loop must be unrolled, else None."""
        return None

    def iterate(self, em: Emission, span: Span | None) -> Iterable:
        return self


@dataclass
class Simple(Sugared):
    """An SSA value."""

    value: Value

    @property
    def kind(self) -> str:  # type: ignore[override]  # the kind depends on the type
        return typing.message_text(self.value.type)

    def as_value(self, em: Emission, span: Span | None) -> Value:
        return self.value

    def unpack(self, em: Emission, span: Span | None) -> list[Sugared] | None:
        type = self.value.type
        if isinstance(type, TupleType):
            return [Simple(v) for v in em.unpack_tuple(self.value, span)]
        if isinstance(type, ListType):
            return None
        raise em.error(f"{typing.message_text(type)} cannot be used as a tuple", span)

    def iterate(self, em: Emission, span: Span | None) -> Iterable:
        match self.value.type:
            case ListType() | StringType() | TensorType():
                return Elements(self.value)
            case TupleType():
                return Parts([Simple(v) for v in em.unpack_tuple(self.value, span)])
            case ClassType():
                parts = em.container_parts(self.value, span)
                if parts is not None:
                    return Parts([Simple(v) for v in parts.values()])
                raise em.error(
                    f"'{typing.message_text(self.value.type)}' object is not iterable", span
                )
            case DictType():
                return Elements(em.builtin("aten::keys", [self.value], span))
        raise em.error(f"'{typing.message_text(self.value.type)}' object is not iterable", span)


@dataclass
class Elements(Iterable):
    """A list, string or tensor."""

    value: Value

    def as_value(self, em: Emission, span: Span | None) -> Value:
        return self.value

    def length(self, em: Emission, span: Span | None) -> Value | None:
        return em.length(self.value, span)

    def element(self, em: Emission, span: Span | None, index: Value) -> Sugared:
        if isinstance(self.value.type, TensorType):
            args = [self.value, em.integer(0), index]
            return Simple(em.builtin("aten::select", args, span))
        return Simple(em.builtin("aten::__getitem__", [self.value, index], span))


@dataclass
class Parts(Iterable):
    """A tuple of compile-time values: loops over it unroll."""

    kind = "Tuple"
    values: list[Sugared]

    def as_value(self, em: Emission, span: Span | None) -> Value:
        return em.make_tuple([v.as_value(em, span) for v in self.values], span)

    def unpack(self, em: Emission, span: Span | None) -> list[Sugared] | None:
        return self.values

    def length(self, em: Emission, span: Span | None) -> Value | None:
        return em.integer(len(self.values))

    def parts(self, em: Emission, span: Span | None) -> list[Sugared] | None:
        return self.values


@dataclass
class Range(Iterable):
    """`range(...)`."""

    kind = "range"
    start: Value
    end: Value
    step: Value
    only_end: bool

    def as_value(self, em: Emission, span: Span | None) -> Value:
        raise em.error("range cannot be used as a value", span)

    def length(self, em: Emission, span: Span | None) -> Value | None:
        if self.only_end:
            return self.end
        return em.builtin("aten::__range_length", [self.start, self.end, self.step], span)

    def element(self, em: Emission, span: Span | None, index: Value) -> Sugared:
        if self.only_end:
            return Simple(index)
        args = [index, self.start, self.step]
        return Simple(em.builtin("aten::__derive_index", args, span))


@dataclass
class Zip(Iterable):
    """`zip(...)` and `enumerate(...)`: as long as the shortest child."""

    kind = "iterabletree"
    children: list[Iterable]

    def length(self, em: Emission, span: Span | None) -> Value | None:
        lengths = [n for c in self.children if (n := c.length(em, span)) is not None]
        if len(lengths) == 1:
            return lengths[0]
        listed = em.make_list(INT, lengths, span)
        return em.builtin("prim::min", [listed], span)

    def element(self, em: Emission, span: Span | None, index: Value) -> Sugared:
        return Parts([c.element(em, span, index) for c in self.children])

    def parts(self, em: Emission, span: Span | None) -> list[Sugared] | None:
        found = [c.parts(em, span) for c in self.children]
        fixed = [p for p in found if p is not None]
        if not fixed:
            return None
        count = min(map(len, fixed))
        return [
            Parts(
                [
                    p[i] if p is not None else c.element(em, span, em.integer(i))
                    for p, c in zip(found, self.children, strict=True)
                ]
            )
            for i in range(count)
        ]


@dataclass
class Builtin(Sugared):
    """An operator, possibly bound to its `self`."""

    kind = "builtin"
    name: str
    self_value: Value | None = None

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        return Simple(em.builtin(self.name, args, span, dict(kwargs), self.self_value))


@dataclass
class Form(Sugared):
    """A name with a meaning of its own (`isinstance`, `annotate`); the emitter knows it by name."""

    kind = "special form"
    name: str


@dataclass
class Cast(Sugared):
    """`int`, `float`, `bool`, `str`, `complex` called on a value."""

    kind = "builtin cast"
    name: str
    method: str
    type: Attribute

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        if len(args) == 1 and not kwargs:
            if args[0].type == self.type and not isinstance(args[0].type, TensorType):
                return Simple(args[0])
            if isinstance(args[0].type, ClassType):
                return method_call(em, args[0], self.method, [], span)
            if self.type == BOOL and not isinstance(args[0].type, TensorType):
                return Simple(em.to_bool(args[0], span))
        return Simple(em.builtin(self.name, args, span, dict(kwargs)))


def method_call(
    em: Emission, value: Value, name: str, args: Sequence[Value], span: Span | None
) -> Sugared:
    """Call a method of an object that is an SSA value."""
    found = em.object_attr(value, name, span)
    assert isinstance(found, Sugared)
    return found.call(em, span, args, {})


@dataclass
class Function(Sugared):
    """A compiled function of the program."""

    kind = "function"
    name: str
    signature: Signature

    def as_value(self, em: Emission, span: Span | None) -> Value:
        return em.function_constant(self.name, span)

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        try:
            _, matched = match_overloads(em, [self.signature], args, kwargs, None, span)
        except ArgumentsMismatch as mismatch:
            raise em.error(mismatch.text, span) from None
        callee = {"callee": self.name}
        node = em.insert("prim::CallFunction", matched.inputs, matched.returns, span, **callee)
        return Simple(node.output)


@dataclass
class Overloads(Sugared):
    """Compiled functions of one name: a call takes the first whose signature fits."""

    kind = "function"
    choices: list[Function]

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        signatures = [c.signature for c in self.choices]
        try:
            at, matched = match_overloads(em, signatures, args, kwargs, None, span)
        except ArgumentsMismatch as mismatch:
            raise em.error(mismatch.text, span) from None
        callee = {"callee": self.choices[at].name}
        node = em.insert("prim::CallFunction", matched.inputs, matched.returns, span, **callee)
        return Simple(node.output)


@dataclass
class Method(Sugared):
    """A compiled method bound to an object."""

    kind = "method"
    object: Value
    name: str
    signature: Signature

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        try:
            _, matched = match_overloads(
                em, [self.signature], [self.object, *args], kwargs, None, span
            )
        except ArgumentsMismatch as mismatch:
            raise em.error(mismatch.text, span) from None
        method = {"method": self.name}
        node = em.insert("prim::CallMethod", matched.inputs, matched.returns, span, **method)
        return Simple(node.output)


@dataclass
class NamedTupleClass(Sugared):
    """The class of a NamedTuple."""

    kind = "namedtuple"
    type: TupleType
    signature: Signature

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        try:
            _, matched = match_overloads(em, [self.signature], args, kwargs, None, span)
        except ArgumentsMismatch as mismatch:
            raise em.error(mismatch.text, span) from None
        return Simple(em.make_tuple(matched.inputs, span, self.type))


@dataclass
class EnumClass(Sugared):
    """An Enum class; its members are constants."""

    kind = "Enum class"
    type: EnumType
    members: dict[str, object] = field(default_factory=dict)

    def attr(self, em: Emission, span: Span | None, name: str) -> Sugared:
        if name in self.members:
            return Simple(em.constant(self.members[name], span, self.type))
        raise em.error(f"enum type has no attribute or member '{name}'", span)

    def iterate(self, em: Emission, span: Span | None) -> Iterable:
        values = [em.constant(m, span, self.type) for m in self.members.values()]
        return Elements(em.make_list(self.type, values, span))


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
        found = em.static_attr(self.type, name, span)
        assert isinstance(found, Sugared)
        return found


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
        try:
            _, matched = match_overloads(em, [self.signature], args, kwargs, None, span)
        except ArgumentsMismatch as mismatch:
            raise em.error(mismatch.text, span) from None
        if self.unused:
            inputs = [em.constant(UNUSED_MESSAGE, span), em.constant(None, span)]
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

    kind = "Python exception class"
    qualified_name: str

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        if self.qualified_name == "builtins.AssertionError":
            # A failed assert and a raised AssertionError look the same: text, and no class.
            text = em.constant("AssertionError: ", span)
            for arg in args:
                text = em.builtin("aten::add", [text, em.to_string(arg, span)], span)
            return ExceptionMessage(text, em.constant(None, span))
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

    kind = "exception"
    message: Value
    class_name: Value


@dataclass
class Undefined(Sugared):
    """Python data from outside; using it is an error."""

    shown: str

    @property
    def kind(self) -> str:  # type: ignore[override]  # names the Python type
        return f"python value of type '{self.shown}'"

    def as_value(self, em: Emission, span: Span | None) -> Value:
        raise em.error(
            f"{self.kind} cannot be used as a value. Perhaps it is a closed over global variable? "
            "If so, please consider passing it in as an argument or use a local variable instead.",
            span,
        )
