"""Operator calls as `.code` spells them."""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.schema import Schema

from .ops import OperatorOp
from .typing import annotation_text

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


def operator_text(op: OperatorOp, schema: Schema | None, written: Sequence[tuple[int, str]]) -> str:
    """One operator call; `written` are position and text of the arguments that must be written."""
    kind = op.node_kind
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
        f"{schema.arguments[i].name}={text}"
        if schema is not None and i < len(schema.arguments) and schema.arguments[i].kwarg_only
        else text
        for i, text in written
    ]
    return f"{_callee(kind)}({', '.join(shown)})"
