"""The inverse of the error function of Python's numbers, for whoever runs programs step by step."""

from __future__ import annotations

import math

_SLOPE_AT_ZERO = 2 / math.sqrt(math.pi)
_STEPS = 4


def erfinv(y: float) -> float:
    """Winitzki's approximation and some steps of Newton, near 1 on what is left of it."""
    if math.isnan(y) or abs(y) > 1:
        return math.nan
    if abs(y) == 1:
        return math.copysign(math.inf, y)
    size = abs(y)
    left = 1 - size
    w = math.log(left * (1 + size))
    t = 2 / (math.pi * 0.147) + w / 2
    x = math.sqrt(max(math.sqrt(t * t - w / 0.147) - t, 0.0))
    for _ in range(_STEPS):
        gap = math.erf(x) - size if size < 0.5 else left - math.erfc(x)
        x -= gap / (_SLOPE_AT_ZERO * math.exp(-x * x))
    return math.copysign(x, y)
