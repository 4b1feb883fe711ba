"""Discrete Fourier transforms along one dimension, those of known length by sums of products.

Lengths of small factors are passes of short transforms (`fourier_passes.py`); of real numbers they
are half as long (`fourier_real.py`). Short other ones are products with roots of unity, of the even
and of the odd part of a signal each: both parts and their transforms are half as long. Others split
as n = p q into transforms of p and of q with factors between them (Cooley and Tukey, 1965), prime
ones become a convolution of a power of two (Bluestein, 1970).
Lengths that the program finds are the subject of `fourier_found.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tensorscript.base.dtypes import DType, float64
from tensorscript.dialects.te.expr import Expr, binary, call, cast, const, known_as, select

from .builder import Builder
from .complex_numbers import conj, mul
from .complex_pointwise import complex_pointwise
from .complex_product import multilinear
from .complex_tensors import AnyTensor
from .elements import as_expr
from .emission import Body
from .fourier_found import transform_found
from .fourier_passes import passes, radices
from .fourier_real import hermitian, of_pairs, to_pairs
from .fourier_tables import chirps, constant, inverse_waves, roots, twiddles, waves
from .linalg import linear
from .slicing import narrow
from .values import ComplexTensor, Tensor

DIRECT = 128
"""Up to this length a transform without small factors is made of products alone."""
DIRECT_REAL = 512
"""The same of real numbers, where half of the matrix does; of primes, where splitting does not."""
LEAST_FOLDED = 64
"""From this length on an even and an odd part are worth passes of their own."""
LEAST_PASSES = 32
"""From this length on passes take less time than a product."""

Length = int | Expr


def _split(n: int) -> int:
    """The largest factor of n up to its root; 1 of primes."""
    return next(p for p in range(math.isqrt(n), 0, -1) if n % p == 0)


def _product(b: Builder, x: AnyTensor, weights: ComplexTensor) -> ComplexTensor:
    return multilinear(b, lambda p, q: linear(b, p, q), x, weights)


def transform(
    b: Builder,
    x: AnyTensor,
    n: Length,
    sign: int,
    dtype: DType,
    count: Length | None = None,
    d: int | None = None,
) -> ComplexTensor:
    """Sums of x[.., j, ..] exp(sign 2 pi i j k / n), unscaled, along dimension d of size n.

    Args:
        sign: -1 forward, 1 backward.
        dtype: real dtype to compute in.
        count: how many frequencies (default: n).
        d: default: the last one.
    """
    kept, d = n if count is None else count, x.rank - 1 if d is None else d
    if isinstance(x, Tensor) and isinstance(n, int) and isinstance(kept, int) and kept > n // 2 + 1:
        # Both halves are equal to the last bit, so that the first of two peaks is the greatest.
        half = transform(b, x, n, sign, dtype, n // 2 + 1, d)
        return _first(b, hermitian(b, half, n, d), d, kept)
    if isinstance(n, int) and isinstance(kept, int) and n >= LEAST_PASSES:
        if isinstance(x, Tensor) and (factors := _pairs(n)):
            return of_pairs(b, x, d, factors, sign, dtype, kept)
        if factors := radices(n):
            return _first(b, passes(b, x, d, factors, sign, dtype), d, kept)
    if d == x.rank - 1:
        return _along_last(b, x, n, sign, dtype, kept)
    moved = b.apply("aten::movedim", x, d, -1)
    out = _along_last(b, moved, n, sign, dtype, kept)
    back: ComplexTensor = b.call("aten::movedim", out, -1, d)
    return back


def _pairs(n: int) -> tuple[int, ...]:
    """The passes over pairs of n real samples; none if they are not worth taking."""
    return radices(n // 2) if n % 2 == 0 and n >= 2 * LEAST_PASSES else ()


def _along_last(
    b: Builder, x: AnyTensor, n: Length, sign: int, dtype: DType, kept: Length
) -> ComplexTensor:
    """The same along the last dimension, of a length that is short, has a large prime factor, or
    is found."""
    if isinstance(n, Expr) or isinstance(kept, Expr):
        return transform_found(b, x, as_expr(n), sign, dtype, as_expr(kept))
    is_real, p = isinstance(x, Tensor), _split(n)
    if n <= (DIRECT_REAL if is_real or p == 1 else DIRECT):
        if n < LEAST_FOLDED:
            return _product(b, x, constant(b, roots(n, kept, sign, dtype), dtype))
        return _folded(b, x, n, sign, dtype, kept)
    out = _convolved(b, x, n, sign, dtype) if p == 1 else _factored(b, x, p, n // p, sign, dtype)
    return _first(b, out, x.rank - 1, kept)


def _folded(b: Builder, x: AnyTensor, n: int, sign: int, dtype: DType, count: int) -> ComplexTensor:
    """Frequency k is a + i b, and n - k is a - i b: a of the even part of `x`, b of the odd one."""
    half = min(count, n // 2 + 1)
    tables = [b.literal(table, dtype) for table in waves(n, half, sign, dtype)]
    parts = x.elements if isinstance(x, ComplexTensor) else (x,)
    even, odd = (
        [linear(b, _mirrored(b, part, n, dtype, way), table) for part in parts]
        for table, way in zip(tables, (1, -1), strict=True)
    )
    if len(parts) == 1:  # of real numbers no more is asked for
        return ComplexTensor(even[0], odd[0])
    shape = [*x.shape[:-1], as_expr(count)]
    turned = b.apply("aten::neg", odd[1])
    return ComplexTensor(
        _spread(b, shape, n, even[0], turned), _spread(b, shape, n, even[1], odd[0])
    )


def _mirrored(b: Builder, x: Tensor, n: int, dtype: DType, way: int) -> Tensor:
    """(.., n // 2 + 1): sample j with n - j added, or taken off."""

    def make(body: Body, i: list[Expr]) -> Expr:
        mirror = select(i[-1].equals(0), const(0), n - i[-1])
        here, there = (body.read(x, [*i[:-1], at], dtype) for at in (i[-1], mirror))
        return here + there if way > 0 else here - there

    return b.compute([*x.shape[:-1], as_expr(n // 2 + 1)], dtype, make)


def _spread(b: Builder, shape: Sequence[Expr], n: int, even: Tensor, odd: Tensor) -> Tensor:
    """All n numbers, of what those at k and n - k have in common and what differs by its sign."""
    half = n // 2 + 1

    def make(body: Body, i: list[Expr]) -> Expr:
        inside = binary("lt", i[-1], half)
        at = [*i[:-1], select(inside, i[-1], n - i[-1])]
        common, apart = (body.read(t, at, t.dtype) for t in (even, odd))
        return common + select(inside, apart, -apart)

    return b.compute(shape, even.dtype, make)


def _first(b: Builder, x: ComplexTensor, d: int, count: int) -> ComplexTensor:
    if x.shape[d].is_int(count):
        return x
    return ComplexTensor(*(narrow(b, part, d, 0, count) for part in (x.real, x.imag)))


def _swapped(b: Builder, x: AnyTensor) -> AnyTensor:
    return b.apply("aten::transpose", x, -1, -2)


def _factored(b: Builder, x: AnyTensor, p: int, q: int, sign: int, dtype: DType) -> ComplexTensor:
    """Sample j = q j1 + j2, frequency k = k1 + p k2."""
    lead = list(x.shape[:-1])
    grid = b.apply("aten::reshape", x, [*lead, p, q])
    inner = transform(b, _swapped(b, grid), p, sign, dtype)
    turned = complex_pointwise(b, mul, inner, constant(b, twiddles(p, q, sign, dtype), dtype))
    outer: AnyTensor = transform(b, _swapped(b, turned), q, sign, dtype)
    out: ComplexTensor = b.call("aten::reshape", _swapped(b, outer), [*lead, p * q])
    return out


def _convolved(b: Builder, x: AnyTensor, n: int, sign: int, dtype: DType) -> ComplexTensor:
    """jk = (j^2 + k^2 - (k - j)^2) / 2: a chirp, a convolution with one, a chirp."""
    m = 1 << (2 * n - 2).bit_length()
    chirp, spectrum = (constant(b, t, dtype) for t in chirps(n, m, sign, dtype))
    padded: AnyTensor = b.call(
        "aten::constant_pad_nd", complex_pointwise(b, mul, x, chirp), [0, m - n], 0
    )
    found = complex_pointwise(b, mul, transform(b, padded, m, -1, dtype), spectrum)
    return complex_pointwise(
        b, mul, _first(b, transform(b, found, m, 1, dtype), x.rank - 1, n), chirp
    )


def real_inverse(
    b: Builder, x: ComplexTensor, n: Length, dtype: DType, d: int | None = None
) -> Tensor:
    """The real signal of n samples along dimension d (default: the last) whose spectrum begins with
    the n // 2 + 1 numbers of `x`; it is not scaled, and imaginary parts that such a spectrum does
    not have are not read."""
    d = x.rank - 1 if d is None else d
    if isinstance(n, int) and (factors := _pairs(n)):
        return to_pairs(b, x, d, factors, dtype)
    if isinstance(n, int) and n <= DIRECT_REAL:
        moved: AnyTensor = x if d == x.rank - 1 else b.apply("aten::movedim", x, d, -1)
        assert isinstance(moved, ComplexTensor)
        table = constant(b, inverse_waves(n, dtype), dtype)
        parts = zip(moved.elements, table.elements, strict=True)
        even, odd = (linear(b, part, weights) for part, weights in parts)
        out = _spread(b, [*moved.shape[:-1], as_expr(n)], n, even, odd)
        return out if d == x.rank - 1 else b.apply("aten::movedim", out, -1, d)
    return transform(b, hermitian(b, x, n, d), n, 1, dtype, d=d).real


def conjugated(b: Builder, x: ComplexTensor) -> ComplexTensor:
    return complex_pointwise(b, conj, x)


def scaled(b: Builder, x: AnyTensor, factor: float | Expr) -> AnyTensor:
    return x if known_as(factor, 1) else b.apply("aten::mul", x, factor)


def scale_of(norm: str | None, lengths: Sequence[Length], is_inverse: bool) -> float | Expr:
    """What a transform is multiplied by; `norm` says which way the whole factor goes."""
    if norm != "ortho" and (norm == "forward") == is_inverse:
        return 1
    total = math.prod(lengths)
    if isinstance(total, int):
        return 1 / math.sqrt(total) if norm == "ortho" else 1 / total
    count = cast(total, float64)
    return const(1.0, float64) / (call("sqrt", count) if norm == "ortho" else count)
