"""Rows of orthogonal polynomials of a known degree, by their three-term recurrences (Abramowitz and
Stegun, table 22.7); a degree's fraction is dropped, and a negative one gives 0."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tensorscript.base.dtypes import float64
from tensorscript.dialects.te.expr import Expr, const

from .builder import Builder, Rows
from .values import Tensor, Value

MOST = 64
"""Up to this degree the recurrence is written out."""


@dataclass(frozen=True)
class Family:
    """`first(x)` is the polynomial of degree 1; `step(k, x, p, q)` that of degree k + 1 from the
    ones of degree k (p) and k - 1 (q)."""

    first: Callable[[Expr], Expr]
    step: Callable[[int, Expr, Expr, Expr], Expr]
    shifted: bool = False

    def row(self, b: Builder, x: Value, degree: Value, *_: Value) -> Tensor:
        if not isinstance(degree, int | float):
            b.cannot("a degree that is not known")
        n = math.trunc(degree) if math.isfinite(degree) else -1
        if n > MOST:
            b.cannot(f"a degree above {MOST}")
        dtype = b.result_type(x, degree)
        dtype = dtype if dtype.is_floating_point else b.default_dtype
        return b.pointwise(lambda e: self.of(e, n), x, dtype=dtype, compute=float64)

    def of(self, x: Expr, n: int) -> Expr:
        x = x * 2.0 - 1.0 if self.shifted else x
        if n < 1:
            return const(float(n == 0), float64)
        before, now = const(1.0, float64), self.first(x)
        for k in range(1, n):
            before, now = now, self.step(k, x, now, before)
        return now


def _chebyshev(k: int, x: Expr, p: Expr, q: Expr) -> Expr:
    return x * 2.0 * p - q


_CHEBYSHEV: dict[str, Callable[[Expr], Expr]] = {
    "t": lambda x: x, "u": lambda x: x * 2.0, "v": lambda x: x * 2.0 - 1.0,
    "w": lambda x: x * 2.0 + 1.0,
}  # fmt: skip
FAMILIES: dict[str, Family] = {
    **{f"chebyshev_polynomial_{k}": Family(first, _chebyshev) for k, first in _CHEBYSHEV.items()},
    **{f"shifted_chebyshev_polynomial_{k}": Family(first, _chebyshev, shifted=True)
       for k, first in _CHEBYSHEV.items()},
    "hermite_polynomial_h": Family(
        lambda x: x * 2.0, lambda k, x, p, q: (x * p - q * float(k)) * 2.0),
    "hermite_polynomial_he": Family(lambda x: x, lambda k, x, p, q: x * p - q * float(k)),
    "laguerre_polynomial_l": Family(
        lambda x: 1.0 - x,
        lambda k, x, p, q: ((2.0 * k + 1 - x) * p - q * float(k)) / const(k + 1, float64)),
    "legendre_polynomial_p": Family(
        lambda x: x,
        lambda k, x, p, q: (x * p * (2.0 * k + 1) - q * float(k)) / const(k + 1, float64)),
}  # fmt: skip

POLYNOMIAL: Rows = {
    f"aten::special_{name}.n_scalar": family.row for name, family in FAMILIES.items()
}
