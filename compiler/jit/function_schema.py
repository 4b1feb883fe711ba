"""Signatures as `.schema` shows them, of functions and of operators."""

from __future__ import annotations

from tensorscript.base import schema as table
from tensorscript.base.schema import Alias
from tensorscript.dialects.ts.constants import ListLiteral
from tensorscript.frontends.script.signature import Formal, Signature, signature_of

from .graph_types import Type, shown_type


class FunctionSchema:
    """A signature that prints as TorchScript's: `f(Tensor x, int y=3) -> Tensor`."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature

    @property
    def name(self) -> str:
        """`aten::add`, or the name of a function."""
        own = self.signature.schema
        return self.signature.name if own is None else own.name

    @property
    def overload_name(self) -> str:
        """`Tensor` of `aten::add.Tensor`; "" where there is none."""
        own = self.signature.schema
        return "" if own is None else own.overload

    @property
    def is_mutable(self) -> bool:
        """Whether it writes an argument, as its annotations say."""
        own = self.signature.schema
        return own is not None and own.is_mutable

    @property
    def arguments(self) -> list[Argument]:
        own = self.signature.schema
        aliases = [None if own is None else own.arguments[at].alias for at in self._places()]
        return [Argument(f, a) for f, a in zip(self.signature.arguments, aliases, strict=True)]

    def _places(self) -> range:
        return range(len(self.signature.arguments))

    @property
    def returns(self) -> list[Argument]:
        names = self.signature.return_names or ("",) * len(self.signature.returns)
        own = self.signature.schema
        aliases = [None] * len(names) if own is None else [r.alias for r in own.returns]
        triples = zip(names, self.signature.returns, aliases, strict=True)
        return [Argument(Formal(name, type), alias) for name, type, alias in triples]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionSchema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return str(self.signature)

    __repr__ = __str__


class Argument:
    """An argument or result of a schema.

    Attributes:
        N: the length of a list for which one number is taken; None of others.
        default_value: None where there is none, too; see `has_default_value`.
        alias_info: which memory it lies in, if the schema says so.
    """

    def __init__(self, formal: Formal, alias: Alias | None = None) -> None:
        self._formal = formal
        self.name = formal.name
        self.type: Type = shown_type(formal.type)
        self.N = formal.size
        self.kwarg_only = formal.kwarg_only
        self.alias_info = alias

    @property
    def real_type(self) -> Type:
        """The type; dtypes and layouts are ints here as in `type`."""
        return self.type

    @property
    def default_value(self) -> object:
        held = self._formal.default if self._formal.has_default else None
        return list(held.elements) if isinstance(held, ListLiteral) else held

    def has_default_value(self) -> bool:
        return self._formal.has_default

    @property
    def is_write(self) -> bool:
        """Whether it is written."""
        return self.alias_info is not None and self.alias_info.is_write

    @property
    def is_out(self) -> bool:
        """Whether it is one of those that results are written to."""
        return self.kwarg_only and self.is_write


def parse_schema(schema: str) -> FunctionSchema:
    """The signature that a text says: `aten::neg(Tensor self) -> Tensor`."""
    return FunctionSchema(signature_of(table.parse_schema(schema)))


def schemas_for_operator(op_name: str) -> list[FunctionSchema]:
    """The overloads of an operator; none of one that is unknown."""
    if not table.has_operator(op_name):
        return []
    return [FunctionSchema(signature_of(each)) for each in table.overloads(op_name)]


def all_schemas() -> list[FunctionSchema]:
    """The overloads of all operators."""
    return [each for name in table.operator_names() for each in schemas_for_operator(name)]
