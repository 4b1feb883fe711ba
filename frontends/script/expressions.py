"""Expressions: from a syntax tree to a compile-time value (`sugared`) or an SSA value (`expr`)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from xdsl.ir import Attribute

from tensorscript.base.errors import FrontendError, NotSupportedError, UnsupportedNodeError
from tensorscript.base.source import Span
from tensorscript.dialects.ts import typing
from tensorscript.dialects.ts.types import (
    ANY,
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NUMBER,
    STRING,
    TENSOR,
    ClassType,
    DictType,
    ListType,
    TensorType,
    TupleType,
)

from .annotations import make_dict
from .callables import method_call
from .conditions import Condition, Conditions
from .draft import Value
from .folding import fold
from .values import Iterable, Simple, Sugared

BINARY: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("__add__", "aten::add"),
    ast.Sub: ("__sub__", "aten::sub"),
    ast.Mult: ("__mul__", "aten::mul"),
    ast.Div: ("__truediv__", "aten::div"),
    ast.FloorDiv: ("__floordiv__", "aten::floordiv"),
    ast.Mod: ("__mod__", "aten::remainder"),
    ast.Pow: ("__pow__", "aten::pow"),
    ast.MatMult: ("__matmul__", "aten::matmul"),
    ast.BitAnd: ("__and__", "aten::__and__"),
    ast.BitOr: ("__or__", "aten::__or__"),
    ast.BitXor: ("__xor__", "aten::__xor__"),
    ast.LShift: ("__lshift__", "aten::__lshift__"),
    ast.RShift: ("__rshift__", "aten::__rshift__"),
}

COMPARE: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("__eq__", "aten::eq"),
    ast.NotEq: ("__ne__", "aten::ne"),
    ast.Lt: ("__lt__", "aten::lt"),
    ast.LtE: ("__le__", "aten::le"),
    ast.Gt: ("__gt__", "aten::gt"),
    ast.GtE: ("__ge__", "aten::ge"),
    ast.Is: ("", "aten::__is__"),
    ast.IsNot: ("", "aten::__isnot__"),
    ast.In: ("__contains__", "aten::__contains__"),
}

MIRRORED = {
    "aten::add": "aten::add", "aten::sub": "aten::add", "aten::mul": "aten::mul",
    "aten::div": "aten::mul", "aten::eq": "aten::eq", "aten::ne": "aten::ne",
    "aten::lt": "aten::gt", "aten::le": "aten::ge", "aten::gt": "aten::lt",
    "aten::ge": "aten::le",
}  # fmt: skip
"""Operators on (number, tensor): what is applied to (tensor, number)."""

_NUMBERS = (INT, FLOAT, COMPLEX, NUMBER)

_UNSUPPORTED = {
    ast.Lambda: "Lambda", ast.Yield: "Yield", ast.YieldFrom: "YieldFrom", ast.Await: "Await",
    ast.NamedExpr: "NamedExpr", ast.Set: "Set", ast.SetComp: "SetComp",
}  # fmt: skip


class Expressions(Conditions):
    """Emits expressions."""

    def sugared(self, node: ast.expr, hint: Attribute | None = None) -> Sugared:
        match node:
            case ast.Name():
                return self.name(node.id, self.span(node))
            case ast.Attribute():
                base = self.sugared(node.value)
                return self.attribute(base, node.attr, self.span(node))
            case ast.Call():
                return self.call(node, hint)
            case ast.Subscript():
                return self.subscript(node, hint)
        return Simple(self.simple(node, hint))

    def expr(self, node: ast.expr, hint: Attribute | None = None) -> Value:
        value = self.sugared(node, hint).as_value(self, self.span(node))
        if hint == ANY and value.type != ANY:
            return self.cast(value, ANY, self.span(node))
        return value

    def attribute(self, base: Sugared, name: str, span: Span | None) -> Sugared:
        if isinstance(base, Simple):
            found = self.object_attr(base.value, name, span)
            assert isinstance(found, Sugared)
            return found
        return base.attr(self, span, name)

    def simple(self, node: ast.expr, hint: Attribute | None) -> Value:
        span = self.span(node)
        match node:
            case ast.Constant():
                return self.literal(node, span)
            case ast.BinOp():
                return self.binary(node, span)
            case ast.UnaryOp():
                return self.unary(node, span)
            case ast.Compare() | ast.BoolOp():
                if isinstance(node, ast.Compare) and len(node.ops) == 1:
                    return self.compare(node.left, node.ops[0], node.comparators[0], span)
                return self.condition_value(self.condition(node), span)
            case ast.IfExp():
                return self.ternary(node, hint)
            case ast.List():
                return self.list_display(node.elts, span, hint)
            case ast.Tuple():
                return self.tuple_display(node, span)
            case ast.Dict():
                return self.dict_display(node, span, hint)
            case ast.ListComp() | ast.GeneratorExp():
                return self.list_comprehension(node, span, hint)
            case ast.DictComp():
                return self.dict_comprehension(node, span, hint)
            case ast.JoinedStr():
                return self.joined_string(node, span)
            case ast.Starred():
                raise NotSupportedError("starred expression can only be used in a call", span)
        if name := _UNSUPPORTED.get(type(node)):
            raise UnsupportedNodeError(f"{name} aren't supported", self.text.word(node, 1))
        raise UnsupportedNodeError(f"{type(node).__name__} aren't supported", span)

    def literal(self, node: ast.Constant, span: Span) -> Value:
        value = node.value
        if isinstance(value, int) and not isinstance(value, bool) and value >= 2**63:
            raise self.error(
                "Integral constant out of range (must fit in a signed 64 bit integer)", span
            )
        if value is Ellipsis:
            raise self.error("Cannot emit expr for: (dots)", span)
        if isinstance(value, bytes):
            raise FrontendError("Unknown Constant expression type", span)
        return self.constant(value, span)

    def operate(self, magic: str, operator: str, inputs: list[Value], span: Span | None) -> Value:
        """An operator on values: a class's own method first."""
        is_number = operator in MIRRORED and inputs[0].type in _NUMBERS
        if is_number and isinstance(inputs[1].type, TensorType):
            return self._mirrored(operator, inputs, span)
        if operator == "aten::__contains__" and inputs[0].type == STRING:
            return self._contains(inputs, span)
        if operator == "aten::add" and all(isinstance(v.type, TupleType) for v in inputs):
            parts = [p for v in inputs for p in self.unpack_tuple(v, span)]
            return self.make_tuple(parts, span)
        if magic and isinstance(inputs[0].type, ClassType):
            out = method_call(self, inputs[0], magic, inputs[1:], span)
            return out.as_value(self, span)
        return self.builtin(operator, inputs, span)

    def _mirrored(self, operator: str, inputs: list[Value], span: Span | None) -> Value:
        """`number op tensor` is defined by the operator with the tensor first."""
        number, tensor = inputs
        if operator == "aten::sub":
            tensor = self.builtin("aten::neg", [tensor], span)
        elif operator == "aten::div":
            tensor = self.builtin("aten::reciprocal", [tensor], span)
        return self.builtin(MIRRORED[operator], [tensor, number], span)

    def _contains(self, inputs: list[Value], span: Span | None) -> Value:
        """`part in text`: whether it can be found."""
        text, part = inputs
        bounds = [self.integer(0), self.length(text, span)]
        found = self.builtin("aten::find", [text, part, *bounds], span)
        return self.builtin("aten::ne", [found, self.integer(-1)], span)

    def binary(self, node: ast.BinOp, span: Span) -> Value:
        left, right = self.expr(node.left), self.expr(node.right)
        magic, operator = BINARY[type(node.op)]
        is_tensor = isinstance(left.type, TensorType)
        if operator == "aten::remainder" and left.type == STRING:
            return self.builtin("aten::percentFormat", [left, right], span)
        if operator == "aten::floordiv" and is_tensor:
            operator = "aten::floor_divide"
        return self.operate(magic, operator, [left, right], span)

    def unary(self, node: ast.UnaryOp, span: Span) -> Value:
        match node.op:
            case ast.Not():
                return self.condition_value(self.condition(node), span)
            case ast.USub():
                value = self.expr(node.operand)
                out = self.operate("__neg__", "aten::neg", [value], span)
                return self.fold_now(out)
            case ast.Invert():
                value = self.expr(node.operand)
                return self.operate("__invert__", "aten::bitwise_not", [value], span)
            case ast.UAdd():
                return self._positive(self.expr(node.operand), span)
        raise NotSupportedError(f"unsupported unary operator: {type(node.op).__name__}", span)

    def _positive(self, value: Value, span: Span) -> Value:
        """`+x`, which TorchScript does not have."""
        if value.type in _NUMBERS:
            return value
        if value.type == BOOL:
            return self.builtin("aten::Int", [value], span)
        return self.operate("__pos__", "aten::positive", [value], span)

    def fold_now(self, value: Value) -> Value:
        """A constant, if the node just written can be computed now."""
        node = value.node
        if node is None or not self.block.nodes or self.block.nodes[-1] is not node:
            return value
        folded = fold(node)
        if folded is None:
            return value
        self.block.nodes.pop()
        return self.draft.constant(folded[0], value.type, node.span)

    def compare(self, left: ast.expr, op: ast.cmpop, right: ast.expr, span: Span) -> Value:
        if isinstance(op, ast.NotIn):
            found = self.compare(left, ast.In(), right, span)
            return self.builtin("aten::__not__", [found], span)
        if isinstance(op, ast.Is | ast.IsNot):
            return self.condition_value(self.identity(left, op, right, span), span)
        magic, operator = COMPARE[type(op)]
        inputs = [self.expr(left), self.expr(right)]
        if isinstance(op, ast.In):
            inputs.reverse()
        return self.operate(magic, operator, inputs, span)

    def list_display(self, elements: list[ast.expr], span: Span, hint: Attribute | None) -> Value:
        inner = typing.without_none(hint) if hint is not None else None
        wanted = inner.element if isinstance(inner, ListType) else None
        values: list[Value] = []
        for node in elements:
            if isinstance(node, ast.Starred):
                values += self.starred(node)
            else:
                values.append(self.expr(node))
        if not values:
            made = self.make_list(wanted or TENSOR, [], span)
            if wanted is None and made.node is not None:
                made.node.attributes["empty_literal"] = True
            return made
        return self.make_list(self._element(values, wanted, span), values, span)

    def _element(self, values: list[Value], wanted: Attribute | None, span: Span) -> Attribute:
        """The element type of a list display."""
        if wanted is not None:
            if not all(typing.is_subtype(v.type, wanted) for v in values):
                kinds = typing.make_union([v.type for v in values])
                raise self.error(
                    f"List type annotation `List[{typing.message_text(wanted)}]` did not match the "
                    "types of the given list elements, which were unified to "
                    f"{typing.message_text(kinds)}",
                    span,
                )
            return wanted
        found: Attribute = values[0].type
        for value in values[1:]:
            joined = typing.unify(found, value.type, to_union=True)
            assert joined is not None
            found = joined
        return TENSOR if isinstance(found, TensorType) else found

    def tuple_display(self, node: ast.Tuple, span: Span) -> Value:
        values: list[Value] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                values += self.starred(element)
            else:
                values.append(self.expr(element))
        return self.make_tuple(values, span)

    def starred(self, node: ast.Starred) -> list[Value]:
        """The values that `*node` stands for."""
        span = self.span(node)
        parts = self.sugared(node.value).unpack(self, span)
        if parts is None:
            raise self.error(
                "cannot statically infer the expected size of a list in this context", span
            )
        return [p.as_value(self, span) for p in parts]

    def dict_display(self, node: ast.Dict, span: Span, hint: Attribute | None) -> Value:
        inner = typing.without_none(hint) if hint is not None else None
        key: Attribute = STRING
        value: Attribute = TENSOR
        inputs: list[Value] = []
        for k, v in zip(node.keys, node.values, strict=True):
            if k is None:
                raise NotSupportedError(
                    "Dict expansion (e.g. `{**dict}`) is not supported", self.text.word(node, 1)
                )
            inputs += [self.expr(k), self.expr(v)]
        if inputs:
            key = self._dict_keys(inputs[::2], span)
            value = self._element(inputs[1::2], None, span)
        if isinstance(inner, DictType):
            self._check_dict(inner, key, inputs, value, span)
            key, value = inner.key, inner.value
        made = make_dict(key, value)
        return self.insert("prim::DictConstruct", inputs, [made], span).output

    def _check_dict(
        self, hint: DictType, key: Attribute, inputs: list[Value], value: Attribute, span: Span
    ) -> None:
        """The keys and values of a display must be of the annotated types."""
        found = {"keys": (key, hint.key), "values": (value, hint.value)} if inputs else {}
        for what, (have, wanted) in found.items():
            if not typing.is_subtype(have, wanted):
                raise self.error(
                    f"Type annotation was inferred to be `{typing.message_text(hint)}`, but the "
                    f"type of {what} given by the dict literal is {typing.message_text(have)}",
                    span,
                )

    def _dict_keys(self, keys: list[Value], span: Span) -> Attribute:
        first = keys[0].type
        for key in keys:
            if not typing.is_subtype(key.type, first):
                raise self.error(
                    "Dict keys must contain only a single type. Expected: "
                    f"{typing.message_text(first)} but found {typing.message_text(key.type)} "
                    "instead",
                    span,
                )
        return first

    def _comprehension(
        self, node: ast.ListComp | ast.GeneratorExp | ast.DictComp
    ) -> ast.comprehension:
        generator = node.generators[0]
        where = self.span(node)
        empty = Span(where.source, where.start, where.start)
        if len(node.generators) > 1:
            raise NotSupportedError("Only a single generator is currently supported", empty)
        return generator

    def list_comprehension(
        self, node: ast.ListComp | ast.GeneratorExp, span: Span, hint: Attribute | None
    ) -> Value:
        generator = self._comprehension(node)
        return self.collect_list(
            lambda: self.sugared(generator.iter).iterate(self, span),
            generator.target,
            node.elt,
            span,
            hint,
            generator.ifs,
        )

    def collect_list(
        self,
        iterable: Callable[[], Iterable],
        target: ast.expr,
        element: ast.expr,
        span: Span,
        hint: Attribute | None,
        tests: Sequence[ast.expr] = (),
    ) -> Value:
        """The list of `element` for each `target` in `iterable()`, emitted behind the list."""
        inner = typing.without_none(hint) if hint is not None else None
        wanted: list[Attribute | None] = [inner.element if isinstance(inner, ListType) else None]
        made = self.make_list(wanted[0] or TENSOR, [], span)

        def append() -> None:
            out = self.expr(element, wanted[0])
            if wanted[0] is None:
                found: Attribute = TENSOR if isinstance(out.type, TensorType) else out.type
                wanted[0], made.type = found, ListType(found)
            self.builtin("aten::append", [made, out], span)

        self._collect(iterable, target, append, tests, span)
        return made

    def _collect(
        self,
        iterable: Callable[[], Iterable],
        target: ast.expr,
        add: Callable[[], None],
        tests: Sequence[ast.expr],
        span: Span,
    ) -> None:
        """The loop of a comprehension: `add()` wherever every one of `tests` holds."""

        def body() -> None:
            if not tests:
                add()
                return
            both = ast.BoolOp(ast.And(), list(tests)) if len(tests) > 1 else tests[0]
            condition = self.condition(ast.copy_location(both, tests[0]))
            self.branch(condition, add, lambda: None, span)

        self.loop(iterable(), target, body, span, leaks=False)

    def dict_comprehension(self, node: ast.DictComp, span: Span, hint: Attribute | None) -> Value:
        generator = self._comprehension(node)
        return self.collect_dict(
            lambda: self.sugared(generator.iter).iterate(self, span),
            generator.target,
            node.key,
            node.value,
            span,
            hint,
            generator.ifs,
        )

    def collect_dict(
        self,
        iterable: Callable[[], Iterable],
        target: ast.expr,
        key: ast.expr,
        value: ast.expr,
        span: Span,
        hint: Attribute | None,
        tests: Sequence[ast.expr] = (),
    ) -> Value:
        """The dict of `key` to `value` for each `target` in `iterable()`."""
        inner = typing.without_none(hint) if hint is not None else None
        fixed = inner if isinstance(inner, DictType) else None
        made = self.insert(
            "prim::DictConstruct", [], [fixed or DictType(STRING, TENSOR)], span
        ).output

        def add() -> None:
            pair = self.expr(key), self.expr(value)
            if fixed is None:
                made.type = make_dict(*(v.type for v in pair))
            self.builtin("aten::_set_item", [made, *pair], span)

        self._collect(iterable, target, add, tests, span)
        return made

    def joined_string(self, node: ast.JoinedStr, span: Span) -> Value:
        text = ""
        parts: list[Value] = []
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                if value.conversion not in (-1, ord("s")):
                    raise NotSupportedError(
                        "Don't support conversion in JoinedStr", self.text.word(node, 1)
                    )
                text += f"{{{self._format_spec(value, node)}}}"
                parts.append(self.expr(value.value))
            elif isinstance(value, ast.Constant):
                text += str(value.value)
        return self.builtin("aten::format", [self.constant(text, span), *parts], span)

    def _format_spec(self, field: ast.FormattedValue, node: ast.JoinedStr) -> str:
        """`:spec` of a field; TorchScript has none, and we none that is computed."""
        if field.format_spec is None:
            return ""
        assert isinstance(field.format_spec, ast.JoinedStr)
        parts = field.format_spec.values
        if not all(isinstance(p, ast.Constant) for p in parts):
            raise NotSupportedError(
                "Don't support formatting in JoinedStr", self.text.word(node, 1)
            )
        return ":" + "".join(str(p.value) for p in parts if isinstance(p, ast.Constant))

    def name(self, name: str, span: Span) -> Sugared:
        """What a name means here: a variable, else what the resolver knows."""
        if error := self.frame.error(name):
            raise error(span)
        found = self.frame.lookup(name)
        if isinstance(found, Sugared):
            return found
        if isinstance(found, Attribute):
            return Simple(self.load(name, found, span))
        return self.resolve(name, span)

    def ternary(self, node: ast.IfExp, hint: Attribute | None) -> Value:
        condition = self.condition(node.test)
        if condition.static is not None:
            self.refine(condition.true if condition.static else condition.false, self.span(node))
            return self.expr(node.body if condition.static else node.orelse, hint)
        return self.if_value(
            condition,
            lambda: self.expr(node.body, hint),
            lambda: self.expr(node.orelse, hint),
            self.span(node),
        )

    # What the later parts of the emitter provide.

    def resolve(self, name: str, span: Span) -> Sugared:
        raise NotImplementedError

    def call(self, node: ast.Call, hint: Attribute | None) -> Sugared:
        raise NotImplementedError

    def subscript(self, node: ast.Subscript, hint: Attribute | None) -> Sugared:
        raise NotImplementedError

    def assign_target(self, target: ast.expr, value: Sugared) -> None:
        raise NotImplementedError

    def loop(
        self,
        iterable: Sugared,
        target: ast.expr | None,
        body: Callable[[], None],
        span: Span,
        leaks: bool = True,
    ) -> None:
        raise NotImplementedError

    def branch(
        self,
        condition: Condition,
        true: Callable[[], None],
        false: Callable[[], None],
        span: Span | None,
    ) -> None:
        raise NotImplementedError
