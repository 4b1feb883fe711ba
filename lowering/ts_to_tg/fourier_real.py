"""Fourier transforms of real signals of even length, by those of half their length.

Even samples are the real parts of a signal z of m samples, odd ones its imaginary parts. Its
spectrum tells those of both (Sorensen et al., "Real-valued fast Fourier transform algorithms",
1987): with w = exp(sign pi i / m), for k = 0 .. m,

    X[k] = (Z[k] + Z[m - k]*) / 2 + w^k (Z[k] - Z[m - k]*) / 2i,    * a conjugate, Z[m] = Z[0],

and the other way Z[k] = X[k] + X[m - k]* + i w^k (X[k] - X[m - k]*).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tensorscript.base.dtypes import DType
from tensorscript.dialects.te.expr import Expr, binary, const, select

from .builder import Builder
from .complex_numbers import Pair, add, conj, mul, sub
from .elements import as_expr
from .emission import Body
from .fourier_passes import passes
from .fourier_tables import constant, half_turns
from .values import ComplexTensor, Tensor


def _read(body: Body, x: ComplexTensor, i: list[Expr], d: int, k: Expr, dtype: DType) -> Pair:
    return Pair(*(body.read(part, [*i[:d], k, *i[d + 1 :]], dtype) for part in x.elements))


def of_pairs(
    b: Builder, x: Tensor, d: int, factors: Sequence[int], sign: int, dtype: DType, count: int
) -> ComplexTensor:
    """The first frequencies, m + 1 at most, of 2 m samples along dimension d; m is the product of
    the factors."""
    m = math.prod(factors)
    pairs = ComplexTensor(*(b.apply("aten::slice", x, d, first, None, 2) for first in range(2)))
    z = passes(b, pairs, d, factors, sign, dtype)
    turns = constant(b, half_turns(m, count, sign, dtype), dtype)

    def part(number: int) -> Tensor:
        def make(body: Body, i: list[Expr]) -> Expr:
            k = i[d]
            here, there = k % m, select(k < 1, const(0), m - k)
            one = _read(body, z, i, d, here, dtype)
            other = conj(_read(body, z, i, d, there, dtype))
            total, rest = add(one, other), sub(one, other)
            turned = mul(
                Pair(rest.imag, -rest.real), Pair(*(body.read(t, [k]) for t in turns.elements))
            )
            return add(total, turned)[number] * const(0.5, dtype)

        return b.compute([*x.shape[:d], as_expr(count), *x.shape[d + 1 :]], dtype, make)

    return ComplexTensor(part(0), part(1))


def to_pairs(b: Builder, x: ComplexTensor, d: int, factors: Sequence[int], dtype: DType) -> Tensor:
    """The 2 m samples along dimension d whose spectrum begins with the m + 1 numbers of `x`, not
    scaled; imaginary parts of the first and of the last are not read."""
    m = math.prod(factors)
    turns = constant(b, half_turns(m, m, 1, dtype), dtype)

    def part(number: int) -> Tensor:
        def make(body: Body, i: list[Expr]) -> Expr:
            k, zero = i[d], const(0, dtype)
            numbers = (_read(body, x, i, d, at, dtype) for at in (k, m - k))
            one, other = (Pair(n.real, select(k.equals(0), zero, n.imag)) for n in numbers)
            total, rest = add(one, conj(other)), sub(one, conj(other))
            turned = mul(rest, Pair(*(body.read(t, [k]) for t in turns.elements)))
            return add(total, Pair(-turned.imag, turned.real))[number]

        return b.compute([*x.shape[:d], as_expr(m), *x.shape[d + 1 :]], dtype, make)

    z = passes(b, ComplexTensor(part(0), part(1)), d, factors, 1, dtype)

    def sample(body: Body, i: list[Expr]) -> Expr:
        at = [*i[: d + 1], *i[d + 2 :]]
        real, imag = (body.read(t, at, dtype) for t in z.elements)
        return select(i[d + 1].equals(0), real, imag)

    pairs = b.compute([*x.shape[:d], as_expr(m), const(2), *x.shape[d + 1 :]], dtype, sample)
    out: Tensor = b.call("aten::reshape", pairs, [*x.shape[:d], as_expr(2 * m), *x.shape[d + 1 :]])
    return out


def hermitian(b: Builder, x: ComplexTensor, n: int | Expr, d: int) -> ComplexTensor:
    """All n of a spectrum along dimension d of which `x` is the first half: the rest mirrors it.
    Numbers that are their own mirror images are real."""
    half = n // 2 + 1

    def part(t: Tensor, is_imaginary: bool) -> Tensor:
        def make(body: Body, i: list[Expr]) -> Expr:
            inside = binary("lt", i[d], half)
            at = select(inside, i[d], n - i[d])
            e = body.read(t, [*i[:d], at, *i[d + 1 :]], t.dtype)
            if not is_imaginary:
                return e
            alone = binary("or", i[d].equals(0), (i[d] * 2).equals(n))
            return select(alone, const(0, t.dtype), select(inside, e, -e))

        return b.compute([*x.shape[:d], as_expr(n), *x.shape[d + 1 :]], t.dtype, make)

    return ComplexTensor(part(x.real, False), part(x.imag, True))
