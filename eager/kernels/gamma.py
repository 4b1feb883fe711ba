"""The gamma family: incomplete gamma functions, Hurwitz' zeta, polygamma, the multivariate one.

The incomplete functions take the power series below x = a + 1 and Legendre's continued fraction
beyond (Abramowitz and Stegun 6.5.29, 6.5.31, evaluated by Lentz' method); zeta is summed by Euler
and Maclaurin's formula (23.2.9, Cohen 2007 chapter 9).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscript.base.errors import OperatorError

from ..storage import Array, cast, floating, promoted, wrap
from .creation import copy_
from .pointwise import apply2
from .special import digamma, erfc, lgamma

Float = NDArray[np.float64]
Kernel = Callable[..., Any]
_TERMS = 4000
_LARGE = 1e4
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
_SUMMED = 12


def in_double(fn: Callable[..., Float]) -> Kernel:
    """A kernel of two operands that calculates in float64 and answers in their float dtype."""

    def run(self: Any, other: Any) -> Any:
        dtype = floating(promoted(self, other))

        def wide(a: Array, b: Array) -> Float:
            return fn(*np.broadcast_arrays(a.astype(np.float64), b.astype(np.float64)))

        return wrap(apply2(wide, self, other, dtype), dtype)

    return run


def _lower_series(a: Float, x: Float) -> Float:
    """P(a, x) / (x^a e^-x / gamma(a + 1))."""
    term, total = np.ones_like(a), np.ones_like(a)
    for n in range(1, _TERMS):
        term = term * x / (a + n)
        total = total + term
        if bool((term <= 1e-17 * total).all()):
            break
    return total


def _upper_fraction(a: Float, x: Float) -> Float:
    """Q(a, x) / (x^a e^-x / gamma(a))."""
    tiny = 1e-300
    b = x + 1 - a
    c, d = np.full_like(a, 1 / tiny), 1 / np.where(b == 0, tiny, b)
    out = d
    for n in range(1, _TERMS):
        factor = -n * (n - a)
        b = b + 2
        d = 1 / (factor * d + b)
        c = b + factor / c
        out = out * d * c
        if bool((np.abs(d * c - 1) < 1e-16).all()):
            break
    return out


def _uniform(a: Float, x: Float, upper: bool) -> Float:
    """Temme's expansion for large a (1979), its first correction included."""
    wide = a > _LARGE
    big, ratio = np.where(wide, a, 1e6), np.where(wide, x / a, 1.0)
    apart = ratio - 1
    eta = np.copysign(np.sqrt(2 * np.maximum(apart - np.log1p(apart), 0)), apart)
    near = np.abs(apart) < 1e-4
    safe, other = np.where(near, 1.0, apart), np.where(near, 1.0, eta)
    correction = np.where(near, -1 / 3, 1 / safe - 1 / other)
    tail = np.exp(-big * eta * eta / 2) / np.sqrt(2 * np.pi * big) * correction
    sign = 1 if upper else -1
    return np.asarray(0.5 * erfc(sign * eta * np.sqrt(big / 2)) + sign * tail)


def _incomplete(a: Float, x: Float, upper: bool) -> Float:
    series = x < a + 1
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    summed = inside & (a <= _LARGE)
    low, high = summed & series, summed & ~series
    a1, x1 = np.where(low, a, 1.0), np.where(low, x, 0.5)
    p = np.exp(a1 * np.log(x1) - x1 - lgamma(a1 + 1)) * _lower_series(a1, x1)
    a2, x2 = np.where(high, a, 1.0), np.where(high, x, 3.0)
    q = np.exp(a2 * np.log(x2) - x2 - lgamma(a2)) * _upper_fraction(a2, x2)
    found = np.where(series, 1 - p if upper else p, q if upper else 1 - q)
    found = np.where(inside & (a > _LARGE), _uniform(a, x, upper), found)
    edge = np.where((x == 0) | np.isinf(a), 0.0, 1.0)  # P at 0, at infinity, and for a = 0
    out = np.where(inside, found, 1 - edge if upper else edge)
    none = (a < 0) | (x < 0) | np.isnan(a) | np.isnan(x)
    none |= ((a == 0) & (x == 0)) | (np.isinf(a) & np.isinf(x))
    return np.asarray(np.where(none, np.nan, out))


