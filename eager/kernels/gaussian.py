"""The normal distribution's functions: ndtr, its logarithm and inverse, and the scaled erfc."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .pointwise import float_unary, in_double
from .special import erfc, erfc_scaled

Float = NDArray[np.float64]
_TAIL = 0.5


def erfcx(x: Float) -> Float:
    """exp(x^2) erfc(x)."""
    near = np.exp(np.minimum(x, _TAIL) ** 2) * erfc(np.minimum(x, _TAIL))
    far = erfc_scaled(np.clip(x, _TAIL, 1e150))
    return np.where(np.isnan(x), x, np.where(x < _TAIL, near, far))


def ndtr(x: Float) -> Float:
    return np.asarray(0.5 * erfc(-x / np.sqrt(2.0)))


def log_ndtr(x: Float) -> Float:
    """In the lower tail through erfcx, where ndtr itself is too small for its logarithm."""
    t = x / np.sqrt(2.0)
    low = np.log(erfcx(-np.minimum(t, 0)) / 2) - np.minimum(t, 0) ** 2
    return np.where(x < -1, low, np.log1p(-erfc(np.maximum(t, -1)) / 2))


def ndtri(p: Float) -> Float:
    """The quantile: Newton's iteration on log ndtr in the lower half, mirrored above."""
    lower = np.clip(np.minimum(p, 1 - p), 1e-320, 0.5)
    x = -np.sqrt(np.maximum(-2 * np.log(2 * lower), 0.0))
    for _ in range(12):
        value = log_ndtr(x)
        slope = np.exp(-0.5 * x * x - value) / np.sqrt(2 * np.pi)
        x = x - (value - np.log(lower)) / slope
    x = np.where(p > 0.5, -x, x)
    x = np.where(p == 0, -np.inf, np.where(p == 1, np.inf, x))
    return np.where((p < 0) | (p > 1) | np.isnan(p), np.nan, x)


def entr(x: Float) -> Float:
    """-x log x; 0 at 0, -inf below."""
    inside = -x * np.log(np.where(x > 0, x, 1.0))
    return np.where(np.isnan(x), x, np.where(x > 0, inside, np.where(x == 0, 0.0, -np.inf)))


_FUNCTIONS: dict[str, Callable[[Float], Float]] = {
    "special_erfcx": erfcx, "special_ndtr": ndtr, "special_log_ndtr": log_ndtr,
    "special_ndtri": ndtri, "special_entr": entr,
}  # fmt: skip
KERNELS: dict[str, Callable[..., Any]] = {
    f"aten::{name}": float_unary(in_double(fn)) for name, fn in _FUNCTIONS.items()
}
