"""The row of Airy's function Ai, in float64.

Waves below -7 (Abramowitz and Stegun 10.4.60), the power series up to 1 (10.4.2), and the modified
Bessel function of order 1/3 beyond (10.4.14).
"""

from __future__ import annotations

import math

from tensorscript.base.dtypes import float64
from tensorscript.dialects.te.expr import Expr, binary, call, const, select

from .bessel import in_double, scaled_k
from .builder import Builder, Rows
from .values import Tensor

_AT_0, _SLOPE_AT_0 = 0.355028053887817239, -0.258819403792806798
_LOW, _HIGH = -7.0, 1.0


def _series(x: Expr) -> Expr:
    cube = x * x * x
    even, odd = const(1.0, float64), x
    first, second = even, odd
    for k in range(1, 60):
        even = even * cube * (1 / ((3 * k - 1) * (3 * k)))
        odd = odd * cube * (1 / ((3 * k) * (3 * k + 1)))
        first, second = first + even, second + odd
    return first * _AT_0 + second * _SLOPE_AT_0


def _waves(x: Expr) -> Expr:
    """Ai(-x) for large x."""
    zeta = x * call("sqrt", x) * (2 / 3)
    term, p, q = const(1.0, float64), const(1.0, float64), const(0.0, float64)
    for k in range(20):
        weight = (6 * k + 5) * (6 * k + 3) * (6 * k + 1) / (216 * (k + 1) * (2 * k + 1))
        term = term * weight / zeta
        signed = -term if (k + 1) % 4 in (2, 3) else term
        if k % 2:
            p = p + signed
        else:
            q = q + signed
    phase = zeta + math.pi / 4
    top = call("sin", phase) * p - call("cos", phase) * q
    return top / (call("sqrt", call("sqrt", x)) * math.sqrt(math.pi))


def _airy(b: Builder, x: Tensor) -> Tensor:
    def grown(e: Expr) -> Expr:
        return binary("min", binary("max", e, _HIGH), 1e3)

    def zeta(e: Expr) -> Expr:
        return grown(e) * call("sqrt", grown(e)) * (2 / 3)

    def joined(e: Expr, k: Expr) -> Expr:
        decay = call("sqrt", grown(e) / 3.0) * (1 / math.pi) * k * call("exp", -zeta(e))
        middle = _series(binary("min", binary("max", e, _LOW), _HIGH))
        waves = _waves(binary("min", binary("max", -e, -_LOW), 1e100))
        out = select(e < _LOW, waves, select(e > _HIGH, decay, middle))
        return select(call("isfinite", e), out, const(math.nan, float64))

    places = b.pointwise(zeta, x, dtype=float64, compute=float64)
    return b.pointwise(joined, x, scaled_k(b, places, 1 / 3), dtype=float64, compute=float64)


AIRY: Rows = {"aten::special_airy_ai": in_double(_airy)}