def zeta(x: Float, q: Float) -> Float:
    """The sum of (q + k)^-x over k >= 0, for x > 1."""
    at, total = q.copy(), np.zeros_like(q)
    count = 0
    while count < _SUMMED or bool((at < _SUMMED).any()):
        moved = (at < _SUMMED) | (count < _SUMMED)
        total = total + np.where(moved, at**-x, 0.0)
        at = np.where(moved, at + 1, at)
        count += 1
        if count > _TERMS:
            break
    total = total + at ** (1 - x) / (x - 1) + 0.5 * at**-x
    factor = x * at ** (-x - 1)
    for k, number in enumerate(_BERNOULLI, 1):
        total = total + number / math.factorial(2 * k) * factor
        factor = factor * (x + 2 * k - 1) * (x + 2 * k) / (at * at)
    whole = q == np.floor(q)
    total = np.where((q <= 0) & whole, np.inf, total)
    total = np.where((q < 0) & ~whole & (x != np.floor(x)), np.nan, total)
    none = (x < 1) | ~np.isfinite(x) | np.isnan(q) | np.isposinf(q)
    return np.where(x == 1, np.inf, np.where(none, np.nan, total))


def polygamma(n: int, x: Array) -> Array:
    """The n-th derivative of digamma: (-1)^(n+1) n! zeta(n + 1, x)."""
    if n == 1:
        return _trigamma(x)
    at = np.asarray(x, np.float64)
    if n == 0:
        return digamma(at)
    return np.asarray((-1) ** (n + 1) * math.factorial(n) * zeta(np.full_like(at, n + 1.0), at))


def _trigamma(x: Array) -> Array:
    """By reflection below 1/2, the sine in the precision of `x` (as PyTorch, poles tell)."""
    mirrored = x < 0.5
    at = np.where(mirrored, 1 - x, x).astype(np.float64)
    found = zeta(np.full_like(at, 2.0), at)
    pole = x.dtype.type(np.pi) / np.sin(x.dtype.type(np.pi) * x)
    return np.where(mirrored, pole * pole - found, found)


def _polygamma_kernel(n: int, self: Any) -> Any:
    if n < 0:
        raise OperatorError("polygamma(n, x) does not support negative n.")
    dtype = floating(self.dtype)
    return wrap(polygamma(n, cast(self, dtype)), dtype)


def multivariate(self: Any, p: int) -> Any:
    """log of the multivariate gamma function of order p."""
    if p < 1:
        raise OperatorError("p has to be greater than or equal to 1")
    dtype = floating(self.dtype)
    x = cast(self, dtype).astype(np.float64)
    halves = np.arange(p) / 2
    total = lgamma(x[..., None] - halves).sum(-1) + p * (p - 1) / 4 * np.log(np.pi)
    return wrap(total, dtype)


_lower = in_double(lambda a, x: _incomplete(a, x, upper=False))
_upper = in_double(lambda a, x: _incomplete(a, x, upper=True))
KERNELS: dict[str, Kernel] = {
    "aten::igamma": _lower, "aten::special_gammainc": _lower,
    "aten::igammac": _upper, "aten::special_gammaincc": _upper,
    "aten::special_zeta": in_double(zeta), "aten::special_zeta.other_scalar": in_double(zeta),
    "aten::special_zeta.self_scalar": in_double(zeta),
    "aten::polygamma": _polygamma_kernel, "aten::special_polygamma": _polygamma_kernel,
    "aten::polygamma_": lambda self, n: copy_(self, _polygamma_kernel(n, self)),
    "aten::mvlgamma": multivariate, "aten::special_multigammaln": multivariate,
}  # fmt: skip
