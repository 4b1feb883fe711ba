"""Rows of the normal distribution's functions, in float64: erfcx, log ndtr and its inverse."""

from __future__ import annotations

import math
from collections.abc import Callable

from tensorscript.base.dtypes import float64
from tensorscript.dialects.te.expr import Expr, binary, call, cast, const, select

from .builder import Builder, Rows
from .pointwise import unary_float
from .values import Tensor

Row = Callable[..., Tensor]
_TAIL = 5.0
_TERMS = 60
_NEWTON = 6


def _fraction(x: Expr) -> Expr:
    """exp(x^2) erfc(x) of large x: a continued fraction (Abramowitz and Stegun 7.1.14)."""
    tail = x
    for k in range(_TERMS, 0, -1):
        tail = x + const(k / 2.0, x.dtype) / tail
    return const(1 / math.sqrt(math.pi), x.dtype) / tail


def erfcx(x: Expr) -> Expr:
    """exp(x^2) erfc(x)."""
    near = binary("min", x, _TAIL)
    grown = call("exp", near * near) * call("erfc", near)
    far = _fraction(binary("min", binary("max", x, _TAIL), 1e150))
    return select(call("isnan", x), x, select(x < _TAIL, grown, far))


def log_ndtr(x: Expr) -> Expr:
    """In the lower tail through erfcx, where ndtr itself is too small for its logarithm."""
    t = x * math.sqrt(0.5)
    low = binary("min", t, 0.0)
    below = call("log", erfcx(-low) * 0.5) - low * low
    above = call("log1p", call("erfc", binary("max", t, -1.0)) * -0.5)
    return select(x < -1.0, below, above)


def _wide(fn: Callable[[Expr], Expr]) -> Row:
    return unary_float(lambda e: cast(fn(cast(e, float64)), e.dtype))


def _quantile(b: Builder, x: Tensor, *_: object) -> Tensor:
    """Newton's iteration on log ndtr in the lower half, mirrored above; an operation a step."""
    given = x if x.dtype.is_floating_point else b.cast(x, b.default_dtype)
    p = b.cast(given, float64)

    def lower(e: Expr) -> Expr:
        return binary("min", binary("max", binary("min", e, 1.0 - e), 1e-320), 0.5)

    def start(e: Expr) -> Expr:
        return -call("sqrt", binary("max", call("log", lower(e) * 2.0) * -2.0, 0.0))

    def improved(e: Expr, z: Expr) -> Expr:
        value = log_ndtr(z)
        slope = call("exp", z * z * -0.5 - value) * (1 / math.sqrt(2 * math.pi))
        return z - (value - call("log", lower(e))) / slope

    found = b.pointwise(start, p, dtype=float64, compute=float64)
    for _step in range(2 * _NEWTON):
        found = b.pointwise(improved, p, found, dtype=float64, compute=float64)

    def finished(e: Expr, z: Expr) -> Expr:
        inf, nan = const(math.inf, float64), const(math.nan, float64)
        out = select(e > 0.5, -z, z)
        out = select(e.equals(0), -inf, select(e.equals(1), inf, out))
        inside = binary("and", binary("ge", e, 0.0), binary("le", e, 1.0))
        return select(inside, out, nan)

    return b.cast(b.pointwise(finished, p, found, dtype=float64, compute=float64), given.dtype)


GAUSSIAN: Rows = {
    "aten::special_erfcx": _wide(erfcx),
    "aten::special_log_ndtr": _wide(log_ndtr),
    "aten::special_ndtri": _quantile,
}
