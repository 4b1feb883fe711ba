"""Overload resolution, as TorchScript does it.

Overloads are tried in registration order, first without implicit conversions, then with; a lone
overload is tried with conversions at once. Conversions write nodes; what a failed attempt wrote is
taken back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from xdsl.ir import Attribute

from tensorscript.base.errors import CompileError
from tensorscript.base.records import dataclass
from tensorscript.base.source import Span
from tensorscript.dialects.ts import type_variables, typing
from tensorscript.dialects.ts.constants import ListLiteral
from tensorscript.dialects.ts.type_text import message_text
from tensorscript.dialects.ts.types import (
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    NONE,
    NUMBER,
    STRING,
    ClassType,
    InterfaceType,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
    VarType,
)

from .draft import Block, Value
from .signature import Formal, Signature

EMPTY_LIST_HINT = (
    "Empty lists default to List[Tensor]. Add a variable annotation to the assignment to create an "
    "empty list of another type (torch.jit.annotate(List[T, []]) where T is the type of elements "
    "in the list for Python 2)\n"
)


class Writer(Protocol):
    """What matching needs of the emitter: conversions write nodes."""

    block: Block

    def constant(
        self, value: object, span: Span | None = None, type: Attribute | None = None
    ) -> Value: ...

    def builtin(self, name: str, args: Sequence[Value], span: Span | None) -> Value: ...

    def make_list(
        self, element: Attribute, values: Sequence[Value], span: Span | None
    ) -> Value: ...

    def make_tuple(self, values: Sequence[Value], span: Span | None) -> Value: ...

    def unpack_tuple(self, value: Value, span: Span | None) -> list[Value]: ...

    def is_subtype(self, sub: Attribute, sup: Attribute) -> bool: ...

    def fulfils(self, type: Attribute, wanted: InterfaceType) -> bool: ...

    def unlike_interface(
        self, type: Attribute, wanted: InterfaceType, span: Span | None
    ) -> str | None: ...


@dataclass(frozen=True)
class Matched:
    """A successful match: one value per formal argument, and the types of the results."""

    inputs: list[Value]
    returns: list[Attribute]


class ArgumentsMismatch(Exception):
    """No signature takes the arguments.

    Attributes:
        text: the report without the place.
        nearest: of several signatures the one that took most arguments, and what it lacks.
    """

    def __init__(self, text: str, nearest: str = "") -> None:
        self.text = text
        self.nearest = nearest
        super().__init__(text)


class _Refused(Exception):
    """One signature does not take the arguments; the text is the reason."""


_FROM_TENSOR: dict[Attribute, str] = {
    FLOAT: "aten::FloatImplicit",
    COMPLEX: "aten::ComplexImplicit",
    INT: "aten::IntImplicit",
    NUMBER: "aten::ScalarImplicit",
}
_FROM_NUMBER: dict[Attribute, str] = {
    FLOAT: "aten::Float",
    COMPLEX: "aten::Complex",
    INT: "aten::Int",
}
_FROM_BOOL: dict[Attribute, str] = {FLOAT: "aten::Float", INT: "aten::Int", NUMBER: "aten::Int"}


def _converts_to_list(em: Writer, actual: Attribute, wanted: Attribute) -> bool:
    wanted = typing.without_none(wanted)
    if not isinstance(wanted, ListType):
        return False
    if em.is_subtype(actual, wanted):
        return True
    return isinstance(actual, TupleType) and all(
        em.is_subtype(t, wanted.element) for t in actual.elements
    )


def _convert_tuple(
    em: Writer, value: Value, wanted: Attribute, conversions: bool, span: Span | None
) -> Value:
    assert isinstance(value.type, TupleType)
    if _converts_to_list(em, value.type, wanted):
        inner = typing.without_none(wanted)
        assert isinstance(inner, ListType)
        return em.make_list(inner.element, em.unpack_tuple(value, span), span)
    if (
        isinstance(wanted, TupleType)
        and not em.is_subtype(value.type, wanted)
        and len(wanted.elements) == len(value.type.elements)
    ):
        parts = em.unpack_tuple(value, span)
        pairs = zip(parts, wanted.elements, strict=True)
        return em.make_tuple([convert(em, v, t, conversions, span) for v, t in pairs], span)
    return value


def is_empty_literal(value: Value) -> bool:
    """A `[]` whose element type nothing has said."""
    return value.node is not None and bool(value.node.attributes.get("empty_literal"))


def convert(
    em: Writer, value: Value, wanted: Attribute, conversions: bool, span: Span | None
) -> Value:
    """`value` brought towards `wanted`; whether it got there is for the caller to check."""
    is_present = value.type != NONE and not isinstance(value.type, OptionalType)
    if isinstance(wanted, OptionalType) and is_present:
        return convert(em, value, wanted.element, conversions, span)
    if (
        is_empty_literal(value)
        and isinstance(wanted, ListType)
        and not type_variables.has_variables(wanted)
        and value.type != wanted
    ):
        return em.make_list(wanted.element, [], span)
    if isinstance(value.type, TupleType):
        value = _convert_tuple(em, value, wanted, conversions, span)
    if not conversions:
        return value
    table: dict[Attribute, str] = {}
    if isinstance(value.type, TensorType):
        table = _FROM_TENSOR
    elif value.type == NUMBER:
        table = _FROM_NUMBER
    elif value.type == BOOL:
        table = _FROM_BOOL
    elif value.type == STRING and wanted == DEVICE:
        return em.builtin("aten::device", [value], span)
    if name := table.get(wanted):
        return em.builtin(name, [value], span)
    return value


def _mismatch(formal: Formal, actual: Attribute) -> str:
    text = (
        f"Expected a value of type '{message_text(formal.type)}' for argument "
        f"'{formal.name}' but instead found type '{message_text(actual)}'.\n"
    )
    if isinstance(formal.type, TensorType) and formal.type.info.inferred:
        text += (
            f"Inferred '{formal.name}' to be of type 'Tensor' because it was not annotated with an "
            "explicit type.\n"
        )
    if isinstance(actual, TensorType) and actual.info.inferred:
        text += (
            f"Inferred the value for argument '{formal.name}' to be of type 'Tensor' because it "
            "was not annotated with an explicit type.\n"
        )
    if isinstance(actual, ListType) and isinstance(actual.element, TensorType):
        text += EMPTY_LIST_HINT
    return text


@dataclass(frozen=True)
class Unmatched:
    """A signature that does not take the arguments: why, and how many it took."""

    signature: Signature
    reason: str
    taken: int

    def __str__(self) -> str:
        return f"\n{self.signature}:\n{self.reason}"


@dataclass
class _Attempt:
    """Matching the arguments of one call against one signature."""

    em: Writer
    signature: Signature
    args: Sequence[Value]
    kwargs: Mapping[str, Value]
    self_value: Value | None
    conversions: bool
    span: Span | None

    def run(self) -> Matched:
        self.bound: dict[str, Attribute] = {}
        self.taken = 0
        self.used: set[str] = set()
        formals = self.signature.arguments
        inputs = [self._one(at, formal) for at, formal in enumerate(formals)]
        if self.self_value is not None:
            raise _Refused("Provided self argument not used in schema.\n")
        if self.signature.is_vararg:
            inputs += self.args[self.taken :]
            self.taken = len(self.args)
        if self.taken < len(self.args):
            raise _Refused(
                f"Expected at most {self.taken} arguments but found {len(self.args)} positional "
                "arguments.\n"
            )
        for name in self.kwargs:
            if name not in self.used:
                known = any(f.name == name for f in formals)
                raise _Refused(
                    f"Keyword argument {name} {'specified twice' if known else 'unknown'}.\n"
                )
        return Matched(
            inputs, [type_variables.substitute(t, self.bound) for t in self.signature.returns]
        )

    def _one(self, at: int, formal: Formal) -> Value:
        if formal.name == "self" and self.self_value is not None:
            actual, self.self_value = self.self_value, None
            return self._argument(formal, actual)
        if not formal.kwarg_only and self.taken < len(self.args):
            # `x.view(-1)` is view(int[]), not the later view.dtype: no conversion is needed.
            if (self.conversions or self._are_elements(formal)) and self._collects(at, formal):
                return self._collect(formal)
            self.taken += 1
            return self._argument(formal, self.args[self.taken - 1])
        name = formal.name
        if name not in self.kwargs and name == "self" and self.signature.schema is not None:
            name = "input"
        if name in self.kwargs and name not in self.used:
            self.used.add(name)
            return self._argument(formal, self.kwargs[name])
        if formal.has_default:
            return self._argument(formal, self._default(formal))
        raise _Refused(f"Argument {formal.name} not provided.\n")

    def _default(self, formal: Formal) -> Value:
        if formal.repeated:
            assert isinstance(formal.default, ListLiteral)
            number = formal.default.elements[0]
            return self.em.constant(number)
        if formal.default is None and isinstance(formal.type, TensorType):
            raise CompileError("Unsupported value kind: Tensor", self.span)
        return self.em.constant(formal.default, None, formal.type)

    def _are_elements(self, formal: Formal) -> bool:
        """The remaining positional arguments are exactly elements of the formal's list."""
        type = formal.type
        rest = self.args[self.taken :]
        return isinstance(type, ListType) and all(v.type == type.element for v in rest)

    def _collects(self, at: int, formal: Formal) -> bool:
        """Whether the remaining positional arguments become one list (`zeros(2, 3)`)."""
        arguments = self.signature.arguments
        is_last = at + 1 == len(arguments) or arguments[at + 1].kwarg_only
        if not (is_last and isinstance(formal.type, ListType) and formal.size is None):
            return False
        if isinstance(formal.type.element, VarType):
            return False
        actual = self.args[self.taken].type
        if isinstance(actual, ListType):
            return False
        return not _converts_to_list(self.em, actual, formal.type)

    def _collect(self, formal: Formal) -> Value:
        assert isinstance(formal.type, ListType)
        element = Formal("<varargs>", formal.type.element)
        values = [self._argument(element, v) for v in self.args[self.taken :]]
        self.taken = len(self.args)
        return self.em.make_list(formal.type.element, values, self.span)

    def _argument(self, formal: Formal, value: Value) -> Value:
        inner = typing.without_none(formal.type)
        if (
            formal.size is not None
            and isinstance(inner, ListType)
            and inner.element == value.type
            and value.type in (INT, FLOAT)
        ):
            value = self.em.make_list(value.type, [value] * formal.size, self.span)
        try:
            wanted = type_variables.match_variables(
                formal.type, value.type, self.bound, self.em.fulfils
            )
        except type_variables.VarMismatch as reason:
            raise _Refused(
                f"Could not match type {message_text(value.type)} to "
                f"{message_text(formal.type)} in argument '{formal.name}': {reason}.\n"
            ) from None
        meant = type_variables.substitute(formal.type, self.bound)
        if type_variables.has_variables(meant):
            raise _Refused(
                f"Type variables in type {message_text(meant)} could not be inferred from actual "
                f"type {message_text(value.type)}"
            )
        value = convert(self.em, value, wanted, self.conversions, self.span)
        fits = typing.is_subtype if self.signature.schema is None else typing.is_compatible
        if not fits(value.type, wanted, self.em.fulfils):
            text = _mismatch(formal, value.type)
            if isinstance(wanted, InterfaceType) and isinstance(
                value.type, ClassType | InterfaceType
            ):
                text += self.em.unlike_interface(value.type, wanted, self.span) or ""
            raise _Refused(text)
        return value


