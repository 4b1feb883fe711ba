"""Rows of the gamma family, in float64: incomplete gamma functions, Hurwitz' zeta, polygamma.

The incomplete functions take the power series below x = a + 1 and Legendre's continued fraction
beyond (Abramowitz and Stegun 6.5.29, 6.5.31, by Lentz' method), and Temme's expansion (1979) for
large a; zeta is summed by Euler and Maclaurin's formula (23.2.9). Series are loops over all
elements that end when the last one has converged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tensorscript.base.dtypes import DType, bool_, float64
from tensorscript.dialects.te.expr import Expr, all_of, binary, call, cast, const, select

from .builder import Builder, Rows
from .elements import as_expr, compute_dtype, known
from .emission import Body
from .functions import elementary
from .loops import loop
from .pointwise import float_type
from .values import Tensor, Value

Row = Callable[..., Value]
_TERMS = 4000
_LARGE = 1e4
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
_SUMMED = 12
"""So many terms of zeta are summed at least, and up to this place."""


def _double(
    b: Builder, fn: Callable[..., Expr], *operands: Value, dtype: DType = float64
) -> Tensor:
    return b.pointwise(fn, *operands, dtype=dtype, compute=float64)


def _number(value: float) -> Expr:
    return const(value, float64)


def _some(b: Builder, test: Callable[..., Expr], *operands: Tensor) -> Value:
    """Whether a condition holds anywhere."""
    return b.item(b.apply("aten::any", _double(b, test, *operands, dtype=bool_)))


def in_double(fn: Callable[[Builder, Tensor, Tensor], Tensor]) -> Row:
    """A row of two operands, tensors or numbers, that calculates in float64 and answers in their
    floating dtype."""

    def row(b: Builder, x: Value, y: Value, *_: Value) -> Tensor:
        dtype = b.result_type(x, y)
        dtype = dtype if dtype.is_floating_point else b.default_dtype
        shape = b.broadcast_shapes(*(v.shape for v in (x, y) if isinstance(v, Tensor)))

        def wide(v: Value) -> Tensor:
            def make(body: Body, i: list[Expr]) -> Expr:
                if isinstance(v, Tensor):
                    return body.broadcast(v, i, float64, shape)
                return body.scalar(v, float64)

            return b.compute(shape, float64, make)

        return b.cast(fn(b, wide(x), wide(y)), dtype)

    return row


# --- incomplete gamma functions -------------------------------------------------------------------


def _inside(a: Expr, x: Expr) -> Expr:
    """Where neither end of a range is met."""
    return all_of([a > 0, x > 0, call("isfinite", a), call("isfinite", x)])


def _is_series(a: Expr, x: Expr) -> Expr:
    return all_of([_inside(a, x), binary("le", a, _LARGE), x < a + 1])


def _is_fraction(a: Expr, x: Expr) -> Expr:
    return all_of([_inside(a, x), binary("le", a, _LARGE), binary("ge", x, a + 1)])


def _lower_series(b: Builder, a: Tensor, x: Tensor) -> Tensor:
    """P(a, x) / (x^a e^-x / gamma(a + 1))."""

    def step(arguments: Sequence[Value]) -> list[Value]:
        number, term, total = arguments
        place = b.full((), known(as_expr(number) + 1), float64)
        term = _double(b, lambda t, p, q, n: t * q / (p + n), term, a, x, place)
        total = b.apply("aten::add", total, term)
        return [_some(b, lambda t, s: t > s * 1e-17, term, total), term, total]

    one = b.full(a.shape, 1, float64)
    found: Tensor = loop(b, _TERMS, True, [one, one], step, 512)[1]
    return found


def _upper_fraction(b: Builder, a: Tensor, x: Tensor) -> Tensor:
    """Q(a, x) / (x^a e^-x / gamma(a))."""
    tiny = 1e-300

    def nonzero(e: Expr) -> Expr:
        return select(e.equals(0), _number(tiny), e)

    def step(arguments: Sequence[Value]) -> list[Value]:
        number, c, d, out = arguments
        n = b.full((), known(as_expr(number) + 1), float64)

        def factor(p: Expr, k: Expr) -> Expr:
            return -k * (k - p)

        def bottom(p: Expr, q: Expr, k: Expr) -> Expr:
            return q + 1 - p + k * 2

        d = _double(
            b, lambda e, p, q, k: _number(1.0) / (factor(p, k) * e + bottom(p, q, k)), d, a, x, n
        )
        c = _double(b, lambda e, p, q, k: bottom(p, q, k) + factor(p, k) / e, c, a, x, n)
        out = _double(b, lambda o, p, q: o * (p * q), out, d, c)
        goes_on = _some(b, lambda p, q: binary("ge", call("abs", p * q - 1), 1e-16), d, c)
        return [goes_on, c, d, out]

    first = _double(b, lambda p, q: _number(1.0) / nonzero(q + 1 - p), a, x)
    start = [b.full(a.shape, 1 / tiny, float64), first, first]
    found: Tensor = loop(b, _TERMS, True, start, step, 512)[2]
    return found


def _uniform(a: Expr, x: Expr, upper: bool) -> Expr:
    """Temme's expansion for large a, its first correction included."""
    large = a > _LARGE
    big, ratio = select(large, a, _number(1e6)), select(large, x / a, _number(1.0))
    apart = ratio - 1
    root = call("sqrt", binary("max", apart - call("log1p", apart), 0.0) * 2)
    eta = call("copysign", root, apart)
    near = call("abs", apart) < 1e-4
    one = _number(1.0)
    gaps = one / select(near, one, apart) - one / select(near, one, eta)
    correction = select(near, _number(-1 / 3), gaps)
    tail = call("exp", -big * eta * eta * 0.5) / call("sqrt", big * (2 * math.pi)) * correction
    sign = 1.0 if upper else -1.0
    return call("erfc", eta * call("sqrt", big * 0.5) * sign) * 0.5 + tail * sign


