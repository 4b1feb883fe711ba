"""Comparisons and truth: done now if the values are known, else as an expression."""

from __future__ import annotations

import operator
from collections.abc import Callable

from tensorscript.base.dtypes import bool_
from tensorscript.dialects.te.expr import Expr, binary, unary

from .builder import Builder, Rows
from .elements import convert, known
from .scalar_values import is_unknown, paired
from .values import Tensor, Text, UnknownString, Value


def compare(op: str, fn: Callable[[Value, Value], bool]) -> Callable[..., Value]:
    """Rows of comparisons of numbers, known strings and lists."""

    def row(b: Builder, x: Value, y: Value, *_: Value) -> Value:
        if isinstance(x, list) and isinstance(y, list) and op in ("eq", "ne"):
            if len(x) != len(y):
                return op == "ne"
            same: Value = True
            for p, q in zip(x, y, strict=True):
                same = _and(b, same, row_eq(b, p, q))
            return same if op == "eq" else _not(b, same)
        if isinstance(x, Tensor) and isinstance(y, Tensor):
            return _truth(b, b.apply(f"aten::{op}", x, y))
        if isinstance(x, UnknownString | Text) or isinstance(y, UnknownString | Text):
            b.cannot("comparing strings that depend on unknown values")
        if not is_unknown(x, y):
            return fn(x, y)
        if x is None or y is None:
            return op == "ne"
        return known(binary(op, *paired(x, y)))

    return row


def _truth(b: Builder, x: Value) -> Value:
    """The one element of a tensor, as a bool."""
    assert isinstance(x, Tensor)
    b.single(x, "Boolean value of Tensor with more than one value is ambiguous")
    return b.item(x)


def _not(b: Builder, x: Value, *_: Value) -> Value:
    if isinstance(x, Expr):
        return known(unary("not", convert(x, bool_)))
    return not x


def _and(b: Builder, x: Value, y: Value, *_: Value) -> Value:
    if is_unknown(x, y):
        if x is False or y is False:
            return False
        if x is True or y is True:
            return y if x is True else x
        return known(binary("and", *paired(x, y)))
    return x & y


def _or(b: Builder, x: Value, y: Value, *_: Value) -> Value:
    if is_unknown(x, y):
        if x is True or y is True:
            return True
        if x is False or y is False:
            return y if x is False else x
        return known(binary("or", *paired(x, y)))
    return x | y


def _xor(b: Builder, x: Value, y: Value, *_: Value) -> Value:
    if not is_unknown(x, y):
        return x ^ y
    p, q = paired(x, y)
    return known(binary("ne" if p.dtype is bool_ else "xor", p, q))


def _all(b: Builder, values: list[Value], *_: Value) -> Value:
    found: Value = True
    for value in values:
        found = _and(b, found, to_bool(b, value))
    return found


def _any(b: Builder, values: list[Value], *_: Value) -> Value:
    found: Value = False
    for value in values:
        found = _or(b, found, to_bool(b, value))
    return found


def _is(b: Builder, x: Value, y: Value) -> Value:
    if x is None or y is None or isinstance(x, Tensor) or isinstance(y, Tensor):
        return x is y
    return row_eq(b, x, y)


def to_bool(b: Builder, x: Value, *_: Value) -> Value:
    return known(convert(x, bool_)) if isinstance(x, Expr) else bool(x)


row_eq = compare("eq", operator.eq)


TRUTH: Rows = {
    "aten::eq": row_eq,
    "aten::ne": compare("ne", operator.ne),
    "aten::lt": compare("lt", operator.lt),
    "aten::le": compare("le", operator.le),
    "aten::gt": compare("gt", operator.gt),
    "aten::ge": compare("ge", operator.ge),
    "aten::__not__": _not,
    "aten::__and__": _and,
    "aten::__or__": _or,
    "aten::__xor__": _xor,
    "aten::__is__": _is,
    "aten::__isnot__": lambda b, x, y: _not(b, _is(b, x, y)),
    "aten::Bool": to_bool,
    "aten::all": _all,
    "aten::any": _any,
}
