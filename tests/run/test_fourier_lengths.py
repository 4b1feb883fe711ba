"""Fourier transforms of many lengths, by every way that there is to compute them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorscript as ts
from tensorscript.lowering.ts_to_tg.fourier_passes import MOST_RADIX, radices

LENGTHS = (
    *(31, 32, 36, 40, 60, 64, 81, 91, 98, 100, 128, 169, 210, 256, 400, 512, 1000, 1024, 2310),
    *(37, 74, 127, 146, 201, 346, 521, 1042),  # of large primes: products, chirps
)
SUMS = {np.float32: 3e-6, np.float64: 1e-13}
"""Of the largest number, errors of a sum."""


def fft(x):
    return ts.fft.fft(x)


def ifft(x):
    return ts.fft.ifft(x, norm="ortho")


def rfft(x):
    return ts.fft.rfft(x)


def irfft(x):
    return ts.fft.irfft(x)


def columns(x):
    return ts.fft.fft(x, dim=0)


def real_columns(x):
    return ts.fft.rfft(x, dim=1)


def columns_to_real(x):
    return ts.fft.irfft(x, dim=1)


def both(x):
    return ts.fft.ifft2(x)


def spectra(x, window, n: int, hop: int):
    return ts.stft(x, n, hop, window.shape[0], window, return_complex=True)


def convolved(x, y):
    return ts.fft.irfft(ts.fft.rfft(x) * ts.fft.rfft(y))


def two(x):
    return ts.fft.fft(x, dim=-1), ts.fft.ifft(x, dim=-1)


def numbers(shape: tuple[int, ...], dtype: type, is_complex: bool) -> np.ndarray:
    random = np.random.default_rng(len(shape))
    x = random.standard_normal(shape)
    if is_complex:
        x = x + 1j * random.standard_normal(shape)
    return x.astype(np.result_type(dtype, np.complex64) if is_complex else dtype)


def close(got: ts.Tensor, wanted: np.ndarray, dtype: type) -> None:
    found = np.asarray(got)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=0, atol=SUMS[dtype] * np.abs(wanted).max())


@pytest.mark.parametrize("dtype", SUMS)
@pytest.mark.parametrize("n", LENGTHS)
def test_of_complex_numbers(n: int, dtype: type) -> None:
    x = numbers((3, n), dtype, True)
    close(ts.compile(fft, (x,), fallback="error")(x), np.fft.fft(x.astype("c16")), dtype)
    close(
        ts.compile(ifft, (x,), fallback="error")(x),
        np.fft.ifft(x.astype("c16"), norm="ortho"),
        dtype,
    )


@pytest.mark.parametrize("dtype", SUMS)
@pytest.mark.parametrize("n", LENGTHS)
def test_of_real_numbers(n: int, dtype: type) -> None:
    x = numbers((3, n), dtype, False)
    wide = x.astype("f8")
    close(ts.compile(fft, (x,), fallback="error")(x), np.fft.fft(wide), dtype)
    close(ts.compile(rfft, (x,), fallback="error")(x), np.fft.rfft(wide), dtype)


@pytest.mark.parametrize("n", [5, 12, 31, 32, 37, 64, 90, 100, 128, 146, 256, 400, 1042])
def test_both_halves_of_a_real_spectrum_are_equal(n: int) -> None:
    """To the last bit, as PyTorch's: who looks for the largest frequency finds the first one."""
    x = numbers((3, n), np.float32, False)
    found = np.asarray(ts.compile(fft, (x,), fallback="error")(x))
    np.testing.assert_array_equal(found[:, 1:], found[:, :0:-1].conj())


@pytest.mark.parametrize("dtype", SUMS)
@pytest.mark.parametrize("half", [33, 37, 51, 65, 101, 129, 201, 257, 347])
def test_to_real_numbers(half: int, dtype: type) -> None:
    """What the first and the last frequency have as imaginary parts is not read."""
    x = numbers((3, half), dtype, True)
    f = ts.compile(irfft, (x,), fallback="error")
    close(f(x), np.fft.irfft(x.astype("c16")), dtype)


