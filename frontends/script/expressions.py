"""Expressions: from a syntax tree to a compile-time value (`sugared`) or an SSA value (`expr`)."""

from __future__ import annotations

import ast

from xdsl.ir import Attribute

from tensorscript.base.errors import NotSupportedError, UnsupportedNodeError
from tensorscript.base.source import Span, in_library
from tensorscript.dialects.ts.types import (
    ANY,
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NUMBER,
    STRING,
    ClassType,
    TensorType,
    TupleType,
)

from .callables import method_call
from .conditions import path_of
from .displays import Displays
from .draft import Value
from .folding import fold
from .signature import constant_type
from .values import ModuleObject, Simple, Sugared

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

_MIRRORED_LINES = {
    "aten::mul": 3, "aten::add": 5, "aten::ne": 7, "aten::eq": 9, "aten::sub": 11, "aten::div": 13,
    "aten::lt": 3, "aten::le": 5, "aten::gt": 7, "aten::ge": 9,
}  # fmt: skip
"""In which lines of PyTorch's library in its own language these are defined."""

_NUMBERS = (INT, FLOAT, COMPLEX, NUMBER)
_ORDERED = frozenset({"aten::lt", "aten::le", "aten::gt", "aten::ge"})


class Expressions(Displays):
    """Emits expressions."""

    def sugared(self, node: ast.expr, hint: Attribute | None = None) -> Sugared:
        match node:
            case ast.Name():
                return self.name(node.id, self.span(node))
            case ast.Attribute():
                if self.refines_attributes and (path := path_of(node)) is not None:
                    refined = self.frame.lookup(path)
                    if isinstance(refined, Sugared):
                        return refined
                base = self.sugared(node.value)
                return self.attribute(base, node.attr, self.span(node))
            case ast.Call():
                return self.call(node, hint)
            case ast.Subscript():
                return self.subscript(node, hint)
        return Simple(self.simple(node, hint))

    def expr(self, node: ast.expr, hint: Attribute | None = None) -> Value:
        span = self.latest = self.span(node)
        value = self.sugared(node, hint).as_value(self, span)
        if hint == ANY and value.type != ANY:
            return self.cast(value, ANY, span)
        return value

    def attribute(self, base: Sugared, name: str, span: Span | None) -> Sugared:
        if isinstance(base, ModuleObject):
            return self.module_attr(base.value, name, span)
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
        raise UnsupportedNodeError(f"{type(node).__name__} aren't supported", span)

    def literal(self, node: ast.Constant, span: Span) -> Value:
        value = node.value
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise self.error(
                "Integral constant out of range (must fit in a signed 64 bit integer)", span
            )
        if value is Ellipsis:
            raise self.error("Cannot emit expr for: (dots)", span)
        if isinstance(value, int | float | complex) and not isinstance(value, bool):
            return self.draft.literal(value, constant_type(value), span)
        return self.constant(value, span)

    def operate(self, magic: str, operator: str, inputs: list[Value], span: Span | None) -> Value:
        """An operator on values: a class's own method first."""
        if _is_mirrored(operator, inputs):
            return self._mirrored(operator, inputs, span)
        if operator == "aten::__contains__" and all(v.type == STRING for v in inputs):
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
        span = in_library(span, _MIRRORED_LINES[operator])
        if operator == "aten::sub":
            tensor = self.builtin("aten::neg", [tensor], span)
        elif operator == "aten::div":
            tensor = self.builtin("aten::reciprocal", [tensor], span)
        return self.builtin(MIRRORED[operator], [tensor, number], span)

    def _contains(self, inputs: list[Value], span: Span | None) -> Value:
        """`part in text`: whether it can be found."""
        text, part = inputs
        length = self.length(text, in_library(span, 5, 29))
        bounds = [self.constant(0, in_library(span, 5, 26)), length]
        here = in_library(span, 5, 11)
        found = self.builtin("aten::find", [text, part, *bounds], here)
        return self.builtin("aten::ne", [found, self.constant(-1, in_library(span, 5, 44))], here)

    def binary(self, node: ast.BinOp, span: Span) -> Value:
        left, right = self.expr(node.left), self.expr(node.right)
        magic, operator = BINARY[type(node.op)]
        if operator == "aten::remainder" and left.type == STRING:
            return self.builtin("aten::percentFormat", [left, right], span)
        is_tensor = isinstance(left.type, TensorType) and right.type != BOOL
        if operator == "aten::floordiv" and is_tensor:
            operator, span = "aten::floor_divide", in_library(span, 3) or span
        return self.operate(magic, operator, [left, right], span)

    def unary(self, node: ast.UnaryOp, span: Span) -> Value:
        match node.op:
            case ast.Not():
                return self.condition_value(self.condition(node), span)
            case ast.USub() if (number := self._number_of_text(node.operand)) is not None:
                return self.literal(ast.Constant(_negated(number)), self.span(node.operand))
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

    def _number_of_text(self, node: ast.expr) -> complex | None:
        """The number behind a minus of a text, where both are one literal."""
        value = node.value if isinstance(node, ast.Constant) and not self.text.is_python else None
        if isinstance(value, int | float | complex) and not isinstance(value, bool):
            return value
        return None

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
        return self.constant(folded[0], node.span, value.type)

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

    def module_attr(self, value: Value, name: str, span: Span | None) -> Sugared:
        """The attribute, method or submodule `name` of a module."""
        raise NotImplementedError

    def resolve(self, name: str, span: Span) -> Sugared:
        raise NotImplementedError

    def call(self, node: ast.Call, hint: Attribute | None) -> Sugared:
        raise NotImplementedError

    def subscript(self, node: ast.Subscript, hint: Attribute | None) -> Sugared:
        raise NotImplementedError

    def assign_target(self, target: ast.expr, value: Sugared, source: Span) -> None:
        raise NotImplementedError


def _is_mirrored(operator: str, inputs: list[Value]) -> bool:
    """Whether an operator is applied to a number and a tensor, in this order."""
    numbers = (INT, FLOAT) if operator in _ORDERED else (INT, FLOAT, COMPLEX)
    if operator not in MIRRORED or inputs[0].type not in numbers:
        return False
    return isinstance(inputs[1].type, TensorType)


def _negated(number: complex) -> complex:
    """A number of a text behind a minus; an imaginary one has no real part that it would turn."""
    return complex(0, -number.imag) if isinstance(number, complex) else -number
