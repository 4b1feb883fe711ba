"""Operator schemas: one table of TorchScript's `aten::` and `prim::` signatures, parsed on demand.

The text of a schema is TorchScript's own:

    aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
    schema  := name [. overload] ( argument, ... ) -> returns
    argument:= type name [= default] | * | ...
    type    := atom [alias] { ? | [size] [alias] }
    atom    := word | Dict(type, type) | Future(type) | ( type, ... )
    alias   := ( set [!] [-> set] ),  set := letters joined by | or *

`aten_schemas.txt` holds one schema a line, in the order in which PyTorch registers the overloads
of a name: overload resolution tries them in that order. The file is read at the first look-up,
split by name only; a line is parsed when its operator is first asked for.
"""

from __future__ import annotations

import re
from functools import cache, cached_property
from pathlib import Path

from .errors import InternalError
from .records import dataclass

TABLE_FILE = "aten_schemas.txt"
_CONTAINERS = frozenset({"Dict", "Future", "Await", "RRef"})
_SYMBOLIC = {"SymInt": "int", "SymFloat": "float", "SymBool": "bool"}


@dataclass(frozen=True)
class Alias:
    """An alias annotation: `(a)` a view of set a, `(a!)` written, `(a -> *)` stored elsewhere."""

    before: tuple[str, ...]
    is_write: bool = False
    after: tuple[str, ...] | None = None

    def __str__(self) -> str:
        text = "|".join(self.before) + ("!" if self.is_write else "")
        return f"({text} -> {'|'.join(self.after)})" if self.after else f"({text})"


@dataclass(frozen=True)
class SchemaType:
    """A type as schemas write it.

    Attributes:
        kind: `Tensor`, `int`, `float`, `Scalar`, `ScalarType`, ...; `list` and `optional` with one
            argument, `Tuple` with any number, `Dict`, `Future`, `Await`, `RRef`; one lower-case
            letter or `tVal`-like name is a type variable (kind `var`, its name in `name`); a class
            has kind `class`.
        args: the types inside.
        size: N of `int[N]` (a single int is taken for N equal ones), else None.
        symbolic: written `SymInt` where the kind is `int`.
        alias: the annotation directly behind this part of the type.
    """

    kind: str
    args: tuple[SchemaType, ...] = ()
    size: int | None = None
    name: str = ""
    symbolic: bool = False
    alias: Alias | None = None

    @property
    def element(self) -> SchemaType:
        """The type inside a list, an optional or a future."""
        return self.args[0]

    @property
    def is_optional(self) -> bool:
        return self.kind == "optional"

    @property
    def is_list(self) -> bool:
        return self.kind == "list"

    def without_optional(self) -> SchemaType:
        return self.args[0] if self.kind == "optional" else self

    def __str__(self) -> str:
        if self.kind == "list":
            text = f"{self.args[0]}[{'' if self.size is None else self.size}]"
        elif self.kind == "optional":
            text = f"{self.args[0]}?"
        elif self.kind == "Tuple":
            text = f"({', '.join(map(str, self.args))})"
        elif self.args:
            text = f"{self.kind}({', '.join(map(str, self.args))})"
        else:
            text = self.name or self.kind
        return text + (str(self.alias) if self.alias else "")


@dataclass(frozen=True)
class Argument:
    """One argument or return. `default_text` is the default as written, `default` its value."""

    name: str
    type: SchemaType
    default: object = None
    default_text: str | None = None
    kwarg_only: bool = False

    @property
    def has_default(self) -> bool:
        return self.default_text is not None

    @cached_property
    def aliased(self) -> SchemaType | None:
        """The part of the type that is annotated: the whole, or what a list has in it."""
        found: SchemaType | None = self.type
        while found is not None and not found.alias:
            found = found.args[0] if found.kind in ("list", "optional") else None
        return found

    @property
    def alias(self) -> Alias | None:
        """The annotation of this argument, wherever in its type it stands."""
        return None if self.aliased is None else self.aliased.alias

    @property
    def is_write(self) -> bool:
        return (found := self.alias) is not None and found.is_write

    @property
    def writes_tensors(self) -> bool:
        """Whether memory of tensors is written, not only a list that holds some."""
        return self.aliased is not None and self.aliased.kind == "Tensor" and self.is_write

    def __str__(self) -> str:
        text = f"{self.type} {self.name}" if self.name else str(self.type)
        return text if self.default_text is None else f"{text}={self.default_text}"


