"""The tracer: listens to eager operators and writes what they do as a draft.

A tensor is known by its identity: inputs, attributes of the traced module and results of operators
have values, any other tensor becomes a constant where it is first used. An operator that gives one
of its arguments back (in place, or a conversion that changes nothing) moves that tensor to its new
value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from sys import getrefcount
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from tensorscript.base.dtypes import int64
from tensorscript.base.records import dataclass
from tensorscript.base.schema import Schema, SchemaType, schema
from tensorscript.base.source import Span
from tensorscript.dialects.ts.constants import TensorLiteral
from tensorscript.dialects.ts.types import (
    INT,
    NONE,
    NUMBER,
    TENSOR,
    ListType,
    OptionalType,
    TensorInfo,
    TensorType,
)
from tensorscript.eager.device import CPU
from tensorscript.eager.dispatch import call_overload
from tensorscript.eager.modes import is_grad_enabled
from tensorscript.eager.storage import TensorBase, shown, to_storage, wrap
from tensorscript.eager.tracing import FloatOf, IntOf, traced_by
from tensorscript.frontends.script.draft import CONSTANT, Block, Node, Value
from tensorscript.frontends.script.link import Linker

from . import cautions
from .cautions import TracingError
from .facts import has_tensor, is_differentiable, memory_of, type_of
from .literals import PYTHON_TYPES, SCHEMA_TYPES, contents, plain
from .parts import Parts, parts_of
from .places import here, name_of
from .spelling import WrappedNumber, copied, out_of_place, spelled, wrapped_number
from .written import Names, written_names

ATTRIBUTE = "prim::TracedAttr"
"""A parameter, buffer or submodule of the traced module; `scopes` finds the way to it."""
SCOPE = "prim::TracedModuleForward"
"""What a submodule's `forward` did: a node with one block."""

_RESIZES = frozenset({"resize_", "resize_as_"})
_SILENT = frozenset({"index", "part"})
"""Whose data enters without a warning: subscripts, and the parts of what has its own warning."""
_HELD_BY_THE_TRACE = 3
"""References to a tensor that only the trace holds, where it is asked: the trace's own, the
variable that asks, and the argument of the question."""
_NOT_DIFFERENTIABLE = frozenset({"detach", "detach_", "_convolution", "_convolution_mode"})


@dataclass(frozen=True)
class Manner:
    """How to record.

    Attributes:
        strict: whether containers that may change size are refused as outputs.
        outplace: whether in-place operators are recorded as those that make new tensors.
    """

    strict: bool = True
    outplace: bool = False


