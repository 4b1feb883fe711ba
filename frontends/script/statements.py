"""Statements: branches, loops, and which part of the emitter takes the rest."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import nullcontext

from xdsl.ir import Attribute

from tensorscript.base.errors import CompileError, UnsupportedNodeError
from tensorscript.base.source import Span
from tensorscript.dialects.ts.type_text import message_text
from tensorscript.dialects.ts.types import INT, NONE

from . import draft
from .callables import Closure
from .conditions import Condition
from .draft import Node, Value
from .leaving import Leaving
from .scope import Frame
from .source import Text
from .values import Simple, Sugared

Body = Callable[[], None]


class Statements(Leaving):
    """Emits statements."""

    def __init__(self, text: Text) -> None:
        super().__init__(text)
        self.in_loop = False
        self.in_unrolled = False

    def closure_body(self, tree: ast.FunctionDef) -> Value:
        saved = self.declared_return, self.merged_return, self.in_loop
        declared = self.annotation(tree.returns) if tree.returns is not None else None
        self.declared_return, self.merged_return, self.in_loop = declared, None, False
        self.body(tree.body)
        span = self.span(tree)
        if self.block not in self.exited:
            self.leave(self.constant(None, span), span)
        returned = self.merged_return or NONE
        self.declared_return, self.merged_return, self.in_loop = saved
        return self.insert(draft.UNINITIALIZED, [], [returned], span).output

    def body(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)
            if self.block in self.exited:
                return

    def statement(self, node: ast.stmt) -> None:
        span = self.latest = self.span(node)
        match node:
            case ast.Expr():
                self._expression(node)
            case ast.Assign():
                self.assign(node)
            case ast.AugAssign():
                self.augmented(node)
            case ast.AnnAssign():
                self.annotated(node)
            case ast.If():
                condition = self.condition(node.test)
                self.branch(
                    condition, lambda: self.body(node.body), lambda: self.body(node.orelse), span
                )
            case ast.While():
                self._while(node, span)
            case ast.For():
                self._for(node, span)
            case ast.Return():
                self.leave(self.returned(node, span), span)
            case ast.Break() | ast.Continue():
                self._leave_loop(node, span)
            case ast.Pass():
                return
            case ast.Raise():
                self.throw(node, span)
            case ast.Assert():
                self.assertion(node, span)
            case ast.With():
                self.context(node, span)
            case ast.Delete():
                self.delete(node)
            case ast.FunctionDef():
                self.frame.define_sugared(node.name, Closure(node))
            case _:
                what = type(node).__name__
                raise UnsupportedNodeError(f"{what} aren't supported", self.text.word(node, 1))

    def _expression(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return
        self.sugared(node.value)

    # Branches

    def branch(self, condition: Condition, true: Body, false: Body, span: Span | None) -> None:
        """An if statement; only the taken branch is compiled when the condition is known."""
        if condition.static is not None:
            self.refine(condition.true if condition.static else condition.false, span)
            (true if condition.static else false)()
            return
        node = self.add(Node(draft.IF, [self.condition_value(condition, span)], (), span))
        frames: list[Frame] = []
        for refinements, emit in ((condition.true, true), (condition.false, false)):
            block = node.add_block()
            with self.inside(block) as frame:
                self.refine(refinements, span)
                emit()
            frames.append(frame)
        exits = [block in self.exited for block in node.blocks]
        if all(exits):
            self.exited.add(self.block)
        node.attributes["variables"] = self._joined(node, frames, exits, span)
        if exits.count(True) == 1:
            # What the branch that goes on knows of attributes holds behind the statement.
            known = frames[exits.index(False)].sugared
            self.refine(
                {n: v.value.type for n, v in known.items() if "." in n and isinstance(v, Simple)},
                span,
            )

    def _joined(
        self, node: Node, frames: list[Frame], exits: list[bool], span: Span | None
    ) -> list[str]:
        """The variables that the branches hand on."""
        out: list[str] = []
        if all(exits):
            return out
        names = {n for f in frames for n in (*f.stored, *f.sugared, *f.errors)}
        for name in sorted(n for n in names if "." not in n):
            types: list[Attribute | None] = []
            for frame, block, exited in zip(frames, node.blocks, exits, strict=True):
                found = None if exited else frame.lookup(name)
                if exited:
                    types.append(None)
                    continue
                if frame.error(name) is not None or found is None:
                    which = "true" if block is node.blocks[0] else "false"
                    self._unusable(name, f"{name} is not defined in the {which} branch", span)
                    break
                if not isinstance(found, Attribute):
                    break
                types.append(found)
            if len(types) == 2:
                self._join(name, types, node, span, out)
        return out

    def _unusable(self, name: str, message: str, span: Span | None) -> None:
        def used(where: Span | None) -> CompileError:
            error = CompileError(f"\n{message}", span)
            error.with_note("and was used here:", where)
            return error

        self.frame.errors[name] = used

    def _join(
        self,
        name: str,
        types: list[Attribute | None],
        node: Node,
        span: Span | None,
        out: list[str],
    ) -> None:
        for at, block in enumerate(node.blocks):
            other = types[1 - at]
            if types[at] is None and other is not None:
                block.nodes.append(made := Node(draft.UNINITIALIZED, (), (other,), span))
                block.nodes.append(Node(draft.STORE, [made.output], (), span, name=name))
                types[at] = other
        a, b = types
        assert a is not None and b is not None
        outer = self.frame.lookup(name)
        hint = outer if isinstance(outer, Attribute) else None
        joined = self.unify(a, b, hint=hint)
        if joined is None:
            message = (
                f"Type mismatch: {name} is set to type {message_text(a)} in the true branch "
                f"and type {message_text(b)} in the false branch"
            )
            if outer is not None:
                raise self.error(message, span)
            self._unusable(name, message, span)
            return
        self.frame.define(name, joined)
        out.append(name)

    # Loops

    def loop(
        self,
        iterable: Sugared,
        target: ast.expr | None,
        body: Body,
        span: Span,
        leaks: bool = True,
    ) -> None:
        """A for loop over an iterable, unrolled if its parts differ in kind.

        Args:
            leaks: what it assigns is seen behind it, if known before (not in a comprehension).
        """
        walked = iterable.iterate(self, span)
        parts = walked.parts(self, span)
        if parts is not None:
            with nullcontext(self.frame) if leaks else self.inside(self.block) as frame:
                frame.holds = not leaks
                self._unrolled(parts, target, body)
            return
        length = walked.length(self, span)
        trips = length if length is not None else self.draft.literal(draft.MAX_TRIPS, INT, span)

        def step(index: Value) -> None:
            if target is not None:
                element = walked.element(self, span, index)
                self.assign_target(target, element, span)
            body()

        self._loop(trips, None, step, span, leaks)

    def _unrolled(self, parts: list[Sugared], target: ast.expr | None, body: Body) -> None:
        before, self.in_unrolled = self.in_unrolled, True
        for part in parts:
            if target is not None:
                self.assign_target(target, part, self.span(target))
            body()
            if self.block in self.exited:
                break
        self.in_unrolled = before

    def _loop(
        self,
        trips: Value,
        test: ast.expr | None,
        body: Callable[[Value], None],
        span: Span,
        leaks: bool = True,
    ) -> None:
        always = self.constant(True, span) if test is None else None
        node = self.add(Node(draft.LOOP, [trips], (), span))
        inner, header = node.add_block(), node.add_block()
        with self.inside(header):
            if test is not None:
                always = self.condition_value(self.condition(test), span)
            assert always is not None
            header.outputs.append(always)
        index = inner.add_param(INT)
        before = self.in_loop, self.in_unrolled
        self.in_loop, self.in_unrolled = True, False
        with self.inside(inner) as frame:
            body(index)
        self.in_loop, self.in_unrolled = before
        variables: list[str] = []
        for name in sorted(frame.stored) if leaks else ():
            if isinstance(outer := self.frame.lookup(name), Attribute):
                variables.append(name)
                self.frame.define(name, outer)
        node.attributes["variables"] = variables

    def _while(self, node: ast.While, span: Span) -> None:
        trips = self.draft.literal(draft.MAX_TRIPS, INT, span)
        self._loop(trips, node.test, lambda _: self.body(node.body), span)

    def _for(self, node: ast.For, span: Span) -> None:
        if isinstance(node.target, ast.Starred):
            raise self.error(
                "A Starred expression may only appear on the lhs within the presence of another "
                "non-starred expression",
                span,
            )
        if not self.text.is_python and self.text.is_bare_tuple(node.iter):
            raise self.error("List of iterables is not supported currently", span)
        iterable = self.sugared(node.iter)
        self.loop(iterable, node.target, lambda: self.body(node.body), span)

    def _leave_loop(self, node: ast.stmt, span: Span) -> None:
        word, kind = ("break", draft.BREAK)
        if isinstance(node, ast.Continue):
            word, kind = ("continue", draft.CONTINUE)
        if self.in_unrolled:
            raise self.error(
                "Because we emit iteration over modulelists or tuples as unrolled loops, we do not "
                "support break or continue inside the body of these loops",
                span,
            )
        if not self.in_loop:
            raise self.error(f"SyntaxError: '{word}' outside loop", span)
        # What follows is compiled, too: only `return` and `raise` end a block for TorchScript.
        self.insert(kind, [], [], span)
