"""Nodes of graphs as ops of the dialect, and back.

Whoever edits a graph node by node, or reads one from text, has nodes that are not whole yet:
`ts.node`. `whole` makes of such a node the op that its kind means, once it has all that this op
asks for; `opened` makes of any op a node whose parts may be changed. An operator's overload is
found as TorchScript finds it: the first one whose arguments the inputs are, one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Operation, SSAValue

from tensorscript.base.schema import Schema, has_operator, overloads, schema

from . import ops as ts
from .constants import Device, ListLiteral, TensorLiteral, ValueAttr
from .node_fields import fields_of
from .type_variables import VarMismatch, match_variables, substitute
from .types import (
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    NONE,
    NUMBER,
    STRING,
    ClassType,
    DictType,
    InterfaceType,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
)
from .typing import any_class, is_compatible, schema_type, without_none
from .value_ops import Convert, Gather


def result_types(found: Schema, given: Sequence[Attribute]) -> list[Attribute] | None:
    """What an overload gives for inputs of the types `given`; None if it does not take them."""
    if len(given) != len(found.arguments) and not (
        found.is_vararg and len(given) > len(found.arguments)
    ):
        return None
    bound: dict[str, Attribute] = {}
    try:
        for argument, type in zip(found.arguments, given, strict=False):
            wanted = match_variables(schema_type(argument.type), type, bound, any_class)
            if not is_compatible(type, wanted, any_class):
                return None
    except VarMismatch:
        return None
    return [substitute(schema_type(each.type), bound) for each in found.returns]


def overload_for(kind: str, given: Sequence[Attribute]) -> Schema | None:
    """The overload of `kind` that takes inputs of the types `given`; None if none does."""
    return next((o for o in overloads(kind) if result_types(o, given) is not None), None)


def is_known(kind: str) -> bool:
    """Whether nodes of a kind mean something: an operator or a structure of the language."""
    return kind in _STRUCTURES or has_operator(kind)


def fits(op: Operation) -> bool:
    """Whether an op still is what its inputs and outputs make of it."""
    match op:
        case ts.OperatorOp():
            return _fits_schema(op)
        case ts.IfOp():
            return op.condition.type == BOOL and all(_yields(op, len(op.outputs)))
        case ts.LoopOp():
            return op.condition.type == BOOL and all(_yields(op, len(op.outputs) + 1))
        case ts.ConstantOp():
            return _constant_of(op.value.data, op.result.type) is not None
    return True


def opened(op: Operation) -> ts.NodeOp:
    """A node with the kind, attributes, inputs and blocks of `op`, which gives its blocks up."""
    assert isinstance(op, ts.TSOp)
    regions = [op.detach_region(region) for region in list(op.regions)]
    types = [result.type for result in op.results]
    made = ts.NodeOp(op.node_kind, list(op.operands), types, fields_of(op), regions)
    made.location = op.location
    made.attributes = dict(op.attributes)
    return made


def whole(node: ts.NodeOp) -> ts.TSOp | None:
    """The op that a node is; None while it lacks something. The node gives its blocks up."""
    build = _STRUCTURES.get(node.kind.data, _operator)
    made = build(node)
    if made is not None:
        made.location = node.location
        made.attributes = dict(node.attributes)
    return made


def _fits_schema(op: ts.OperatorOp) -> bool:
    if not has_operator(op.node_kind):
        return True
    given = [value.type for value in op.operands]
    try:
        return result_types(schema(op.schema.data), given) is not None
    except KeyError:  # No overload is noted.
        return overload_for(op.node_kind, given) is not None


def _yields(op: Operation, count: int) -> list[bool]:
    """Of each block whether it hands out so many values."""
    lasts = [region.block.last_op for region in op.regions]
    return [isinstance(last, ts.YieldOp) and len(last.values) == count for last in lasts]


def _operator(node: ts.NodeOp) -> ts.TSOp | None:
    if node.fields.data or node.regions:
        return None
    found = overload_for(node.kind.data, [value.type for value in node.arguments])
    if found is None or len(found.returns) != len(node.outputs):
        return None
    types = [output.type for output in node.outputs]
    return ts.OperatorOp(found.full_name, list(node.arguments), types)


_SCALARS: dict[Attribute, tuple[type, ...]] = {
    INT: (int,), FLOAT: (float, int), COMPLEX: (complex, float, int), BOOL: (bool, int),
    STRING: (str,), NUMBER: (int, float, complex), DEVICE: (str,),
}  # fmt: skip
_MADE: dict[Attribute, Callable[..., object]] = {
    INT: int, FLOAT: float, COMPLEX: complex, BOOL: bool, DEVICE: Device,
}  # fmt: skip


def _constant_of(value: object, type: Attribute) -> tuple[object] | None:
    """A constant as one of `type`, in a tuple; None if it is none."""
    if value is None:
        return (None,) if type == NONE or isinstance(type, OptionalType) else None
    type = without_none(type)
    if type in _SCALARS:
        if isinstance(value, bool) and type not in (BOOL, INT):
            return None
        if isinstance(value, Device):
            return (value,) if type == DEVICE else None
        if not isinstance(value, _SCALARS[type]):
            return None
        return (_MADE[type](value) if type in _MADE else value,)
    match type:
        case ListType() if isinstance(value, ListLiteral):
            parts = [_constant_of(each, type.element) for each in value.elements]
            known = [part[0] for part in parts if part is not None]
            return (ListLiteral(tuple(known)),) if len(known) == len(parts) else None
        case TensorType() if isinstance(value, TensorLiteral):
            return (value,)
        case ListType() | TensorType():
            return None
    return (value,)


def _constant(node: ts.NodeOp) -> ts.TSOp | None:
    fields = node.fields.data
    if len(node.outputs) != 1 or node.arguments or fields.keys() - {"value"}:
        return None
    held = fields.get("value", ValueAttr(None))
    if isinstance(held, ArrayAttr):
        held = ValueAttr(ListLiteral(tuple(_data(each) for each in held.data)))
    if not isinstance(held, ValueAttr):
        return None
    type = node.outputs[0].type
    found = _constant_of(held.data, type)
    return None if found is None else ts.ConstantOp(found[0], type)


def _data(field: Attribute | None) -> object:
    return field.data if isinstance(field, ValueAttr) else None


def _plain(node: ts.NodeOp, inputs: int | None, outputs: int | None, *fields: str) -> bool:
    """Whether a node has so many inputs and outputs, and these attributes; None is any number."""
    return (
        (inputs is None or len(node.arguments) == inputs)
        and (outputs is None or len(node.outputs) == outputs)
        and node.fields.data.keys() == set(fields)
        and not node.regions
    )


def _gathered(op: type[Gather], of: type[Attribute]) -> Callable[[ts.NodeOp], ts.TSOp | None]:
    def build(node: ts.NodeOp) -> ts.TSOp | None:
        if not _plain(node, None, 1) or not isinstance(node.outputs[0].type, of):
            return None
        return op(list(node.arguments), node.outputs[0].type)

    return build


def _tuple(node: ts.NodeOp) -> ts.TSOp | None:
    if not _plain(node, None, 1) or not isinstance(node.outputs[0].type, TupleType):
        return None
    if len(node.outputs[0].type.elements) != len(node.arguments):
        return None
    return ts.TupleConstructOp(list(node.arguments), node.outputs[0].type)


def _dict(node: ts.NodeOp) -> ts.TSOp | None:
    if len(node.arguments) % 2:
        return None
    return _gathered(ts.DictConstructOp, DictType)(node)


def _list_unpack(node: ts.NodeOp) -> ts.TSOp | None:
    if not _plain(node, 1, None) or not isinstance(node.arguments[0].type, ListType):
        return None
    return ts.ListUnpackOp(node.arguments[0], [output.type for output in node.outputs])


def _tuple_unpack(node: ts.NodeOp) -> ts.TSOp | None:
    if not _plain(node, 1, None) or not isinstance(kind := node.arguments[0].type, TupleType):
        return None
    if len(kind.elements) != len(node.outputs):
        return None
    return ts.TupleUnpackOp(node.arguments[0], [output.type for output in node.outputs])


def _converted(op: type[Convert]) -> Callable[[ts.NodeOp], ts.TSOp | None]:
    def build(node: ts.NodeOp) -> ts.TSOp | None:
        return op(node.arguments[0], node.outputs[0].type) if _plain(node, 1, 1) else None

    return build


def _isinstance(node: ts.NodeOp) -> ts.TSOp | None:
    if not _plain(node, 1, 1, "types") or node.outputs[0].type != BOOL:
        return None
    types = node.fields.data["types"]
    return ts.IsInstanceOp(node.arguments[0], types.data) if isinstance(types, ArrayAttr) else None


def _tuple_index(node: ts.NodeOp) -> ts.TSOp | None:
    if not _plain(node, 2, 1) or not isinstance(node.arguments[0].type, TupleType):
        return None
    return ts.TupleIndexOp(node.arguments[0], node.arguments[1], node.outputs[0].type)


def _tuple_slice(node: ts.NodeOp) -> ts.TSOp | None:
    if not _plain(node, 1, 1, "beg", "end") or not isinstance(node.arguments[0].type, TupleType):
        return None
    begin, end = (_data(node.fields.data[name]) for name in ("beg", "end"))
    if not isinstance(begin, int) or not isinstance(end, int):
        return None
    return ts.TupleSliceOp(node.arguments[0], begin, end, node.outputs[0].type)


def _name(node: ts.NodeOp) -> str:
    return str(_data(node.fields.data["name"]))


def _is_object(value: SSAValue) -> bool:
    return isinstance(value.type, ClassType | InterfaceType)


def _get_attr(node: ts.NodeOp) -> ts.TSOp | None:
    if not _plain(node, 1, 1, "name") or not _is_object(node.arguments[0]):
        return None
    return ts.GetAttrOp(node.arguments[0], _name(node), node.outputs[0].type)


def _set_attr(node: ts.NodeOp) -> ts.TSOp | None:
    if not _plain(node, 2, 0, "name") or not _is_object(node.arguments[0]):
        return None
    return ts.SetAttrOp(node.arguments[0], _name(node), node.arguments[1])


def _call_method(node: ts.NodeOp) -> ts.TSOp | None:
    if not _plain(node, None, 1, "name") or not node.arguments or not _is_object(node.arguments[0]):
        return None
    return ts.CallMethodOp(_name(node), list(node.arguments), node.outputs[0].type)


def _create_object(node: ts.NodeOp) -> ts.TSOp | None:
    if not _plain(node, 0, 1) or not isinstance(node.outputs[0].type, ClassType):
        return None
    return ts.CreateObjectOp(node.outputs[0].type)


def _uninitialized(node: ts.NodeOp) -> ts.TSOp | None:
    return ts.UninitializedOp(node.outputs[0].type) if _plain(node, 0, 1) else None


def _print(node: ts.NodeOp) -> ts.TSOp | None:
    return ts.PrintOp(list(node.arguments)) if _plain(node, None, 0) else None


def _raise(node: ts.NodeOp) -> ts.TSOp | None:
    return ts.RaiseOp(*node.arguments) if _plain(node, 2, 0) else None


def _if(node: ts.NodeOp) -> ts.TSOp | None:
    if len(node.regions) != 2 or node.fields.data or not all(_yields(node, len(node.outputs))):
        return None
    if len(node.arguments) != 1 or node.arguments[0].type != BOOL:
        return None
    if any(region.block.args for region in node.regions):
        return None
    true, false = (node.detach_region(region) for region in list(node.regions))
    return ts.IfOp(node.arguments[0], [output.type for output in node.outputs], true, false)


def _loop(node: ts.NodeOp) -> ts.TSOp | None:
    count = len(node.outputs)
    if len(node.regions) != 1 or node.fields.data or not all(_yields(node, count + 1)):
        return None
    if [value.type for value in node.arguments[:2]] != [INT, BOOL]:
        return None
    if len(node.arguments) != count + 2 or len(node.regions[0].block.args) != count + 1:
        return None
    trips, condition, *carried = node.arguments
    return ts.LoopOp(trips, condition, carried, node.detach_region(node.regions[0]))


_STRUCTURES: Mapping[str, Callable[[ts.NodeOp], ts.TSOp | None]] = {
    "prim::Constant": _constant,
    "prim::If": _if,
    "prim::Loop": _loop,
    "prim::ListConstruct": _gathered(ts.ListConstructOp, ListType),
    "prim::TupleConstruct": _tuple,
    "prim::DictConstruct": _dict,
    "prim::ListUnpack": _list_unpack,
    "prim::TupleUnpack": _tuple_unpack,
    "prim::TupleIndex": _tuple_index,
    "prim::TupleSlice": _tuple_slice,
    "prim::unchecked_cast": _converted(ts.UncheckedCastOp),
    "prim::Enter": _converted(ts.EnterOp),
    "prim::Exit": _converted(ts.ExitOp),
    "prim::isinstance": _isinstance,
    "prim::GetAttr": _get_attr,
    "prim::SetAttr": _set_attr,
    "prim::CallMethod": _call_method,
    "prim::CreateObject": _create_object,
    "prim::Uninitialized": _uninitialized,
    "prim::Print": _print,
    "prim::RaiseException": _raise,
}
