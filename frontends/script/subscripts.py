"""Subscripts: `x[...]` on tensors, lists, tuples, strings, dicts and objects."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from xdsl.ir import Attribute

from tensorscript.base.source import Span
from tensorscript.base.text import nonzero_slice
from tensorscript.dialects.ts.type_text import message_text
from tensorscript.dialects.ts.types import (
    BOOL,
    FLOAT,
    INT,
    NONE,
    STRING,
    TENSOR,
    ClassType,
    DictType,
    InterfaceType,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
)

from . import draft
from .attributes import tuple_field
from .callables import method_call
from .containers import child
from .draft import Value
from .emission import Children
from .expressions import Expressions
from .values import ModuleObject, Parts, Simple, SliceValue, Sugared

Bounds = tuple[Value | None, Value | None, Value | None]
"""The start, the end and the step of a slice; None for what is left out."""
_Index = Value | SliceValue | None


def indices_of(node: ast.Subscript) -> list[ast.expr]:
    """The comma-separated subscripts."""
    if isinstance(node.slice, ast.Tuple):
        return node.slice.elts
    return [node.slice]


class Subscripts(Expressions):
    """Emits subscripts."""

    def subscript(self, node: ast.Subscript, hint: Attribute | None) -> Sugared:
        base = self.sugared(node.value)
        span = self.span(node)
        if not isinstance(base, Simple):
            return self.subscript_of(base, node, span)
        if isinstance(base.value.type, ClassType):
            found = self.children(base.value, span)
            if found is not None:
                return self._child(found, node.slice, hint, span)
            # A container that was saved is a module like any other.
            has_items = self.class_method(base.value.type, "__getitem__", span) is not None
            if isinstance(hint, InterfaceType) and not has_items:
                return self._chosen(base.value, node.slice, hint)
            if isinstance(base, ModuleObject) and not has_items:
                raise self.error(
                    "Only ModuleList, Sequential, ModuleDict, ParameterList, and ParameterDict "
                    "modules are subscriptable",
                    span,
                )
        return Simple(self.value_subscript(base.value, node, span))

    def _child(
        self, found: Children, index: ast.expr, hint: Attribute | None, span: Span
    ) -> Sugared:
        """A child of a module container; a variable chooses among children of one interface."""
        wanted = hint if isinstance(hint, InterfaceType) else None
        if (made := child(self, found, index, literal_index, wanted, span)) is not None:
            return made
        assert wanted is not None
        for name, value in found.parts.items():
            self.check_interface(f"Attribute {name}", value, wanted, span)
        return self._chosen(found.container, index, wanted)

    def _chosen(self, container: Value, index: ast.expr, wanted: InterfaceType) -> Sugared:
        """The child that is chosen when the program runs."""
        inputs = [container, self.expr(index)]
        return Simple(self.insert("prim::ModuleContainerIndex", inputs, [wanted], None).output)

    def subscript_of(self, base: Sugared, node: ast.Subscript, span: Span) -> Sugared:
        """A compile-time sequence (a module list, a tuple) takes literal indices."""
        index = literal_index(node.slice)
        if isinstance(base, Parts) and index is not None:
            return base.values[index]
        return Simple(self.value_subscript(base.as_value(self, self.span(node.value)), node, span))

    def value_subscript(self, value: Value, node: ast.Subscript, span: Span) -> Value:
        indices = indices_of(node)
        if len(indices) == 1 and _is_ellipsis(indices[0]):
            raise self.error("Cannot emit expr for: (dots)", self.span(indices[0]))
        if isinstance(value.type, TensorType):
            return self.tensor_subscript(value, indices, span)
        if len(indices) != 1:
            raise self.error(
                "Unsupported operation: attempted to use multidimensional indexing on a non-tensor "
                "type",
                span,
            )
        index = self.index_of(node.slice, span)
        if isinstance(index, SliceValue):
            is_literal = isinstance(node.slice, ast.Slice)
            where = span if is_literal else self.span(node.value)
            return self.slice_of(value, index.bounds, where)
        if isinstance(value.type, TupleType):
            return self.tuple_subscript(value, index, span)
        if isinstance(value.type, ClassType):
            return method_call(self, value, "__getitem__", [index], span).as_value(self, span)
        if not isinstance(value.type, ListType | DictType) and value.type != STRING:
            raise self.error(f"'{message_text(value.type)}' object is not subscriptable", span)
        return self.builtin("aten::__getitem__", [value, index], span)

    def index_of(
        self, node: ast.expr, span: Span, hint: Attribute | None = None
    ) -> Value | SliceValue:
        """One subscript: a value, or what `a:b` and `slice(a, b)` are."""
        if isinstance(node, ast.Slice):
            return SliceValue(self.slice_bounds(node))
        found = self.sugared(node, hint)
        return found if isinstance(found, SliceValue) else found.as_value(self, self.span(node))

    def tuple_subscript(self, value: Value, at: Value, span: Span) -> Value:
        assert isinstance(value.type, TupleType)
        elements = list(value.type.elements)
        if at.type != INT:
            raise self.error("tuple index must be an integer", span)
        if draft.is_constant(at):
            known = draft.constant_of(at)
            assert isinstance(known, int)
            if not -len(elements) <= known < len(elements):
                raise self.error(
                    f"Tuple index out of range. Tuple is length {len(elements)} and index is "
                    f"{known}",
                    span,
                )
            return tuple_field(self, value, known, span, at)
        first = elements[0] if elements else NONE
        if any(t != first for t in elements):
            raise self.error(
                f"Cannot index into a {message_text(value.type)} with a non-integer literal "
                "because we cannot resolve the output type",
                span,
            )
        return self.insert("prim::TupleIndex", [value, at], [first], span).output

    def slice_bounds(self, node: ast.Slice) -> Bounds:
        def bound(part: ast.expr | None) -> Value | None:
            return self.expr(part, OptionalType(INT)) if part is not None else None

        return bound(node.lower), bound(node.upper), bound(node.step)

    def slice_of(self, value: Value, bounds: Bounds, span: Span) -> Value:
        if isinstance(value.type, TupleType):
            return self.tuple_slice(value, bounds, span)
        return self._sliced([value], bounds, span)

    def _sliced(self, sliced: list[Value], bounds: Bounds, span: Span) -> Value:
        """The slice of a value (and along a dimension); missing bounds are seen last."""
        start, end, step = bounds
        step = self.constant(1, span) if step is None else step
        start, end = (b if b is not None else self.constant(None) for b in (start, end))
        return self.builtin("aten::slice", [*sliced, start, end, step], span)

    def tuple_slice(self, value: Value, bounds: Sequence[Value | None], span: Span) -> Value:
        assert isinstance(value.type, TupleType)
        known: list[int | None] = []
        for bound in bounds:
            if bound is None:
                known.append(None)
                continue
            found = draft.constant_of(bound) if draft.is_constant(bound) else None
            if not isinstance(found, int):
                raise self.error("tuple slice indices must be integer literals", span)
            known.append(found)
        elements = list(value.type.elements)
        start, stop, step = known
        chosen = range(len(elements))[nonzero_slice(start, stop, 1 if step is None else step)]
        parts = [tuple_field(self, value, i, span) for i in chosen]
        return self.make_tuple(parts, span)

    # Tensors

    def tensor_subscript(self, value: Value, indices: list[ast.expr], span: Span) -> Value:
        value, tensors = self.tensor_views(value, indices, span)
        if not tensors:
            return value
        return self.builtin("aten::index", [value, self.index_list(tensors, span)], span)

    def tensor_views(
        self, value: Value, indices: list[ast.expr], span: Span
    ) -> tuple[Value, dict[int, Value]]:
        """Views for ints, slices and None; what is left over as index tensors by dimension."""
        tensors: dict[int, Value] = {}
        made, dims = self._places(indices, span)
        for index, found, dim in zip(indices, made, dims, strict=True):
            if _is_ellipsis(index):
                continue
            if isinstance(index, ast.Slice):
                along = self.constant(dim, span)
                value = self._sliced([value, along], self.slice_bounds(index), span)
                continue
            assert found is not None
            if isinstance(found, SliceValue):
                value = self._sliced([value, self.constant(dim, span)], found.bounds, span)
                continue
            if found.type == NONE:
                value = self.builtin("aten::unsqueeze", [value, self.constant(dim, span)], span)
            elif found.type == INT:
                value = self.builtin("aten::select", [value, self.constant(dim, span), found], span)
            else:
                tensors[dim] = found
        return value, tensors

    def _places(self, indices: list[ast.expr], span: Span) -> tuple[list[_Index], list[int]]:
        """The index values, and the dimension that each stands for when its turn comes.

        In front of an ellipsis dimensions count up from 0: an int takes its dimension away, None
        makes one. Behind it they count down from -1, from the last index on, and there those
        further right are still to come: an int keeps its dimension, None has made none yet.
        """
        made: list[_Index] = [None] * len(indices)
        dims = [0] * len(indices)
        middle = next((k for k, i in enumerate(indices) if _is_ellipsis(i)), len(indices))
        dim = 0
        for k in range(middle):
            found = made[k] = self._index(indices[k], span)
            dims[k] = dim
            dim += not _is_type(found, INT)
        dim = -1
        for k in range(len(indices) - 1, middle, -1):
            found = made[k] = self._index(indices[k], span)
            dims[k] = dim
            if isinstance(found, Value) and found.type not in (NONE, INT):
                raise self.error(
                    "Ellipses followed by tensor indexing is currently not supported", span
                )
            dim -= not _is_type(found, NONE)
        return made, dims

    def _index(self, node: ast.expr, span: Span) -> _Index:
        """An index before any view is taken; None for `a:b` or an ellipsis."""
        if _is_ellipsis(node) or isinstance(node, ast.Slice):
            return None
        is_display = isinstance(node, ast.List | ast.ListComp)
        made = self.index_of(node, span, None if is_display else OptionalType(INT))
        if isinstance(made, SliceValue) or made.type in (NONE, INT):
            return made
        return self._index_tensor(made, span)

    def _index_tensor(self, value: Value, span: Span) -> Value:
        if isinstance(value.type, TensorType):
            return value
        code = _index_code(value.type)
        if code is not None:
            dtype = {"dtype": self.integer(code)}
            return self.builtin("aten::tensor", [value], None, dtype)
        if isinstance(value.type, OptionalType) and isinstance(value.type.element, TensorType):
            return value
        raise self.error(
            "Unsupported operation: indexing tensor with unsupported index type "
            f"'{message_text(value.type)}'. Only ints, slices, lists and tensors are "
            "supported",
            span,
        )

    def index_list(self, tensors: dict[int, Value], span: Span) -> Value:
        none = self.constant(None)
        last = max(tensors)
        values = [tensors.get(dim, none) for dim in range(last + 1)]
        return self.make_list(OptionalType(TENSOR), values, span)


def _index_code(type: Attribute) -> int | None:
    """The dtype code of the tensor that a list becomes as an index; floats are cut off."""
    is_list = isinstance(type, ListType)
    while isinstance(type, ListType):
        type = type.element
    if type == BOOL:
        return 11 if is_list else None
    return 4 if type == INT or (type == FLOAT and is_list) else None


def _is_type(index: _Index, type: Attribute) -> bool:
    return isinstance(index, Value) and index.type == type


def _is_ellipsis(node: ast.expr) -> bool:
    """`...`, by its name, too."""
    if isinstance(node, ast.Name):
        return node.id == "Ellipsis"
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def literal_index(node: ast.expr) -> int | None:
    """The integer that a subscript spells literally."""
    match node:
        case ast.Constant(int(value)):
            return value
        case ast.UnaryOp(ast.USub(), ast.Constant(int(value))):
            return -value
    return None
