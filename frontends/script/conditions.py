"""Conditions: what they refine, and whether they are known while compiling."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import field, replace

from xdsl.ir import Attribute

from tensorscript.base.records import dataclass
from tensorscript.base.source import Span
from tensorscript.dialects.ts import typing
from tensorscript.dialects.ts.type_text import message_text
from tensorscript.dialects.ts.types import (
    ANY,
    BOOL,
    NONE,
    ClassType,
    OptionalType,
    UnionType,
)

from . import draft
from .callables import Form, method_call
from .draft import Block, Node, Value
from .emission import Emission
from .scope import Frame
from .values import Simple, Sugared

Refinements = Mapping[str, Attribute]
"""Variables and the types that a condition proves for them."""


@dataclass(frozen=True)
class Condition:
    """A condition: its value, what holds where it is true and false, and its value if known."""

    value: Value | None
    true: Refinements = field(default_factory=dict)
    false: Refinements = field(default_factory=dict)
    static: bool | None = None

    def inverse(self, value: Value | None) -> Condition:
        known = None if self.static is None else not self.static
        return Condition(value, self.false, self.true, known)


def path_of(node: ast.expr) -> str | None:
    """`x`, `self.x` and `self.a.b` as text; None for other expressions."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (base := path_of(node.value)) is not None:
        return f"{base}.{node.attr}"
    return None


def _of_variables(known: Refinements) -> Refinements:
    """What is known of variables; attributes may have been written."""
    return {name: type for name, type in known.items() if "." not in name}


def _union(a: Refinements, b: Refinements) -> Refinements:
    """What two conditions prove together; of what they disagree on, as in TorchScript, nothing."""
    both = {**a, **b}
    return {n: type for n, type in both.items() if type == a.get(n, type) == b.get(n, type)}


def _none_state(value: Value) -> bool | None:
    """True: always None; False: never; None: perhaps."""
    if value.type == NONE or (draft.is_constant(value) and draft.constant_of(value) is None):
        return True
    if isinstance(value.type, OptionalType | UnionType) and typing.admits_none(value.type):
        return None
    return False


