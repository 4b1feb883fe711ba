"""Bessel and Airy functions of real arguments, calculated in float64.

J and Y are rational approximations (`base/bessel_rationals.py`), I polynomials
(`base/modified_bessel.py`), K is an integral over exp(-x cosh t) (Abramowitz and Stegun 9.6.24). At
infinity PyTorch's functions are NaN, and so are these. The Airy function uses its series, the
integral and the expansion of large arguments (10.4.2, 10.4.14, 10.4.60).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscript.base import bessel_rationals as rationals
from tensorscript.base import modified_bessel as modified

from .pointwise import float_unary, in_double
from .special import horner

Float = NDArray[np.float64]
Function = Callable[[Float], Float]
_STEPS = 256


def _waves(x: Float, order: int) -> tuple[Float, Float]:
    """J and Y of large x."""
    p, q = rationals.amplitudes(horner, rationals.NEAR / x, order)
    phase = x - (order / 2 + 0.25) * np.pi
    scale = np.sqrt(2 / np.pi) / np.sqrt(x)
    cos, sin = np.cos(phase), np.sin(phase)
    return np.asarray((p * cos - q * sin) * scale), np.asarray((p * sin + q * cos) * scale)


def _by_size(size: Float, near: Function, far: Function, limit: float) -> Float:
    """`near` of what is at most `limit`, `far` of the rest; infinity gives what `far` tends to."""
    inner = near(np.minimum(size, limit))
    outer = far(np.clip(size, limit, 1e300))
    return np.asarray(np.where(np.isnan(size), np.nan, np.where(size <= limit, inner, outer)))


def _first_near(x: Float, order: int) -> Float:
    found: Float = rationals.first_near(horner, x, order)
    return found if order else np.where(x < rationals.TINY, 1 - x * x / 4, found)


def _first_kind(order: int) -> Function:
    def run(x: Float) -> Float:
        out = _by_size(
            np.abs(x), lambda s: _first_near(s, order), lambda s: _waves(s, order)[0],
            rationals.NEAR,
        )  # fmt: skip
        return np.where(np.isinf(x), np.nan, np.where(x < 0, -out, out) if order else out)

    return run


def _second_kind(order: int) -> Function:
    """Y: negative numbers have none, at 0 it is -inf."""

    def near(x: Float) -> Float:
        wave = _first_near(x, order) * np.log(x)
        wave = wave - 1 / x if order else wave
        return np.asarray(rationals.second_near(horner, x, order) + 2 / np.pi * wave)

    def run(x: Float) -> Float:
        out = _by_size(np.abs(x), near, lambda s: _waves(s, order)[1], rationals.NEAR)
        out = np.where(x == 0, -np.inf, np.where(x < 0, np.nan, out))
        return np.where(np.isposinf(x), np.nan, out)

    return run


def _modified(order: int, scaled: bool) -> Function:
    """I, or exp(-|x|) I."""

    def near(x: Float) -> Float:
        found: Float = modified.near(horner, x, order)
        return found * np.exp(-x) if scaled else found

    def far(x: Float) -> Float:
        found: Float = modified.scaled_far(horner, 1 / np.sqrt(x), order)
        return found if scaled else found * np.exp(x)

    def run(x: Float) -> Float:
        out = _by_size(np.abs(x), near, far, modified.NEAR)
        out = out if scaled else np.where(np.isinf(x), np.nan, out)
        return np.where(x < 0, -out, out) if order else out

    return run


def scaled_k(x: Float, order: float) -> Float:
    """exp(x) K_order(x) for x > 0: the integral of exp(-x (cosh t - 1)) cosh(order t)."""
    safe = np.where(x > 0, x, 1.0)
    reach = np.arccosh(1 + 745 / safe)
    t = np.linspace(0, 1, _STEPS) * reach[..., None]
    inside = np.exp(-safe[..., None] * (2 * np.sinh(t / 2) ** 2)) * np.cosh(order * t)
    inside[..., 0] /= 2
    out = inside.sum(-1) * reach / (_STEPS - 1)
    return np.where(x > 0, out, np.where(x == 0, np.inf, np.nan))


def _modified_k(order: int, scaled: bool) -> Function:
    def run(x: Float) -> Float:
        out = scaled_k(np.where(np.isposinf(x), 1e300, x), order)
        return out if scaled else np.asarray(out * np.exp(-x))

    return run


_AI_0, _AI_SLOPE_0 = 0.355028053887817239, -0.258819403792806798


def _airy_series(x: Float) -> Float:
    cube = x * x * x
    even, odd = np.ones_like(x), x.copy()
    first, second = even.copy(), odd.copy()
    for k in range(1, 80):
        even = even * cube / ((3 * k - 1) * (3 * k))
        odd = odd * cube / ((3 * k) * (3 * k + 1))
        first, second = first + even, second + odd
    return np.asarray(_AI_0 * first + _AI_SLOPE_0 * second)


def _airy_waves(x: Float) -> Float:
    """Ai(-x) for large x."""
    zeta = 2 / 3 * x * np.sqrt(x)
    term, p, q = np.ones_like(x), np.ones_like(x), np.zeros_like(x)
    for k in range(20):
        term = term * (6 * k + 5) * (6 * k + 3) * (6 * k + 1) / (216 * (k + 1) * (2 * k + 1) * zeta)
        sign = -1 if (k + 1) % 4 in (2, 3) else 1
        if k % 2:
            p = p + sign * term
        else:
            q = q + sign * term
    phase = zeta + np.pi / 4
    return np.asarray((np.sin(phase) * p - np.cos(phase) * q) / (np.sqrt(np.pi) * x**0.25))


def airy_ai(x: Float) -> Float:
    size = np.abs(x)
    waves = _airy_waves(np.clip(size, 7.0, 1e100))
    grown = np.clip(x, 1.0, 1e3)
    zeta = 2 / 3 * grown * np.sqrt(grown)
    decay = np.sqrt(grown / 3) / np.pi * scaled_k(zeta, 1 / 3) * np.exp(-zeta)
    middle = _airy_series(np.clip(x, -7.0, 1.0))
    out = np.where(x < -7.0, waves, np.where(x > 1.0, decay, middle))
    return np.where(np.isfinite(x), out, np.nan)


def spherical_j0(x: Float) -> Float:
    found = np.sin(x) / np.where(x == 0, 1.0, x)
    return np.where(np.isinf(x), 0.0, np.where(x == 0, 1.0, found))


_FUNCTIONS: dict[str, Function] = {
    "special_bessel_j0": _first_kind(0), "special_bessel_j1": _first_kind(1),
    "special_bessel_y0": _second_kind(0), "special_bessel_y1": _second_kind(1),
    **dict.fromkeys(("i0", "special_modified_bessel_i0"), _modified(0, scaled=False)),
    **dict.fromkeys(("special_i1", "special_modified_bessel_i1"), _modified(1, scaled=False)),
    "special_i0e": _modified(0, scaled=True), "special_i1e": _modified(1, scaled=True),
    "special_modified_bessel_k0": _modified_k(0, scaled=False),
    "special_modified_bessel_k1": _modified_k(1, scaled=False),
    "special_scaled_modified_bessel_k0": _modified_k(0, scaled=True),
    "special_scaled_modified_bessel_k1": _modified_k(1, scaled=True),
    "special_spherical_bessel_j0": spherical_j0, "special_airy_ai": airy_ai,
}  # fmt: skip

KERNELS: dict[str, Callable[..., Any]] = {
    f"aten::{name}": float_unary(in_double(fn)) for name, fn in _FUNCTIONS.items()
}
