"""Compile-time values: what an expression can be besides an SSA value.

TorchScript calls them sugared values. Each kind answers the questions it can (`attr`, `call`,
`items`, ...) and refuses the rest in TorchScript's words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorscript.base.dtypes import DType
from tensorscript.base.records import dataclass
from tensorscript.base.source import Span
from tensorscript.dialects.ts.type_text import annotation_text, message_text
from tensorscript.dialects.ts.types import (
    INT,
    AnyTupleType,
    ClassType,
    DictType,
    ListType,
    StringType,
    TensorType,
    TupleType,
)
from tensorscript.eager.device import Layout, MemoryFormat

from .draft import Value, constant_of, is_constant
from .emission import Emission

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
        raise em.error(f"{self.kind} cannot be used as an iterable", span)


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

    def count(self) -> int | None:
        """The number of elements if it is known now."""
        return None

    def iterate(self, em: Emission, span: Span | None) -> Iterable:
        return self


@dataclass
class Simple(Sugared):
    """An SSA value."""

    value: Value

    @property
    def kind(self) -> str:  # type: ignore[override]  # the kind depends on the type
        return message_text(self.value.type)

    def as_value(self, em: Emission, span: Span | None) -> Value:
        return self.value

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        shown = annotation_text(self.value.type)
        raise em.error(f"cannot call a value of type '{shown}'", span)

    def unpack(self, em: Emission, span: Span | None) -> list[Sugared] | None:
        type = self.value.type
        if isinstance(type, TupleType):
            return [Simple(v) for v in em.unpack_tuple(self.value, span)]
        if isinstance(type, ListType):
            return None
        if isinstance(type, AnyTupleType):
            raise em.error(
                "Provided tuple is not fully defined/refined including its element types, please "
                "provide a value of type like Tuple[int, int]",
                span,
            )
        raise em.error(f"{message_text(type)} cannot be used as a tuple", span)

    def iterate(self, em: Emission, span: Span | None) -> Iterable:
        match self.value.type:
            case ListType() | StringType() | TensorType():
                return Elements(self.value)
            case TupleType():
                return Parts([Simple(v) for v in em.unpack_tuple(self.value, span)])
            case ClassType():
                found = em.children(self.value, span)
                if found is not None and found.keyed:
                    return Parts([Simple(em.constant(name, span)) for name in found.parts])
                if found is not None:
                    return Parts([held(em, v) for v in found.parts.values()])
                raise em.error(f"'{message_text(self.value.type)}' object is not iterable", span)
            case DictType():
                return Elements(em.builtin("aten::keys", [self.value], span))
        raise em.error(f"'{message_text(self.value.type)}' object is not iterable", span)


class ModuleObject(Simple):
    """A module: it alone can be called, and no branch or loop may choose what a name of it is.

    What holds it as any other value (a tuple, a list, a ternary) gives a `Simple`.
    """

    @property
    def kind(self) -> str:  # type: ignore[override]  # whatever its class
        return "module"

    def unpack(self, em: Emission, span: Span | None) -> list[Sugared] | None:
        raise em.error("module cannot be used as a tuple", span)

    def iterate(self, em: Emission, span: Span | None) -> Iterable:
        if em.children(self.value, span) is None:
            raise em.error(
                "Only constant Sequential, ModuleList, ModuleDict, or ParameterList can be used as "
                "an iterable",
                span,
            )
        return super().iterate(em, span)


def held(em: Emission, value: Value) -> Simple:
    """A value that a module holds."""
    return ModuleObject(value) if em.is_module(value.type) else Simple(value)


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

    def count(self) -> int | None:
        if not all(map(is_constant, (self.start, self.end, self.step))):
            # The counter of `enumerate` never ends, wherever it starts.
            endless = is_constant(self.end) and constant_of(self.end) == 2**63 - 1
            return 2**63 if endless else None
        start, end, step = map(constant_of, (self.start, self.end, self.step))
        assert isinstance(start, int) and isinstance(end, int) and isinstance(step, int)
        return len(range(start, end, step)) if step else None

    def element(self, em: Emission, span: Span | None, index: Value) -> Sugared:
        if self.only_end:
            return Simple(index)
        args = [index, self.start, self.step]
        return Simple(em.builtin("aten::__derive_index", args, span))


@dataclass
class SliceValue(Sugared):
    """`slice(...)`: the start, the end and the step, None for one that is left out."""

    kind = "Python slice value"
    bounds: tuple[Value | None, Value | None, Value | None]


@dataclass
class Zip(Iterable):
    """`zip(...)` and `enumerate(...)`: as long as the shortest child."""

    kind = "iterabletree"
    children: list[Iterable]

    def leaves(self) -> list[Iterable]:
        """The children, and those of a zip or an enumerate instead of itself."""
        return [leaf for c in self.children for leaf in (c.leaves() if isinstance(c, Zip) else [c])]

    def length(self, em: Emission, span: Span | None) -> Value | None:
        lengths = [n for c in self.leaves() if (n := c.length(em, span)) is not None]
        listed = em.make_list(INT, lengths, span)
        return em.builtin("prim::min", [listed], span)

    def element(self, em: Emission, span: Span | None, index: Value) -> Sugared:
        return Parts([c.element(em, span, index) for c in self.children])

    def parts(self, em: Emission, span: Span | None) -> list[Sugared] | None:
        found = [c.parts(em, span) for c in self.children]
        if all(p is None for p in found):
            return None
        count = 2**63
        for part, child in zip(found, self.children, strict=True):
            known = len(part) if part is not None else child.count()
            if known is None:
                raise em.error(
                    "Can not iterate over a module list or tuple with a value that does not have "
                    "a statically determinable length",
                    span,
                )
            count = min(count, known)
        return [
            Parts(
                [
                    p[i] if p is not None else c.element(em, span, em.draft.literal(i, INT, span))
                    for p, c in zip(found, self.children, strict=True)
                ]
            )
            for i in range(count)
        ]


class Nothing(Sugared):
    """What `print` gives: it stands nowhere that a value is needed."""

    kind = "None"


_TORCH_NAMES: dict[type, str] = {DType: "dtype", Layout: "layout", MemoryFormat: "memory_format"}


def undefined(value: object) -> Undefined:
    """Data from outside that is no value, by what PyTorch calls its type."""
    return Undefined(_TORCH_NAMES.get(type(value), type(value).__name__))


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
