"""Calls: arguments, special forms and the builtin functions of the language."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

from xdsl.ir import Attribute

from tensorscript.base.source import Span
from tensorscript.dialects.ts import typing
from tensorscript.dialects.ts.type_text import message_text
from tensorscript.dialects.ts.types import (
    ANY_LIST,
    ANY_TUPLE,
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NONE,
    STRING,
    AwaitType,
    ClassType,
    DictType,
    FutureType,
    InterfaceType,
    ListType,
    NoneType,
    OptionalType,
    StringType,
)

from .callables import Builtin, Cast, Closure, Form, method_call
from .draft import AWAITABLE, FORK, Node, Value, constant
from .hints import constructed_dict, constructed_list
from .subscripts import Subscripts
from .values import Iterable, Nothing, Range, Simple, SliceValue, Sugared, Zip

_PLACED_BY_NAME = frozenset({"print", "len", "unwrap_optional", "slice"})
"""Forms whose call is underlined at the name alone."""
_CALLED = (ClassType, InterfaceType)
"""Types of objects that may have a `__call__`."""

BUILTINS: dict[str, Sugared] = {
    "int": Cast("aten::Int", "__int__", INT),
    "float": Cast("aten::Float", "__float__", FLOAT),
    "bool": Cast("aten::Bool", "__bool__", BOOL),
    "str": Cast("aten::str", "__str__", STRING),
    "complex": Cast("aten::Complex", "__complex__", COMPLEX),
    "abs": Builtin("prim::abs"),
    "all": Builtin("aten::all"),
    "any": Builtin("aten::any"),
    "bin": Builtin("aten::bin"),
    "chr": Builtin("aten::chr"),
    "divmod": Builtin("aten::divmod"),
    "hash": Builtin("aten::hash"),
    "hex": Builtin("aten::hex"),
    "id": Builtin("prim::id"),
    "max": Builtin("prim::max"),
    "min": Builtin("prim::min"),
    "oct": Builtin("aten::oct"),
    "ord": Builtin("aten::ord"),
    "pow": Builtin("aten::pow"),
    "round": Builtin("aten::round"),
    "sorted": Builtin("aten::sorted"),
    "sum": Builtin("aten::sum"),
} | {
    name: Form(name)
    for name in (
        "print", "len", "range", "slice", "enumerate", "zip", "list", "dict", "tuple",
        "isinstance", "hasattr", "getattr", "annotate", "unchecked_cast", "uninitialized",
        "fork", "awaitable", "tensor",
        "is_scripting", "is_tracing", "unwrap_optional", "has_torch_function",
    )
}  # fmt: skip
"""What TorchScript's own names mean; the resolver decides which Python names lead here."""


