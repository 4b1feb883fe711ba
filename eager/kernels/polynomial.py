"""Orthogonal polynomials of integer degree by their three-term recurrences.

The degree is an operand like the argument: tensors broadcast, its fraction is dropped, and a
negative degree gives 0 (Abramowitz and Stegun, table 22.7).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscript.base.records import dataclass

from ..storage import Array, floating, promoted, wrap
from .pointwise import apply2

Float = NDArray[np.float64]


@dataclass(frozen=True)
class Family:
    """`first(x)` is the polynomial of degree 1; `step(k, x, p, q)` that of degree k + 1 from the
    ones of degree k (p) and k - 1 (q)."""

    first: Callable[[Float], Float]
    step: Callable[[int, Float, Float, Float], Float]
    shifted: bool = False

    def __call__(self, x: Array, degree: Array) -> Float:
        n = np.trunc(degree.astype(np.float64))
        n = np.where(np.abs(n) < 2.0**63, n, -1.0)  # what is no int64 is its least number
        at, n = np.broadcast_arrays(x.astype(np.float64), n)
        at = 2 * at - 1 if self.shifted else at
        before, now = np.ones_like(at), self.first(at)
        out = np.where(n < 0, 0.0, np.where(n == 0, 1.0, now))
        for k in range(1, int(n.max(initial=0))):
            before, now = now, self.step(k, at, now, before)
            out = np.where(n == k + 1, now, out)
        return out


def _chebyshev(k: int, x: Float, p: Float, q: Float) -> Float:
    return 2 * x * p - q


_CHEBYSHEV: dict[str, Callable[[Float], Float]] = {
    "t": lambda x: x, "u": lambda x: 2 * x, "v": lambda x: 2 * x - 1, "w": lambda x: 2 * x + 1,
}  # fmt: skip
FAMILIES: dict[str, Family] = {
    **{f"chebyshev_polynomial_{k}": Family(first, _chebyshev) for k, first in _CHEBYSHEV.items()},
    **{f"shifted_chebyshev_polynomial_{k}": Family(first, _chebyshev, shifted=True)
       for k, first in _CHEBYSHEV.items()},
    "hermite_polynomial_h": Family(lambda x: 2 * x, lambda k, x, p, q: 2 * (x * p - k * q)),
    "hermite_polynomial_he": Family(lambda x: x, lambda k, x, p, q: x * p - k * q),
    "laguerre_polynomial_l": Family(
        lambda x: 1 - x, lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1)),
    "legendre_polynomial_p": Family(
        lambda x: x, lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1)),
}  # fmt: skip


def _kernel(family: Family) -> Callable[..., Any]:
    def run(x: Any, n: Any) -> Any:
        dtype = floating(promoted(x, n))
        return wrap(apply2(family, x, n, dtype), dtype)

    return run


KERNELS: dict[str, Callable[..., Any]] = {
    f"aten::special_{name}{overload}": _kernel(family)
    for name, family in FAMILIES.items()
    for overload in ("", ".x_scalar", ".n_scalar")
}
