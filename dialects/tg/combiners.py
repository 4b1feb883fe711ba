"""How reductions, scans and scatters combine elements."""

from __future__ import annotations

from tensorscript.base.dtypes import DType, bool_
from tensorscript.dialects.te.expr import Expr, const

COMBINERS = ("add", "mul", "min", "max", "greater", "and", "or", "xor")
"""`greater` is the maximum of floats of whoever finds a NaN among them in another way: whether it
gives that is left open, which takes a third of the instructions."""


def identity(combiner: str, dtype: DType) -> Expr:
    """The neutral element of a combiner.

    Raises:
        ValueError: unknown combiner.
    """
    if combiner == "add":
        return const(0, dtype)
    if combiner == "mul":
        return const(1, dtype)
    if combiner in ("and", "or", "xor"):
        full = True if dtype is bool_ else -1 if dtype.signed else (1 << dtype.bits) - 1
        return const(full if combiner == "and" else 0, dtype)
    if combiner in ("min", "max", "greater"):
        low = combiner != "min"
        if dtype.is_floating_point:
            return const(float("-inf") if low else float("inf"), dtype)
        if dtype is bool_:
            return const(not low, dtype)
        if not dtype.signed:
            return const(0 if low else (1 << dtype.bits) - 1, dtype)
        return const(-(1 << (dtype.bits - 1)) if low else (1 << (dtype.bits - 1)) - 1, dtype)
    raise ValueError(f"unknown combiner {combiner!r}")
