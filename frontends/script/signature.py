"""What a call is matched against: the arguments of an operator, a function or a method."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute

from tensorscript.base.records import dataclass
from tensorscript.base.schema import Argument, Schema
from tensorscript.dialects.ts import typing
from tensorscript.dialects.ts.constants import (
    Device,
    DictLiteral,
    EnumRef,
    FunctionRef,
    GeneratorLiteral,
    ListLiteral,
    ObjectLiteral,
    TensorLiteral,
)
from tensorscript.dialects.ts.type_text import schema_text
from tensorscript.dialects.ts.types import (
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    FUNCTION,
    GENERATOR,
    INT,
    NONE,
    STRING,
    TENSOR,
    ClassType,
    ListType,
    OptionalType,
    TupleType,
)

NO_DEFAULT = object()
"""The default of an argument that has none (None is a default)."""
NOT_CONSTANT = object()
"""A default that is no constant of the language."""

_WORDS = {
    "contiguous_format": 0, "preserve_format": 1, "Mean": 1, "Sum": 2, "strided": 0,
    "long": 4, "float": 6, "Long": 4,
}  # fmt: skip
"""Defaults that schemas write as words."""


@dataclass(frozen=True)
class Formal:
    """One argument.

    Attributes:
        size: N of a broadcasting list `int[N]`.
        repeated: its default is one number, of which a call makes the list.
    """

    name: str
    type: Attribute
    default: object = NO_DEFAULT
    kwarg_only: bool = False
    size: int | None = None
    repeated: bool = False

    @property
    def has_default(self) -> bool:
        return self.default is not NO_DEFAULT


@dataclass(frozen=True)
class Signature:
    """Something callable. `schema` is set for operators of the schema table."""

    name: str
    arguments: tuple[Formal, ...]
    returns: tuple[Attribute, ...]
    return_names: tuple[str, ...] = ()
    is_vararg: bool = False
    schema: Schema | None = None

    def __str__(self) -> str:
        return str(self.schema) if self.schema else signature_text(self)

    def positional(self) -> Signature:
        """The signature with no argument that only a keyword names."""
        return replace(
            self, arguments=tuple(replace(formal, kwarg_only=False) for formal in self.arguments)
        )


def _default_text(value: object) -> str:
    match value:
        case str():
            return f'"{value}"'
        case float():
            return float_text(value)
        case tuple():
            return f"({', '.join(map(_default_text, value))})"
        case ListLiteral():
            return f"[{', '.join(map(_default_text, value.elements))}]"
        case EnumRef():
            return f"{value.class_name}.{value.member}"
        case Device():
            return f'"{value.text}"'
    return str(value)


def plain_text(value: object) -> str:
    """A default as graphs print it inside the type of a NamedTuple: strings without quotes."""
    match value:
        case str():
            return value
        case tuple():
            return f"({', '.join(map(plain_text, value))})"
        case ListLiteral():
            return f"[{', '.join(map(plain_text, value.elements))}]"
        case DictLiteral(items):
            return "{" + ", ".join(f"{plain_text(k)}: {plain_text(v)}" for k, v in items) + "}"
    return _default_text(value)


def float_text(value: float) -> str:
    """A float as TorchScript prints it: `1.`, `0.10000000000000001`, `1e+20`."""
    text = f"{value:.17g}"
    return text if any(c in text for c in ".enia") else text + "."


def signature_text(signature: Signature) -> str:
    """The schema text of a script function: `f(Tensor x, int y=3) -> Tensor`."""
    parts: list[str] = []
    starred = False
    for formal in signature.arguments:
        if formal.kwarg_only and not starred:
            parts.append("*")
            starred = True
        text = f"{schema_text(formal.type)} {formal.name}"
        parts.append(text + (f"={_default_text(formal.default)}" if formal.has_default else ""))
    names = signature.return_names or ("",) * len(signature.returns)
    rows = zip(signature.returns, names, strict=True)
    returns = ", ".join(f"{schema_text(t)} {name}".rstrip() for t, name in rows)
    single = len(signature.returns) == 1 and not returns.startswith("(")
    short = signature.name.rpartition(".")[2]
    return f"{short}({', '.join(parts)}) -> {returns if single else f'({returns})'}"


def _default(argument: Argument, type: Attribute) -> object:
    if not argument.has_default:
        return NO_DEFAULT
    value = argument.default
    if isinstance(value, str) and type != STRING and type != OptionalType(STRING):
        return _WORDS[value]
    inner = typing.without_none(type)
    if isinstance(inner, ListType):
        if isinstance(value, tuple):
            return ListLiteral(value)
        size = argument.type.without_optional().size
        if value is not None and size is not None:
            return ListLiteral((value,) * size)
    if inner == FLOAT and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def _formal(argument: Argument) -> Formal:
    type = typing.schema_type(argument.type)
    size = argument.type.without_optional().size
    return Formal(argument.name, type, _default(argument, type), argument.kwarg_only, size)


@cache
def signature_of(schema: Schema) -> Signature:
    """The signature of an operator."""
    return Signature(
        schema.full_name,
        tuple(map(_formal, schema.arguments)),
        tuple(typing.schema_type(r.type) for r in schema.returns),
        tuple(r.name for r in schema.returns),
        schema.is_vararg,
        schema,
    )


def constant_type(value: object, wanted: Attribute | None = None) -> Attribute:
    """The type of a constant; `wanted` is the declared type of what it is for.

    Raises:
        TypeError: the value is not a constant of the language.
    """
    match value:
        case None:
            return NONE
        case bool():
            return BOOL
        case int():
            return INT
        case float():
            return FLOAT
        case complex():
            return COMPLEX
        case str():
            return STRING
        case Device():
            return DEVICE
        case GeneratorLiteral():
            return GENERATOR
        case ObjectLiteral():
            return ClassType(StringAttr(value.class_name))
        case FunctionRef():
            return FUNCTION
        case TensorLiteral():
            return TENSOR
        case tuple():
            inner = typing.without_none(wanted) if wanted is not None else None
            if isinstance(inner, TupleType) and len(inner.elements) == len(value):
                return inner
            return TupleType.of(map(constant_type, value))
        case ListLiteral():
            inner = typing.without_none(wanted) if wanted is not None else None
            if isinstance(inner, ListType):
                return inner
            return ListType(constant_type(value.elements[0]) if value.elements else TENSOR)
    if wanted is not None:
        return typing.without_none(wanted)
    raise TypeError(f"not a constant: {value!r}")