@dataclass(frozen=True)
class Schema:
    """One overload of an operator. `str()` gives TorchScript's text back."""

    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]
    is_vararg: bool = False
    is_varret: bool = False

    def __hash__(self) -> int:
        return hash(self.full_name)  # that of all fields takes long, and tables look schemas up

    @cached_property
    def full_name(self) -> str:
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @cached_property
    def base_name(self) -> str:
        """The name without its namespace."""
        return self.name.partition("::")[2]

    @cached_property
    def is_mutable(self) -> bool:
        return any(a.is_write for a in self.arguments)

    @cached_property
    def is_out(self) -> bool:
        """An `out=` overload: written arguments that are keyword-only."""
        return any(a.is_write and a.kwarg_only for a in self.arguments)

    def argument(self, name: str) -> Argument | None:
        return next((a for a in self.arguments if a.name == name), None)

    def __str__(self) -> str:
        parts: list[str] = []
        starred = False
        for a in self.arguments:
            if a.kwarg_only and not starred:
                parts.append("*")
                starred = True
            parts.append(str(a))
        if self.is_vararg:
            parts.append("...")
        returns = ", ".join(map(str, self.returns))
        if self.is_varret:
            returns = "..." if not returns else f"{returns}, ..."
        one = len(self.returns) == 1 and not self.is_varret
        bare = (one and not returns.startswith("(")) or (self.is_varret and not self.returns)
        return f"{self.full_name}({', '.join(parts)}) -> {returns if bare else f'({returns})'}"


_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|\.\.\.|->|[A-Za-z_][\w.]*(?:::[\w.]+)?'
    r"|-?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|inf|nan)|[()\[\],?!*|=]"
)
_ESCAPES = {"n": "\n", "t": "\t", "f": "\f", "v": "\v", "r": "\r"}


