"""Assignments: to names, tuples, attributes and subscripts, plain, annotated and augmented."""

from __future__ import annotations

import ast
from dataclasses import replace

from xdsl.ir import Attribute

from tensorscript.base.source import Span
from tensorscript.dialects.ts.type_text import annotation_text, message_text
from tensorscript.dialects.ts.types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NUMBER,
    ClassType,
    DictType,
    ListType,
    TensorType,
    TupleType,
)

from . import draft
from .callables import method_call
from .calls import Calls
from .draft import Value
from .expressions import BINARY
from .schema_match import EMPTY_LIST_HINT, convert, is_empty_literal
from .subscripts import indices_of
from .values import ModuleObject, Parts, Simple, Sugared

_NUMBERS = (BOOL, COMPLEX, FLOAT, INT, NUMBER)
_AUGMENTED_TENSOR: dict[type[ast.operator], str] = {
    ast.Add: "aten::add_", ast.Sub: "aten::sub_", ast.Mult: "aten::mul_", ast.Div: "aten::div_",
    ast.Mod: "aten::fmod_", ast.Pow: "aten::pow", ast.BitAnd: "aten::bitwise_and",
    ast.BitOr: "aten::bitwise_or", ast.BitXor: "aten::bitwise_xor",
    ast.LShift: "aten::__ilshift__", ast.RShift: "aten::__irshift__",
    ast.FloorDiv: "aten::floor_divide_", ast.MatMult: "aten::matmul",
}  # fmt: skip
"""What an augmented assignment of a tensor calls: for TorchScript not all of them are in place, and
`%=` is C's fmod. It refuses `//=` and `@=`."""


_CHAINED = "$chained"
"""The variable between the value and the targets of `a = b = value`."""


_NOT_IN_PLACE: dict[type[ast.operator], str] = {
    ast.Pow: "pow operator", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<",
    ast.RShift: ">>",
}  # fmt: skip
"""Augmented assignments that objects do not have, and what TorchScript calls them."""