class Calls(Subscripts):
    """Emits calls."""

    def arguments(self, node: ast.Call) -> tuple[list[Value], dict[str, Value]]:
        args: list[Value] = []
        for arg in node.args:
            if isinstance(arg, ast.Starred):
                args += self.starred(arg)
            else:
                args.append(self.expr(arg))
        kwargs: dict[str, Value] = {}
        for keyword in node.keywords:
            assert keyword.arg is not None
            kwargs[keyword.arg] = self.expr(keyword.value)
        return args, kwargs

    def call(self, node: ast.Call, hint: Attribute | None) -> Sugared:
        callee = self.sugared(node.func)
        # The place of a call is that of what is called.
        span = self.span(node.func)
        if isinstance(callee, Form):
            where = span if callee.name in _PLACED_BY_NAME else self.span(node)
            return self._form_call(callee.name, node, where, hint)
        if isinstance(callee, Builtin) and callee.name == "aten::tolist":
            if hint is None:
                raise self.error("Expected type hint for result of tolist()", self.span(node))
            return Simple(self._to_list(callee, span, hint))
        if callee.ignores_arguments:
            return callee.call(self, span, [], {})
        args, kwargs = self.arguments(node)
        return self._called(callee, span, args, kwargs)

    def _called(
        self, callee: Sugared, span: Span, args: list[Value], kwargs: dict[str, Value]
    ) -> Sugared:
        if isinstance(callee, Simple) and isinstance(callee.value.type, _CALLED):
            callee = self.attribute(callee, "__call__", span)
        return callee.call(self, span, args, kwargs)

    def _form_call(self, name: str, node: ast.Call, span: Span, hint: Attribute | None) -> Sugared:
        table: dict[str, Callable[[ast.Call, Span, Attribute | None], Sugared]] = {
            "print": self._print, "len": self._len, "range": self._range,
            "slice": self._slice,
            "enumerate": self._enumerate, "zip": self._zip, "list": self._list,
            "dict": self._dict, "tuple": self._tuple, "isinstance": self._condition_form,
            "hasattr": self._condition_form, "getattr": self._getattr,
            "annotate": self._annotate, "unchecked_cast": self._unchecked_cast,
            "uninitialized": self._uninitialized, "fork": self._fork,
            "awaitable": self._awaitable,
            "is_scripting": self._is_scripting, "is_tracing": self._is_tracing,
            "unwrap_optional": self._unwrap_optional, "tensor": self._tensor,
            "has_torch_function": self._has_torch_function,
        }  # fmt: skip
        return table[name](node, span, hint)

    def _count(
        self, name: str, node: ast.Call, span: Span, least: int, most: int | None = None
    ) -> None:
        """Check how many arguments a special form has."""
        found = len(node.args)
        if least <= found <= (most or least):
            return
        wanted = f"exactly {least} arguments"
        if most is not None:
            wanted = f"to have number of arguments between {least} and {most}"
        raise self.error(f"{name} expected {wanted} but found {found}", span)

    def _print(self, node: ast.Call, span: Span, _hint: Attribute | None) -> Sugared:
        args, kwargs = self.arguments(node)
        if kwargs:
            raise self.error("print doesn't accept any keyword arguments", span)
        self.insert("prim::Print", args, [], span)
        return Nothing()

    def _len(self, node: ast.Call, span: Span, _hint: Attribute | None) -> Sugared:
        if len(node.args) != 1 or node.keywords:
            args, kwargs = self.arguments(node)
            return Simple(self.builtin("aten::len", args, span, kwargs))
        found = self.sugared(node.args[0])
        if isinstance(found, Simple):
            if isinstance(found.value.type, ClassType):
                return self._object_len(found.value, span)
            return Simple(self.length(found.value, span))
        return Simple(self.length(found.as_value(self, self.span(node.args[0])), span))

    def _object_len(self, value: Value, span: Span) -> Sugared:
        if self.knows_attribute(Simple(value), "__len__", span):
            return method_call(self, value, "__len__", [], span)
        if (found := self.children(value, span)) is not None:
            return Simple(self.integer(len(found.parts)))
        return method_call(self, value, "__len__", [], span)

    def _demand_ints(self, args: Sequence[Value], span: Span) -> None:
        """Refuse what is no int as a bound or a step of a range."""
        for at, arg in enumerate(args):
            if arg.type != INT:
                raise self.error(
                    f"all inputs of range must be ints, found {message_text(arg.type)} in "
                    f"argument {at}",
                    span,
                )

    def _range(self, node: ast.Call, span: Span, _hint: Attribute | None) -> Sugared:
        args, _ = self.arguments(node)
        if not 1 <= len(args) <= 3:
            few = "range expected at least 1 arguments, got 0"
            many = f"range expected at most 3 arguments, got {len(args)}"
            raise self.error(few if not args else many, span)
        self._demand_ints(args, span)
        if len(args) == 1:
            return Range(self.integer(0), args[0], self.integer(1), True)
        step = args[2] if len(args) == 3 else self.constant(1, span)
        return Range(args[0], args[1], step, False)

    def _slice(self, node: ast.Call, span: Span, _hint: Attribute | None) -> Sugared:
        args, kwargs = self.arguments(node)
        if kwargs:
            raise self.error("Slice does not accept any keyword arguments", span)
        if not 1 <= len(args) <= 3:
            raise self.error(f"slice accepts exactly 1, 2 or 3 arguments, got: {len(args)}", span)
        places = args if len(args) > 1 else [self.constant(None, span), *args]
        defaults = (0, 2**63 - 1, 1)
        start, end, step = (
            places[k]
            if k < len(places) and places[k].type != NONE
            else self.constant(default, span)
            for k, default in enumerate(defaults)
        )
        return SliceValue((start, end, step))

    def _iterables(self, nodes: list[ast.expr], span: Span) -> list[Iterable]:
        return [self.sugared(n).iterate(self, span) for n in nodes]

    def _enumerate(self, node: ast.Call, span: Span, _hint: Attribute | None) -> Sugared:
        if not node.args:
            raise self.error("enumerate expected at least 1 arguments, got 0", span)
        start, one = self.integer(0), self.integer(1)
        for keyword in node.keywords:
            if keyword.arg != "start":
                raise self.error(
                    f"enumerate expected kwarg name 'start', got '{keyword.arg}'", span
                )
        extra = node.args[1:] + [k.value for k in node.keywords]
        if len(node.args) + len(node.keywords) > 2:
            raise self.error(f"enumerate expected at most 2 arguments, got {len(node.args)}", span)
        top = self.draft.literal(2**63 - 1, INT, span)
        children = self._iterables(node.args[:1], span)
        if extra:
            start = self.expr(extra[0])
            one = self.constant(1, span)
            self._demand_ints([start], span)
        return Zip([Range(start, top, one, not extra), *children])

    def _zip(self, node: ast.Call, span: Span, _hint: Attribute | None) -> Sugared:
        if not node.args:
            raise self.error("zip expected at least 1 arguments, got 0", span)
        return Zip(self._iterables(node.args, span))

    def _list(self, node: ast.Call, span: Span, hint: Attribute | None) -> Sugared:
        if not node.args:
            constructed_list(hint, span)
            return Simple(self.list_display([], span, hint))
        self._count("list", node, span, 1)
        source = self.sugared(node.args[0])
        if isinstance(source, Simple) and isinstance(source.value.type, ListType | StringType):
            return Simple(self.builtin("aten::list", [source.value], span))
        # Anything else as a comprehension.
        item = ast.copy_location(ast.Name("$item", ast.Load()), node)
        return Simple(self.collect_list(lambda: source.iterate(self, span), item, item, span, hint))

    def _dict(self, node: ast.Call, span: Span, hint: Attribute | None) -> Sugared:
        if node.args:
            self._count("dict", node, span, 1)
        pairs: list[ast.Tuple] = []
        for keyword in node.keywords:
            key = ast.copy_location(ast.Constant(keyword.arg), keyword)
            pair = ast.Tuple([key, keyword.value], ast.Load())
            pairs.append(ast.copy_location(pair, keyword))
        source: ast.expr = node.args[0] if node.args else ast.List([], ast.Load())
        wanted = constructed_dict(hint, source if not pairs else None, span)
        if not pairs and isinstance(source, ast.List) and not source.elts:
            display = ast.copy_location(ast.Dict([], []), node)
            return Simple(self.dict_display(display, span, wanted))
        if isinstance(source, ast.List):
            # Keywords are more pairs of a list that is written out.
            source = ast.copy_location(ast.List([*source.elts, *pairs], ast.Load()), node)
            pairs = []
        made = self._dict_of(source, span, wanted)
        for name, given in (pair.elts for pair in pairs):
            at = self.span(given)
            inputs = [made, self.expr(ast.copy_location(name, given)), self.expr(given)]
            self.builtin("aten::_set_item", inputs, at)
        return Simple(made)

    def _dict_of(self, node: ast.expr, span: Span, hint: Attribute | None) -> Value:
        """`dict(x)` of a dict, or of something that gives pairs."""
        source = self.sugared(node, hint if isinstance(node, ast.Dict) else None)
        if isinstance(source, Simple) and isinstance(source.value.type, DictType):
            return self.builtin("aten::dict", [source.value], span)
        key, value = (ast.copy_location(ast.Name(n, ast.Load()), node) for n in ("$k", "$v"))
        target = ast.copy_location(ast.Tuple([key, value], ast.Store()), node)
        return self.collect_dict(lambda: source.iterate(self, span), target, key, value, span, hint)

    def _tuple(self, node: ast.Call, span: Span, _hint: Attribute | None) -> Sugared:
        self._count("tuple", node, span, 1)
        parts = self.sugared(node.args[0]).unpack(self, span)
        if parts is None:
            raise self.error(
                "cannot statically infer the expected size of a list in this context", span
            )
        return Simple(self.make_tuple([p.as_value(self, span) for p in parts], span))

    def _condition_form(self, node: ast.Call, span: Span, _hint: Attribute | None) -> Sugared:
        callee = self.sugared(node.func)
        assert isinstance(callee, Form)
        self._count(callee.name, node, span, 2)
        return Simple(self.condition_value(self.condition(node), span))

    def _getattr(self, node: ast.Call, span: Span, _hint: Attribute | None) -> Sugared:
        self._count("getattr", node, span, 2, 3)
        name = node.args[1]
        if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
            raise self.error("getattr's second argument must be a string literal", span)
        base = self.sugared(node.args[0])
        if len(node.args) == 3 and not self.knows_attribute(base, name.value, span):
            return self.sugared(node.args[2])
        return self.attribute(base, name.value, span)

    def _annotate(self, node: ast.Call, span: Span, _hint: Attribute | None) -> Sugared:
        self._count("annotate", node, span, 2)
        type = self.annotation(node.args[0])
        value = self.expr(node.args[1], type)
        first, last = map(self.span, node.args)
        return Simple(self.coerce(value, type, replace(first, end=last.end)))

    def coerce(self, value: Value, type: Attribute, span: Span) -> Value:
        """`value` as the annotated `type`, by the conversions that annotations allow."""
        value = self.converted(value, type, span)
        if not self.is_subtype(value.type, type):
            raise self.error(
                f"expected an expression of type {message_text(type)} but found "
                f"{message_text(value.type)}",
                span,
            )
        if value.type != type and value.type == NONE:
            return self.add(constant(None, type, span)).output
        return value

    def _unchecked_cast(self, node: ast.Call, span: Span, _hint: Attribute | None) -> Sugared:
        type = self.annotation(node.args[0])
        return Simple(self.cast(self.expr(node.args[1]), type, span))

    def _uninitialized(self, node: ast.Call, span: Span, _hint: Attribute | None) -> Sugared:
        type = self.annotation(node.args[0])
        return Simple(self.insert("prim::Uninitialized", [], [type], span).output)

    def _is_scripting(self, node: ast.Call, span: Span, _hint: Attribute | None) -> Sugared:
        return self._state("aten::is_scripting", True, node, span)

    def _is_tracing(self, node: ast.Call, span: Span, _hint: Attribute | None) -> Sugared:
        return self._state("aten::is_tracing", False, node, span)

    def _state(self, name: str, known: bool, node: ast.Call, span: Span) -> Sugared:
        """An operator without arguments whose result is known now."""
        if node.args or node.keywords:
            args, kwargs = self.arguments(node)
            return Simple(self.builtin(name, args, span, kwargs))
        return Simple(self.constant(known, span))

    def _has_torch_function(self, _node: ast.Call, span: Span, _hint: Attribute | None) -> Sugared:
        return Simple(self.constant(False, span))

    def _unwrap_optional(self, node: ast.Call, span: Span, _hint: Attribute | None) -> Sugared:
        args, kwargs = self.arguments(node)
        if len(args) == 1 and not kwargs and not isinstance(args[0].type, OptionalType | NoneType):
            return Simple(args[0])
        return Simple(self.builtin("aten::_unwrap_optional", args, span, kwargs))

    def _tensor(self, node: ast.Call, span: Span, _hint: Attribute | None) -> Sugared:
        args, kwargs = self.arguments(node)
        return Simple(self.builtin("aten::tensor", args, span, kwargs))

    def _to_list(self, callee: Builtin, span: Span, hint: Attribute) -> Value:
        assert callee.self_value is not None
        element, depth = hint, 0
        while isinstance(element, ListType):
            element, depth = element.element, depth + 1
        codes: dict[Attribute, int] = {INT: 0, FLOAT: 1, BOOL: 2, COMPLEX: 3}
        if element not in codes:
            raise self.error(
                f"{message_text(element)} is not one of the supported element types for tolist: "
                "int, float, complex, bool",
                span,
            )
        inputs = [callee.self_value, self.integer(depth), self.integer(codes[element])]
        return self.insert("prim::tolist", inputs, [hint], span).output

    def _fork(self, node: ast.Call, span: Span, _hint: Attribute | None) -> Sugared:
        task, result = self._task(FORK, node, replace(span, within="<forked function>"))
        return self._promised(task, FutureType(result.type))

    def _awaitable(self, node: ast.Call, span: Span, _hint: Attribute | None) -> Sugared:
        task, result = self._task(AWAITABLE, node, replace(span, within="<awaitable function>"))
        return self._promised(task, AwaitType(result.type))

    def _task(self, kind: str, node: ast.Call, inside: Span) -> tuple[Node, Value]:
        """A node whose block calls the first argument with the others, and what it returns."""
        callee = self.sugared(node.args[0])
        rest = ast.copy_location(ast.Call(node.func, node.args[1:], node.keywords), node)
        args, kwargs = self.arguments(rest)
        task = self.insert(kind, [], [], replace(inside, within=""))
        body = task.add_block()
        with self.inside(body):
            if isinstance(callee, Closure):
                result = self.closure_body(callee.tree)
            else:
                result = self._called(callee, inside, args, kwargs).as_value(self, inside)
            body.outputs.append(result)
        return task, result

    def _promised(self, task: Node, type: Attribute) -> Simple:
        value = task.add_output(type)
        value.block = self.block
        return Simple(value)

    def class_list(self, node: ast.expr) -> list[Attribute]:
        nodes = node.elts if isinstance(node, ast.Tuple) else [node]
        out: list[Attribute] = []
        for part in nodes:
            if isinstance(part, ast.Tuple):
                out += self.class_list(part)
            elif isinstance(part, ast.Name) and part.id in ("list", "tuple"):
                out.append(ANY_LIST if part.id == "list" else ANY_TUPLE)
            else:
                out += typing.members_of(self.annotation(part))
        return out

    # What the later parts of the emitter provide.

    def annotation(self, node: ast.expr) -> Attribute:
        raise NotImplementedError

    def closure_body(self, tree: ast.FunctionDef) -> Value:
        """Emit a nested function's body here; gives a placeholder of what it returns."""
        raise NotImplementedError

    def converted(self, value: Value, type: Attribute, span: Span) -> Value:
        raise NotImplementedError
