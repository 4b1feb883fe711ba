"""Folding of one node: literals of any dtype in its own arithmetic, and exact identities."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tensorscript.base.dtypes import DType, bfloat16, bool_, float32, float64

from .expr import Expr, Number, binary, cast, const, held, unary
from .vocabulary import COMPARISONS

NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}


def fold_logic(e: Expr) -> Expr:
    """Boolean identities; integer comparisons are negated in place."""
    if e.op == "not":
        (a,) = e.args
        if a.is_const:
            return const(not a.value, bool_)
        if a.op == "not":
            return a.args[0]
        if a.op in NEGATED and not a.args[0].dtype.is_floating_point:
            return binary(NEGATED[a.op], *a.args)
        return e
    a, b = e.args
    if a.is_const:
        a, b = b, a
    if b.is_const:
        if e.op == "xor":
            return fold_logic(unary("not", a)) if b.value else a
        return a if bool(b.value) == (e.op == "and") else b
    if a is b:
        return const(False, bool_) if e.op == "xor" else a
    return e


_FOLD: dict[str, Callable[[Number, Number], Number]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b, "min": min, "max": max,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b, "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
    "and": lambda a, b: int(a) & int(b), "or": lambda a, b: int(a) | int(b),
    "xor": lambda a, b: int(a) ^ int(b),
}  # fmt: skip


_FLOAT_FOLD: dict[str, Callable[[np.floating, np.floating], np.floating]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
}  # fmt: skip


_EXACT_CALLS: dict[str, Callable[[np.floating], np.floating]] = {
    "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint,
    "abs": np.abs,
}  # fmt: skip
"""Functions that IEEE 754 rounds exactly: every target computes what NumPy does."""


_EXACT_DTYPES = (float32, float64)


def _wrapped(value: int, e: Expr) -> Expr:
    bits = e.dtype.bits
    value &= (1 << bits) - 1
    if e.dtype.signed and value >> (bits - 1):
        value -= 1 << bits
    return const(value, e.dtype)


def _is_float(e: Expr, value: float) -> bool:
    return (
        e.op == "const"
        and e.value == value
        and math.copysign(1.0, float(str(e.value))) == math.copysign(1.0, value)
    )


def fold(e: Expr) -> Expr:
    """One node over literal operands, or an identity that holds for every value of the dtype."""
    if e.op == "cast":
        return _fold_cast(e)
    if e.op == "bitcast":
        (a,) = e.args
        if not a.is_const:
            return e
        bits = reinterpreted(a.value, a.dtype, e.dtype)  # type: ignore[arg-type]  # a literal
        return const(bits, e.dtype)
    if e.op == "call":
        return _fold_call(e)
    if len(e.args) != 2:
        return e
    a, b = e.args
    if a.is_const and b.is_const:
        return _fold_literals(e, a, b)
    if a.dtype.is_floating_point:
        if e.op in ("mul", "div") and _is_float(b, 1.0):
            return a
        if e.op == "mul" and _is_float(a, 1.0):
            return b
        if (e.op == "add" and _is_float(b, -0.0)) or (e.op == "sub" and _is_float(b, 0.0)):
            return a
        return b if e.op == "add" and _is_float(a, -0.0) else e
    if e.op in ("add", "sub", "or", "xor", "shl", "shr") and b.is_int(0):
        return a
    if e.op in ("mul", "floordiv", "truncdiv") and b.is_int(1):
        return a
    return e


def _fold_literals(e: Expr, a: Expr, b: Expr) -> Expr:
    x, y = held(a), held(b)
    if a.dtype.is_floating_point:
        if e.op in COMPARISONS:
            return const(bool(_FOLD[e.op](x, y)), bool_)
        if e.op in _FLOAT_FOLD and e.dtype in (float32, float64):
            kind = e.dtype.numpy.type
            with np.errstate(all="ignore"):
                return const(float(_FLOAT_FOLD[e.op](kind(x), kind(y))), e.dtype)
        return e
    if e.op not in _FOLD or (e.op in ("floordiv", "mod") and y == 0):
        return e
    value = _FOLD[e.op](x, y)
    return const(value, bool_) if e.dtype is bool_ else _wrapped(int(value), e)


def reinterpreted(value: Number, source: DType, target: DType) -> Number:
    """The bits of a number as another dtype of the same size holds them."""
    if source is bfloat16:
        stored = (np.asarray(value, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    else:
        stored = np.asarray(value, source.numpy)
    bits = stored.view(target.numpy)
    if target is bfloat16:
        bits = (bits.astype(np.uint32) << 16).view(np.float32)
    number: Number = bits.item()
    return number


def _fold_call(e: Expr) -> Expr:
    exact = _EXACT_CALLS.get(str(e.value))
    a = e.args[0]
    if exact is None or not a.is_const or a.dtype is not e.dtype or a.dtype not in _EXACT_DTYPES:
        return e
    with np.errstate(all="ignore"):
        return const(float(exact(a.dtype.numpy.type(a.value))), e.dtype)


def _fold_cast(e: Expr) -> Expr:
    (a,) = e.args
    if not a.is_const:
        return e
    value = a.value
    if a.dtype.is_floating_point and e.dtype.is_integral:
        if not math.isfinite(value) or abs(value) >= 2.0**62:  # type: ignore[arg-type]
            return e
        whole = int(value)  # type: ignore[call-overload]  # a float literal
        folded = _wrapped(whole, e)
        return folded if folded.value == whole else e
    return cast(a, e.dtype)
