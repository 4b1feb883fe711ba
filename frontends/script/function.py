"""The emitter of one function: arguments, body, and the passes that finish its graph."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Protocol, TypeVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute

from tensorscript.base.errors import CompileError, DefaultError, NotSupportedError
from tensorscript.base.records import dataclass
from tensorscript.base.source import Span
from tensorscript.dialects.ts import typing
from tensorscript.dialects.ts.constants import DictLiteral, FunctionRef, ListLiteral
from tensorscript.dialects.ts.type_text import message_text
from tensorscript.dialects.ts.types import (
    BOOL,
    COMPLEX,
    FLOAT,
    FUNCTION,
    INFERRED_TENSOR,
    INT,
    NONE,
    TENSOR,
    ClassType,
    DictType,
    ListType,
    TensorType,
    TupleType,
)

from . import draft
from .cleanup import clean
from .draft import Node, Value
from .exits import lower_exits
from .lower import lower_function
from .objects import Objects
from .program import ClassInfo, Compiled, Program
from .signature import NO_DEFAULT, NOT_CONSTANT, Formal, Signature, constant_type
from .source import FunctionSource, Text
from .ssa import to_ssa
from .syntax import check_syntax
from .values import ModuleObject, Sugared

T = TypeVar("T")


class Resolver(Protocol):
    """What names mean that the function does not define itself."""

    nested_functions: bool
    """Whether nested `def`s may stand in the text (archives write them for forks)."""

    @property
    def modules_are_values(self) -> bool:
        """Whether branches may choose what a variable that holds a module is, as in archives."""
        ...

    def resolve(self, name: str, em: FunctionEmitter, span: Span) -> Sugared | None: ...

    def annotation(self, node: ast.expr, span: Span) -> Attribute: ...

    def static_attr(self, info: ClassInfo, name: str, em: FunctionEmitter) -> Sugared | None: ...


@dataclass(frozen=True)
class Definition:
    """A function to compile.

    Attributes:
        annotations: types that replace the annotations of the syntax, by argument or `return`.
        defaults: default values by argument name (constants of the dialect).
        self_type: the class, for a method.
        commented: the annotations that stand in a comment, by argument.
    """

    name: str
    source: FunctionSource
    resolver: Resolver
    defaults: Mapping[str, object]
    annotations: dict[str, Attribute]
    self_type: ClassType | None = None
    commented: Mapping[str, ast.expr] = field(default_factory=dict)


class FunctionEmitter(Objects):
    """Emits one function of a program."""

    def __init__(self, program: Program, resolver: Resolver, text: Text, name: str = "") -> None:
        super().__init__(program, text, name)
        self.resolver = resolver

    # Names and types

    def resolve(self, name: str, span: Span) -> Sugared:
        found = self.resolver.resolve(name, self, span)
        if found is None:
            raise self.error(f"undefined value {name}", span)
        return found

    def annotation(self, node: ast.expr) -> Attribute:
        return self.resolver.annotation(node, self.span(node))

    @property
    def modules_are_values(self) -> bool:
        return self.resolver.modules_are_values

    def static_member(self, info: ClassInfo, name: str) -> Sugared | None:
        return self.resolver.static_attr(info, name, self)

    def function_constant(self, name: str, span: Span | None) -> Value:
        return self.add(draft.constant(FunctionRef(name), FUNCTION, span)).output

    # The function itself

    def run(self, definition: Definition) -> Compiled:
        """Emit the function and finish its graph."""
        tree = definition.source.tree
        formals = self._formals(definition)
        check_syntax(tree, definition.source.text, definition.resolver.nested_functions)
        self.declared_return = self._return_type(definition)
        for at, formal in enumerate(formals):
            param = self.draft.block.add_param(formal.type, formal.name)
            if at == 0 and self.is_module(formal.type):
                self.frame.define_sugared(formal.name, ModuleObject(param))
            else:
                self.store(formal.name, param, formal.type, None)
        self.body(tree.body)
        self._end(tree)
        returned = self.merged_return or NONE
        if isinstance(returned, TensorType):
            returned = TENSOR
        self._finish(returned)
        signature = Signature(definition.name, tuple(formals), (returned,))
        op = lower_function(self.draft, signature, definition.self_type is not None)
        return Compiled(definition.name, signature, op)

    def declared(self, definition: Definition) -> Signature:
        """The signature by annotations alone (an unannotated result is a tensor)."""
        returned = self._return_type(definition) or TENSOR
        return Signature(definition.name, tuple(self._formals(definition)), (returned,))

    def _end(self, tree: ast.FunctionDef) -> None:
        whole = self.span(tree)
        if self.block not in self.exited:
            if self.declared_return not in (None, NONE):
                raise self.error(
                    "Function was not annotated as having type None, but does not return along all "
                    "paths",
                    whole,
                )
            self.leave(self.constant(None, whole), whole)
        elif self.merged_return is None:
            self.merged_return = self.declared_return or NONE

    def _finish(self, returned: Attribute) -> None:
        body = self.draft.block
        self.draft.place_literals()
        placeholder = Node(draft.UNINITIALIZED, (), (returned,))
        body.nodes.append(placeholder)
        body.outputs = [placeholder.output]
        to_ssa(self.draft)
        lower_exits(self.draft)
        self._outline_forks(body)
        clean(self.draft)

    def _outline_forks(self, block: draft.Block) -> None:
        """The body of a task becomes a function of its own; captured values its arguments."""
        for node in block.nodes:
            for inner in node.blocks:
                self._outline_forks(inner)
            if node.kind in draft.TASKS:
                self._outline(node)

    def _outline(self, fork: Node) -> None:
        body = fork.blocks.pop()
        graph = draft.Draft()
        inside: dict[Value, Value] = {}
        for value in _captured(body):
            inside[value] = graph.block.add_param(value.type, value.name)
            fork.inputs.append(value)
        graph.block.nodes = draft.clone_nodes(body.nodes, inside)
        graph.block.outputs = [inside.get(v, v) for v in body.outputs]
        for _ in range(2):
            clean(graph)
        name = self.program.unique(f"{self.function_name}.{_BODIES[fork.kind]}")
        formals = tuple(
            Formal(p.name or f"arg{i}", p.type) for i, p in enumerate(graph.block.params)
        )
        signature = Signature(name, formals, (body.outputs[0].type,))
        self.program.add(Compiled(name, signature, lower_function(graph, signature)))
        fork.attributes["callee"] = name

    def _formals(self, definition: Definition) -> list[Formal]:
        arguments = definition.source.tree.args
        for bad in (arguments.vararg, arguments.kwarg):
            if bad is not None:
                raise NotSupportedError(_VARIADIC, self.text.starred(bad))
        for default in arguments.kw_defaults:
            if default is not None:
                raise NotSupportedError(_VARIADIC, self.span(default))
        plain = [*arguments.posonlyargs, *arguments.args]
        if definition.self_type is not None and not plain:
            where = self.text.word(definition.source.tree, len("def"))
            raise self.error("methods must have a self argument", where)
        out: list[Formal] = []
        for at, arg in enumerate([*plain, *arguments.kwonlyargs]):
            if at == 0 and definition.self_type is not None:
                out.append(Formal(arg.arg, definition.self_type))
                continue
            out.append(self._formal(arg, definition, at >= len(plain)))
        return out

    def _formal(self, arg: ast.arg, definition: Definition, kwarg_only: bool) -> Formal:
        type: Attribute = INFERRED_TENSOR
        if arg.arg in definition.annotations:
            type = definition.annotations[arg.arg]
        elif arg.annotation is not None:
            type = self.annotation(arg.annotation)
        size = _broadcast_size(definition.commented.get(arg.arg, arg.annotation))
        default = definition.defaults.get(arg.arg, NO_DEFAULT)
        repeated = size is not None and isinstance(default, int | float)
        if default is not NO_DEFAULT:
            default = self._default(arg.arg, default, type, size, self.span(definition.source.tree))
        return Formal(arg.arg, type, default, kwarg_only, size, repeated)

    def _default(
        self, name: str, value: object, type: Attribute, size: int | None, span: Span
    ) -> object:
        inner = typing.without_none(type)
        if isinstance(value, bool) and inner == INT:
            return int(value)
        if isinstance(value, int) and not isinstance(value, bool) and inner == FLOAT:
            return float(value)
        if isinstance(value, int | float) and inner == COMPLEX:
            return complex(value)
        if value is None and isinstance(type, TensorType):
            return None  # an undefined tensor
        if isinstance(value, tuple) and isinstance(inner, ListType):
            value = ListLiteral(value)
        if size is not None and isinstance(value, int | float):
            value = ListLiteral((value,) * size)
        if isinstance(value, int | float) and inner == BOOL:
            return bool(value)
        if not _fits(value, type):
            text = f'Expected a default value of type {message_text(type)} on parameter "{name}".'
            if isinstance(type, TensorType) and type.info.inferred:
                text += (
                    f'Because "{name}" was not annotated with an explicit type it is assumed to be '
                    "type 'Tensor'."
                )
            raise DefaultError(text, span)
        return value

    def _return_type(self, definition: Definition) -> Attribute | None:
        if "return" in definition.annotations:
            return definition.annotations["return"]
        returns = definition.source.tree.returns
        return self.annotation(returns) if returns is not None else None


def _fits(value: object, type: Attribute) -> bool:
    """Whether a default is of the type of its argument."""
    if value is NOT_CONSTANT:
        return False
    inner = typing.without_none(type)
    if isinstance(inner, DictType) and isinstance(value, DictLiteral):
        return True
    if isinstance(value, tuple) and isinstance(inner, TupleType):
        same_length = len(value) == len(inner.elements)
        return same_length and all(map(_fits, value, inner.elements))
    return typing.is_subtype(constant_type(value, type), type)


_VARIADIC = (
    "Compiled functions can't take variable number of arguments or use keyword-only arguments with "
    "defaults"
)


def _broadcast_size(node: ast.expr | None) -> int | None:
    """N of a `BroadcastingListN[int]` annotation."""
    found = re.search(r"\bBroadcastingList(\d)", ast.unparse(node)) if node is not None else None
    return int(found[1]) if found is not None else None


_BODIES = {draft.FORK: "__forked_function", draft.AWAITABLE: "__awaitable_function"}


def _captured(body: draft.Block) -> list[Value]:
    """The values from outside that a block reads, numbers that the program writes among them."""
    inside: set[Value] = set()
    found: dict[Value, None] = {}

    def walk(block: draft.Block) -> None:
        inside.update(block.params)
        for node in block.nodes:
            for value in node.inputs:
                if value not in inside:
                    found.setdefault(value)
            for inner in node.blocks:
                walk(inner)
            inside.update(node.outputs)
        for value in block.outputs:
            if value not in inside:
                found.setdefault(value)

    walk(body)
    return list(found)


def compile_definition(program: Program, definition: Definition) -> Compiled:
    """Compile a function into `program`.

    Raises:
        CompileError: a type or name error.
        FrontendError: Python outside the language.
    """
    program.compiling.add(definition.name)
    try:
        compiled = _compiled(program, definition)
    finally:
        program.compiling.discard(definition.name)
    program.add(compiled)
    return compiled


def _compiled(program: Program, definition: Definition) -> Compiled:
    """What TorchScript makes of a function; where that fails, with attributes refined, too."""
    text, name = definition.source.text, definition.name
    emitter = FunctionEmitter(program, definition.resolver, text, name)
    try:
        return emitter.run(definition)
    except CompileError as error:
        if not emitter.tests_attributes:
            raise
        again = FunctionEmitter(program, definition.resolver, text, name)
        again.refines_attributes = True
        try:
            return again.run(definition)
        except CompileError:
            raise error from None


def declared_signature(program: Program, definition: Definition, self_type: Attribute) -> Signature:
    """The signature that a method of an interface declares; its body says nothing.

    Raises:
        CompileError: the body does not end in `pass`, so that it seems to say something.
    """
    emitter = FunctionEmitter(program, definition.resolver, definition.source.text, definition.name)
    tree = definition.source.tree
    if not isinstance(tree.body[-1], ast.Pass):
        text = "interfaces declarations should contain 'pass' statement."
        raise emitter.error(text, emitter.span(tree))
    formals = emitter._formals(definition)
    formals[0] = Formal(formals[0].name, self_type)
    returned = emitter._return_type(definition)
    return Signature(definition.name, tuple(formals), (NONE if returned is None else returned,))


def class_type(name: str) -> ClassType:
    """The type of a class by its qualified name."""
    return ClassType(StringAttr(name))