class Stores(Calls):
    """Emits assignments."""

    def assign(self, node: ast.Assign) -> None:
        hint = self._declared(node.targets[0]) if len(node.targets) == 1 else None
        value = self.sugared(node.value, hint)
        if len(node.targets) > 1:
            # The value is a variable without a name of its own, as in TorchScript.
            held = value.as_value(self, self.span(node.value))
            self.insert(draft.STORE, [held], [], self.span(node), name=_CHAINED)
        for target in node.targets:
            if len(node.targets) > 1:
                value = Simple(
                    self.insert(draft.LOAD, [], [held.type], self.span(node), name=_CHAINED).output
                )
            # A store into an object is underlined as a whole.
            match target:
                case ast.Attribute():
                    self.assign_attribute(target, value, self.span(node))
                case ast.Subscript():
                    held = value.as_value(self, self.span(node.value))
                    self.assign_subscript(target, held, self.span(node))
                case _:
                    self.assign_target(target, value, self.span(node.value))

    def _declared(self, target: ast.expr) -> Attribute | None:
        """The type of an existing attribute: a hint for an empty container."""
        if isinstance(target, ast.Attribute):
            base = self.sugared(target.value) if isinstance(target.value, ast.Name) else None
            if isinstance(base, Simple) and isinstance(base.value.type, ClassType):
                return self.attribute_type(base.value.type, target.attr)
        return None

    def annotated(self, node: ast.AnnAssign) -> None:
        span = self.span(node)
        assert node.value is not None
        type = self.annotation(node.annotation)
        value = self.sugared(node.value, type)
        if isinstance(node.target, ast.Name):
            self.bind(node.target.id, value, self.span(node.target), type)
            return
        # The type of an attribute is that of what it is given: an annotation tells empty displays
        # of what they are, and else nothing.
        self.assign_target(node.target, Simple(value.as_value(self, span)), span)

    def assign_target(self, target: ast.expr, value: Sugared, source: Span) -> None:
        """Assign a value to a target; `source` is where the value stands."""
        span = self.span(target)
        match target:
            case ast.Name():
                self.bind(target.id, value, span)
            case ast.Tuple():
                self._unpack(target, value, source)
            case ast.Attribute():
                self.assign_attribute(target, value, source)
            case ast.Subscript():
                self.assign_subscript(target, value.as_value(self, source), source)
            case _:
                raise self.error("unexpected expression on left-hand side of assignment", span)

    def bind(
        self, name: str, value: Sugared, span: Span, declared: Attribute | None = None
    ) -> None:
        """Assign a variable."""
        self.forget_attributes(f"{name}.")
        outer = self.frame.outer(name)
        stays = _stays_sugared(value) and not (
            isinstance(value, Simple) and self.modules_are_values
        )
        simple = None if stays else value.as_value(self, span)
        if outer is not None:
            if declared is not None:
                raise self.error(
                    f"Attempting to declare and annotate the type of variable '{name}' but it is "
                    "already defined in an outer block",
                    span,
                )
            if simple is None:
                raise self.error(
                    f"Cannot re-assign '{name}' to a value of type {value.kind} because {name} is "
                    "not a first-class value.  Only reassignments to first-class values are "
                    "allowed",
                    span,
                )
            if not isinstance(outer, Attribute):
                raise self.error(
                    f"Cannot re-assign '{name}' because it has type {_shown(value)} and {name} is "
                    "not a first-class value.  Only reassignments to first-class values are "
                    "allowed",
                    span,
                )
            simple = self._reassigned(name, simple, outer, span)
        if simple is None:
            self.frame.define_sugared(name, value)
            return
        if declared is not None:
            if is_empty_literal(simple):
                simple = convert(self, simple, declared, False, span)
            if not self.is_subtype(simple.type, declared):
                raise self.error(
                    f"Variable '{name}' is annotated with type {message_text(declared)} but "
                    f"is being assigned to a value of type {message_text(simple.type)}",
                    span,
                )
        if self.frame.holds:
            simple.name = simple.name or name
            self.frame.define_sugared(name, Simple(simple))
            return
        self.store(name, simple, declared or simple.type, span)

    def _reassigned(self, name: str, value: Value, outer: Attribute, span: Span) -> Value:
        value = convert(self, value, outer, True, span)
        if self.is_subtype(value.type, outer):
            return value
        text = (
            f"Variable '{name}' previously had type {message_text(outer)} but is now being "
            f"assigned to a value of type {message_text(value.type)}"
        )
        if isinstance(outer, ListType) and isinstance(value.type, ListType):
            text += "\n" + EMPTY_LIST_HINT.rstrip("\n")
        raise self.error(text + "\n", span)

    def _unpack(self, target: ast.Tuple, value: Sugared, source: Span) -> None:
        span = self.span(target)
        starred = [i for i, t in enumerate(target.elts) if isinstance(t, ast.Starred)]
        if len(starred) > 1:
            raise self.error("Only one starred expression is allowed on the lhs", span)
        count = len(target.elts)
        if len(starred) == count:
            raise self.error(
                "A Starred expression may only appear on the lhs within the presence of another "
                "non-starred expression",
                span,
            )
        parts = value.unpack(self, source)
        if parts is None:
            if starred:
                raise self.error(
                    "cannot statically infer the expected size of a list in this context", source
                )
            listed = value.as_value(self, source)
            assert isinstance(listed.type, ListType)
            node = self.insert("prim::ListUnpack", [listed], [listed.type.element] * count, source)
            parts = [Simple(v) for v in node.outputs]
        if len(parts) < count - len(starred):
            least = f"at least {count - 1}" if starred else str(count)
            raise self.error(f"need {least} values to unpack but found only {len(parts)}", span)
        if not starred and len(parts) > count:
            raise self.error(
                f"too many values to unpack: need {count} but found {len(parts)}", span
            )
        at = 0
        for element in target.elts:
            if isinstance(element, ast.Starred):
                if not isinstance(element.value, ast.Name):
                    where = self.span(element.value)
                    raise self.error("Cannot pack a tuple into a non-variable", where)
                taken = parts[at : at + len(parts) - count + 1]
                held = Parts(taken).as_value(self, source)
                self.assign_target(element.value, Simple(held), source)
                at += len(taken)
            else:
                self.assign_target(element, parts[at], source)
                at += 1

    def assign_attribute(self, target: ast.Attribute, value: Sugared, span: Span) -> None:
        base = self.sugared(target.value).as_value(self, span)
        if not isinstance(base.type, ClassType):
            raise self.error(
                f"Tried to set an attribute: {target.attr} on a non-class: "
                f"{message_text(base.type)}",
                span,
            )
        self.set_attribute(base, target.attr, value.as_value(self, span), span)

    def _unclosed(self, target: ast.Subscript, part: ast.Slice) -> Span:
        """A subscript up to the last expression in it."""
        bounds = [b for b in (part.lower, part.upper, part.step) if b is not None]
        ends = [self.span(b).end for b in (target.value, *bounds)]
        return replace(self.span(target), end=ends[-1])

    def _unbracketed(self, target: ast.Subscript, indices: list[ast.expr]) -> Span:
        """Several indices without the parentheses that they may stand in."""
        return replace(self.span(target.slice), start=self.span(indices[0]).start)

    def assign_subscript(self, target: ast.Subscript, value: Value, span: Span) -> None:
        base = self.expr(target.value)
        if isinstance(base.type, TensorType):
            self._store_tensor(base, target, value, span)
            return
        if isinstance(target.slice, ast.Slice):
            raise self.error(
                "Sliced expression not yet supported for subscripted assignment. File a bug if you "
                "want this",
                self._unclosed(target, target.slice),
            )
        if len(indices := indices_of(target)) > 1:
            raise self.error(
                "Sliced expression not yet supported for subscripted assignment. File a bug if you "
                "want this",
                self._unbracketed(target, indices),
            )
        index = self.expr(target.slice)
        if isinstance(base.type, ClassType):
            method_call(self, base, "__setitem__", [index, value], span)
            return
        if isinstance(base.type, TupleType):
            raise self.error(
                f"{message_text(base.type)} does not support subscripted assignment",
                self.span(target),
            )
        if isinstance(base.type, ListType | DictType):
            wanted = base.type.element if isinstance(base.type, ListType) else base.type.value
            if not is_empty_literal(value):
                # An empty display stays a list of tensors here, as in TorchScript.
                value = convert(self, value, wanted, False, span)
        self.builtin("aten::_set_item", [base, index, value], span)

    def _store_tensor(self, base: Value, target: ast.Subscript, value: Value, span: Span) -> None:
        view, tensors = self.tensor_views(base, indices_of(target), self.span(target))
        filled = self._as_tensor(value, view, span)
        if not tensors:
            self.builtin("aten::copy_", [view, filled], span)
        else:
            indices = self.index_list(tensors, span)
            self.builtin("aten::index_put_", [view, indices, filled], span)

    def _as_tensor(self, value: Value, like: Value, span: Span) -> Value:
        """A number turned into a tensor of the target's dtype and device."""
        if value.type not in _NUMBERS:
            return value
        kwargs = {
            "dtype": self.builtin("prim::dtype", [like], span),
            "device": self.builtin("prim::device", [like], span),
        }
        return self.builtin("aten::tensor", [value], None, kwargs)

    def augmented(self, node: ast.AugAssign) -> None:
        span = self.span(node)
        target = node.target
        match target:
            case ast.Name():
                current = self.expr(ast.copy_location(ast.Name(target.id, ast.Load()), target))
                value = self._combine(current, self.expr(node.value), node, span)
                self.bind(target.id, Simple(value), self.span(target))
            case ast.Attribute():
                base = self.expr(target.value)
                found = self.attribute(Simple(base), target.attr, self.span(target))
                current = found.as_value(self, span)
                value = self._combine(current, self.expr(node.value), node, span)
                self.set_attribute(base, target.attr, value, span)
            case ast.Subscript():
                self._augment_item(target, node, span)

    def _combine(self, current: Value, other: Value, node: ast.AugAssign, span: Span) -> Value:
        magic, operator = BINARY[type(node.op)]
        is_list = isinstance(current.type, ListType) and isinstance(node.op, ast.Add | ast.Mult)
        if isinstance(current.type, TensorType) or is_list:
            return self.builtin(_AUGMENTED_TENSOR[type(node.op)], [current, other], span)
        if isinstance(node.op, ast.Mod) and current.type in (INT, FLOAT, COMPLEX, BOOL):
            # As in TorchScript, `%=` of numbers is C's fmod, and not `%`.
            return self.builtin("aten::fmod", [current, other], span)
        if isinstance(current.type, ClassType):
            magic = self._in_place(current.type, node.op, span)
        return self.operate(magic, operator, [current, other], span)

    def _in_place(self, type: ClassType, op: ast.operator, span: Span) -> str:
        """The method that an augmented assignment of an object calls."""
        if (symbol := _NOT_IN_PLACE.get(op.__class__)) is not None:
            raise self.error(f"Unknown augmented assignment: {symbol}", span)
        magic, _ = BINARY[op.__class__]
        in_place = "__i" + magic[2:]
        for name in (in_place, magic):
            if self.class_method(type, name, span) is not None:
                return name
        raise self.error(
            f"Cannot emit inplace op on {message_text(type)} since it does not define an "
            f"{in_place} or {magic} method",
            span,
        )

    def _augment_item(self, target: ast.Subscript, node: ast.AugAssign, span: Span) -> None:
        base = self.expr(target.value)
        indices = indices_of(target)
        if isinstance(base.type, TensorType):
            view, tensors = self.tensor_views(base, indices, self.span(target))
            if not tensors:
                self._combine(view, self.expr(node.value), node, span)
                return
            listed = self.index_list(tensors, span)
            current = self.builtin("aten::index", [view, listed], span)
            value = self._combine(current, self.expr(node.value), node, span)
            self.builtin("aten::index_put_", [view, listed, value], span)
            return
        if len(indices) != 1:
            raise self.error(
                f"Sliced expression not yet supported for {message_text(base.type)} augmented "
                "assignment. File a bug if you want this",
                self._unbracketed(target, indices),
            )
        if isinstance(target.slice, ast.Slice):
            raise self.error(
                "Sliced expression not yet supported for subscripted augmented assignment. File a "
                "bug if you want this",
                span,
            )
        if not isinstance(base.type, ListType | DictType):
            raise self.error(
                f"{message_text(base.type)} does not support augmented assignment.",
                self.span(target),
            )
        index, other = self.expr(target.slice), self.expr(node.value)
        current = self.builtin("aten::__getitem__", [base, index], span)
        value = self._combine_item(current, other, node, span, isinstance(base.type, ListType))
        self.builtin("aten::_set_item", [base, index, value], span)

    def _combine_item(
        self, current: Value, other: Value, node: ast.AugAssign, span: Span, in_list: bool
    ) -> Value:
        """What an element becomes: only what is in a list changes in place."""
        is_changed = in_list and isinstance(current.type, TensorType | ListType)
        if is_changed or current.type in (INT, FLOAT, COMPLEX, BOOL):
            return self._combine(current, other, node, span)
        _, operator = BINARY[type(node.op)]
        return self.builtin(operator, [current, other], span)

    def delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            span = self.span(target)
            match target:
                case ast.Name():
                    if not self.frame.forget(target.id):
                        raise self.error(f"undefined value {target.id}", span)
                case ast.Subscript(slice=ast.Slice()):
                    raise self.error(
                        "del statements only support deletion at a single index, slicing is not "
                        "supported (see https://github.com/pytorch/pytorch/issues/31430)",
                        span,
                    )
                case ast.Subscript():
                    self._delete_item(target, span, self.span(node))
                case _:
                    raise self.error(
                        "del statements are only supported for deleting list and dict items and "
                        "variables",
                        span,
                    )

    def _delete_item(self, target: ast.Subscript, span: Span, whole: Span) -> None:
        base, index = self.expr(target.value), self.expr(target.slice)
        if isinstance(base.type, ClassType):
            if self.class_method(base.type, "__delitem__", span) is None:
                raise self.error("Class does not define __delitem__", span)
            method_call(self, base, "__delitem__", [index], whole)
            return
        self.builtin("aten::Delete", [base, index], span)

    def converted(self, value: Value, type: Attribute, span: Span) -> Value:
        return convert(self, value, type, True, span)

    # What the later parts of the emitter provide.

    def set_attribute(self, object: Value, name: str, value: Value, span: Span) -> None:
        raise NotImplementedError

    def attribute_type(self, type: ClassType, name: str) -> Attribute | None:
        raise NotImplementedError


def _shown(value: Sugared) -> str:
    if not isinstance(value, Simple) or isinstance(value, ModuleObject):
        return value.kind
    return f"value of type '{annotation_text(value.value.type)}'"


def _stays_sugared(value: Sugared) -> bool:
    """Whether a compile-time value is bound as it is."""
    return isinstance(value, ModuleObject) or not isinstance(value, Simple)