class _Parser:
    """Recursive descent over the tokens of one schema."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _TOKEN.findall(text)
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.peek() != token:
            return False
        self.at += 1
        return True

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise InternalError(f"schema {self.text!r}: expected {token!r}, found {self.peek()!r}")

    def schema(self) -> Schema:
        name, _, overload = self.take().partition(".")
        self.expect("(")
        arguments, is_vararg = self.arguments()
        self.expect("->")
        returns, is_varret = self.returns()
        if self.at != len(self.tokens):
            raise InternalError(f"schema {self.text!r}: unexpected {self.peek()!r}")
        return Schema(name, overload, arguments, returns, is_vararg, is_varret)

    def arguments(self) -> tuple[tuple[Argument, ...], bool]:
        out: list[Argument] = []
        kwarg_only = is_vararg = False
        while not self.accept(")"):
            if self.accept("*"):
                kwarg_only = True
            elif self.accept("..."):
                is_vararg = True
            else:
                out.append(self.argument(kwarg_only))
            self.accept(",")
        return tuple(out), is_vararg

    def argument(self, kwarg_only: bool) -> Argument:
        kind = self.type()
        name = self.take()
        if not self.accept("="):
            return Argument(name, kind, kwarg_only=kwarg_only)
        start = self.at
        value = self.default()
        tokens = self.tokens[start : self.at]
        text = ", ".join(tokens[1:-1:2]).join("[]") if tokens[0] == "[" else tokens[0]
        return Argument(name, kind, value, text, kwarg_only)

    def default(self) -> object:
        token = self.take()
        if token == "[":
            items = []
            while not self.accept("]"):
                items.append(self.default())
                self.accept(",")
            return tuple(items)
        if token.startswith('"'):
            return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), token[1:-1])
        if token in ("None", "True", "False"):
            return {"None": None, "True": True, "False": False}[token]
        if re.fullmatch(r"-?\d+", token):
            return int(token)
        if re.fullmatch(r"-?(\d.*|inf|nan)", token):
            return float(token)
        return token

    def returns(self) -> tuple[tuple[Argument, ...], bool]:
        if self.accept("..."):
            return (), True
        if not self.accept("("):
            return (self.result(),), False
        out: list[Argument] = []
        is_varret = False
        while not self.accept(")"):
            if self.accept("..."):
                is_varret = True
            else:
                out.append(self.result())
            self.accept(",")
        return tuple(out), is_varret

    def result(self) -> Argument:
        kind = self.type()
        name = self.take() if re.match(r"[A-Za-z_]", self.peek()) else ""
        return Argument(name, kind)

    def type(self) -> SchemaType:
        found = self.atom()
        while True:
            if self.accept("?"):
                found = SchemaType("optional", (found,), alias=None)
            elif self.accept("["):
                size = None if self.peek() == "]" else int(self.take())
                self.expect("]")
                found = SchemaType("list", (found,), size, alias=self.alias())
            else:
                return found

    def atom(self) -> SchemaType:
        token = self.take()
        if token == "(":
            return SchemaType("Tuple", self.types(), alias=self.alias())
        if token in _CONTAINERS:
            self.expect("(")
            return SchemaType(token, self.types(), alias=self.alias())
        alias = self.alias()
        if token in _SYMBOLIC:
            return SchemaType(_SYMBOLIC[token], name=token, symbolic=True, alias=alias)
        if re.fullmatch(r"[a-z]|t[A-Z]\w*", token):
            return SchemaType("var", name=token, alias=alias)
        if "." in token:
            return SchemaType("class", name=token, alias=alias)
        return SchemaType(token, alias=alias)

    def types(self) -> tuple[SchemaType, ...]:
        out: list[SchemaType] = []
        while not self.accept(")"):
            out.append(self.type())
            self.accept(",")
        return tuple(out)

    def alias(self) -> Alias | None:
        if self.peek() != "(":
            return None
        self.take()
        before = self.alias_set()
        is_write = self.accept("!")
        after = self.alias_set() if self.accept("->") else None
        self.expect(")")
        return Alias(before, is_write, after)

    def alias_set(self) -> tuple[str, ...]:
        names = [self.take()]
        while self.accept("|"):
            names.append(self.take())
        return tuple(names)


def parse_schema(text: str) -> Schema:
    """Parse one schema's text.

    Raises:
        InternalError: the text is not a schema.
    """
    return _Parser(text).schema()


@cache
def _lines() -> dict[str, list[str]]:
    """Operator name to the raw lines of its overloads, in registration order."""
    out: dict[str, list[str]] = {}
    text = (Path(__file__).parent / TABLE_FILE).read_text(encoding="utf-8")
    for line in text.splitlines():
        out.setdefault(line[: line.index("(")].partition(".")[0], []).append(line)
    return out


@cache
def overloads(name: str) -> tuple[Schema, ...]:
    """The overloads of `name` ("aten::add") in PyTorch's registration order; () if unknown."""
    return tuple(parse_schema(line) for line in _lines().get(name, ()))


@cache
def schema(full_name: str) -> Schema:
    """The overload called `full_name` ("aten::add.Tensor").

    Raises:
        KeyError: there is no such operator or overload.
    """
    for found in overloads(full_name.partition(".")[0]):
        if found.full_name == full_name:
            return found
    raise KeyError(full_name)


def has_operator(name: str) -> bool:
    """Whether "aten::add" is the name of an operator (without parsing it)."""
    return name in _lines()


def operator_names() -> tuple[str, ...]:
    """All operator names, in registration order."""
    return tuple(_lines())
