"""Operator calls as `.code` spells them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tensorscript.base.schema import Argument, Schema, schema

from .constants import ListLiteral
from .ops import ConstantOp, OperatorOp
from .type_text import annotation_text

_CASTS = {
    "aten::Int": "int", "aten::Float": "float", "aten::Bool": "bool", "aten::str": "str",
}  # fmt: skip
_IMPLICIT = {
    "aten::IntImplicit": "int", "aten::FloatImplicit": "float", "aten::ScalarImplicit": "number",
}  # fmt: skip
_ENUM = {"prim::EnumName": "name", "prim::EnumValue": "value"}
_AUTOGRAD = frozenset({"aten::backward", "aten::grad"})


def value_list(texts: Sequence[str]) -> str:
    """Arguments of a script function: each followed by a comma."""
    return "".join(f"{t}, " for t in texts)


def _callee(kind: str) -> str:
    space, _, name = kind.partition("::")
    if kind in _AUTOGRAD:
        return f"torch.autograd.{name}"
    return f"torch.{name}" if space == "aten" else f"ops.{space}.{name}"


def _schema(op: OperatorOp) -> Schema | None:
    try:
        return schema(op.schema.data)
    except KeyError:
        return None


def written_arguments(op: OperatorOp) -> list[int]:
    """Which arguments must be written: outputs, and what stands before the trailing defaults."""
    found, values = _schema(op), op.arguments
    count = len(values)
    if found is None or found.is_vararg:
        return list(range(count))
    outputs = [i for i, a in enumerate(found.arguments) if a.is_write and a.kwarg_only]
    count -= len(outputs)
    while count:
        argument = found.arguments[count - 1]
        owner = values[count - 1].owner
        if not argument.has_default or not isinstance(owner, ConstantOp):
            break
        if not _equals_default(owner.value.data, argument):
            break
        count -= 1
    return [*range(count), *outputs]


def _equals_default(value: object, argument: Argument) -> bool:
    default = argument.default
    if isinstance(value, ListLiteral):
        wanted = default if isinstance(default, tuple) else (default,) * len(value.elements)
        return value.elements == wanted
    if isinstance(value, float) and argument.type.without_optional().kind == "float":
        return value == default and not math.isnan(value)
    return type(value) is type(default) and value == default


def operator_text(op: OperatorOp, written: Sequence[tuple[int, str]]) -> str:
    """One operator call; `written` are position and text of the `written_arguments`."""
    kind, found = op.node_kind, _schema(op)
    texts = [text for _, text in written]
    if kind in _CASTS and len(texts) == 1:
        return f"{_CASTS[kind]}({texts[0]})"
    if kind in _IMPLICIT:
        return f"annotate({_IMPLICIT[kind]}, {texts[0]})"
    if kind == "aten::__getitem__":
        base = texts[0] if texts[0].isidentifier() else f"({texts[0]})"
        return f"{base}[{texts[1]}]"
    if kind in _ENUM:
        return f"({texts[0]}).{_ENUM[kind]}"
    if kind == "prim::tolist":
        return f"annotate({annotation_text(op.results[0].type)}, {texts[0]}.tolist())"
    if kind == "aten::sorted":
        return f"sorted({', '.join(texts)})"
    shown = [
        f"{found.arguments[i].name}={text}"
        if found is not None and i < len(found.arguments) and found.arguments[i].kwarg_only
        else text
        for i, text in written
    ]
    return f"{_callee(kind)}({', '.join(shown)})"