def _incomplete(upper: bool) -> Row:
    """Q(a, x) if `upper`, else P(a, x)."""
    log_gamma = elementary("lgamma")

    def scale(a: Expr, x: Expr, order: Expr) -> Expr:
        return call("exp", a * call("log", x) - x - log_gamma(order))

    def combined(a: Expr, x: Expr, series: Expr, fraction: Expr) -> Expr:
        p, q = scale(a, x, a + 1) * series, scale(a, x, a) * fraction
        found = select(_is_series(a, x), 1 - p if upper else p, q if upper else 1 - q)
        found = select(a > _LARGE, _uniform(a, x, upper), found)
        low = binary("or", x.equals(0), call("isinf", a))
        edge = select(low, _number(float(upper)), _number(float(not upper)))
        none = binary("or", a < 0, x < 0)
        for bad in (
            binary("and", a.equals(0), x.equals(0)),
            binary("and", call("isinf", a), call("isinf", x)),
        ):
            none = binary("or", none, bad)
        out = select(_inside(a, x), found, edge)
        for e in (a, x):
            out = select(call("isnan", e), e, out)
        return select(none, _number(math.nan), out)

    def run(b: Builder, a: Tensor, x: Tensor) -> Tensor:
        def kept(test: Callable[[Expr, Expr], Expr], other: tuple[float, float]) -> list[Tensor]:
            """The operands where a form holds, and others that converge at once."""
            return [
                _double(b, lambda p, q, k=k: select(test(p, q), (p, q)[k], _number(other[k])), a, x)
                for k in (0, 1)
            ]

        series = _lower_series(b, *kept(_is_series, (1.0, 0.5)))
        fraction = _upper_fraction(b, *kept(_is_fraction, (1.0, 3.0)))
        return _double(b, combined, a, x, series, fraction)

    return in_double(run)


# --- zeta and polygamma ---------------------------------------------------------------------------


