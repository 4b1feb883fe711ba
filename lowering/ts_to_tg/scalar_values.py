"""Numbers, bools and strings as the rows on them take them: 64-bit, and of one dtype."""

from __future__ import annotations

from tensorscript.base.dtypes import bool_, float64, int64
from tensorscript.base.text import complex_text, float_text
from tensorscript.dialects.te.expr import Expr

from .builder import Builder
from .elements import as_expr, convert
from .text_values import is_textual, joined_text
from .values import Text, TupleValue, UnknownString, Value, Variant


def wrap(value: int) -> int:
    """A Python int as a 64-bit one."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def tidy(value: Value) -> Value:
    return wrap(value) if type(value) is int else value


def paired(x: Value, y: Value) -> tuple[Expr, Expr]:
    """Both as expressions of one dtype (float if either is)."""
    p, q = as_expr(x), as_expr(y)
    wide = float64 if float64 in (p.dtype, q.dtype) else int64
    if p.dtype is q.dtype is bool_:
        return p, q
    return convert(p, wide), convert(q, wide)


def is_unknown(*values: Value) -> bool:
    return any(isinstance(v, Expr) for v in values)


def to_text(value: Value) -> str:
    """`str(value)` as TorchScript prints it: floats with up to 17 digits."""
    if isinstance(value, UnknownString):
        return value.text
    if isinstance(value, Text):
        return value.message
    if isinstance(value, Expr | Variant):
        return "{}"
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, complex):
        return complex_text(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(to_text, value)) + "]"
    if isinstance(value, TupleValue):
        return "(" + ", ".join(map(to_text, value.elements)) + ")"
    return str(value)


def joined_texts(b: Builder, x: Value, y: Value) -> Value:
    """`x + y` of strings of which one is not known."""
    message = to_text(x) + to_text(y)
    if not b.finds_sizes or not is_textual(x) or not is_textual(y):
        parts = [v.pieces if isinstance(v, UnknownString) else (v,) for v in (x, y)]
        return UnknownString(message, (*parts[0], *parts[1]) if all(parts) else ())
    return joined_text(b, [x, y], message)
