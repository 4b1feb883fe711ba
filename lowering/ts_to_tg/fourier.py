"""Discrete Fourier transforms along one dimension, those of known length by sums of products.

Short lengths are a product with the matrix of roots of unity. Others split as n = p q into
transforms of p and of q with factors between them (Cooley and Tukey, 1965), prime ones become a
convolution of a power of two (Bluestein, 1970). Roots are computed in float64 from exact phases.
Lengths that the program finds are the subject of `fourier_found.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from tensorscript.base.dtypes import DType, float64
from tensorscript.dialects.te.expr import Expr, binary, call, cast, const, select

from .builder import Builder
from .complex_numbers import conj, mul
from .complex_pointwise import complex_pointwise
from .complex_product import multilinear
from .complex_tensors import AnyTensor
from .elements import as_expr
from .emission import Body
from .fourier_found import transform_found
from .linalg import linear
from .slicing import narrow
from .values import ComplexTensor, Tensor

DIRECT = 64
"""Up to this length a transform is one product."""
DIRECT_REAL = 512
"""The same of real numbers, where half of the matrix does; of primes, where splitting does not."""

Length = int | Expr
Table = tuple[np.ndarray, np.ndarray]
"""Real and imaginary parts."""


def _parts(phases: np.ndarray, period: int, dtype: DType) -> Table:
    """exp(2 pi i phases / period), phases whole."""
    turns = 2 * np.pi * (phases % period) / period
    return np.cos(turns).astype(dtype.numpy), np.sin(turns).astype(dtype.numpy)


@lru_cache(maxsize=64)
def roots(n: int, count: int, sign: int, dtype: DType) -> Table:
    """(count, n): row k is what frequency k takes of each sample."""
    return _parts(sign * np.outer(np.arange(count), np.arange(n)), n, dtype)


@lru_cache(maxsize=64)
def twiddles(p: int, q: int, sign: int, dtype: DType) -> Table:
    """(q, p): the factors between transforms of p and of q."""
    return _parts(sign * np.outer(np.arange(q), np.arange(p)), p * q, dtype)


@lru_cache(maxsize=64)
def inverse_real_roots(n: int, dtype: DType) -> Table:
    """(n, n // 2 + 1): samples of a real signal from half of its spectrum."""
    half = n // 2 + 1
    weight = np.where((np.arange(half) == 0) | (2 * np.arange(half) == n), 1.0, 2.0)
    turns = 2 * np.pi * (np.outer(np.arange(n), np.arange(half)) % n) / n
    return (np.cos(turns) * weight).astype(dtype.numpy), (-np.sin(turns) * weight).astype(
        dtype.numpy
    )


@lru_cache(maxsize=64)
def _chirps(n: int, m: int, sign: int, dtype: DType) -> tuple[Table, Table]:
    """exp(sign i pi j^2 / n), and the spectrum of its conjugate, wrapped around m."""
    squares = np.arange(n) ** 2 % (2 * n)
    chirp = np.exp(sign * 1j * np.pi * squares / n)
    wrapped = np.zeros(m, complex)
    wrapped[:n] = chirp.conj()
    wrapped[m - n + 1 :] = chirp.conj()[:0:-1]
    spectrum = np.fft.fft(wrapped) / m
    return _table(chirp, dtype), _table(spectrum, dtype)


def _table(values: np.ndarray, dtype: DType) -> Table:
    return values.real.astype(dtype.numpy), values.imag.astype(dtype.numpy)


def constant(b: Builder, table: Table, dtype: DType) -> ComplexTensor:
    """A table as a constant of the program."""
    return ComplexTensor(*(b.literal(part, dtype) for part in table))


def _split(n: int) -> int:
    """The largest factor of n up to its root; 1 of primes."""
    return next(p for p in range(math.isqrt(n), 0, -1) if n % p == 0)


def _product(b: Builder, x: AnyTensor, weights: ComplexTensor) -> ComplexTensor:
    return multilinear(b, lambda p, q: linear(b, p, q), x, weights)


def transform(
    b: Builder, x: AnyTensor, n: Length, sign: int, dtype: DType, count: Length | None = None
) -> ComplexTensor:
    """Sums of x[.., j] exp(sign 2 pi i j k / n), unscaled, along the last dimension of size n.

    Args:
        sign: -1 forward, 1 backward.
        dtype: real dtype to compute in.
        count: how many frequencies (default: n).
    """
    kept = n if count is None else count
    if isinstance(n, Expr):
        return transform_found(b, x, n, sign, dtype, as_expr(kept))
    is_real, p = isinstance(x, Tensor), _split(n)
    if n <= (DIRECT_REAL if is_real or p == 1 else DIRECT):
        return _product(b, x, constant(b, roots(n, kept, sign, dtype), dtype))
    assert isinstance(kept, int)  # as n is
    out = _convolved(b, x, n, sign, dtype) if p == 1 else _factored(b, x, p, n // p, sign, dtype)
    return out if kept == n else _first(b, out, kept)


def _first(b: Builder, x: ComplexTensor, count: int) -> ComplexTensor:
    return ComplexTensor(*(narrow(b, part, -1, 0, count) for part in (x.real, x.imag)))


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
    chirp, spectrum = (constant(b, t, dtype) for t in _chirps(n, m, sign, dtype))
    padded: AnyTensor = b.call(
        "aten::constant_pad_nd", complex_pointwise(b, mul, x, chirp), [0, m - n], 0
    )
    found = complex_pointwise(b, mul, transform(b, padded, m, -1, dtype), spectrum)
    return complex_pointwise(b, mul, _first(b, transform(b, found, m, 1, dtype), n), chirp)


def real_inverse(b: Builder, x: ComplexTensor, n: Length, dtype: DType) -> Tensor:
    """The real signal of n samples whose spectrum begins with the n // 2 + 1 numbers of `x`; it is
    not scaled, and imaginary parts that such a spectrum does not have are not read."""
    if isinstance(n, int) and n <= DIRECT_REAL:
        table = constant(b, inverse_real_roots(n, dtype), dtype)
        parts = zip(x.elements, table.elements, strict=True)
        return b.apply("aten::add", *(linear(b, part, weights) for part, weights in parts))
    return transform(b, hermitian(b, x, n), n, 1, dtype).real


def hermitian(b: Builder, x: ComplexTensor, n: Length) -> ComplexTensor:
    """All of a spectrum of which `x` is the first half: the rest mirrors it."""
    half = n // 2 + 1

    def part(t: Tensor, is_imaginary: bool) -> Tensor:
        def make(body: Body, i: list[Expr]) -> Expr:
            inside = binary("lt", i[-1], half)
            at = select(inside, i[-1], n - i[-1])
            e = body.read(t, [*i[:-1], at], t.dtype)
            return select(inside, e, -e) if is_imaginary else e

        return b.compute([*x.shape[:-1], as_expr(n)], t.dtype, make)

    return ComplexTensor(part(x.real, False), part(x.imag, True))


def conjugated(b: Builder, x: ComplexTensor) -> ComplexTensor:
    return complex_pointwise(b, conj, x)


def scaled(b: Builder, x: AnyTensor, factor: float | Expr) -> AnyTensor:
    return x if factor == 1 else b.apply("aten::mul", x, factor)


def scale_of(norm: str | None, lengths: Sequence[Length], is_inverse: bool) -> float | Expr:
    """What a transform is multiplied by; `norm` says which way the whole factor goes."""
    if norm != "ortho" and (norm == "forward") == is_inverse:
        return 1
    total = math.prod(lengths)
    if isinstance(total, int):
        return 1 / math.sqrt(total) if norm == "ortho" else 1 / total
    count = cast(total, float64)
    return const(1.0, float64) / (call("sqrt", count) if norm == "ortho" else count)
