"""The ground the emitter stands on: where nodes are written, and what is inserted how."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from xdsl.ir import Attribute

from tensorscript.base.errors import CompileError
from tensorscript.base.records import dataclass
from tensorscript.base.schema import operator_names, overloads
from tensorscript.base.source import Span
from tensorscript.dialects.ts import typing
from tensorscript.dialects.ts.type_text import message_text
from tensorscript.dialects.ts.types import (
    BOOL,
    STRING,
    ClassType,
    DictType,
    InterfaceType,
    ListType,
    TupleType,
)

from . import draft
from .aliases import ALIASES
from .draft import Block, Draft, Node, Value
from .schema_match import ArgumentsMismatch, Matched, match_overloads
from .scope import Frame
from .signature import Signature, constant_type, signature_of
from .source import Text

_MAY_WRITE = frozenset({
    "prim::SetAttr", "prim::CallMethod", draft.CALL, "prim::PythonOp", *draft.TASKS,
    draft.ENTER, draft.EXIT, draft.LOOP, *draft.WAITS, "aten::sort", "aten::sorted",
})  # fmt: skip
"""Nodes behind which an attribute may hold something else; a loop's body runs again."""


@dataclass(frozen=True)
class Children:
    """The children of a module container by name, and whether it is subscripted by those names."""

    container: Value
    parts: dict[str, Value]
    keyed: bool


