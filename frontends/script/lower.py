"""From a finished draft to `ts` operations."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ArrayAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir import Block as OpBlock

from tensorscript.dialects.ts import ops
from tensorscript.dialects.ts.constants import FunctionRef, ValueAttr
from tensorscript.dialects.ts.locations import location, put_in_scope
from tensorscript.dialects.ts.types import InterfaceType, UnionType
from tensorscript.dialects.ts.value_names import set_hint

from . import draft
from .draft import Block, Draft, Node, Value
from .signature import Signature

_NOT_IN_IDENTIFIERS = re.compile(rb"[^A-Za-z0-9_]")

_Inputs = Sequence[SSAValue]
_Build = Callable[[Node, _Inputs], Operation]


def _type(node: Node) -> Attribute:
    return node.output.type


def _types(node: Node) -> list[Attribute]:
    return [v.type for v in node.outputs]


def _text(node: Node, name: str) -> str:
    value = node.attributes[name]
    assert isinstance(value, str)
    return value


def _class_types(node: Node) -> list[Attribute]:
    types = node.attributes["classes"]
    assert isinstance(types, list)
    return types


def _call_method(node: Node, inputs: _Inputs) -> Operation:
    owner = node.attributes.get("owner")
    is_any_of = isinstance(inputs[0].type, UnionType)
    interface = owner if isinstance(owner, InterfaceType) and is_any_of else None
    return ops.CallMethodOp(_text(node, "method"), inputs, _type(node), interface)


def _python(node: Node, inputs: _Inputs) -> Operation:
    return ops.PythonOp.create(
        operands=list(inputs),
        result_types=_types(node),
        properties={"callee": StringAttr(_text(node, "callee"))},
    )


_BUILDERS: dict[str, _Build] = {
    draft.CONSTANT: lambda n, _: ops.ConstantOp(n.attributes["value"], _type(n)),
    "prim::ListConstruct": lambda n, v: ops.ListConstructOp(v, _type(n)),
    "prim::TupleConstruct": lambda n, v: ops.TupleConstructOp(v, _type(n)),
    "prim::DictConstruct": lambda n, v: ops.DictConstructOp(v, _type(n)),
    "prim::ListUnpack": lambda n, v: ops.ListUnpackOp(v[0], _types(n)),
    "prim::TupleUnpack": lambda n, v: ops.TupleUnpackOp(v[0], _types(n)),
    "prim::TupleIndex": lambda n, v: ops.TupleIndexOp(v[0], v[1], _type(n)),
    "prim::ModuleContainerIndex": lambda n, v: ops.ModuleContainerIndexOp(v[0], v[1], _type(n)),
    "prim::unchecked_cast": lambda n, v: ops.UncheckedCastOp(v[0], _type(n)),
    "prim::isinstance": lambda n, v: ops.IsInstanceOp(v[0], _class_types(n)),
    "prim::Enter": lambda n, v: ops.EnterOp(v[0], _type(n)),
    "prim::Exit": lambda n, v: ops.ExitOp(v[0], _type(n)),
    "prim::GetAttr": lambda n, v: ops.GetAttrOp(v[0], _text(n, "name"), _type(n)),
    "prim::SetAttr": lambda n, v: ops.SetAttrOp(v[0], _text(n, "name"), v[1]),
    "prim::CreateObject": lambda n, _: ops.CreateObjectOp(_type(n)),
    "prim::Uninitialized": lambda n, _: ops.UninitializedOp(_type(n)),
    "prim::CallMethod": _call_method,
    "prim::Print": lambda _, v: ops.PrintOp(v),
    "prim::RaiseException": lambda _, v: ops.RaiseOp(v[0], v[1]),
    "prim::fork": lambda n, v: ops.ForkOp(_text(n, "callee"), v, _type(n)),
    "prim::awaitable": lambda n, v: ops.AwaitableOp(_text(n, "callee"), v, _type(n)),
    "prim::PythonOp": _python,
}


class _Writer:
    def __init__(self) -> None:
        self.values: dict[Value, SSAValue] = {}
        self.constants = 0
        """How many constants there were so far."""
        self.callees: dict[Value, int] = {}
        """Constants of functions that are called: how many constants stand before each."""

    def inputs(self, values: Sequence[Value]) -> list[SSAValue]:
        return [self.values[v] for v in values]

    def outputs(self, node: Node, op: Operation) -> None:
        for value, result in zip(node.outputs, op.results, strict=True):
            self.values[value] = result
            if value.name:
                set_hint(result, _hint(value.name))

    def region(self, block: Block) -> Region:
        made = OpBlock(arg_types=[p.type for p in block.params])
        for param, arg in zip(block.params, made.args, strict=True):
            self.values[param] = arg
            if param.name:
                set_hint(arg, _hint(param.name))
        self.nodes(block, made)
        made.add_op(ops.YieldOp(self.inputs(block.outputs)))
        return Region(made)

    def nodes(self, block: Block, out: OpBlock) -> None:
        for node in block.nodes:
            if node.kind == draft.CONSTANT and self.is_callee(node.output):
                continue
            op = self.build(node)
            if node.span is not None:
                op.location = location(node.span)
            if node.scope:
                put_in_scope(op, node.scope)
            out.add_op(op)
            self.outputs(node, op)

    def is_callee(self, constant: Value) -> bool:
        """Whether a constant is a function that is called: of it only its place is noted."""
        self.constants += 1
        if not isinstance(draft.constant_of(constant), FunctionRef):
            return False
        self.callees[constant] = self.constants - 1
        return True

    def call(self, node: Node) -> Operation:
        callee = node.inputs[0] if node.inputs and node.inputs[0] in self.callees else None
        inputs = self.inputs(node.inputs if callee is None else node.inputs[1:])
        before = 0 if callee is None else self.callees[callee]
        return ops.CallOp(_text(node, "callee"), inputs, _type(node), before)

    def build(self, node: Node) -> Operation:
        if node.kind == draft.CALL:
            return self.call(node)
        inputs = self.inputs(node.inputs)
        if node.kind == draft.IF:
            true, false = map(self.region, node.blocks)
            return ops.IfOp(inputs[0], _types(node), true, false)
        if node.kind == draft.LOOP:
            return ops.LoopOp(inputs[0], inputs[1], inputs[2:], self.region(node.blocks[0]))
        if build := _BUILDERS.get(node.kind):
            return build(node, inputs)
        name = node.schema.full_name if node.schema is not None else node.kind
        return ops.OperatorOp(name, inputs, _types(node))


def _hint(name: str) -> str | None:
    """The name for a value, an underscore for each byte that no identifier has; none where it says
    nothing, as the `_0` of printed code does, or is the front end's own (`$item`)."""
    if name.startswith("$"):
        return None
    spelt = _NOT_IN_IDENTIFIERS.sub(b"_", name.encode()).decode()
    return spelt if spelt.isidentifier() and spelt.strip("_0123456789") else None


def lower_function(graph: Draft, signature: Signature, is_method: bool = False) -> ops.FuncOp:
    """The `ts.func` of a finished draft."""
    writer = _Writer()
    block = OpBlock(arg_types=[p.type for p in graph.block.params])
    for param, arg in zip(graph.block.params, block.args, strict=True):
        writer.values[param] = arg
        set_hint(arg, _hint(param.name))
    writer.nodes(graph.block, block)
    block.add_op(ops.ReturnOp(writer.inputs(graph.block.outputs)))
    defaults: list[Attribute] = [
        ValueAttr(a.default) if a.has_default else UnitAttr() for a in signature.arguments
    ]
    properties: dict[str, Attribute] = {
        "sym_name": StringAttr(signature.name),
        "argument_names": ArrayAttr([StringAttr(a.name) for a in signature.arguments]),
        "defaults": ArrayAttr(defaults),
        "return_type": signature.returns[0],
    }
    if by_name := [StringAttr(a.name) for a in signature.arguments if a.kwarg_only]:
        properties["keyword_only"] = ArrayAttr(by_name)
    if is_method:
        properties["is_method"] = UnitAttr()
    return ops.FuncOp.create(properties=properties, regions=[Region(block)])
