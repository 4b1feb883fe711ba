"""Short Fourier transforms written out, as expressions of complex numbers.

Lengths split as p q (Cooley and Tukey, 1965) down to primes, so that factors which are 1, i or an
eighth of a turn cost what they have to; a prime length adds and subtracts mirrored samples first.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence

from tensorscript.dialects.te.expr import Expr, const

Part = Expr | None
"""Of a complex number; None is 0."""
Number = tuple[Part, Part]
_ZERO: Number = (None, None)


def _plus(a: Part, b: Part) -> Part:
    if a is None or b is None:
        return b if a is None else a
    return a + b


def _minus(a: Part, b: Part) -> Part:
    if b is None:
        return a
    return -b if a is None else a - b


def _times(a: Part, factor: float) -> Part:
    if a is None or factor == 0:
        return None
    if abs(factor) == 1:
        return a if factor > 0 else -a
    return a * const(factor, a.dtype)


def _turned(x: Number, phase: int, n: int) -> Number:
    """x exp(2 pi i phase / n)."""
    w = cmath.exp(2j * math.pi * (phase % n) / n)
    real, imag = (float(round(v)) if abs(v - round(v)) < 1e-15 else v for v in (w.real, w.imag))
    if abs(abs(real) - abs(imag)) < 1e-15:  # of an eighth of a turn: one product for each part
        a, b = math.copysign(1, real), math.copysign(1, imag)
        first = _minus(_times(x[0], a), _times(x[1], b))
        second = _plus(_times(x[0], b), _times(x[1], a))
        return _times(first, math.sqrt(0.5)), _times(second, math.sqrt(0.5))
    return (
        _minus(_times(x[0], real), _times(x[1], imag)),
        _plus(_times(x[0], imag), _times(x[1], real)),
    )


def _sum(x: Number, y: Number) -> Number:
    return _plus(x[0], y[0]), _plus(x[1], y[1])


def _difference(x: Number, y: Number) -> Number:
    return _minus(x[0], y[0]), _minus(x[1], y[1])


def short_transform(x: Sequence[Number], sign: int) -> list[Number]:
    """Sums of x[j] exp(sign 2 pi i j k / n), as expressions."""
    n = len(x)
    if n == 1:
        return list(x)
    p = next(p for p in range(2, n + 1) if n % p == 0)
    if p == n:
        return _prime(x, sign)
    q = n // p
    inner = [short_transform(x[first::p], sign) for first in range(p)]
    out = [_ZERO] * n
    for k in range(q):
        column = [_turned(inner[j][k], sign * j * k, n) for j in range(p)]
        out[k::q] = short_transform(column, sign)
    return out


def _prime(x: Sequence[Number], sign: int) -> list[Number]:
    """Frequency k is a + i b, and n - k is a - i b: a of sums of x[j] and x[n - j], b of their
    differences."""
    n = len(x)
    if n == 2:
        return [_sum(*x), _difference(*x)]
    half = range(1, n // 2 + 1)
    sums = [_sum(x[j], x[n - j]) for j in half]
    differences = [_difference(x[j], x[n - j]) for j in half]
    out = [_ZERO] * n
    out[0] = x[0]
    for s in sums:
        out[0] = _sum(out[0], s)
    for k in half:
        a, b = x[0], _ZERO
        for j, s, d in zip(half, sums, differences, strict=True):
            turn = 2 * math.pi * (j * k % n) / n
            a = _sum(a, (_times(s[0], math.cos(turn)), _times(s[1], math.cos(turn))))
            factor = sign * math.sin(turn)
            b = _sum(b, (_times(d[1], -factor), _times(d[0], factor)))
        out[k], out[n - k] = _sum(a, b), _difference(a, b)
    return out


def times(x: Number, real: Expr, imag: Expr) -> Number:
    """x by a number that is computed."""
    a, c = x
    first = _minus(None if a is None else a * real, None if c is None else c * imag)
    second = _plus(None if a is None else a * imag, None if c is None else c * real)
    return first, second
