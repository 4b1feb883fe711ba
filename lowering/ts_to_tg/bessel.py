"""Rows of Bessel functions of real arguments, in float64.

J and Y are rational approximations (`base/bessel_rationals.py`), I polynomials
(`base/modified_bessel.py`); K is the integral of exp(-x cosh t) (Abramowitz and Stegun 9.6.24).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tensorscript.base import bessel_rationals as rationals
from tensorscript.base import modified_bessel as modified
from tensorscript.base.dtypes import float64
from tensorscript.dialects.te.expr import Expr, binary, call, cast, const, select

from .builder import Builder, Rows
from .emission import Body
from .pointwise import float_type
from .polynomials import polynomial
from .values import Tensor, Value

Row = Callable[..., Tensor]

_STEPS = 256
_NAN, _INF = const(math.nan, float64), const(math.inf, float64)


def _horner(coefficients: tuple[float, ...], x: Expr) -> Expr:
    return polynomial(x, coefficients)


def _waves(x: Expr, order: int) -> tuple[Expr, Expr]:
    """J and Y of large x."""
    p, q = rationals.amplitudes(_horner, const(rationals.NEAR, float64) / x, order)
    phase = x - (order / 2 + 0.25) * math.pi
    scale = const(math.sqrt(2 / math.pi), float64) / call("sqrt", x)
    cos, sin = call("cos", phase), call("sin", phase)
    return (p * cos - q * sin) * scale, (p * sin + q * cos) * scale


def in_double(make: Callable[[Builder, Tensor], Tensor]) -> Row:
    """A row whose result is computed in float64 and is floating point for every input."""

    def row(b: Builder, x: Tensor, *_: Value) -> Tensor:
        given = float_type(b, x)
        return b.cast(make(b, b.cast(given, float64)), given.dtype)

    return row


def _by_size(near: Expr, far: Expr, x: Expr, limit: float) -> Expr:
    found = select(binary("le", call("abs", x), limit), near, far)
    return select(call("isnan", x), x, found)


def _far(x: Expr, limit: float) -> Expr:
    """The size of x where the expansions hold."""
    return binary("min", binary("max", call("abs", x), limit), 1e300)


def _odd(x: Expr, e: Expr) -> Expr:
    return select(x < 0, -e, e)


def _first_near(size: Expr, order: int) -> Expr:
    found: Expr = rationals.first_near(_horner, size, order)
    if order:
        return found
    return select(size < rationals.TINY, const(1.0, float64) - size * size * 0.25, found)


def _pointwise(of: Callable[[Expr], Expr]) -> Row:
    return in_double(lambda b, x: b.pointwise(of, x, dtype=float64, compute=float64))


def _first_kind(order: int) -> Row:
    def of(e: Expr) -> Expr:
        near = _first_near(binary("min", call("abs", e), rationals.NEAR), order)
        far = _waves(_far(e, rationals.NEAR), order)[0]
        found = _by_size(near, far, e, rationals.NEAR)
        return select(call("isinf", e), _NAN, _odd(e, found) if order else found)

    return _pointwise(of)


def _second_kind(order: int) -> Row:
    """Negative numbers have none; at 0 it is -inf."""

    def of(e: Expr) -> Expr:
        size = binary("min", binary("max", call("abs", e), 1e-300), rationals.NEAR)
        wave = _first_near(size, order) * call("log", size)
        wave = wave - const(1.0, float64) / size if order else wave
        near = rationals.second_near(_horner, size, order) + wave * (2 / math.pi)
        far = _waves(_far(e, rationals.NEAR), order)[1]
        found = _by_size(near, far, e, rationals.NEAR)
        outside = select(e.equals(0), -_INF, select(e < 0, _NAN, found))
        return select(e.equals(math.inf), _NAN, outside)

    return _pointwise(of)


def _modified(order: int, scaled: bool) -> Row:
    """I, or exp(-|x|) I."""

    def of(e: Expr) -> Expr:
        size = call("abs", e)
        near = modified.near(_horner, binary("min", size, modified.NEAR), order)
        far = modified.scaled_far(_horner, call("rsqrt", _far(e, modified.NEAR)), order)
        if scaled:
            near = near * call("exp", -size)
        else:
            far = select(call("isinf", e), _NAN, far * call("exp", size))
        found = _by_size(near, far, e, modified.NEAR)
        return _odd(e, found) if order else found

    return _pointwise(of)


def _second_modified(order: int, scaled: bool) -> Row:
    """K, or exp(x) K."""

    def make(b: Builder, x: Tensor) -> Tensor:
        def joined(e: Expr, found: Expr) -> Expr:
            return found if scaled else found * call("exp", -e)

        return b.pointwise(joined, x, scaled_k(b, x, order), dtype=float64, compute=float64)

    return in_double(make)


def scaled_k(b: Builder, x: Tensor, order: float) -> Tensor:
    """exp(x) K: the integral of exp(-x (cosh t - 1)) cosh(order t), of x > 0."""

    def reach(e: Expr) -> Expr:
        above = const(745.0, float64) / e
        return call("log1p", above + call("sqrt", above * (above + 2.0)))

    def safe(e: Expr) -> Expr:
        return select(e > 0, binary("min", e, 1e300), const(1.0, float64))

    def inside(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        e = safe(body.read(x, i, float64))
        t = cast(r[0], float64) * (1 / (_STEPS - 1)) * reach(e)
        half = call("sinh", t * 0.5)
        value = call("exp", -e * 2.0 * half * half)
        value = value * call("cosh", t * float(order)) if order else value
        return select(r[0].equals(0), value * 0.5, value)

    def joined(e: Expr, found: Expr) -> Expr:
        out = found * reach(safe(e)) * (1 / (_STEPS - 1))
        return select(e > 0, out, select(e.equals(0), _INF, _NAN))

    total = b.reduce(x.shape, [const(_STEPS)], float64, "add", inside)
    return b.pointwise(joined, x, total, dtype=float64, compute=float64)


def _spherical(e: Expr) -> Expr:
    found = call("sin", e) / select(e.equals(0), const(1.0, float64), e)
    zero, one = const(0.0, float64), const(1.0, float64)
    return select(call("isinf", e), zero, select(e.equals(0), one, found))


BESSEL: Rows = {
    "aten::special_bessel_j0": _first_kind(0),
    "aten::special_bessel_j1": _first_kind(1),
    "aten::special_bessel_y0": _second_kind(0),
    "aten::special_bessel_y1": _second_kind(1),
    **{
        f"aten::{name}": _modified(0, scaled=False)
        for name in ("i0", "special_i0", "special_modified_bessel_i0")
    },
    **{
        f"aten::{name}": _modified(1, scaled=False)
        for name in ("special_i1", "special_modified_bessel_i1")
    },
    "aten::special_i0e": _modified(0, scaled=True),
    "aten::special_i1e": _modified(1, scaled=True),
    "aten::special_modified_bessel_k0": _second_modified(0, scaled=False),
    "aten::special_modified_bessel_k1": _second_modified(1, scaled=False),
    "aten::special_scaled_modified_bessel_k0": _second_modified(0, scaled=True),
    "aten::special_scaled_modified_bessel_k1": _second_modified(1, scaled=True),
    "aten::special_spherical_bessel_j0": _pointwise(_spherical),
}