class Tracer:
    """Records one function or method.

    Attributes:
        linker: takes what is called into the program being recorded.
        foreign: eager tensors of the module's own parameters, by the id of those.
        futures: futures of forked tasks by their id, and their values.
        objects: the places of scripted submodules, by the id of their script object.
        block: the body being recorded; that of the innermost submodule call while one runs.
        followers: what stands directly behind a node, or (None) at the start of the body.
        manner: how to record.
    """

    def __init__(self, linker: Linker, manner: Manner) -> None:
        self.linker = linker
        self.manner = manner
        self.body = self.block = Block()
        self.followers: dict[Node | None, list[Node]] = {}
        self.attributes: dict[tuple[str, ...], Value] = {}
        self._values: dict[int, tuple[TensorBase, Value]] = {}
        self._differentiable: set[Value] = set()
        self._modules: dict[int, tuple[str, ...]] = {}
        self._scopes: list[str] = []
        self.objects: dict[int, Value] = {}
        self.foreign: dict[int, TensorBase] = {}
        self.futures: dict[int, tuple[object, Value]] = {}
        self._written: Names | None = None
        self._numbers: dict[int, Value] = {}

    # -- nodes --------------------------------------------------------------------------------

    def add(
        self,
        kind: str,
        inputs: Sequence[Value],
        types: Sequence[Attribute],
        span: Span | None = None,
        schema: Schema | None = None,
        **attributes: object,
    ) -> Node:
        """Write a node at the end of what has been recorded."""
        node = Node(kind, inputs, types, span, schema, **attributes)
        node.scope = self.scope
        self.block.nodes.append(node)
        for value in node.outputs:
            value.block = self.block
        return node

    def constant(self, value: object, type: Attribute, span: Span | None) -> Value:
        return self.add(CONSTANT, (), (type,), span, value=value).output

    def behind(self, value: Value, node: Node) -> Value:
        """Put `node` directly behind the definition of `value`; gives its result."""
        node.scope = self.scope
        self.followers.setdefault(value.node, []).insert(0, node)
        node.output.block = value.block or self.body
        return node.output

    # -- tensors ------------------------------------------------------------------------------

    def know(self, tensor: TensorBase, value: Value) -> None:
        """From now on `tensor` is `value`."""
        self._values[id(tensor)] = tensor, value
        if tensor.requires_grad:
            self._differentiable.add(value)

    def knows(self, tensor: TensorBase) -> bool:
        return id(tensor) in self._values

    def value_of(self, tensor: TensorBase) -> Value:
        """The value that `tensor` is; a tensor from outside becomes a constant.

        Raises:
            TracingError: a tensor from outside requires a gradient.
        """
        if (known := self._values.get(id(tensor))) is not None:
            if not known[1].name:
                known[1].name = self._name(tensor)
            return known[1]
        if tensor.requires_grad:
            raise TracingError(
                "Cannot insert a Tensor that requires grad as a constant. Consider making it a "
                f"parameter or input, or detaching the gradient\nTensor:\n{contents(tensor)}"
            )
        literal = TensorLiteral(shown(tensor), tensor.dtype)
        made = self.constant(literal, type_of(tensor), here())
        self.know(tensor, made)
        return made

    def _name(self, tensor: TensorBase) -> str:
        """The name of a tensor where the operator that runs is called."""
        if (names := self._written) is None:
            return name_of(tensor)
        return next((name for name, held in names if held is tensor), "")

    def output_value(self, tensor: TensorBase) -> Value:
        """The value of a tensor that the program gives back.

        Raises:
            TracingError: nothing recorded made it.
        """
        if (known := self._values.get(id(tensor))) is not None:
            return known[1]
        raise TracingError(
            f"output 1 ({contents(tensor)}) of traced region did not have observable data "
            "dependence with trace inputs; this probably indicates your program cannot be "
            "understood by the tracer."
        )

    # -- what eager mode tells ----------------------------------------------------------------

    def ran(self, schema: Schema, arguments: tuple[Any, ...], result: Any) -> None:
        if not has_tensor(result) or _is_nothing(schema, arguments):
            return
        if schema.base_name in _RESIZES:  # whoever uses the tensor from now on, uses a constant
            cautions.warn(cautions.resized(schema.base_name))
            self._values.pop(id(arguments[0]), None)
            return
        if (compute := parts_of(schema, arguments)) is not None:
            self._record_parts(compute, result)
            return
        self._written = written_names(schema, arguments)
        schema, arguments = spelled(schema, arguments, result)
        if self.manner.outplace and schema.base_name.endswith("_"):
            schema, arguments = self._out_of_place(schema, arguments)
        span = here()
        given = [(a.type, value) for a, value in zip(schema.arguments, arguments, strict=True)]
        self._read_numbers(given)
        inputs = [self._argument(kind, value, span) for kind, value in given]
        self._written = None
        grad = (
            _is_differentiated(schema.base_name)
            and is_grad_enabled()
            and any(v in self._differentiable for v in self._read(inputs))
        )
        results = result if isinstance(result, tuple) else (result,)
        types = [self._result_type(r, grad) for r in results]
        node = self.add(schema.name, inputs, types, span, schema)
        for value, made in zip(node.outputs, results, strict=True):
            self._name_result(value, made, grad, span)

    def _out_of_place(
        self, found: Schema, arguments: tuple[Any, ...]
    ) -> tuple[Schema, tuple[Any, ...]]:
        """What stands for an in-place operator where none is wanted; an assignment through a view
        stays, as nothing else would tell the tensor behind it."""
        sharing = self._sharing(arguments[0])
        if found.base_name != "copy_":
            cautions.warn_of_views(found.base_name, sharing)
            return out_of_place(found), arguments
        cautions.warn_of_views("copy_ (possibly due to an assignment)", sharing)
        return (found, arguments) if sharing > 1 else copied(found, arguments)

    def _sharing(self, tensor: TensorBase) -> int:
        """How many tensors that the trace knows share the memory of one and that the program still
        holds."""
        memory, count = memory_of(tensor), 0
        for other, _ in self._values.values():
            count += memory_of(other) == memory and getrefcount(other) > _HELD_BY_THE_TRACE
        return count

    def _record_parts(self, compute: Parts, result: Any) -> None:
        """Record an operator by its parts: the results stand for what the parts give."""
        with traced_by(self):
            made = compute()
        pairs = zip(result, made, strict=True) if isinstance(result, tuple) else [(result, made)]
        for tensor, same in pairs:
            self.know(tensor, self.value_of(same))

    def _read(self, inputs: Sequence[Value]) -> Iterator[Value]:
        for value in inputs:
            yield value
            if value.node is not None and value.node.kind == "prim::ListConstruct":
                yield from value.node.inputs

    def _result_type(self, result: Any, grad: bool) -> Attribute:
        if isinstance(result, TensorBase):
            return type_of(result, grad and is_differentiable(result))
        if isinstance(result, list | tuple):
            return ListType(TENSOR)
        # None is a tensor that an operator leaves undefined, as attention does without weights.
        return TENSOR if result is None else PYTHON_TYPES[type(result)]

    def _name_result(self, value: Value, made: Any, grad: bool, span: Span | None) -> None:
        if isinstance(made, TensorBase):
            self._define(made, value, grad)
        elif isinstance(made, list | tuple):
            types = [self._result_type(m, grad) for m in made]
            unpacked = self.add("prim::ListUnpack", [value], types, span)
            for part, tensor in zip(unpacked.outputs, made, strict=True):
                self._define(tensor, part, grad)

    def _define(self, tensor: TensorBase, value: Value, grad: bool) -> None:
        self.know(tensor, value)
        if grad and is_differentiable(tensor):
            self._differentiable.add(value)

    def size(self, tensor: TensorBase, dim: int) -> Any:
        with traced_by(None):
            number = call_overload("aten::size.int", (tensor, int(dim)))
        span = here()
        inputs = [self.value_of(tensor), self.constant(int(dim), INT, span)]
        return self._number(
            self.add("aten::size", inputs, [INT], span, schema("aten::size.int")), number
        )

    def count(self, tensor: TensorBase) -> Any:
        node = self.add(
            "aten::numel", [self.value_of(tensor)], [INT], here(), schema("aten::numel")
        )
        return self._number(node, tensor._array.size)

    def _number(self, node: Node, number: int) -> TensorBase:
        """The 0-dim tensor that stands for the int of `node`."""
        info = TensorInfo(int64, (), None, None, "cpu")
        found = schema("prim::NumToTensor.Scalar")
        made = self.add(found.name, node.outputs, [TensorType(info)], None, found)
        tensor: TensorBase = wrap(np.asarray(number), int64)
        self.know(tensor, made.output)
        return tensor

    def leaves(self, tensor: TensorBase, kind: str) -> None:
        cautions.warn(cautions.conversion(kind))

    def uses_length(self, how: str) -> None:
        cautions.warn(cautions.length(how))

    def counterpart(self, foreign: Any) -> TensorBase | None:
        return self.foreign.get(id(foreign))

    def builds(self, function: str) -> None:
        cautions.warn(cautions.new_constant(function))

    def wraps(self, tensor: TensorBase, number: Any) -> None:
        if (wrapped := wrapped_number(number, tensor.dtype)) is not None:
            self.know(tensor, self._wrapped(wrapped, here()))

    def enters(self, function: str, tensor: Any, source: Any = None) -> Any:
        if function not in _SILENT:
            self.builds(function)
        if function == "from_numpy":
            return self._gives(tensor, "aten::lift_fresh", tensor)
        copies = source is not None and function == "tensor"
        data = tensor if source is None else self._gives(source, "aten::lift_fresh", source)
        given = (data, CPU, tensor.dtype, False, copies, None)
        made = self._gives(tensor, "aten::to.device", *given)
        return self._gives(made, "aten::detach", made) if function == "tensor" else made

    def _gives(self, tensor: Any, operator: str, *arguments: Any) -> Any:
        """A tensor like `tensor` that the trace knows as what `operator` gives."""
        with traced_by(None):
            made = call_overload("aten::alias", (tensor,))
        self.ran(schema(operator), arguments, made)
        return made

    # -- arguments ----------------------------------------------------------------------------

    def _argument(self, kind: SchemaType, value: Any, span: Span | None) -> Value:
        if kind.kind == "optional" and value is not None:
            return self._argument(kind.args[0], value, span)
        match value:
            case None:
                return self.constant(None, NONE, None)
            case TensorBase():
                return self.value_of(value)
            case WrappedNumber():
                return self._wrapped(value, span)
            case IntOf() | FloatOf():
                return self._numbers[id(value)]
            case list() | tuple():
                return self._list(kind, value, span)
        return self.constant(*plain(value), span)

    def _wrapped(self, number: WrappedNumber, span: Span | None) -> Value:
        held = TensorLiteral(to_storage(number.number, number.dtype), number.dtype)
        shown = TensorInfo(number.shown, (), None, False, "cpu")
        return self.constant(held, TensorType(shown), span)

    def _read_numbers(self, arguments: Sequence[tuple[SchemaType, Any]]) -> None:
        """Read the numbers among arguments that are tensors in the trace, the last argument's
        first, as the C++ of PyTorch's binding does."""
        self._numbers = {}
        for kind, value in reversed(arguments):
            inner = kind.args[0] if kind.kind == "optional" else kind
            parts = value if isinstance(value, list | tuple) else [value]
            element = inner.args[0] if inner.kind == "list" else inner
            for part in parts:
                if isinstance(part, IntOf | FloatOf):
                    self._numbers[id(part)] = self._number_from(part, element)

    def _number_from(self, value: IntOf | FloatOf, kind: SchemaType) -> Value:
        source = self.value_of(value.tensor)
        name, type_ = ("aten::Int.Tensor", INT) if kind.kind == "int" else (
            ("aten::ScalarImplicit", NUMBER)
        )  # fmt: skip
        found = schema(name)
        return self.behind(source, Node(found.name, [source], [type_], None, found))

    def _list(self, kind: SchemaType, values: Sequence[Any], span: Span | None) -> Value:
        element = kind.args[0]
        optional = element.kind == "optional"
        parts = [self._argument(element, v, span) for v in values]
        inner: Attribute = SCHEMA_TYPES[element.args[0].kind if optional else element.kind]
        type_ = ListType(OptionalType(inner) if optional else inner)
        return self.add("prim::ListConstruct", parts, [type_], None).output

    # -- modules ------------------------------------------------------------------------------

    def attribute(self, path: tuple[str, ...], type: Attribute) -> Value:
        """The place of an attribute of the traced module."""
        node = Node(ATTRIBUTE, (), (type,), None, None, path=path)
        self.attributes[path] = node.output
        return node.output

    def submodule(self, module: object, path: tuple[str, ...]) -> None:
        """Calls of `module` are calls of the submodule at `path`."""
        self._modules[id(module)] = path

    def enter(self, module: object) -> Block:
        """Begin the call of a module; gives the block to go on with when it is over."""
        before = self.block
        if (path := self._modules.get(id(module))) is not None:
            self.block = self.add(SCOPE, (), (), None, None, path=path, outer=before).add_block()
            name = ".".join(("__module", *path))
            self._scopes.append(f"{self.scope}/{name}" if self.scope else name)
        return before

    def leave(self, before: Block) -> None:
        """End the call of a module."""
        if self.block is not before:
            self._scopes.pop()
        self.block = before

    @property
    def scope(self) -> str:
        """The submodule calls that are running, outermost first: `__module.a/__module.a.b`."""
        return self._scopes[-1] if self._scopes else ""

    def finish(self) -> Block:
        """The body, every node in its place. Attributes stand in no block while tracing: what
        follows them, follows the parameters."""
        first = self.followers.pop(None, [])
        for place in self.attributes.values():
            first += self.followers.get(place.node, [])
        self._settle(self.body, first)
        return self.body

    def _settle(self, block: Block, first: list[Node]) -> None:
        nodes = list(first)
        for node in block.nodes:
            nodes.append(node)
            nodes += self.followers.get(node, [])
            for inner in node.blocks:
                self._settle(inner, [])
        block.nodes = nodes


def _is_differentiated(name: str) -> bool:
    """Whether what an operator gives requires a gradient if an operand does."""
    is_factory = name.endswith("_like") or name.startswith("new_")
    return name not in _NOT_DIFFERENTIABLE and not is_factory


def _is_nothing(schema: Schema, arguments: tuple[Any, ...]) -> bool:
    """Whether PyTorch's binding gives the argument back without asking an operator."""
    return schema.base_name == "conj" and not arguments[0].dtype.is_complex