class Emission:
    """One function being emitted.

    Attributes:
        function_name: the qualified name of the function.
        refines_attributes: what a condition proves of `self.x` is used until it may be written.
        tests_attributes: a condition proved something of an attribute.
        writes: counts the places behind which attributes may have changed.
        latest: the statement or expression that was begun last.
    """

    def __init__(self, text: Text) -> None:
        self.text = text
        self.draft = Draft(fulfils=self.fulfils)
        self.frame = Frame(self.draft.block)
        self.block = self.draft.block
        self.refines_attributes = False
        self.tests_attributes = False
        self.writes = 0
        self.latest: Span | None = None
        self.function_name = ""

    def span(self, node: ast.AST) -> Span:
        return self.text.span(node)

    def error(self, message: str, span: Span | None) -> CompileError:
        return CompileError(message, span)

    @contextmanager
    def inside(self, block: Block) -> Iterator[Frame]:
        """Emit into `block`, in a frame of its own."""
        frame = Frame(block, self.frame)
        before = self.block, self.frame
        self.block, self.frame = block, frame
        try:
            yield frame
        finally:
            self.block, self.frame = before

    def add(self, node: Node) -> Node:
        if node.kind in _MAY_WRITE:
            self.forget_attributes()
        self.block.nodes.append(node)
        for value in node.outputs:
            value.block = self.block
        return node

    def forget_attributes(self, prefix: str = "") -> None:
        """From here on nothing is known of attributes (of those whose path has a prefix)."""
        self.writes += 1
        frame: Frame | None = self.frame
        while frame is not None:
            for name in [n for n in frame.sugared if "." in n and n.startswith(prefix)]:
                del frame.sugared[name]
            frame = frame.parent

    def insert(
        self,
        kind: str,
        inputs: Sequence[Value],
        types: Sequence[Attribute],
        span: Span | None,
        **attributes: object,
    ) -> Node:
        return self.add(Node(kind, inputs, types, span, None, **attributes))

    def constant(
        self, value: object, span: Span | None = None, type: Attribute | None = None
    ) -> Value:
        return self.add(draft.constant(value, constant_type(value, type), span)).output

    def is_subtype(self, sub: Attribute, sup: Attribute) -> bool:
        """Whether a value of `sub` may stand where `sup` is asked."""
        return typing.is_subtype(sub, sup, self.fulfils)

    def unify(
        self,
        a: Attribute,
        b: Attribute,
        *,
        to_union: bool = False,
        hint: Attribute | None = None,
    ) -> Attribute | None:
        """The type that values of `a` and `b` share after a join, or None if there is none."""
        return typing.unify(a, b, to_union=to_union, hint=hint, fulfils=self.fulfils)

    def fulfils(self, type: Attribute, wanted: InterfaceType) -> bool:
        """Whether objects of a class, or of another interface, have the methods of this one."""
        return self.unlike_interface(type, wanted, self.latest) is None

    def cast(self, value: Value, type: Attribute, span: Span | None) -> Value:
        """`value` seen as `type`, which the compiler has proved."""
        return self.insert("prim::unchecked_cast", [value], [type], span).output

    def make_list(self, element: Attribute, values: Sequence[Value], span: Span | None) -> Value:
        return self.insert("prim::ListConstruct", values, [ListType(element)], span).output

    def make_tuple(
        self, values: Sequence[Value], span: Span | None, type: TupleType | None = None
    ) -> Value:
        made = type or TupleType.of(v.type for v in values)
        return self.insert("prim::TupleConstruct", values, [made], span).output

    def unpack_tuple(self, value: Value, span: Span | None) -> list[Value]:
        assert isinstance(value.type, TupleType)
        if value.node is not None and value.node.kind == "prim::TupleConstruct":
            return list(value.node.inputs)
        if draft.is_constant(value):
            held = draft.constant_of(value)
            assert isinstance(held, tuple)
            pairs = zip(held, value.type.elements, strict=True)
            return [self.constant(v, span, t) for v, t in pairs]
        return self.insert("prim::TupleUnpack", [value], list(value.type.elements), span).outputs

    def builtin(
        self,
        name: str,
        args: Sequence[Value],
        span: Span | None,
        kwargs: dict[str, Value] | None = None,
        self_value: Value | None = None,
    ) -> Value:
        """Call the operator `name` ("aten::add"): choose the overload and write the node.

        Raises:
            CompileError: no such operator, or no overload takes the arguments.
        """
        found = overloads(name)
        if not found:
            raise self.error(_unknown_operator(name), span)
        signatures = [signature_of(s) for s in found]
        at, matched = self.matched(signatures, args, kwargs or {}, span, self_value)
        signature = signatures[at]
        if name in ALIASES:
            signature = _same_overload(ALIASES[name], signature)
        return self.operator_node(signature, matched, span)

    def matched(
        self,
        signatures: Sequence[Signature],
        args: Sequence[Value],
        kwargs: Mapping[str, Value],
        span: Span | None,
        self_value: Value | None = None,
    ) -> tuple[int, Matched]:
        """The number of the first signature that takes the arguments of a call, and how.

        Raises:
            CompileError: none does.
        """
        try:
            return match_overloads(self, signatures, args, kwargs, self_value, span)
        except ArgumentsMismatch as mismatch:
            error = self.error(mismatch.text, span)
            if mismatch.nearest:
                error.with_note(mismatch.nearest, None)
            raise error from None

    def operator_node(self, signature: Signature, matched: Matched, span: Span | None) -> Value:
        """The node of an operator call; several results are packed into a (named) tuple."""
        schema = signature.schema
        assert schema is not None
        node = self.add(Node(schema.name, matched.inputs, matched.returns, span, schema))
        if len(node.outputs) == 1:
            return node.output
        names = signature.return_names if all(signature.return_names) else ()
        type = TupleType.of((v.type for v in node.outputs), names)
        return self.make_tuple(node.outputs, span, type)

    def to_bool(self, value: Value, span: Span | None) -> Value:
        """`value` as a condition."""
        if value.type == BOOL:
            return value
        if has_length(value.type):
            return self.builtin("aten::gt", [self.length(value, span), self.integer(0)], span)
        try:
            out = self.builtin("aten::Bool", [value], span)
        except CompileError as cause:
            raise self.error(
                f"Could not cast value of type {message_text(value.type)} to bool", span
            ) from cause
        return out

    def to_string(self, value: Value, span: Span | None) -> Value:
        return value if value.type == STRING else self.builtin("aten::str", [value], span)

    def length(self, value: Value, span: Span | None) -> Value:
        return self.builtin("aten::len", [value], span)

    def integer(self, value: int) -> Value:
        return self.constant(value)

    def load(self, name: str, type: Attribute, span: Span | None) -> Value:
        value = self.insert(draft.LOAD, [], [type], span, name=name).output
        value.name = name
        return value

    def store(self, name: str, value: Value, type: Attribute, span: Span | None) -> None:
        is_literal = value.node is not None and "empty_literal" in value.node.attributes
        if not value.name and value.block is self.block and not is_literal:
            value.name = name
        self.insert(draft.STORE, [value], [], span, name=name)
        self.frame.define(name, type)

    def object_attr(self, value: Value, name: str, span: Span | None) -> object:
        """The attribute or bound method `name` of an SSA value (a compile-time value)."""
        raise NotImplementedError

    def function_constant(self, name: str, span: Span | None) -> Value:
        """A function of the program as a value."""
        raise NotImplementedError

    def class_method(self, type: ClassType, name: str, span: Span | None) -> Signature | None:
        """The signature of a method of a class, compiled by now."""
        raise NotImplementedError

    @property
    def modules_are_values(self) -> bool:
        """Whether branches may choose what a variable that holds a module is."""
        raise NotImplementedError

    def is_module(self, type: Attribute) -> bool:
        """Whether a type is the class of modules."""
        raise NotImplementedError

    def children(self, value: Value, span: Span | None) -> Children | None:
        """The children of a module container (ModuleList and the like), else None."""
        raise NotImplementedError

    def check_interface(
        self, label: str, value: Value, wanted: InterfaceType, span: Span | None
    ) -> None:
        """Refuse an object, called `label`, whose class does not fulfil an interface."""
        raise NotImplementedError

    def unlike_interface(
        self, type: Attribute, wanted: InterfaceType, span: Span | None
    ) -> str | None:
        """Why a class does not fulfil an interface; None if it does."""
        raise NotImplementedError

    def static_attr(self, type: ClassType, name: str, span: Span | None) -> object:
        """What `Class.name` is."""
        raise NotImplementedError


def has_length(type: Attribute) -> bool:
    """Whether values of a type are true if they are not empty."""
    return type == STRING or isinstance(type, ListType | DictType)


def _same_overload(name: str, signature: Signature) -> Signature:
    """The overload of the operator `name` that takes what `signature`, its other name's, takes."""
    wanted = [a.type for a in signature.arguments]
    candidates = map(signature_of, overloads(name))
    return next(c for c in candidates if [a.type for a in c.arguments] == wanted)


def _unknown_operator(name: str) -> str:
    base = name.partition("::")[2].lower()
    similar = sorted(n for n in operator_names() if _distance(n.partition("::")[2].lower(), base))
    head = f"Unknown builtin op: {name}.\n"
    if not similar:
        return (
            f"{head}Could not find any similar ops to {name}. This op may not exist or may not be "
            "currently supported in TorchScript.\n"
        )
    listed = "".join(f"\t{n}\n" for n in similar)
    return f"{head}Here are some suggestions: \n{listed}\nThe original call is"


def _distance(a: str, b: str) -> bool:
    """Whether the edit distance of two names is at most 2."""
    limit = 2
    if abs(len(a) - len(b)) > limit:
        return False
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1] <= limit
