"""Types as graphs print them, read back: `int[]`, `Float(2, 3, requires_grad=0)`, `Dict(str, int)`.

Inverse of `typing.ir_text`; other words of schemas (`Layout`, `ScalarType`) are ints, as there.
"""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute

from tensorscript.base.dtypes import BY_WORD, DType

from .graph_tokens import Token, Tokens, string_of
from .types import (
    ANY,
    FUNCTION,
    TENSOR,
    AwaitType,
    ClassType,
    DictType,
    EnumType,
    FutureType,
    InterfaceType,
    ListType,
    OptionalType,
    TensorInfo,
    TensorType,
    TupleType,
)
from .typing import SCHEMA_WORDS, make_union

_WORDS: dict[str, Attribute] = {**SCHEMA_WORDS, "Function": FUNCTION}


def parse_type(tokens: Tokens) -> Attribute:
    """The type that comes next.

    Raises:
        CompileError: none does.
    """
    found = _base(tokens)
    while tokens.peek().text in ("[", "?") and tokens.peek().kind == "punctuation":
        if tokens.accept("?"):
            found = OptionalType(found)
            continue
        tokens.expect("[")
        if tokens.peek().kind == "number":
            tokens.take()
        tokens.expect("]")
        found = ListType(found)
    return found


def is_type(tokens: Tokens) -> bool:
    """Whether a type comes next."""
    word = tokens.peek().text
    return word in _WORDS or word in BY_WORD or word in _MADE or word.startswith("__torch__")


def _base(tokens: Tokens) -> Attribute:
    if tokens.accept("("):
        return TupleType.of(_types(tokens, ")"))
    token = tokens.take()
    if (make := _MADE.get(token.text)) is not None:
        return make(tokens)
    word = token.text.removesuffix("Tensor")
    if not word or word in BY_WORD:
        return _tensor(tokens, BY_WORD.get(word), has_rank=word == token.text)
    if token.text in _WORDS:
        return _WORDS[token.text]
    if token.kind == "word" and "." in token.text:
        return ClassType(StringAttr(token.text))
    raise tokens.error(f"unknown type specifier '{token.text}'", token)


def _types(tokens: Tokens, end: str) -> list[Attribute]:
    """Types with commas between, up to `end`."""
    found: list[Attribute] = []
    while not tokens.accept(end):
        found.append(parse_type(tokens))
        if tokens.peek().text != end:
            tokens.expect(",")
    return found


def _tensor(tokens: Tokens, dtype: DType | None, has_rank: bool) -> Attribute:
    """`Float(2, *)`, `FloatTensor()` of unknown rank, `Tensor(*, *)` of unknown dtype."""
    if not tokens.accept("("):
        return TENSOR if dtype is None else TensorType(TensorInfo(dtype))
    sizes: list[int | str | None] = []
    strides: tuple[int, ...] | None = None
    grad: bool | None = None
    device: str | None = None
    while not tokens.accept(")"):
        token = tokens.take()
        match token.text:
            case "*":
                sizes.append(None)
            case "strides":
                tokens.expect("=")
                strides = _integers(tokens)
            case "requires_grad":
                tokens.expect("=")
                grad = tokens.take("number").text != "0"
            case "device":
                tokens.expect("=")
                device = _device(tokens)
            case _:
                sizes.append(_size(tokens, token))
        if tokens.peek().text != ")":
            tokens.expect(",")
    known = tuple(sizes) if has_rank or sizes else None
    return TensorType(TensorInfo(dtype, known, strides, grad, device))


def _size(tokens: Tokens, token: Token) -> int:
    if token.kind != "number" or not token.text.isdigit():
        raise tokens.error(f"expected a size but found '{token.text}' here", token)
    return int(token.text)


def _integers(tokens: Tokens) -> tuple[int, ...]:
    tokens.expect("[")
    found: list[int] = []
    while not tokens.accept("]"):
        found.append(int(tokens.take("number").text))
        if tokens.peek().text != "]":
            tokens.expect(",")
    return tuple(found)


def _device(tokens: Tokens) -> str:
    name = tokens.take("word").text
    return f"{name}:{tokens.take('number').text}" if tokens.accept(":") else name


def _dict(tokens: Tokens) -> Attribute:
    tokens.expect("(")
    key = parse_type(tokens)
    tokens.expect(",")
    value = parse_type(tokens)
    tokens.expect(")")
    return DictType(key, value)


def _future(tokens: Tokens) -> Attribute:
    end = ")" if tokens.accept("(") else "]"
    if end == "]":
        tokens.expect("[")
    element = parse_type(tokens)
    tokens.expect(end)
    return FutureType(element)


def _await(tokens: Tokens) -> Attribute:
    tokens.expect("(")
    element = parse_type(tokens)
    tokens.expect(")")
    return AwaitType(element)


def _union(tokens: Tokens) -> Attribute:
    tokens.expect("(")
    return make_union(_types(tokens, ")"))


def _in_angles(tokens: Tokens) -> StringAttr:
    tokens.expect("<")
    name = tokens.take("word").text
    tokens.expect(">")
    return StringAttr(name)


def _named_tuple(tokens: Tokens) -> Attribute:
    """The fields with their types; which class it is of, the text does not say."""
    tokens.expect("(")
    fields: list[str] = []
    types: list[Attribute] = []
    defaults: list[str] = []
    while not tokens.accept(")"):
        fields.append(tokens.take("word").text)
        tokens.expect(":")
        types.append(parse_type(tokens))
        if tokens.accept("="):
            token = tokens.take()
            defaults.append(string_of(token.text) if token.kind == "string" else token.text)
        if tokens.peek().text != ")":
            tokens.expect(",")
    return TupleType.of(types, fields, "", defaults)


_MADE = {
    "Dict": _dict,
    "Future": _future,
    "Await": _await,
    "Union": _union,
    "Enum": lambda tokens: EnumType(_in_angles(tokens), ANY),
    "InterfaceType": lambda tokens: InterfaceType(_in_angles(tokens)),
    "NamedTuple": _named_tuple,
}
