"""Rows of Bessel functions of real arguments, in float64: means over angles, and Hankel's series.

Orders 0 and 1 of J and I are Fourier coefficients of exp(i x sin t) and exp(x cos t), which the
trapezoidal rule gives to machine precision (Trefethen and Weideman, 2014); Y is Neumann's series
over J under the same mean (Abramowitz and Stegun 9.1.88, 89), K the integral of exp(-x cosh t)
(9.6.24). Beyond 30 they are Hankel's expansions (9.2.5, 9.7.1).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tensorscript.base.dtypes import float64
from tensorscript.dialects.te.expr import Expr, binary, call, cast, const, select

from .builder import Builder, Rows
from .emission import Body
from .pointwise import float_type
from .values import Tensor, Value

Row = Callable[..., Tensor]
Mean = Callable[[Expr, Callable[[str], Expr]], Expr]
"""What is averaged, of the argument and of tables at an angle, by their names."""

_NODES, _STEPS = 128, 256
_FAR = 30.0
_NAN, _INF = const(math.nan, float64), const(math.inf, float64)


def _tables() -> dict[str, np.ndarray]:
    angles = 2 * np.pi * np.arange(_NODES) / _NODES
    k = np.arange(1, 31)
    y0 = ((-1.0) ** k / k * np.cos(2 * np.outer(angles, k))).sum(-1)
    weights = (-1.0) ** k * (2 * k + 1) / (k * (k + 1))
    y1 = (weights * np.sin(np.outer(angles, 2 * k + 1))).sum(-1)
    return {"sin": np.sin(angles), "cos": np.cos(angles), "y0": y0, "y1": y1}


_TABLES = _tables()


def _mean(b: Builder, x: Tensor, of: Mean) -> Tensor:
    """The mean over the angles, of the size of x but at most 30."""
    names = list(_TABLES)
    tables = {name: b.literal(_TABLES[name], float64) for name in names}

    def make(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        size = binary("min", call("abs", body.read(x, i, float64)), _FAR)
        return of(size, lambda name: body.read(tables[name], [r[0]], float64))

    total = b.reduce(x.shape, [const(_NODES)], float64, "add", make)
    return b.pointwise(lambda e: e * (1 / _NODES), total, dtype=float64, compute=float64)


def _hankel(x: Expr, order: int) -> tuple[Expr, Expr]:
    """J and Y of large x."""
    mu, term = 4.0 * order * order, const(1.0, float64)
    p, q = term, const(0.0, float64)
    for k in range(1, 24):
        term = term * ((mu - (2 * k - 1) ** 2) / (8 * k)) / x
        sign = -1.0 if k % 4 in (2, 3) else 1.0
        if k % 2:
            q = q + term * sign
        else:
            p = p + term * sign
    phase = x - (order / 2 + 0.25) * math.pi
    scale = call("sqrt", const(2 / math.pi, float64) / x)
    first, second = call("cos", phase), call("sin", phase)
    return scale * (p * first - q * second), scale * (p * second + q * first)


def _far_i(x: Expr, order: int) -> Expr:
    """exp(-x) I of large x."""
    mu, term = 4.0 * order * order, const(1.0, float64)
    total = term
    for k in range(1, 24):
        term = term * (-(mu - (2 * k - 1) ** 2) / (8 * k)) / x
        total = total + term
    return total / call("sqrt", x * (2 * math.pi))


def in_double(make: Callable[[Builder, Tensor], Tensor]) -> Row:
    """A row whose result is computed in float64 and is floating point for every input."""

    def row(b: Builder, x: Tensor, *_: Value) -> Tensor:
        given = float_type(b, x)
        return b.cast(make(b, b.cast(given, float64)), given.dtype)

    return row


def _by_size(near: Expr, far: Expr, x: Expr) -> Expr:
    found = select(binary("le", call("abs", x), _FAR), near, far)
    return select(call("isnan", x), x, found)


def _far(x: Expr) -> Expr:
    """The size of x where the expansions hold."""
    return binary("min", binary("max", call("abs", x), _FAR), 1e300)


def _odd(x: Expr, e: Expr) -> Expr:
    return select(x < 0, -e, e)


def _first_kind(order: int) -> Row:
    def average(size: Expr, at: Callable[[str], Expr]) -> Expr:
        turn = size * at("sin")
        return call("sin", turn) * at("sin") if order else call("cos", turn)

    def make(b: Builder, x: Tensor) -> Tensor:
        def joined(e: Expr, near: Expr) -> Expr:
            found = _by_size(near, _hankel(_far(e), order)[0], e)
            return select(call("isinf", e), _NAN, _odd(e, found) if order else found)

        return b.pointwise(joined, x, _mean(b, x, average), dtype=float64, compute=float64)

    return in_double(make)


def _second_kind(order: int) -> Row:
    """Negative numbers have none; at 0 it is -inf."""

    def wave(size: Expr, at: Callable[[str], Expr]) -> Expr:
        return call("cos", size * at("sin"))

    def series(size: Expr, at: Callable[[str], Expr]) -> Expr:
        turn = size * at("sin")
        return call("sin", turn) * at("y1") if order else call("cos", turn) * at("y0")

    def odd_wave(size: Expr, at: Callable[[str], Expr]) -> Expr:
        return call("sin", size * at("sin")) * at("sin")

    def make(b: Builder, x: Tensor) -> Tensor:
        parts = [_mean(b, x, of) for of in (wave, odd_wave, series)]

        def joined(e: Expr, j0: Expr, j1: Expr, total: Expr) -> Expr:
            size = binary("max", call("abs", e), 1e-300)
            log = call("log", size * 0.5) + float(np.euler_gamma)
            near = (log * j0 - total * 2.0) * (2 / math.pi)
            if order:
                near = ((log - 1.0) * j1 - j0 / size - total) * (2 / math.pi)
            found = _by_size(near, _hankel(_far(e), order)[1], e)
            outside = select(e.equals(0), -_INF, select(e < 0, _NAN, found))
            return select(e.equals(math.inf), _NAN, outside)

        return b.pointwise(joined, x, *parts, dtype=float64, compute=float64)

    return in_double(make)


def _modified(order: int, scaled: bool) -> Row:
    """I, or exp(-|x|) I."""

    def average(size: Expr, at: Callable[[str], Expr]) -> Expr:
        grown = call("exp", size * (at("cos") - 1.0))
        return grown * at("cos") if order else grown

    def make(b: Builder, x: Tensor) -> Tensor:
        def joined(e: Expr, near: Expr) -> Expr:
            found = _by_size(near, _far_i(_far(e), order), e)
            found = _odd(e, found) if order else found
            if scaled:
                return found
            return select(call("isinf", e), _NAN, found * call("exp", call("abs", e)))

        return b.pointwise(joined, x, _mean(b, x, average), dtype=float64, compute=float64)

    return in_double(make)


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


def _spherical(b: Builder, x: Tensor) -> Tensor:
    def fn(e: Expr) -> Expr:
        found = call("sin", e) / select(e.equals(0), const(1.0, float64), e)
        zero, one = const(0.0, float64), const(1.0, float64)
        return select(call("isinf", e), zero, select(e.equals(0), one, found))

    return b.pointwise(fn, x, dtype=float64, compute=float64)


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
    "aten::special_spherical_bessel_j0": in_double(_spherical),
}
