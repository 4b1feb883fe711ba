"""The attributes of nodes, which graphs print in brackets: `prim::Constant[value=1]()`.

Ops of the dialect keep them in properties of their own; `fields_of` gives them as TorchScript names
them, and `field_text` as it prints them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Operation

from .constants import DictLiteral, FunctionRef, ListLiteral, TensorLiteral, ValueAttr
from .ops import (
    CallMethodOp,
    ConstantOp,
    GetAttrOp,
    IsInstanceOp,
    NodeOp,
    SetAttrOp,
    TupleSliceOp,
)
from .type_text import annotation_text, ir_text
from .types import OPEN_TYPES, TENSOR, DictType, ListType, TSType
from .typing import types_inside, without_none
from .value_text import value_text

Fields = Mapping[str, Attribute]


def _of_constant(op: Operation) -> Fields:
    assert isinstance(op, ConstantOp)
    held = op.value.data
    if isinstance(held, FunctionRef):
        return {"name": ValueAttr(held.qualified_name.rpartition(".")[2])}
    return {} if held is None else {"value": op.value}


def _named(name: StringAttr) -> Fields:
    return {"name": ValueAttr(name.data)}


_FIELDS: dict[type[Operation], Callable[..., Fields]] = {
    ConstantOp: _of_constant,
    GetAttrOp: lambda op: _named(op.attribute),
    SetAttrOp: lambda op: _named(op.attribute),
    CallMethodOp: lambda op: _named(op.method),
    IsInstanceOp: lambda op: {"types": op.types},
    TupleSliceOp: lambda op: {"beg": op.begin, "end": op.end},
    NodeOp: lambda op: op.fields.data,
}


def fields_of(op: Operation) -> Fields:
    """The attributes of a node by name, in the order in which they are printed."""
    return found(op) if (found := _FIELDS.get(type(op))) is not None else {}


def kind_of_field(field: Attribute) -> str:
    """The accessor that gives an attribute: `i` (also of bools), `f`, `s`, `t`, `ty`, `is`, ..."""
    if isinstance(field, TSType):
        return "ty"
    if not isinstance(field, ArrayAttr):
        assert isinstance(field, ValueAttr)
        return _letter(field.data)
    first = field.data[0] if field.data else ValueAttr(0)
    return f"{kind_of_field(first)}s"


def _letter(value: object) -> str:
    return next((letter for kind, letter in _LETTERS if isinstance(value, kind)), "ival")


_LETTERS: tuple[tuple[type, str], ...] = (
    (int, "i"), (float, "f"), (complex, "c"), (str, "s"), (TensorLiteral, "t"),
)  # fmt: skip


def field_text(field: Attribute, type: Attribute | None = None) -> str:
    """An attribute as graphs print it.

    Args:
        type: of the node's output; a container whose elements do not tell it is annotated.
    """
    if isinstance(field, TSType):
        return ir_text(field)
    if isinstance(field, ArrayAttr):
        if kind_of_field(field) == "ts":
            return "[<Tensors>]"
        return f"[{', '.join(map(field_text, field.data))}]"
    assert isinstance(field, ValueAttr)
    if type == ListType(TENSOR):
        return "[<Tensors>]"
    text = value_text(field.data)
    if type is None or not _needs_type(field.data, without_none(type)):
        return text
    gap = "" if isinstance(field.data, DictLiteral) else " "
    return f"annotate({annotation_text(type)},{gap}{text})"


def _needs_type(value: object, type: Attribute) -> bool:
    """Whether the text of a container alone does not tell its type."""
    match value, type:
        case ListLiteral(elements), ListType():
            return not elements or _is_open(type.element)
        case DictLiteral(items), DictType():
            return not items or _is_open(type.key) or _is_open(type.value)
    return False


def _is_open(type: Attribute) -> bool:
    if isinstance(type, ListType | DictType):
        return any(map(_is_open, types_inside(type)))
    return isinstance(type, OPEN_TYPES)


def fields_text(op: Operation) -> str:
    """The attributes of a node in brackets; "" if it has none."""
    type = op.results[0].type if isinstance(op, ConstantOp) else None
    parts = [f"{name}={field_text(field, type)}" for name, field in fields_of(op).items()]
    return f"[{', '.join(parts)}]" if parts else ""