@pytest.mark.parametrize("shape", [(64, 5), (64, 33), (100, 2, 7), (37, 4)])
def test_along_other_dimensions(shape: tuple[int, ...]) -> None:
    x = numbers(shape, np.float64, True)
    close(ts.compile(columns, (x,), fallback="error")(x), np.fft.fft(x, axis=0), np.float64)
    images = numbers((2, *shape), np.float64, False)
    f = ts.compile(real_columns, (images,), fallback="error")
    close(f(images), np.fft.rfft(images, axis=1), np.float64)
    f = ts.compile(columns_to_real, (found := np.fft.rfft(images, axis=1),), fallback="error")
    close(f(found), np.fft.irfft(found, axis=1), np.float64)


@pytest.mark.parametrize("shape", [(32, 32), (3, 64, 48), (2, 40, 37)])
def test_along_two_dimensions(shape: tuple[int, ...]) -> None:
    x = numbers(shape, np.float64, True)
    close(ts.compile(both, (x,), fallback="error")(x), np.fft.ifft2(x), np.float64)


@pytest.mark.parametrize("rows", [0, 1, 5])
@pytest.mark.parametrize(("program", "wanted"), [(fft, np.fft.fft), (rfft, np.fft.rfft)])
def test_as_many_as_the_call_tells(
    program: Callable[..., object], wanted: Callable[..., np.ndarray], rows: int
) -> None:
    f = ts.compile(program, (ts.TensorSpec(("N", 96)),), fallback="error")
    x = numbers((rows, 96), np.float32, False)
    found = np.asarray(f(x))
    np.testing.assert_allclose(found, wanted(x.astype("f8")), rtol=0, atol=3e-5)


@pytest.mark.parametrize(("n", "hop", "length"), [(400, 160, 400), (64, 16, 50), (74, 20, 74)])
def test_short_time_transforms(n: int, hop: int, length: int) -> None:
    x, window = numbers((2, 1000), np.float64, False), np.hanning(length)
    f = ts.compile(spectra, (x, window, n, hop), fallback="error")
    left = (n - length) // 2
    shape = np.pad(window, (left, n - length - left))
    wide = np.pad(x, ((0, 0), (n // 2, n // 2)), "reflect")
    frames = np.lib.stride_tricks.sliding_window_view(wide, n, -1)[:, ::hop]
    close(f(x, window, n, hop), np.fft.rfft(frames * shape).transpose(0, 2, 1), np.float64)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 1 << 20))
def test_radices(n: int) -> None:
    found = radices(n)
    if found:
        assert np.prod(found) == n and max(found) <= MOST_RADIX and found[0] == max(found)
    elif n > 1:
        assert any(n % p == 0 for p in range(23, n + 1) if all(p % q for q in range(2, 20)))


def test_several_at_once() -> None:
    """Transforms of one length read one table, and still are kernels of their own."""
    x, y = (numbers((5, 128), np.float64, False) for _ in range(2))
    f = ts.compile(convolved, (x, y), fallback="error")
    close(f(x, y), np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(y)), np.float64)
    assert f.ir("schedule").count('"share"') == 4  # those of x and of y are the same kernels
    z = numbers((5, 128), np.float64, True)
    f = ts.compile(two, (z,), fallback="error")
    for got, wanted in zip(f(z), (np.fft.fft(z), np.fft.ifft(z)), strict=True):
        close(got, wanted, np.float64)
    assert f.ir("schedule").count('"share"') == 4


def test_passes_are_cases_side_by_side() -> None:
    """Each pass reads its samples once for all frequencies; between them is one turn."""
    x = numbers((4, 256), np.float32, True)
    f = ts.compile(fft, (x,), fallback="error")
    kernels = f.ir("kernels")
    assert kernels.count("tg.kernel") == 4  # two passes, one turn, pairs of parts
    assert f.ir("schedule").count('"full_unroll"') == 4
