"""Fourier transforms of composite lengths as passes of short ones, after Stockham.

A pass of radix r takes n = r m samples, s signals side by side, to r m frequencies in the order
that the next pass wants:

    out[p, k, q] = w(r m)^(p k) sum over j < r of w(r)^(j k) in[j m + p, q],  w(n) = exp(2 pi i / n)

q goes along what earlier passes have made and along the dimensions inside, so that vectors lie
along memory and the last result is in natural order (Cochran et al., "What is the fast Fourier
transform?", 1967). Where nothing is inside, vectors of the first pass go along p, and what it made
is turned afterwards. All r results of a place
are cases of one expression, whose common sums are made once (`schedules/cases.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial

import numpy as np

from tensorscript.base.dtypes import DType
from tensorscript.dialects.te.expr import Expr, const, one_of

from .builder import Builder
from .complex_tensors import AnyTensor
from .elements import as_expr
from .emission import Body
from .fourier_short import Number, short_transform, times
from .fourier_tables import circle
from .values import ComplexTensor, Tensor

MOST_RADIX = 20
"""Of a pass: more is much code, and more numbers than there are registers."""


def radices(n: int) -> tuple[int, ...]:
    """Factors of n that passes may have, as few and as equal as possible; () for none."""
    for count in range(1, n.bit_length() + 1):
        if found := _factors(n, count):
            return found
    return ()


@lru_cache(maxsize=256)
def _factors(n: int, count: int) -> tuple[int, ...]:
    """So many, the first the largest; none if there are none."""
    if count == 1:
        return (n,) if 1 < n <= MOST_RADIX else ()
    options = [
        (r, *rest)
        for r in range(min(MOST_RADIX, n), 1, -1)
        if n % r == 0 and (rest := _factors(n // r, count - 1)) and rest[0] <= r
    ]
    return min(options, key=max, default=())


@lru_cache(maxsize=64)
def _twiddles(r: int, m: int, sign: int, dtype: DType) -> np.ndarray:
    """(2, r, m): the real and imaginary parts of w(r m)^(p k)."""
    cosine, sine = circle(np.outer(np.arange(r), np.arange(m)), r * m)
    return np.stack([cosine, sign * sine]).astype(dtype.numpy)


Read = Callable[[Body, list[Expr], Expr, list[Expr]], Number]
"""A sample: of which signal, its number, and the place along what is inside."""


def passes(
    b: Builder, x: AnyTensor, d: int, factors: Sequence[int], sign: int, dtype: DType
) -> ComplexTensor:
    """Sums of x[.., j, ..] exp(sign 2 pi i j k / n) along dimension d of n elements, the product of
    the factors."""
    parts = x.elements if isinstance(x, ComplexTensor) else (x,)
    lead, left = list(x.shape[:d]), math.prod(factors)

    def sample(body: Body, at: list[Expr], j: Expr, inside: list[Expr]) -> Number:
        found = [body.read(part, [*at, j, *inside], dtype) for part in parts]
        return found[0], found[1] if len(found) > 1 else None

    read: Read = sample
    inside = list(x.shape[d + 1 :])
    for r in factors:
        left //= r
        made = _pass(b, read, lead, r, left, inside, sign, dtype)
        inside = [as_expr(r), *inside]
        read = partial(_element, made)
    whole = b.apply("aten::reshape", made, [2, *x.shape])
    return ComplexTensor(*(b.apply("aten::select", whole, 0, part) for part in range(2)))


def _element(made: Tensor, body: Body, at: list[Expr], j: Expr, inside: list[Expr]) -> Number:
    """A sample of what a pass has made."""
    real, imag = (body.read(made, [part, *at, j, *inside], made.dtype) for part in range(2))
    return real, imag


def _pass(
    b: Builder,
    read: Read,
    lead: list[Expr],
    r: int,
    m: int,
    inside: list[Expr],
    sign: int,
    dtype: DType,
) -> Tensor:
    """(2, .., m, r, inside ..): real and imaginary parts."""
    factors = b.literal(_twiddles(r, m, sign, dtype), dtype) if m > 1 else None
    rank, is_turned = len(lead), m > 1 and not inside

    def make(body: Body, i: list[Expr]) -> Expr:
        part, at, (p, k), place = i[0], i[1 : rank + 1], i[rank + 1 : rank + 3], i[rank + 3 :]
        if is_turned:
            p, k = k, p
        samples = [read(body, at, p + j * m, place) for j in range(r)]
        found = short_transform(samples, sign)
        if factors is not None:
            for number in range(1, r):
                w = (body.read(factors, [c, number, p], dtype) for c in range(2))
                found[number] = times(found[number], *w)
        zero = const(0, dtype)
        cases = ([zero if (e := n[c]) is None else e for n in found] for c in range(2))
        return one_of([one_of(parts, k) for parts in cases], part)

    sides = [r, m] if is_turned else [m, r]
    made = b.compute([const(2), *lead, *map(as_expr, sides), *inside], dtype, make)
    if not is_turned:
        return made

    def turned(body: Body, i: list[Expr]) -> Expr:
        return body.read(made, [*i[:-2], i[-1], i[-2]], dtype)

    return b.compute([const(2), *lead, as_expr(m), as_expr(r)], dtype, turned)
