"""Rows of orthogonal polynomials, by their three-term recurrences (Abramowitz and Stegun, table
22.7); a degree's fraction is dropped, and a negative one gives 0.

A known degree is written out. Degrees that are tensors, or large, are a loop over all elements up
to the highest one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tensorscript.base.dtypes import float64, int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, binary, call, cast, const, select

from .builder import Builder, Rows
from .elements import as_expr, known
from .loops import loop
from .values import Tensor, Value

MOST = 64
"""Up to this degree the recurrence is written out."""


@dataclass(frozen=True)
class Family:
    """`first(x)` is the polynomial of degree 1; `step(k, x, p, q)` that of degree k + 1 from the
    ones of degree k (p) and k - 1 (q)."""

    first: Callable[[Expr], Expr]
    step: Callable[[Expr, Expr, Expr, Expr], Expr]
    shifted: bool = False

    def row(self, b: Builder, x: Value, degree: Value, *_: Value) -> Tensor:
        dtype = b.result_type(x, degree)
        dtype = dtype if dtype.is_floating_point else b.default_dtype
        if isinstance(degree, int | float):
            n = math.trunc(degree) if abs(degree) < 2.0**63 else -1
            if n <= MOST:
                return b.pointwise(lambda e: self.of(e, n), x, dtype=dtype, compute=float64)
        return b.cast(self._up_to(b, x, degree), dtype)

    def _place(self, x: Expr) -> Expr:
        return x * 2.0 - 1.0 if self.shifted else x

    def of(self, x: Expr, n: int) -> Expr:
        x = self._place(x)
        if n < 1:
            return const(float(n == 0), float64)
        before, now = const(1.0, float64), self.first(x)
        for k in range(1, n):
            before, now = now, self.step(const(float(k), float64), x, now, before)
        return now

    def _up_to(self, b: Builder, x: Value, degree: Value) -> Tensor:
        """Of every degree up to the highest; each element keeps that of its own."""

        def double(fn: Callable[..., Expr], *operands: Value) -> Tensor:
            return b.pointwise(fn, *operands, dtype=float64, compute=float64)

        def whole(_: Expr, n: Expr) -> Expr:
            fits = binary("lt", call("abs", n), 2.0**63)  # else its int64 is the least number
            return select(fits, call("trunc", n), const(-1.0, float64))

        places = double(lambda e, n: self._place(e), x, degree)
        degrees = double(whole, x, degree)

        def step(arguments: Sequence[Value]) -> list[Value]:
            number, before, now, out = arguments
            k = b.full((), known(as_expr(number) + 1), float64)
            following = double(self.step, k, places, now, before)
            out = double(
                lambda o, f, n, at: select(n.equals(at + 1), f, o), out, following, degrees, k
            )
            return [True, now, following, out]

        one = double(lambda e: const(1.0, float64), places)
        first = double(self.first, places)

        def start(n: Expr, e: Expr) -> Expr:
            return select(n < 0, const(0.0, float64), select(n.equals(0), const(1.0, float64), e))

        out = double(start, degrees, first)
        top = b.reduce((), degrees.shape, float64, "max", lambda body, i, r: body.read(degrees, r))
        steps = cast(binary("max", as_expr(b.item(top)) - 1.0, 0.0), int64)
        found: Tensor = loop(b, b.shortened(known(steps)), True, [one, first, out], step, 512)[2]
        return found


def _chebyshev(k: Expr, x: Expr, p: Expr, q: Expr) -> Expr:
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
        lambda x: x * 2.0, lambda k, x, p, q: (x * p - q * k) * 2.0),
    "hermite_polynomial_he": Family(lambda x: x, lambda k, x, p, q: x * p - q * k),
    "laguerre_polynomial_l": Family(
        lambda x: 1.0 - x,
        lambda k, x, p, q: ((k * 2.0 + 1.0 - x) * p - q * k) / (k + 1.0)),
    "legendre_polynomial_p": Family(
        lambda x: x,
        lambda k, x, p, q: (x * p * (k * 2.0 + 1.0) - q * k) / (k + 1.0)),
}  # fmt: skip

POLYNOMIAL: Rows = {f"aten::special_{name}": family.row for name, family in FAMILIES.items()}