def match(
    em: Writer,
    signature: Signature,
    args: Sequence[Value],
    kwargs: Mapping[str, Value],
    self_value: Value | None,
    conversions: bool,
    span: Span | None,
) -> Matched | Unmatched:
    """Match one signature."""
    nodes = em.block.nodes
    mark = len(nodes)
    attempt = _Attempt(em, signature, args, kwargs, self_value, conversions, span)
    try:
        return attempt.run()
    except _Refused as reason:
        del nodes[mark:]
        return Unmatched(signature, str(reason), attempt.taken + len(attempt.used))


def match_overloads(
    em: Writer,
    signatures: Sequence[Signature],
    args: Sequence[Value],
    kwargs: Mapping[str, Value],
    self_value: Value | None,
    span: Span | None,
) -> tuple[int, Matched]:
    """The first signature that takes the arguments, and how.

    Raises:
        ArgumentsMismatch: none does.
    """
    if len(signatures) == 1:
        found = match(em, signatures[0], args, kwargs, self_value, True, span)
        if isinstance(found, Matched):
            return 0, found
        raise ArgumentsMismatch(str(found))
    refused: list[Unmatched] = []
    for conversions in (False, True):
        refused = []
        for at, signature in enumerate(signatures):
            found = match(em, signature, args, kwargs, self_value, conversions, span)
            if isinstance(found, Matched):
                return at, found
            refused.append(found)
    reasons = "".join(map(str, refused)).rstrip("\n")
    indented = "".join(f"  {line}\n" for line in reasons.split("\n"))
    nearest = max(refused, key=lambda u: u.taken)
    given = [message_text(v.type) for v in ([self_value] if self_value else []) + [*args]]
    given += [f"{name}={message_text(v.type)}" for name, v in kwargs.items()]
    raise ArgumentsMismatch(
        "Arguments for call are not valid.\nThe following variants are available:\n"
        f"{indented}\nThe original call is",
        f"It was called with ({', '.join(given)}). The nearest variant is\n"
        f"  {nearest.signature}\nwhich does not fit: {nearest.reason.splitlines()[0]}",
    )
