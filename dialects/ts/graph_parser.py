"""Graph text read back: the inverse of `graph_text`, for text of PyTorch's too.

    graph(%x : Tensor):
      %1 : int = prim::Constant[value=1]()
      %y = aten::add(%x, %1, %1)
      return (%y)

A value without a type has the one that its operator gives. Names that are numbers are given anew,
others stay. What a text does not say is not there afterwards: places in a program, the function
that `prim::CallFunction` calls. Bodies of tasks may follow as `with prim::fork_0 = graph(...)`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np
from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tensorscript.base.dtypes import BY_WORD
from tensorscript.base.records import dataclass

from . import ops as ts
from .constants import DictLiteral, EnumRef, ListLiteral, TensorLiteral, ValueAttr
from .graph_function import graph_function
from .graph_tokens import Tokens, complex_of, number_of, string_of
from .locations import put_in_scope
from .node_forms import overload_for, result_types, whole
from .type_parser import is_type, parse_type
from .type_text import message_text
from .types import TENSOR, ClassType, EnumType, TensorType
from .typing import is_subtype
from .value_names import ValueNames, values_of

T = TypeVar("T")


def _task(kind: str) -> type[ts.TaskOp] | None:
    """What `prim::fork_0` and its like are; None for others."""
    stem, _, number = kind.rpartition("_")
    return _TASKS.get(stem) if number.isdigit() else None


_TASKS: dict[str, type[ts.TaskOp]] = {each.KIND: each for each in (ts.ForkOp, ts.AwaitableOp)}


@dataclass(frozen=True)
class ParsedGraph:
    """A graph that was read.

    Attributes:
        function: the graph as a function.
        names: what the text calls its values.
        forked: the functions that it forks.
    """

    function: ts.FuncOp
    names: ValueNames
    forked: tuple[ts.FuncOp, ...]


def parse_graph(text: str, name: str = "graph", tensors: bool = False) -> ParsedGraph:
    """The graph that a text spells.

    Args:
        name: the symbol of its function.
        tensors: also read constant tensors. Texts do not hold all of them: elements are rounded,
            and a `<Tensor>` is read as zeros of its type.

    Raises:
        CompileError: the text is no graph, or a value has another type than its operator gives.
    """
    tokens = Tokens(text)
    parser = _Parser(tokens, name, tensors)
    function = parser.graph(name)
    tokens.take("end")
    return ParsedGraph(function, parser.names, tuple(parser.forked))


class _Parser:
    def __init__(self, tokens: Tokens, name: str, tensors: bool) -> None:
        self.tokens = tokens
        self.tensors = tensors
        self.name = name
        self.forked: list[ts.FuncOp] = []
        self.forks: list[str] = []
        self.named: list[tuple[SSAValue, str]] = []
        self.numbers = itertools.count()
        self.names: ValueNames

    def graph(self, symbol: str) -> ts.FuncOp:
        """A graph, and the bodies that it forks."""
        self.tokens.expect("graph")
        block = Block()
        scope = self.parameters(block, {})
        self.nodes(block, scope, "return")
        block.add_op(ts.ReturnOp(self.values(scope)))
        given = dict(self.named)
        formals = [given.get(value, "").partition(".")[0] for value in block.args]
        function = graph_function(symbol, block, formals)
        self.names = ValueNames(function)
        for value in values_of(function):
            self.names.define(value)
            if value in given:
                self.names.rename(value, given[value])
        self.bodies()
        return function

    def bodies(self) -> None:
        """What is forked follows, of each body with what that forks."""
        for symbol in self.forks:
            self.tokens.expect("with")
            self.tokens.take("word")
            self.tokens.expect("=")
            inner = _Parser(self.tokens, symbol, self.tensors)
            self.forked += [inner.graph(symbol), *inner.forked]

    def parameters(self, block: Block, outer: Mapping[str, SSAValue]) -> dict[str, SSAValue]:
        """Arguments in parentheses with a colon behind; gives the names that are known now."""
        scope: dict[str, SSAValue] = dict(outer)
        self.tokens.expect("(")
        while not self.tokens.accept(")"):
            name = self.tokens.take("value").text
            type = parse_type(self.tokens) if self.tokens.accept(":") else TENSOR
            value = block.insert_arg(type, len(block.args))
            scope[name] = value
            self.name_value(value, name)
            if self.tokens.peek().text != ")":
                self.tokens.expect(",")
        self.tokens.expect(":")
        return scope

    def name_value(self, value: SSAValue, name: str) -> None:
        if not name[1:].isdigit():
            self.named.append((value, name[1:]))

    def values(self, scope: Mapping[str, SSAValue]) -> list[SSAValue]:
        """Values in parentheses."""
        self.tokens.expect("(")
        found: list[SSAValue] = []
        while not self.tokens.accept(")"):
            token = self.tokens.take("value")
            if token.text not in scope:
                message = f"Cannot find a variable with name '{token.text[1:]}'"
                raise self.tokens.error(message, token)
            found.append(scope[token.text])
            if self.tokens.peek().text != ")":
                self.tokens.expect(",")
        return found

    def nodes(self, block: Block, scope: dict[str, SSAValue], end: str) -> None:
        """Nodes up to the word that ends their block."""
        while not self.tokens.accept(end):
            names, types = self.outputs()
            self.tokens.expect("=")
            op = self.node(types, scope)
            block.add_op(op)
            for name, result in zip(names, op.results, strict=True):
                scope[name] = result
                self.name_value(result, name)

    def outputs(self) -> tuple[list[str], list[Attribute | None]]:
        names: list[str] = []
        types: list[Attribute | None] = []
        while self.tokens.peek().kind == "value":
            names.append(self.tokens.take().text)
            types.append(parse_type(self.tokens) if self.tokens.accept(":") else None)
            if self.tokens.peek().text != "=":
                self.tokens.expect(",")
        return names, types

    def node(self, types: list[Attribute | None], scope: Mapping[str, SSAValue]) -> Operation:
        """A node after its outputs."""
        token = self.tokens.take("word")
        kind = token.text + (self.scalars() if token.text.startswith("^") else "")
        type = types[0] if len(types) == 1 and kind == _CONSTANT else None
        fields = self.fields(type) if self.tokens.accept("[") else {}
        values = self.values(scope)
        where = self.tokens.take().text if self.tokens.peek().kind == "scope" else ""
        regions = self.blocks(scope)
        op: Operation | None
        try:
            made = self.typed(kind, values, types)
        except TypeError as error:
            raise self.tokens.error(str(error), token) from None
        if (task := _task(kind)) is not None:
            op = self.fork(task, values, made[0])
        else:
            node = ts.NodeOp(kind, values, made, fields, regions)
            if (op := whole(node)) is None:
                op = node
            else:
                node.erase()
        if where:
            put_in_scope(op, where.partition("scope:")[2].strip())
        return op

    def scalars(self) -> str:
        """What a call of a Python function has before its values: `[](1, 2)`."""
        found = ""
        while not found.endswith(")"):
            found += self.tokens.take().text
        return found

    def fork(self, kind: type[ts.TaskOp], values: list[SSAValue], type: Attribute) -> Operation:
        symbol = f"{self.name}.fork_{next(self.numbers)}"
        self.forks.append(symbol)
        return kind(symbol, values, type)

    def typed(
        self, kind: str, values: list[SSAValue], types: list[Attribute | None]
    ) -> list[Attribute]:
        """The types of a node's outputs: as the text says, or else as the operator does.

        Raises:
            TypeError: the text says something else than the operator.
        """
        given = [value.type for value in values]
        found = overload_for(kind, given)
        own = None if found is None else result_types(found, given)
        if own is None or len(own) != len(types):
            return [TENSOR if type is None else type for type in types]
        for type, wanted in zip(types, own, strict=True):
            if type is not None and not is_subtype(type, wanted):
                raise TypeError(
                    f"Annotated type {message_text(type)} does not match schema type "
                    f"{message_text(wanted)} for operator {found}"
                )
        return [own[at] if type is None else type for at, type in enumerate(types)]

    def blocks(self, scope: Mapping[str, SSAValue]) -> list[Region]:
        regions: list[Region] = []
        while self.tokens.peek().text == f"block{len(regions)}":
            self.tokens.take()
            block = Block()
            inner = self.parameters(block, scope)
            self.nodes(block, inner, "->")
            block.add_op(ts.YieldOp(self.values(inner)))
            regions.append(Region(block))
        return regions

    # -- attributes ------------------------------------------------------------------------------

    def fields(self, type: Attribute | None) -> dict[str, Attribute]:
        """Attributes behind `[`.

        Args:
            type: of a constant.
        """
        found: dict[str, Attribute] = {}
        while not self.tokens.accept("]"):
            name = self.tokens.take("word").text
            if self.tokens.accept("="):
                found[name] = self.field(type)
            if self.tokens.peek().text != "]":
                self.tokens.expect(",")
        return found

    def field(self, type: Attribute | None) -> Attribute:
        if is_type(self.tokens):
            found = parse_type(self.tokens)
            if isinstance(type, EnumType) and isinstance(found, ClassType):
                owner, _, member = found.class_name.data.rpartition(".")
                return ValueAttr(EnumRef(owner, member))
            return found
        if self.tokens.peek().text == "[" and is_type_after(self.tokens):
            self.tokens.expect("[")
            return ArrayAttr(self.separated("]", lambda: parse_type(self.tokens)))
        if isinstance(type, TensorType):
            return ValueAttr(self.tensor(type))
        return ValueAttr(self.constant())

    def constant(self) -> object:
        token = self.tokens.take()
        if (read := _READ.get(token.kind)) is not None:
            return read(token.text)
        match token.text:
            case "[":
                return ListLiteral(tuple(self.separated("]", self.constant)))
            case "(":
                return tuple(self.separated(")", self.constant))
            case "{":
                return DictLiteral(tuple(self.separated("}", self.pair)))
            case "annotate":
                self.tokens.expect("(")
                while not self.tokens.accept(","):
                    self.tokens.take()
                empty = self.constant()
                self.tokens.expect(")")
                return empty
        if token.text in _NAMED:
            return _NAMED[token.text]
        raise self.tokens.error(f"Could not parse literal '{token.text}'", token)

    def pair(self) -> tuple[object, object]:
        key = self.constant()
        self.tokens.expect(":")
        return key, self.constant()

    def separated(self, end: str, read: Callable[[], T]) -> list[T]:
        """What `read` reads, with commas between, up to `end`."""
        found: list[T] = []
        while not self.tokens.accept(end):
            found.append(read())
            if self.tokens.peek().text != end:
                self.tokens.expect(",")
        return found

    def tensor(self, type: TensorType) -> TensorLiteral:
        """A constant tensor: `{3}`, ` 1  2 [ CPUFloatType{2} ]`, `<Tensor>`."""
        token = self.tokens.peek()
        if not self.tensors:
            raise self.tokens.error(
                "tensor constant encountered but `parse_tensor_constants` is set to false", token
            )
        dtype = type.info.dtype or BY_WORD["Float"]
        if self.tokens.accept("<Tensor>"):
            sizes = [size for size in type.info.sizes or () if isinstance(size, int)]
            return TensorLiteral(np.zeros(sizes, dtype.numpy), dtype)
        if self.tokens.accept("{"):
            number, word = self.element()
            self.tokens.expect("}")
            found = type.info.dtype or BY_WORD[word]
            return TensorLiteral(np.asarray(number).astype(found.numpy), found)
        numbers: list[float] = []
        scale = 1.0
        while not self.tokens.accept("["):
            number = float(self.tokens.take("number").text)
            if self.tokens.accept("*"):
                scale = number
            else:
                numbers.append(number * scale)
        word = self.tokens.take("word").text.removeprefix("CPU").removesuffix("Type")
        self.tokens.expect("{")
        shape = self.separated("}", lambda: int(self.tokens.take("number").text))
        self.tokens.expect("]")
        found = BY_WORD[word]
        return TensorLiteral(np.array(numbers).astype(found.numpy).reshape(shape), found)

    def element(self) -> tuple[complex, str]:
        """The only element of a tensor, `3`, `1.5` or `(1.5,-2)`, and the word of its dtype if
        the type of the constant has none."""
        if self.tokens.accept("("):
            real = float(self.tokens.take("number").text)
            self.tokens.expect(",")
            imaginary = float(self.tokens.take("number").text)
            self.tokens.expect(")")
            return complex(real, imaginary), "ComplexDouble"
        number = number_of(self.tokens.take("number").text)
        return number, "Float" if isinstance(number, float) else "Long"


_CONSTANT = ts.ConstantOp.KIND
_NAMED: dict[str, object] = {"True": True, "False": False, "None": None}


_READ: dict[str, Callable[[str], object]] = {
    "string": string_of,
    "number": number_of,
    "complex": complex_of,
}


def is_type_after(tokens: Tokens) -> bool:
    """Whether a type comes after the next word."""
    token = tokens.peek(1)
    return token.kind == "word" and token.text not in _NAMED and token.text != "annotate"
