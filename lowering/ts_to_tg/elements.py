"""Element-level expressions: literals, conversions and scalars in a dtype."""

from __future__ import annotations

from tensorscript.base.dtypes import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int64,
)
from tensorscript.dialects.te.expr import Expr, binary, cast, const, held

from .sizes import simplify
from .values import Value

HALVES = (float16, bfloat16)


def number(value: bool | int | float, dtype: DType) -> Expr:
    """A literal in `dtype`; integers wrap as in C."""
    if dtype is bool_ or dtype.is_floating_point:
        return const(value, dtype)
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return const(-(2 ** (dtype.bits - 1)) if dtype.signed else 0, dtype)
    whole = int(value) & ((1 << dtype.bits) - 1)
    if dtype.signed and whole >> (dtype.bits - 1):
        whole -= 1 << dtype.bits
    return const(whole, dtype)


def convert(e: Expr, dtype: DType) -> Expr:
    """`e` converted as `tensor.to(dtype)` does: to bool by comparing with zero."""
    if e.dtype is dtype:
        return e
    if e.op == "const":
        return number(held(e), dtype)
    if dtype is bool_:
        return binary("ne", e, const(0, e.dtype))
    return cast(e, dtype)


def compute_dtype(dtype: DType) -> DType:
    """The dtype elements are computed in: half types in float32."""
    return float32 if dtype in HALVES else dtype


def as_expr(value: Value) -> Expr:
    """A scalar value as an expression of i64, f64 or b1.

    Raises:
        TypeError: not a scalar.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, bool):
        return const(value, bool_)
    if isinstance(value, int):
        return number(value, int64)
    if isinstance(value, float):
        return const(value, float64)
    raise TypeError(f"not a scalar: {value!r}")


def known(e: Expr) -> Value:
    """The Python value of a literal; another expression in canonical form."""
    if e.dtype is int64 or e.dtype is bool_:
        e = simplify(e)
    return e.value if e.op == "const" else e
