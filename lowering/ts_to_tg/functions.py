"""Elementary and special functions composed of those that the code generators have.

Each takes and gives element expressions of one float dtype. What is computed in more than its own
precision says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tensorscript.base import gamma_series as series
from tensorscript.base.dtypes import float64
from tensorscript.dialects.te.expr import Expr, binary, call, cast, const, select

from .polynomials import polynomial

Function = Callable[[Expr], Expr]


def _asinh(x: Expr) -> Expr:
    """sign(x) log1p(|x| + x^2 / (1 + sqrt(1 + x^2))): no cancellation near 0."""
    size = call("abs", x)
    square = size * size
    value = call("log1p", size + square / (1 + call("sqrt", 1 + square)))
    large = call("log", size) + math.log(2)  # the square would overflow
    return call("copysign", select(size > 1e15, large, value), x)


def _acosh(x: Expr) -> Expr:
    above = x - 1
    value = call("log1p", above + call("sqrt", above * (above + 2)))
    return select(x > 1e15, call("log", x) + math.log(2), value)


def _atanh(x: Expr) -> Expr:
    """log1p(2 |x| / (1 - |x|)) / 2; the quotient is taken apart where it is small, for it would
    be rounded as a whole."""
    size = call("abs", x)
    twice, rest = 2 * size, 1 - size
    given = select(size < 0.5, twice + twice * size / rest, twice / rest)
    return call("copysign", 0.5 * call("log1p", given), x)


def hypot(x: Expr, y: Expr) -> Expr:
    """large sqrt(1 + (small / large)^2): squares neither overflow nor vanish."""
    p, q = call("abs", x), call("abs", y)
    large, small = binary("max", p, q), binary("min", p, q)
    ratio = small / large
    value = large * call("sqrt", 1 + ratio * ratio)
    infinite = binary("or", call("isinf", x), call("isinf", y))
    value = select(infinite, const(math.inf, x.dtype), value)
    return select(large.equals(0), large, value)


def _wide(fn: Function) -> Function:
    """`fn` computed in float64: sums that cancel would leave nothing of float32."""
    return lambda x: cast(fn(cast(x, float64)), x.dtype)


def _over(number: float, x: Expr) -> Expr:
    return const(number, x.dtype) / x


class _Gamma(NamedTuple):
    """The polynomials of log gamma, and sin(pi x) of |x| <= 1/2."""

    near_one: Sequence[float]
    near_two: Sequence[float]
    stirling: Sequence[float]
    sine_of_pi: Function


def _short_sine_of_pi(x: Expr) -> Expr:
    return x * polynomial(x * x, series.SINE_OF_PI_SHORT)


_GAMMA = _Gamma(
    series.NEAR_ONE, series.NEAR_TWO, series.STIRLING, lambda x: call("sin", x * math.pi)
)
_SHORT_GAMMA = _Gamma(
    series.NEAR_ONE_SHORT, series.NEAR_TWO_SHORT, series.STIRLING_SHORT, _short_sine_of_pi
)


def _lgamma(x: Expr) -> Expr:
    """log |gamma(x)|, of float32 in float64 with polynomials that are long enough for it."""
    parts = _GAMMA if x.dtype is float64 else _SHORT_GAMMA
    return cast(_wide_lgamma(cast(x, float64), parts), x.dtype)


def _wide_lgamma(x: Expr, parts: _Gamma) -> Expr:
    """See `base/gamma_series.py`; below 0 by reflection."""
    size = call("abs", x)
    at, product = _towards_polynomials(size)
    far = size >= series.STIRLING_FROM
    logarithm = call("log", select(far, size, product))
    near_value = _between_zeros(at, parts) + logarithm
    value = select(far, _stirling(size, logarithm, parts), near_value)
    # sin(pi x) of the distance to the next integer: exact for large |x|.
    turn = call("abs", parts.sine_of_pi(x - call("round", x)))
    value = select(x < 0, -call("log", turn * size * (1 / math.pi)) - value, value)
    pole = binary("and", x <= 0, x.equals(call("floor", x)))
    return select(binary("or", pole, call("isinf", x)), const(math.inf, x.dtype), value)


def _towards_polynomials(x: Expr) -> tuple[Expr, Expr]:
    """Where the recurrence leads from below STIRLING_FROM, and by what it multiplies gamma."""
    one = const(1.0, x.dtype)
    at, product = x, one
    for k in range(1, math.ceil(series.STIRLING_FROM - series.MIDDLE)):
        high = x >= series.MIDDLE + k
        at = select(high, x - k, at)
        product = select(high, product * (x - k), product)
    low = x < series.LOW
    return select(low, x + 1, at), select(low, one / x, product)


def _between_zeros(x: Expr, parts: _Gamma) -> Expr:
    """Of LOW to one above MIDDLE."""
    first = polynomial(x - series.NEAR_ONE_CENTRE, parts.near_one)
    second = polynomial(x - series.NEAR_TWO_CENTRE, parts.near_two)
    return (x - 1) * (x - 2) * select(x < series.MIDDLE, first, second)


def _stirling(x: Expr, logarithm: Expr, parts: _Gamma) -> Expr:
    """From STIRLING_FROM on, with the logarithm of x."""
    inverse = _over(1.0, x)
    tail = inverse * polynomial(inverse * inverse, parts.stirling)
    return (x - 0.5) * logarithm - x + (tail + 0.5 * math.log(2 * math.pi))


# The asymptotic series of digamma in 1/z^2: B(2k) / (2k).
_DIGAMMA = (
    1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12,
)  # fmt: skip


def _digamma(x: Expr) -> Expr:
    """The recurrence up to 10 and above, then the asymptotic series; reflected below 0."""
    low = x < 0
    z = select(low, 1 - x, x)
    steps = const(0.0, x.dtype)
    for k in range(10):
        steps = steps + _over(1.0, z + k)
    near = z < 10
    top = select(near, z + 10, z)
    inverse = _over(1.0, top * top)
    tail = call("log", top) - _over(0.5, top) - inverse * polynomial(inverse, _DIGAMMA)
    value = select(near, tail - steps, tail)
    turn = (x - call("round", x)) * math.pi
    reflected = value - _over(math.pi, call("tan", turn))
    pole = binary("and", low, x.equals(call("floor", x)))
    value = select(pole, const(math.nan, x.dtype), select(low, reflected, value))
    value = select(x.equals(0), call("copysign", const(math.inf, x.dtype), -x), value)
    return select(x.equals(math.inf), x, value)


COMPOSED: dict[str, Function] = {
    "asinh": _asinh,
    "acosh": _acosh,
    "atanh": _atanh,
    "lgamma": _lgamma,
    "digamma": _wide(_digamma),
}


def elementary(name: str) -> Function:
    """The function called `name` in `te`, or what it is composed of."""
    return COMPOSED.get(name) or (lambda x: call(name, x))
