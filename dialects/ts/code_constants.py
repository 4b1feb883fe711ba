"""Constants as `.code` spells them, and the table of those it only names."""

from __future__ import annotations

import math
from dataclasses import field

import numpy as np
from xdsl.ir import Attribute

from tensorscript.base.records import dataclass
from tensorscript.base.text import complex_text

from .constants import (
    Device,
    DictLiteral,
    EnumRef,
    FunctionRef,
    ListLiteral,
    ObjectLiteral,
    TensorLiteral,
)
from .type_text import annotation_text
from .types import OPEN_TYPES, DictType, InterfaceType, ListType, TupleType, UnionType
from .typing import without_none
from .value_text import float_text


@dataclass
class ConstantTable:
    """The tensors and objects that a text refers to as `CONSTANTS.c0`, `CONSTANTS.c1`, ..."""

    values: list[object] = field(default_factory=list)

    def name(self, value: object) -> str:
        for at, known in enumerate(self.values):
            if known is value or known == value or _is_same_tensor(known, value):
                return f"CONSTANTS.c{at}"
        self.values.append(value)
        return f"CONSTANTS.c{len(self.values) - 1}"


def _is_same_tensor(x: object, y: object) -> bool:
    """Whether two tensors have one dtype, one shape and the same elements."""
    if not isinstance(x, TensorLiteral) or not isinstance(y, TensorLiteral):
        return False
    if x.dtype is not y.dtype or x.array.shape != y.array.shape:
        return False
    firsts = x.array.flat[:8], y.array.flat[:8]  # weights of one shape differ here
    return np.array_equal(*firsts) and np.array_equal(x.array, y.array)


def string_text(value: str) -> str:
    """A string literal that TorchScript's parser reads: octal for what is not printable."""
    named = {"\n": "\\n", "\t": "\\t", "\\": "\\\\", '"': '\\"', "'": "\\'"}
    out = []
    for char in value:
        if char in named:
            out.append(named[char])
        elif char.isprintable():
            out.append(char)
        else:
            out.append(f"\\{ord(char):03o}")
    return '"' + "".join(out) + '"'


def is_named(value: object) -> bool:
    """Whether a text only names a constant (`CONSTANTS.c0`)."""
    return isinstance(value, TensorLiteral | ObjectLiteral) or (
        isinstance(value, str) and not value.isascii()
    )


def constant_text(value: object, type: Attribute, table: ConstantTable) -> str:
    """A constant in code."""
    match value:
        case bool() | None:
            return str(value)
        case float():
            if math.isfinite(value) or math.isnan(value):
                return float_text(value)
            return "inf" if value > 0 else "-inf"
        case complex():
            return complex_text(value)
        case str():
            return table.name(value) if is_named(value) else string_text(value)
        case Device():
            return f'torch.device("{value.text}")'
        case FunctionRef():
            return value.qualified_name
        case EnumRef():
            return f"{value.class_name}.{value.member}"
        case TensorLiteral() | ObjectLiteral():
            return table.name(value)
        case tuple():
            return _tuple_text(value, type, table)
        case ListLiteral():
            return _list_text(value, type, table)
        case DictLiteral():
            return _dict_text(value, type, table)
    return str(value)


def _tuple_text(value: tuple[object, ...], type: Attribute, table: ConstantTable) -> str:
    known = without_none(type)
    types, name = (type,) * len(value), ""
    if isinstance(known, TupleType):
        types, name = tuple(known.elements), known.class_name.data
    inner = ", ".join(constant_text(v, t, table) for v, t in zip(value, types, strict=True))
    return f"{name}({inner}{',' if len(value) == 1 else ''})"


def _list_text(value: ListLiteral, type: Attribute, table: ConstantTable) -> str:
    inner = _container(type, ListType, not value.elements)
    element = inner.element if isinstance(inner, ListType) else type
    text = "[" + ", ".join(constant_text(v, element, table) for v in value.elements) + "]"
    if isinstance(inner, ListType) and (not value.elements or _is_untold(element)):
        return f"annotate({annotation_text(inner)}, {text})"
    return text


def _dict_text(value: DictLiteral, type: Attribute, table: ConstantTable) -> str:
    known = _container(type, DictType, not value.items)
    types = (known.key, known.value) if isinstance(known, DictType) else (type, type)
    pairs = (tuple(map(constant_text, pair, types, (table, table))) for pair in value.items)
    text = "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
    if isinstance(known, DictType) and (not value.items or _is_untold(known.value)):
        return f"annotate({annotation_text(known)}, {text})"
    return text


_Kind = type[ListType] | type[DictType]


def _container(type: Attribute, kind: _Kind, is_empty: bool) -> Attribute:
    """What a list or dict of a type is: of a union its one member of that kind.

    An empty one is any of several; it is the first. What is in the others tells which.
    """
    known = without_none(type)
    members = (
        [m for m in known.members if isinstance(m, kind)] if isinstance(known, UnionType) else []
    )
    return members[0] if len(members) == 1 or (members and is_empty) else known


def _is_untold(element: Attribute) -> bool:
    """Whether elements do not tell the type that their container has for them."""
    return isinstance(element, OPEN_TYPES | InterfaceType)