class Conditions(Emission):
    """Emits conditions and joins values of two branches."""

    def condition(self, node: ast.expr) -> Condition:
        span = self.span(node)
        match node:
            case ast.UnaryOp(ast.Not()):
                inner = self.condition(node.operand)
                if inner.static is not None:
                    return inner.inverse(None)
                value = self.builtin("aten::__not__", [self.condition_value(inner, span)], span)
                return inner.inverse(value)
            case ast.BoolOp():
                found = self.condition(node.values[0])
                for operand in node.values[1:]:
                    found = self._short_circuit(found, operand, isinstance(node.op, ast.Or), span)
                return found
            case ast.Compare() if len(node.ops) > 1:
                return self._chain(node)
            case ast.Compare(left, [ast.Is() | ast.IsNot() as op], [right]):
                return self.identity(left, op, right, span)
            case ast.Call() if len(node.args) == 2 and not node.keywords:
                if found_form := self._form(node):
                    return found_form
        return self._plain(node, span)

    def _form(self, node: ast.Call) -> Condition | None:
        callee = (
            self.sugared(node.func) if isinstance(node.func, ast.Attribute | ast.Name) else None
        )
        if isinstance(callee, Form) and callee.name == "isinstance":
            return self.is_instance(node.args[0], node.args[1], self.span(node))
        if isinstance(callee, Form) and callee.name == "hasattr":
            return self.has_attribute(node.args[0], node.args[1])
        return None

    def _plain(self, node: ast.expr, span: Span) -> Condition:
        value = self.truth(self.expr(node), span)
        static = bool(draft.constant_of(value)) if draft.is_constant(value) else None
        if value.node is not None and "static" in value.node.attributes:
            static = bool(value.node.attributes["static"])
        return Condition(value, static=static)

    def truth(self, value: Value, span: Span) -> Value:
        type = value.type
        if isinstance(type, ClassType) and self.class_method(type, "__bool__", span) is not None:
            found = method_call(self, value, "__bool__", [], span).as_value(self, span)
            if found.type != BOOL:
                shown = message_text(found.type)
                raise self.error(
                    f"expected a bool expression for condition but found {shown}", span
                )
            return found
        return self.to_bool(value, span)

    def _chain(self, node: ast.Compare) -> Condition:
        operands = [node.left, *node.comparators]
        found: Condition | None = None
        for at, (left, op, right) in enumerate(zip(operands, node.ops, operands[1:], strict=False)):
            pair = ast.Compare(left, [op], [right])
            ast.copy_location(pair, left)
            pair.end_lineno, pair.end_col_offset = right.end_lineno, right.end_col_offset
            if found is None:
                found = self.condition(pair)
            else:
                first = ast.Compare(node.left, node.ops[: at + 1], node.comparators[: at + 1])
                found = self._short_circuit(found, pair, False, self.span(first))
        assert found is not None
        return found

    def condition_value(self, condition: Condition, span: Span | None) -> Value:
        if condition.value is not None:
            return condition.value
        assert condition.static is not None
        return self.constant(condition.static, span)

    def _short_circuit(
        self, left: Condition, right: ast.expr, is_or: bool, span: Span
    ) -> Condition:
        if left.static is not None and left.static == is_or:
            return left
        known = left.false if is_or else left.true
        if left.static is not None:
            self.refine(known, span)
            found = self.condition(right)
            true, false = self._combined(left, found, is_or)
            return replace(found, true=true, false=false)
        seen: list[Condition] = []
        writes = self.writes

        def other() -> Value:
            seen.append(self.condition(right))
            return self.condition_value(seen[0], span)

        def fixed() -> Value:
            return self.constant(is_or, span)

        value = self.if_value(left, fixed if is_or else other, other if is_or else fixed, span)
        second = seen[0]
        if self.writes != writes:
            left = replace(left, true=_of_variables(left.true), false=_of_variables(left.false))
        static = second.static if second.static is not None and second.static == is_or else None
        true, false = self._combined(left, second, is_or)
        return Condition(value, true, false, static)

    def _combined(
        self, left: Condition, right: Condition, is_or: bool
    ) -> tuple[Refinements, Refinements]:
        """What holds where `left and right` (or `left or right`) is true, and where it is false."""
        if is_or:
            return self._intersection(left.true, right.true), _union(left.false, right.false)
        return _union(left.true, right.true), self._intersection(left.false, right.false)

    def _intersection(self, a: Refinements, b: Refinements) -> Refinements:
        out: dict[str, Attribute] = {}
        for name in a:
            joined = self.unify(a[name], b[name]) if name in b else None
            if joined is not None:
                out[name] = joined
        return out

    def identity(self, left: ast.expr, op: ast.cmpop, right: ast.expr, span: Span) -> Condition:
        """`is` and `is not`."""
        a, b = self.expr(left), self.expr(right)
        states = _none_state(a), _none_state(b)
        its_is = isinstance(op, ast.Is)
        if states == (True, True):
            return Condition(None, static=its_is)
        if states in ((True, False), (False, True)):
            return Condition(None, static=not its_is)
        operator = "aten::__is__" if its_is else "aten::__isnot__"
        if a.type == b.type == BOOL:
            operator = "aten::eq" if its_is else "aten::ne"
        value = self.builtin(operator, [a, b], span)
        name = None
        if states[1]:
            name, type = self._place(left), a.type
        elif states[0]:
            name, type = self._place(right), b.type
        if name is None:
            return Condition(value)
        some = {name: typing.without_none(type)}
        return Condition(value, {}, some) if its_is else Condition(value, some)

    def is_instance(self, object: ast.expr, classes: ast.expr, span: Span) -> Condition:
        value = self.expr(object)
        wanted = typing.in_union_order(self.class_list(classes))
        inside, outside = self._partition(value.type, wanted)
        true: dict[str, Attribute] = {}
        false: dict[str, Attribute] = {}
        if (name := self._place(object)) is not None:
            if inside:
                true[name] = typing.make_union(inside)
            if outside:
                false[name] = typing.make_union(outside)
        if not outside or not inside:
            return Condition(None, true, false, not outside)
        result = self.insert("prim::isinstance", [value], [BOOL], span, classes=wanted).output
        return Condition(result, true, false)

    def _partition(
        self, type: Attribute, wanted: list[Attribute]
    ) -> tuple[list[Attribute], list[Attribute]]:
        """The alternatives of `type` that are instances of `wanted`, and those that are not."""
        inside: list[Attribute] = []
        outside: list[Attribute] = []
        for member in typing.members_of(type):
            if member == ANY:
                inside += wanted
                outside.append(member)
            elif any(self.is_subtype(member, w) for w in wanted):
                inside.append(member)
            else:
                inside += [w for w in wanted if self.is_subtype(w, member)]
                outside.append(member)
        return inside, outside

    def _place(self, node: ast.expr) -> str | None:
        """The variable or attribute of which a condition proves something."""
        path = path_of(node)
        if path is None or "." not in path:
            return path
        self.tests_attributes = True
        return path if self.refines_attributes else None

    def has_attribute(self, object: ast.expr, name: ast.expr) -> Condition:
        if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
            raise self.error("hasattr's second argument must be a string literal", self.span(name))
        found, place = self.sugared(object), self.span(object)
        return Condition(None, static=self.knows_attribute(found, name.value, place))

    def refine(self, refinements: Refinements, span: Span | None) -> None:
        """Give variables the types that the condition proved."""
        for name, type in refinements.items():
            if "." in name:
                held = self._read(name, span).as_value(self, span)
                self.frame.define_sugared(name, Simple(self.cast(held, type, span)))
                continue
            known = self.frame.lookup(name)
            if isinstance(known, Attribute):
                value = self.cast(self.load(name, known, span), type, span)
                value.name = name
                self.store(name, value, type, span)

    def _read(self, path: str, span: Span | None) -> Sugared:
        """The attribute at a path (`self.a.b`)."""
        base, *parts = path.split(".")
        known = self.frame.lookup(base)
        assert isinstance(known, Attribute | Sugared)
        found = Simple(self.load(base, known, span)) if isinstance(known, Attribute) else known
        for part in parts:
            made = self.object_attr(found.as_value(self, span), part, span)
            assert isinstance(made, Sugared)
            found = made
        return found

    def if_value(
        self,
        condition: Condition,
        true: Callable[[], Value],
        false: Callable[[], Value],
        span: Span,
    ) -> Value:
        """An if that yields one value."""
        node = Node(draft.IF, [self.condition_value(condition, span)], (), span)
        self.add(node)
        frames: list[Frame] = []
        for refinements, make in ((condition.true, true), (condition.false, false)):
            block: Block = node.add_block()
            with self.inside(block) as frame:
                self.refine(refinements, span)
                block.outputs.append(make())
            frames.append(frame)
        variables = node.attributes["variables"] = _refined(frames)
        self.frame.stored.update(dict.fromkeys(variables))
        a, b = (block.outputs[0].type for block in node.blocks)
        joined = self.unify(a, b)
        if joined is None:
            raise self.error(
                f"if-expression's true branch has type {message_text(a)} but false branch "
                f"has type {message_text(b)}",
                span,
            )
        value = node.add_output(joined)
        value.block = self.block
        return value

    # What the later parts of the emitter provide.

    def expr(self, node: ast.expr, hint: Attribute | None = None) -> Value:
        raise NotImplementedError

    def sugared(self, node: ast.expr, hint: Attribute | None = None) -> Sugared:
        raise NotImplementedError

    def class_list(self, node: ast.expr) -> list[Attribute]:
        """The types that the second argument of isinstance names."""
        raise NotImplementedError

    def knows_attribute(self, value: Sugared, name: str, span: Span) -> bool:
        raise NotImplementedError


def _refined(frames: list[Frame]) -> list[str]:
    """Variables refined in a branch of an expression; they are joined again behind it."""
    names = sorted({n for f in frames for n in f.stored})
    return [n for n in names if all(isinstance(f.lookup(n), Attribute) for f in frames)]
