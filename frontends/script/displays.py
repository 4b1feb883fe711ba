"""Displays of lists, tuples, dicts and f-strings, and comprehensions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from xdsl.ir import Attribute

from tensorscript.base.source import Span
from tensorscript.dialects.ts.type_text import message_text
from tensorscript.dialects.ts.types import (
    ANY,
    STRING,
    TENSOR,
    DictType,
    ListType,
    OptionalType,
    TensorType,
    UnionType,
)

from .annotations import make_dict
from .conditions import Condition, Conditions
from .draft import Value
from .hints import candidates, check_pair, empty_candidate, fitting_dict, fitting_list
from .schema_match import is_empty_literal
from .values import Iterable, Sugared


class Displays(Conditions):
    """Emits displays and comprehensions."""

    def list_display(self, elements: list[ast.expr], span: Span, hint: Attribute | None) -> Value:
        values: list[Value] = []
        for node in elements:
            if isinstance(node, ast.Starred):
                values += self.starred(node)
            else:
                values.append(self.expr(node))
        if not values:
            found = empty_candidate(hint, ListType, span)
            made = self.make_list(found.element if found else TENSOR, [], span)
            if found is None and made.node is not None:
                made.node.attributes["empty_literal"] = True
            return self._annotated(made, hint, span) if isinstance(hint, UnionType) else made
        wanted = fitting_list(hint, [v.type for v in values], span, self.fulfils)
        made = self.make_list(wanted.element if wanted else self._element(values), values, span)
        return self._annotated(made, hint, span)

    def _annotated(self, value: Value, hint: Attribute | None, span: Span) -> Value:
        """A display as a value of the union that it is annotated to be."""
        if isinstance(hint, UnionType | OptionalType):
            return self.cast(value, hint, span)
        return value

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
        inputs: list[Value] = []
        for k, v in zip(node.keys, node.values, strict=True):
            assert k is not None
            inputs += [self.expr(k), self.expr(v)]
        if not inputs:
            made = empty_candidate(hint, DictType, span) or DictType(STRING, TENSOR)
        else:
            places = [self.span(k) for k in node.keys if k is not None]
            key, value = self._dict_keys(inputs[::2], places), self._element(inputs[1::2])
            made = fitting_dict(hint, key, value, span, self.fulfils) or make_dict(key, value)
        display = self.insert("prim::DictConstruct", inputs, [made], span).output
        return self._annotated(display, hint, span)

    def _element(self, values: list[Value]) -> Attribute:
        """The type of the elements of a display that no annotation tells."""
        found: Attribute = values[0].type
        for value in values[1:]:
            joined = self.unify(found, value.type, to_union=True)
            assert joined is not None
            found = joined
        return TENSOR if isinstance(found, TensorType) else found

    def _dict_keys(self, keys: list[Value], places: list[Span]) -> Attribute:
        first = keys[0].type
        for key, span in zip(keys, places, strict=True):
            if not self.is_subtype(key.type, first):
                raise self.error(
                    "Dict keys must contain only a single type. Expected: "
                    f"{message_text(first)} but found {message_text(key.type)} "
                    "instead",
                    span,
                )
        return first

    def list_comprehension(
        self, node: ast.ListComp | ast.GeneratorExp, span: Span, hint: Attribute | None
    ) -> Value:
        (generator,) = node.generators
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
        allowed = candidates(hint, ListType, span)
        known: list[Attribute | None] = [allowed[0].element if len(allowed) == 1 else None]
        made = self.make_list(known[0] or TENSOR, [], span)
        seen: list[Attribute] = []  # one each time that the body is emitted, as for a tuple

        def append() -> None:
            out = self.expr(element, None if known[0] == ANY else known[0])
            seen.append(out.type)
            wanted = None
            if not is_empty_literal(out):
                first = ListType(known[0]) if known[0] is not None else None
                wanted = fitting_list(hint or first, seen, span, self.fulfils)
            if known[0] is None:
                plain = TENSOR if isinstance(out.type, TensorType) else out.type
                known[0] = found = wanted.element if wanted else plain
                made.type = ListType(found)
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
        (generator,) = node.generators
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
        allowed = candidates(hint, DictType, span)
        fixed = allowed[0] if len(allowed) == 1 else None
        made = self.insert(
            "prim::DictConstruct", [], [fixed or DictType(STRING, TENSOR)], span
        ).output

        def add() -> None:
            pair = self.expr(key), self.expr(value)
            types = [v.type for v in pair]
            if isinstance(types[0], UnionType):
                raise self.error(
                    "Dicts may only contain homogeneous keys, but the type of the first generated "
                    f"key was {message_text(types[0])}",
                    span,
                )
            if fixed is not None:
                check_pair(fixed, types[0], types[1], span, self.fulfils)
            else:
                fitting = fitting_dict(hint, types[0], types[1], span, self.fulfils)
                made.type = fitting or make_dict(*types)
            self.builtin("aten::_set_item", [made, *pair], span)

        self._collect(iterable, target, add, tests, span)
        return self._annotated(made, hint, span)

    def joined_string(self, node: ast.JoinedStr, span: Span) -> Value:
        text = ""
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                text += f"{{{_format_spec(value)}}}"
            elif isinstance(value, ast.Constant):
                text += str(value.value)
        template = self.constant(text, span)
        shown = [v.value for v in node.values if isinstance(v, ast.FormattedValue)]
        return self.builtin("aten::format", [template, *map(self.expr, shown)], span)

    # What the later parts of the emitter provide.

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


def _format_spec(field: ast.FormattedValue) -> str:
    """`:spec` of a field; TorchScript has none, and we none that is computed."""
    if field.format_spec is None:
        return ""
    assert isinstance(field.format_spec, ast.JoinedStr)
    parts = field.format_spec.values
    return ":" + "".join(str(p.value) for p in parts if isinstance(p, ast.Constant))
