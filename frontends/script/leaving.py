"""Statements that leave early (return, raise, assert), and the contexts that they leave."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from xdsl.ir import Attribute

from tensorscript.base.source import Span
from tensorscript.dialects.ts.type_text import message_text
from tensorscript.dialects.ts.types import ANY, NONE, TENSOR, ClassType, TensorType

from . import draft
from .callables import ExceptionClass, ExceptionMessage
from .conditions import Condition
from .draft import Block, Value
from .schema_match import convert
from .signature import Signature
from .source import Text
from .stores import Stores
from .values import Simple

Body = Callable[[], None]


class Leaving(Stores):
    """Emits return, raise, assert and with.

    Attributes:
        exited: blocks whose end is never reached.
        declared_return: the annotated type of the result.
        merged_return: the type of the results so far.
    """

    def __init__(self, text: Text) -> None:
        super().__init__(text)
        self.exited: set[Block] = set()
        self.declared_return: Attribute | None = None
        self.merged_return: Attribute | None = None

    def returned(self, node: ast.Return, span: Span) -> Value:
        if node.value is None:
            return self.constant(None, span)
        return self.expr(node.value, self.declared_return)

    def leave(self, value: Value, span: Span) -> None:
        """`return value`."""
        declared = self.declared_return
        if declared is not None:
            if not (isinstance(declared, TensorType) and value.type == NONE):
                value = convert(self, value, declared, True, span)
            if not self.is_subtype(value.type, declared):
                raise self.error(
                    f"Return value was annotated as having type {message_text(declared)} "
                    f"but is actually of type {message_text(value.type)}",
                    span,
                )
            self.merged_return = declared
        else:
            before = self.merged_return or value.type
            merged = self.unify(before, value.type)
            if merged is None:
                raise self.error(
                    "Previous return statement returned a value of type "
                    f"{message_text(before)} but this return statement returns a value of "
                    f"type {message_text(value.type)}",
                    span,
                )
            self.merged_return = merged
        if self.merged_return == ANY and value.type != ANY:
            value = self.cast(value, ANY, span)
        self.insert(draft.RETURN, [value], [], span)
        self.exited.add(self.block)

    def throw(self, node: ast.Raise, span: Span) -> None:
        assert node.exc is not None
        raised = self.sugared(node.exc)
        if isinstance(raised, ExceptionMessage):
            message, name = raised.message, raised.class_name
        elif isinstance(raised, ExceptionClass):
            message, name = self.constant("", span), self.constant(None)
        else:
            raise self.error("exceptions must derive from BaseException", span)
        self._throw(message, name, span)

    def _throw(self, message: Value, name: Value, span: Span | None) -> None:
        text = self.to_string(message, None)
        self.insert(draft.RAISE, [text, name], [], span)
        self.exited.add(self.block)

    def assertion(self, node: ast.Assert, span: Span) -> None:
        condition = self.condition(node.test)

        def fail() -> None:
            shown = self.expr(node.msg) if node.msg is not None else self.constant("", span)
            head = self.constant("AssertionError: ", span)
            text = self.builtin("aten::add", [head, self.to_string(shown, span)], span)
            self._throw(text, self.constant(None), span)

        self.branch(condition, lambda: None, fail, span)

    def check(self, value: Value, message: Value, span: Span | None) -> None:
        """An assertion: raise with a message unless `value` holds."""

        def fail() -> None:
            head = self.constant("AssertionError: ")
            text = self.builtin("aten::add", [head, message], span)
            self._throw(text, self.constant(None), span)

        self.branch(Condition(value), lambda: None, fail, span)

    def context(self, node: ast.With, span: Span) -> None:
        entered: list[Value] = []
        for item in node.items:
            where = self.span(item.context_expr)
            object = self.expr(item.context_expr)
            entering = self._context(object, where)
            value = self.insert(draft.ENTER, [object], list(entering.returns), where).output
            if item.optional_vars is not None:
                self.assign_target(item.optional_vars, Simple(value), self.span(item.context_expr))
            entered.append(object)
        self.body(node.body)
        for object in reversed(entered):
            self.insert(draft.EXIT, [object], [TENSOR], span)

    def _context(self, object: Value, span: Span) -> Signature:
        """Check that an object can stand in a with statement; the signature of its `__enter__`."""
        if not isinstance(object.type, ClassType):
            raise self.error("With item expression must return an object", span)
        enter = self.class_method(object.type, "__enter__", span)
        leave = self.class_method(object.type, "__exit__", span)
        if enter is None or leave is None:
            raise self.error(
                "Object returned by with item expression does not define __enter__ and __exit__ "
                "methods",
                span,
            )
        if len(enter.arguments) != 1:
            raise self.error("__enter__ must have only one argument and one return value", span)
        if len(leave.arguments) != 4:
            raise self.error("__exit__ must have four arguments", span)
        for at, formal in enumerate(leave.arguments[1:], 1):
            if formal.type != ANY:
                raise self.error(
                    f"argument {at} of __exit__ must have Any type; TorchScript does not currently "
                    "support passing exception type, value, or traceback to the __exit__ function.",
                    span,
                )
        return enter

    # What the later parts of the emitter provide.

    def body(self, statements: Sequence[ast.stmt]) -> None:
        raise NotImplementedError
