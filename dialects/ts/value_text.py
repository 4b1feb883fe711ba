"""Constants as graphs print them: `1.`, `"a\\n"`, `[1, 2]`, `{3}`."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from tensorscript.base.dtypes import DType, numbers
from tensorscript.base.tensor_text import tensor_text
from tensorscript.base.text import complex_text

from .constants import Device, DictLiteral, EnumRef, ListLiteral, TensorLiteral

LARGEST_SHOWN = 10
"""Tensors with more elements print as `<Tensor>`."""


def float_text(value: float) -> str:
    """`1.`, `0.10000000000000001`, `1e+20`, `-0.`."""
    text = f"{value:.17g}" if math.isfinite(value) else str(value)
    return text if any(c in text for c in ".enia") else text + "."


def _number_text(value: float) -> str:
    """A float in a graph, where whole numbers from 1e10 on have no dot."""
    text = float_text(value)
    return text.rstrip(".") if abs(value) >= 1e10 else text


def string_text(value: str) -> str:
    """A string in double quotes with C escapes."""
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\f": "\\f",
               "\v": "\\v", "\a": "\\a", "\b": "\\b", "'": "\\'"}  # fmt: skip
    octal = {c: f"\\{ord(c):03o}" for c in value if c.isascii() and not c.isprintable()}
    return '"' + "".join((octal | escapes).get(c, c) for c in value) + '"'


def _element_text(value: object, dtype: DType) -> str:
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    if isinstance(value, complex):
        return f"({value.real:g},{value.imag:g})"
    return f"{value:g}" if dtype.is_floating_point else str(value)


def _tensor_text(value: TensorLiteral) -> str:
    if value.array.size == 1:
        element = numbers(value.array, value.dtype).reshape(-1)[0].item()
        return "{" + _element_text(element, value.dtype) + "}"
    if value.array.size > LARGEST_SHOWN:
        return "<Tensor>"
    kind = f"CPU{value.dtype.word}Type"
    return tensor_text(numbers(value.array, value.dtype), kind).replace("\n", " ")


def _inside(values: Iterable[object]) -> str:
    """Elements of a container, where bools are words."""
    return ", ".join(str(v) if isinstance(v, bool) else value_text(v) for v in values)


def value_text(value: object) -> str:
    """A constant as graphs print it."""
    match value:
        case bool():
            return str(int(value))
        case float():
            return _number_text(value)
        case complex():
            return complex_text(value)
        case str():
            return string_text(value)
        case Device():
            return string_text(value.text)
        case tuple():
            inside = _inside(value)
            return f"({inside},)" if len(value) == 1 else f"({inside})"
        case ListLiteral():
            return f"[{_inside(value.elements)}]"
        case DictLiteral():
            pairs = (f"{value_text(k)}: {value_text(v)}" for k, v in value.items)
            return "{" + ", ".join(pairs) + "}"
        case EnumRef():
            return f"{value.class_name}.{value.member}"
        case TensorLiteral():
            return _tensor_text(value)
    return str(value)
