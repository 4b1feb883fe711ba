"""Complex numbers in machine code: in and out, in place, in branches and loops, in objects."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tensorscript as ts


def numbers(*shape: int, dtype: str = "c8", seed: int = 0) -> np.ndarray:
    random = np.random.default_rng([seed, *shape])
    parts = random.standard_normal((2, *shape))
    return np.asarray(parts[0] + 1j * parts[1]).astype(dtype)


def compiled(fn: object) -> ts.CompiledFunction:
    return ts.compile(fn, fallback="error")


def agree(got: np.ndarray, want: np.ndarray) -> None:
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_arguments_of_any_layout(dtype: str) -> None:
    def f(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
        return x * y.conj() + 2j

    run = compiled(f)
    x, y = numbers(6, 5, dtype=dtype), numbers(5, 3, dtype=dtype, seed=1)
    turned = x.T[:, ::2]
    agree(run(turned, y), turned * y.conj() + 2j)
    agree(run(x, x), x * x.conj() + 2j)


def test_parts_are_views_of_an_argument() -> None:
    def f(x: ts.Tensor) -> ts.Tensor:
        x.real.mul_(2)
        ts.view_as_real(x)[..., 1].add_(1)
        return x.imag

    x = numbers(3, 4)
    want = x.real * 2 + 1j * (x.imag + 1)
    got = compiled(f)(x)
    agree(x, want.astype("c8"))
    agree(got, want.imag.astype("f4"))


def test_pairs_of_an_argument_are_written() -> None:
    def f(x: ts.Tensor) -> ts.Tensor:
        z = ts.view_as_complex(x)
        z *= 1j
        return z.abs()

    x = np.arange(6, dtype="f4").reshape(3, 2)
    want = (x[:, 0] + 1j * x[:, 1]) * 1j
    agree(compiled(f)(x), abs(want).astype("f4"))
    agree(x, np.stack([want.real, want.imag], -1).astype("f4"))


def test_an_argument_comes_back_itself() -> None:
    def f(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
        return x, ts.view_as_real(x)

    x = ts.from_numpy(numbers(3))
    same, pairs = compiled(f)(x)
    assert same is x
    assert pairs.shape == (3, 2)


def test_branches_and_loops_carry_both_parts() -> None:
    def f(x: ts.Tensor, n: int) -> ts.Tensor:
        z = x
        if bool(x.real.sum() > 0):
            z = z * 1j
        for _ in range(n):
            z = z * z / (z.abs() + 1) + x
        return z

    run = compiled(f)
    for sign in (1, -1):
        x = numbers(7) + np.complex64(3 * sign)
        z = x * 1j if x.real.sum() > 0 else x
        for _ in range(9):
            z = z * z / (abs(z) + 1) + x
        agree(run(x, 9), z.astype("c8"))


def test_elements_are_read_and_written() -> None:
    def f(x: ts.Tensor, at: ts.Tensor) -> ts.Tensor:
        y = x.clone()
        y[at] = 3 - 4j
        y[1:3, 0] = x[0, :2]
        return ts.cat([y, y.flip(0)], 1).t()

    x, at = numbers(4, 3), np.array([3])
    y = x.copy()
    y[at] = 3 - 4j
    y[1:3, 0] = x[0, :2]
    agree(compiled(f)(x, at), np.concatenate([y, y[::-1]], 1).T)


class Rotation(ts.nn.Module):
    """A complex weight, and complex state that changes."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = ts.from_numpy(numbers(4))
        self.register_buffer("total", ts.zeros(4, dtype=ts.complex64))

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        self.total += x
        return self.total * self.weight


def test_weights_and_state() -> None:
    module = Rotation()
    run = ts.compile(module, fallback="error")
    x, weight = numbers(4, seed=3), numbers(4)
    agree(run(x), x * weight)
    agree(run(x), 2 * x * weight)
    agree(np.asarray(module.total), 2 * x)


def test_named_sizes() -> None:
    def f(x: ts.Tensor) -> ts.Tensor:
        return (x * x).sum(0)

    run = ts.compile(f, (ts.TensorSpec(("N", 3), ts.complex64),), fallback="error")
    for n in (2, 9):
        agree(run(numbers(n, 3)), (numbers(n, 3) ** 2).sum(0).astype("c8"))
    assert len(run.stats.native) == 1


def test_exported_signature_says_complex(tmp_path: Path) -> None:
    def f(x: ts.Tensor) -> ts.Tensor:
        return x.exp()

    run = ts.compile(f, (ts.TensorSpec((2, 3), ts.complex64),), fallback="error")
    run.export_object(tmp_path / "f.o", header=tmp_path / "f.h")
    header = (tmp_path / "f.h").read_text()
    assert "x: 2x3 complex64" in header
    assert "int f_raw(const float *x, float *out0);" in header


def test_what_has_no_complex_form_says_so() -> None:
    def f(x: ts.Tensor) -> ts.Tensor:
        return ts.erf(x)

    with pytest.raises(ts.TensorScriptError):
        compiled(f)(numbers(3))


def test_results_of_found_sizes() -> None:
    def f(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
        right = x[x.real > 0]
        return right, right * 1j

    run = compiled(f)
    x = numbers(4, 5)
    for given in (x, x.T, -abs(x).astype("c8")):
        want = given[given.real > 0]
        for got, expected in zip(run(given), (want, want * 1j), strict=True):
            agree(got, expected.astype("c8"))


def test_a_convolution_is_of_parts() -> None:
    def f(x: ts.Tensor, w: ts.Tensor, bias: ts.Tensor) -> ts.Tensor:
        return ts.nn.functional.conv1d(x, w, bias, padding=1)

    x, w, bias = numbers(2, 3, 7), numbers(4, 3, 3, seed=1), numbers(4, seed=2)
    wide = np.pad(x, ((0, 0), (0, 0), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, 3, axis=-1)
    want = np.einsum("bclk,ock->bol", windows, w) + bias[:, None]
    agree(compiled(f)(x, w, bias), want)


def test_logarithms_near_one_keep_small_parts() -> None:
    def f(x: ts.Tensor) -> ts.Tensor:
        return x.log1p()

    x = np.array([1e-19, 1e-10 + 1e-10j, -1e-19 + 1e-9j, -2, -1 + 1e-20j, 3 - 4j, 1e200 + 1e200j])
    want = np.array([
        1e-19, 1e-10 + (1e-10 - 1e-20) * 1j, 4e-19 + 1e-9j, np.pi * 1j,
        -20 * np.log(10) + np.pi / 2 * 1j, np.log(4 - 4j), np.log(1 + 1e200 + 1e200j),
    ])  # fmt: skip
    for run in (f, compiled(f)):
        got = np.asarray(run(ts.from_numpy(x)))
        np.testing.assert_allclose(got.real, want.real, rtol=1e-13)
        np.testing.assert_allclose(got.imag, want.imag, rtol=1e-13)


def test_a_sum_is_of_a_product_whose_infinities_make_nan() -> None:
    def difference(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
        return x - y

    x, y = ts.tensor([1 + 2j, 3 - 1j]), ts.tensor([complex(np.inf, 0), 1j])
    for run in (difference, ts.compile(difference)):
        found = run(x, y).numpy()
        assert np.isneginf(found[0].real) and np.isnan(found[0].imag) and found[1] == 3 - 2j
    assert np.isnan((x + np.nan).numpy().imag).all()
