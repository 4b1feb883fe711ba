"""Tables of discrete Fourier transforms, computed in float64 from exact phases."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tensorscript.base.dtypes import DType

from .builder import Builder
from .values import ComplexTensor

Table = tuple[np.ndarray, np.ndarray]
"""Real and imaginary parts."""


def circle(phases: np.ndarray, period: int) -> Table:
    """Cosine and sine of 2 pi phases / period, phases whole; quarters of a turn are exact."""
    phases = phases % period
    turns = 2 * np.pi * phases / period
    cosine, sine = np.cos(turns), np.sin(turns)
    sine[2 * phases % period == 0] = 0
    cosine[(4 * phases % period == 0) & (2 * phases % period != 0)] = 0
    return cosine, sine


def _parts(phases: np.ndarray, period: int, dtype: DType) -> Table:
    """exp(2 pi i phases / period), phases whole."""
    cosine, sine = circle(phases, period)
    return cosine.astype(dtype.numpy), sine.astype(dtype.numpy)


@lru_cache(maxsize=64)
def roots(n: int, count: int, sign: int, dtype: DType) -> Table:
    """(count, n): row k is what frequency k takes of each sample."""
    return _parts(sign * np.outer(np.arange(count), np.arange(n)), n, dtype)


@lru_cache(maxsize=64)
def twiddles(p: int, q: int, sign: int, dtype: DType) -> Table:
    """(q, p): the factors between transforms of p and of q."""
    return _parts(sign * np.outer(np.arange(q), np.arange(p)), p * q, dtype)


@lru_cache(maxsize=64)
def half_turns(m: int, count: int, sign: int, dtype: DType) -> Table:
    """(count,): the roots of 2 m, as far as half of a turn."""
    return _parts(sign * np.arange(count), 2 * m, dtype)


@lru_cache(maxsize=64)
def waves(n: int, count: int, sign: int, dtype: DType) -> Table:
    """(count, n // 2 + 1) each: what frequency k takes of sums of the samples j and n - j, and of
    their differences. A sample that is its own mirror image counts twice in its sum."""
    half = np.arange(n // 2 + 1)
    cosine, sine = circle(np.outer(np.arange(count), half), n)
    alone = (half == 0) | (2 * half == n)
    cosine *= np.where(alone, 0.5, 1.0)
    return cosine.astype(dtype.numpy), (sign * sine).astype(dtype.numpy)


@lru_cache(maxsize=64)
def inverse_waves(n: int, dtype: DType) -> Table:
    """(n // 2 + 1, n // 2 + 1) each: what sample j has in common with n - j, and what differs by
    its sign, of half of the spectrum of a real signal."""
    half = np.arange(n // 2 + 1)
    weight = np.where((half == 0) | (2 * half == n), 1.0, 2.0)
    cosine, sine = circle(np.outer(half, half), n)
    return (cosine * weight).astype(dtype.numpy), (-sine * weight).astype(dtype.numpy)


@lru_cache(maxsize=64)
def chirps(n: int, m: int, sign: int, dtype: DType) -> tuple[Table, Table]:
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
