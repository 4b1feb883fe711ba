"""Displays of lists, tuples, dicts and f-strings, and comprehensions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from xdsl.ir import Attribute

from tensorscript.base.errors import NotSupportedError
from tensorscript.base.source import Span
from tensorscript.dialects.ts import typing
from tensorscript.dialects.ts.types import (
    STRING,
    TENSOR,
    DictType,
    ListType,
    TensorType,
)

from .annotations import make_dict
from .conditions import Condition, Conditions
from .draft import Value
from .values import Iterable, Sugared


class Displays(Conditions):
    """Emits displays and comprehensions."""

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
