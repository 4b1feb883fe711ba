"""Special functions on float64 arrays, vectorised: erf, erfc, erfinv, lgamma, digamma.

erf and erfc: a series of erf for |x| < 1/2 (Abramowitz and Stegun 7.1.6), a polynomial beyond.
lgamma: `base/gamma_series.py`. digamma: recurrence up to 6 and the asymptotic series (6.3.18).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscript.base import gamma_series as series

Float = NDArray[np.float64]
_SERIES_LIMIT = 0.5
_SERIES_TERMS = 18
_SCALED = (
    1.2423492448711544, -0.14400944242726565, -0.03585472306635565, 0.09805803782748145,
    -0.07595180097141155, 0.03132159492242735, -0.0035729595477657686, -0.0031707068714090206,
    0.001248945674493203, 0.0003302920630620024, -0.0002548964018143182,
    -5.2544875890675904e-05, 5.156490941761778e-05, 1.3913363634417307e-05,
    -1.038651281251237e-05, -4.629116738896671e-06, 1.8278270012251612e-06,
    1.5323518113602253e-06, -1.8806712660359255e-07, -4.444031752867518e-07,
    -1.993651449491442e-08, 9.78843490757481e-08, 8.772668466726536e-09,
    -1.1929605363857552e-08,
)  # fmt: skip
"""(1 + 2 x) exp(x^2) erfc(x) from 1/2 on, in powers of (x - 2.5) / (x + 2.5) - 1/6, lowest first:
fitted by Chebyshev interpolation to 2e-17 (the form is Shepherd and Laframboise's, 1981)."""


def _erf_series(x: Float) -> Float:
    """2/sqrt(pi) * exp(-x^2) * sum 2^n x^(2n+1) / (2n+1)!!  (all terms of one sign)."""
    twice = 2.0 * x * x
    total = np.ones_like(x)
    for n in range(_SERIES_TERMS, 0, -1):
        total = 1.0 + total * twice / (2 * n + 1)
    return np.asarray(2.0 / np.sqrt(np.pi) * np.exp(-x * x) * total * x)


def erfc_scaled(x: Float) -> Float:
    """exp(x^2) erfc(x) for x >= 1/2."""
    return np.asarray(horner(_SCALED, (x - 2.5) / (x + 2.5) - 1 / 6) / (1 + 2 * x))


def _erfc_tail(x: Float) -> Float:
    front = x.astype(np.float32).astype(np.float64)  # its square is exact
    rest = (x - front) * (x + front)
    return np.asarray(np.exp(-front * front) * np.exp(-rest) * erfc_scaled(x))


def erf(x: Any) -> Float:
    x = np.asarray(x, dtype=np.float64)
    size = np.abs(x)
    inner = _erf_series(np.minimum(size, _SERIES_LIMIT))
    if size.size and not bool((size < _SERIES_LIMIT).all()):
        outer = 1.0 - _erfc_tail(np.clip(size, _SERIES_LIMIT, 30.0))
        inner = np.where(size < _SERIES_LIMIT, inner, outer)
    return np.asarray(np.where(np.isnan(x), x, np.copysign(inner, x)))


def erfc(x: Any) -> Float:
    x = np.asarray(x, dtype=np.float64)
    far = _erfc_tail(np.clip(x, _SERIES_LIMIT, 30.0))
    return np.where(np.isnan(x), x, np.where(x < _SERIES_LIMIT, 1.0 - erf(x), far))


def erfinv(x: Any) -> Float:
    """Newton's iteration on erf from Winitzki's starting point."""
    x = np.asarray(x, dtype=np.float64)
    inside = np.clip(x, -1 + 1e-16, 1 - 1e-16)
    log = np.log1p(-inside * inside)
    first = 2.0 / (np.pi * 0.147) + log / 2.0
    y = np.copysign(np.sqrt(np.sqrt(first * first - log / 0.147) - first), inside)
    for _ in range(4):
        far = np.where(y >= 0, (1 - inside) - erfc(y), erfc(-y) - (1 + inside))
        error = np.where(np.abs(y) < 0.5, erf(y) - inside, far)
        slope = 2.0 / np.sqrt(np.pi) * np.exp(-y * y)
        step = error / slope
        y = y - step / (1.0 + y * step)
    y = np.where(np.abs(x) == 1.0, np.copysign(np.inf, x), y)
    return np.where(np.abs(x) > 1.0, np.nan, np.where(x == 0, x, y))


def lgamma(x: Any) -> Float:
    """log |gamma(x)|: see `base/gamma_series.py`; below 0 by reflection."""
    x = np.asarray(x, dtype=np.float64)
    size = np.abs(x)
    out = np.where(size < series.STIRLING_FROM, _lgamma_near(size), _lgamma_far(size))
    turn = np.abs(np.sin(np.pi * (x - np.round(x))))  # exact where pi * x is not
    out = np.where(x < 0, np.log(np.pi / (turn * size)) - out, out)
    out = np.where((x <= 0) & (x == np.floor(x)), np.inf, out)
    return np.where(np.isinf(x), np.inf, out)


def _lgamma_near(x: Float) -> Float:
    """Of 0 to STIRLING_FROM, by the recurrence from where the polynomials are."""
    at, product = x, np.ones_like(x)
    for k in range(1, math.ceil(series.STIRLING_FROM - series.MIDDLE)):
        high = x >= series.MIDDLE + k
        at, product = np.where(high, x - k, at), np.where(high, product * (x - k), product)
    low = x < series.LOW
    at, product = np.where(low, x + 1, at), np.where(low, 1 / x, product)
    first = horner(series.NEAR_ONE, at - series.NEAR_ONE_CENTRE)
    second = horner(series.NEAR_TWO, at - series.NEAR_TWO_CENTRE)
    found = (at - 1) * (at - 2) * np.where(at < series.MIDDLE, first, second)
    return np.asarray(found + np.log(product))


def _lgamma_far(x: Float) -> Float:
    inverse = 1 / x
    tail = inverse * horner(series.STIRLING, inverse * inverse)
    return np.asarray((x - 0.5) * np.log(x) - x + (0.5 * np.log(2 * np.pi) + tail))


def horner(coefficients: Sequence[float], x: Float) -> Float:
    """A polynomial, lowest power first."""
    total = np.full_like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def digamma(x: Any) -> Float:
    x = np.asarray(x, dtype=np.float64)
    reflect = x < 0
    z = np.where(reflect, 1.0 - x, x)
    shift = np.zeros_like(z)
    for _ in range(8):
        small = z < 8
        shift = np.where(small, shift - 1.0 / z, shift)
        z = np.where(small, z + 1.0, z)
    f = 1.0 / (z * z)
    last = f * (1 / 132 - f * (691 / 32760 - f / 12))
    tail = f * (1 / 12 - f * (1 / 120 - f * (1 / 252 - f * (1 / 240 - last))))
    out = shift + np.log(z) - 0.5 / z - tail
    turn = x - np.round(x)  # exact, where pi * x is not
    out = np.where(reflect, out - np.pi / np.tan(np.pi * turn), out)
    out = np.where(reflect & (x == np.floor(x)), np.nan, out)
    return np.where(x == 0, np.copysign(np.inf, -x), out)