def zeta(b: Builder, x: Tensor, q: Tensor) -> Tensor:
    """The sum of (q + k)^-x over k >= 0, for x > 1."""

    def step(arguments: Sequence[Value]) -> list[Value]:
        number, at, total = arguments
        count = b.full((), number, float64)

        def moves(e: Expr, n: Expr) -> Expr:
            return binary("or", e < _SUMMED, n < _SUMMED)

        def more(s: Expr, e: Expr, p: Expr, n: Expr) -> Expr:
            return s + select(moves(e, n), binary("pow", e, -p), _number(0.0))

        total = _double(b, more, total, at, x, count)
        at = _double(b, lambda e, n: select(moves(e, n), e + 1, e), at, count)
        early = known(binary("lt", as_expr(number), _SUMMED - 1))
        later = _some(b, lambda e: e < _SUMMED, at)
        return [known(binary("or", as_expr(early), as_expr(later))), at, total]

    zeros = b.full(x.shape, 0, float64)
    at, total = loop(b, _TERMS, True, [q, zeros], step, 512)
    return _double(b, _rest_of_zeta, x, q, at, total)


def _rest_of_zeta(x: Expr, q: Expr, at: Expr, total: Expr) -> Expr:
    """What the terms from `at` on add, and where zeta is not finite."""
    power = binary("pow", at, -x)
    total = total + at * power / (x - 1) + power * 0.5
    factor = x * power / at
    for k, number in enumerate(_BERNOULLI, 1):
        total = total + factor * (number / math.factorial(2 * k))
        factor = factor * (x + (2 * k - 1)) * (x + 2 * k) / (at * at)
    whole = q.equals(call("floor", q))
    inf, nan = _number(math.inf), _number(math.nan)
    total = select(binary("and", binary("le", q, 0), whole), inf, total)
    broken = all_of([q < 0, binary("ne", q, call("floor", q)), binary("ne", x, call("floor", x))])
    total = select(broken, nan, total)
    for none in (x < 1, call("isinf", x), call("isnan", x), call("isnan", q), q.equals(math.inf)):
        total = select(none, nan, total)
    return select(x.equals(1), inf, total)


def _polygamma(b: Builder, n: Value, x: Tensor, *_: Value) -> Tensor:
    """The n-th derivative of digamma: (-1)^(n+1) n! zeta(n + 1, x)."""
    if not isinstance(n, int):
        b.cannot("an order that is not known")
    if n < 0:
        b.error("polygamma(n, x) does not support negative n.")
    given = float_type(b, x)
    if n == 0:
        return b.apply("aten::digamma", given)
    wide = b.cast(given, float64)
    if n == 1:
        return _trigamma(b, given, wide)
    order = b.full(wide.shape, n + 1, float64)
    sign = math.factorial(n) * (-1.0) ** (n + 1)
    return b.cast(_double(b, lambda e: e * sign, zeta(b, order, wide)), given.dtype)


def _trigamma(b: Builder, given: Tensor, x: Tensor) -> Tensor:
    """By reflection below 1/2, the sine in the precision of the argument (as PyTorch, poles
    tell)."""
    near = compute_dtype(given.dtype)
    at = _double(b, lambda e: select(e < 0.5, 1 - e, e), x)
    found = zeta(b, b.full(x.shape, 2, float64), at)

    def mirrored(e: Expr, f: Expr) -> Expr:
        pole = const(math.pi, near) / call("sin", cast(e, near) * math.pi)
        return select(e < 0.5, cast(pole * pole, float64) - f, f)

    return b.cast(_double(b, mirrored, x, found), given.dtype)


def _polygamma_in_place(b: Builder, x: Tensor, n: Value) -> Tensor:
    """The tensor comes first."""
    b.write(x, b.copied(_polygamma(b, n, x)))
    return x


GAMMA: Rows = {
    **{f"aten::{name}": _incomplete(False) for name in ("igamma", "special_gammainc")},
    **{f"aten::{name}": _incomplete(True) for name in ("igammac", "special_gammaincc")},
    "aten::special_zeta": in_double(zeta),
    **{f"aten::{name}": _polygamma for name in ("polygamma", "special_polygamma")},
    "aten::polygamma_": _polygamma_in_place,
}
