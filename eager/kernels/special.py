"""Special functions on float64 arrays, vectorised: erf, erfc, erfinv, lgamma, digamma.

erf and erfc: Taylor-like series of erf for |x| < 2.5 (Abramowitz and Stegun 7.1.6) and the
continued fraction of erfc beyond (7.1.14, evaluated backward). lgamma: Lanczos' approximation
(g = 7, nine terms) with reflection. digamma: recurrence up to 6 and the asymptotic series (6.3.18).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
_SERIES_LIMIT = 2.5
_SERIES_TERMS = 60
_FRACTION_TERMS = 60


def _erf_series(x: Float) -> Float:
    """2/sqrt(pi) * exp(-x^2) * sum 2^n x^(2n+1) / (2n+1)!!  (all terms of one sign)."""
    term = x.copy()
    total = x.copy()
    twice = 2.0 * x * x
    for n in range(1, _SERIES_TERMS):
        term = term * twice / (2 * n + 1)
        total = total + term
    return np.asarray(2.0 / np.sqrt(np.pi) * np.exp(-x * x) * total)


def erfc_scaled_fraction(x: Float) -> Float:
    """exp(x^2) erfc(x) for x >= 2.5: 1/sqrt(pi) * 1/(x + (1/2)/(x + 1/(x + (3/2)/(x + ...))))."""
    tail = x.copy()
    for k in range(_FRACTION_TERMS, 0, -1):
        tail = x + (k / 2.0) / tail
    return np.asarray(1 / (np.sqrt(np.pi) * tail))


def _erfc_fraction(x: Float) -> Float:
    return np.asarray(np.exp(-x * x) * erfc_scaled_fraction(x))


def erf(x: Any) -> Float:
    x = np.asarray(x, dtype=np.float64)
    size = np.abs(x)
    inner = _erf_series(np.minimum(size, _SERIES_LIMIT))
    if size.size and not bool((size < _SERIES_LIMIT).all()):
        outer = 1.0 - _erfc_fraction(np.clip(size, _SERIES_LIMIT, 30.0))
        inner = np.where(size < _SERIES_LIMIT, inner, outer)
    return np.asarray(np.where(np.isnan(x), x, np.copysign(inner, x)))


def erfc(x: Any) -> Float:
    x = np.asarray(x, dtype=np.float64)
    far = _erfc_fraction(np.clip(x, _SERIES_LIMIT, 30.0))
    return np.where(np.isnan(x), x, np.where(x < _SERIES_LIMIT, 1.0 - erf(x), far))


def erfinv(x: Any) -> Float:
    """Newton's iteration on erf from Winitzki's starting point."""
    x = np.asarray(x, dtype=np.float64)
    inside = np.clip(x, -1 + 1e-16, 1 - 1e-16)
    log = np.log1p(-inside * inside)
    first = 2.0 / (np.pi * 0.147) + log / 2.0
    y = np.copysign(np.sqrt(np.sqrt(first * first - log / 0.147) - first), inside)
    for _ in range(4):
        error = np.where(y >= 0, (1 - inside) - erfc(y), erfc(-y) - (1 + inside))
        slope = 2.0 / np.sqrt(np.pi) * np.exp(-y * y)
        step = error / slope
        y = y - step / (1.0 + y * step)
    y = np.where(np.abs(x) == 1.0, np.copysign(np.inf, x), y)
    return np.where(np.abs(x) > 1.0, np.nan, np.where(x == 0, x, y))


_LANCZOS = (
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
    -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
    1.5056327351493116e-7,
)  # fmt: skip


def lgamma(x: Any) -> Float:
    """log |gamma(x)|."""
    x = np.asarray(x, dtype=np.float64)
    reflect = x < 0.5
    z = np.where(reflect, 1.0 - x, x) - 1.0
    series = np.full_like(z, _LANCZOS[0])
    for k, c in enumerate(_LANCZOS[1:], start=1):
        series = series + c / (z + k)
    t = z + 7.5
    direct = 0.5 * np.log(2 * np.pi) + (z + 0.5) * np.log(t) - t + np.log(series)
    direct = np.where((x == 1.0) | (x == 2.0), 0.0, direct)
    mirrored = np.log(np.pi) - np.log(np.abs(np.sin(np.pi * x))) - direct
    out = np.where(reflect, mirrored, direct)
    out = np.where((x <= 0) & (x == np.floor(x)), np.inf, out)
    return np.where(np.isinf(x), np.inf, out)


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
