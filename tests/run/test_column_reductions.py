"""Do reductions across memory compute the same, whatever the columns and rows?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tensorscript as ts

SHAPES = [(4099, 3), (1000, 7), (300, 100), (2600, 200), (40, 3), (3, 5), (100, 1000), (40, 5000)]
"""Rows folded into one, parts with rows left over, stretches, registers."""


def total(x: ts.Tensor) -> ts.Tensor:
    return x.sum(0)


def greatest(x: ts.Tensor) -> ts.Tensor:
    return x.amax(0)


def deviation(x: ts.Tensor) -> ts.Tensor:
    return x.std(0)


def some(x: ts.Tensor) -> ts.Tensor:
    return (x > 2).any(0)


def logarithm(x: ts.Tensor) -> ts.Tensor:
    return x.logsumexp(0)


def inner_deviation(x: ts.Tensor) -> ts.Tensor:
    return x.std(1)


PROGRAMS: dict[Callable[..., ts.Tensor], Callable[[np.ndarray], np.ndarray]] = {
    total: lambda x: x.sum(0),
    greatest: lambda x: x.max(0),
    deviation: lambda x: x.std(0, ddof=1),
    some: lambda x: np.asarray((x > 2).any(0)),
    logarithm: lambda x: np.log(np.exp(x).sum(0)),
}


def _numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype("f4")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_columns(program: Callable[..., ts.Tensor], shape: tuple[int, int]) -> None:
    x = _numbers(*shape)
    found = np.asarray(ts.compile(program, (x,), fallback="error")(x))
    expected = PROGRAMS[program](x.astype("f8"))
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-7 * shape[0])


@pytest.mark.parametrize("shape", [(3, 64, 5), (2, 100, 300), (2, 700, 3)], ids=str)
def test_columns_of_images(shape: tuple[int, ...]) -> None:
    x = _numbers(*shape)
    found = np.asarray(ts.compile(inner_deviation, (x,), fallback="error")(x))
    np.testing.assert_allclose(found, x.astype("f8").std(1, ddof=1), rtol=1e-6)


def test_columns_by_threads() -> None:
    x = _numbers(30011, 40)
    before = ts.get_num_threads()
    compiled = ts.compile(total, (x,), fallback="error")
    results = []
    try:
        for threads in (1, 2):
            ts.set_num_threads(threads)
            results.append(np.asarray(compiled(x)).copy())
    finally:
        ts.set_num_threads(before)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_allclose(results[0], x.astype("f8").sum(0), atol=2e-4)


@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 17, 3), (5, 3, 16), (4, 40, 33)])
def test_reductions_of_reductions(shape: tuple[int, ...]) -> None:
    def program(x):  # type: ignore[no-untyped-def]
        return x.sum(2).amax(1), x.amax(1).sum(1), (x > 0).any(2).amin(1)

    x = _numbers(*shape)
    total, most, every = ts.compile(program, cache=False, fallback="error")(x)
    np.testing.assert_allclose(total, x.sum(2).max(1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(most, x.max(1).sum(1), rtol=1e-4, atol=1e-5)
    assert every.tolist() == (x > 0).any(2).min(1).tolist()


@pytest.mark.parametrize("shape", [(1, 16, 16), (2, 16, 5), (1, 64, 48)], ids=str)
def test_a_loop_that_cannot_be_cut_into_columns(shape: tuple[int, ...]) -> None:
    def program(x):  # type: ignore[no-untyped-def]
        return ts.log_softmax(x, 1).max(1, keepdim=True)[0]

    x = _numbers(*shape)
    found = np.asarray(ts.compile(program, (x,), fallback="error")(x))
    shifted = x.astype("f8") - x.max(1, keepdims=True)
    expected = (shifted - np.log(np.exp(shifted).sum(1, keepdims=True))).max(1, keepdims=True)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


# --- means and squares of columns, which read each group of rows once -----------------------------

MOMENTS = [(128, 768), (40, 1024), (131, 40), (257, 128), (31, 64), (3, 40), (1, 40), (0, 40)]
"""Groups of 16 rows, of 8, rows left over, fewer rows than two groups, one row, none."""


def both(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    return ts.var_mean(x, 0)


def both_of_all(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    return ts.var_mean(x, 0, correction=0)


def kept_deviation(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    return ts.std_mean(x, 0, keepdim=True)


BOTH: dict[Callable[..., tuple[ts.Tensor, ts.Tensor]], Callable[[np.ndarray], np.ndarray]] = {
    both: lambda x: x.var(0, ddof=1),
    both_of_all: lambda x: x.var(0),
    kept_deviation: lambda x: x.std(0, ddof=1, keepdims=True),
}


def _moments(
    program: Callable[..., tuple[ts.Tensor, ts.Tensor]], x: np.ndarray
) -> list[np.ndarray]:
    return [np.asarray(a) for a in ts.compile(program, (x,), fallback="error")(x)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", MOMENTS, ids=str)
@pytest.mark.parametrize("program", BOTH, ids=lambda p: p.__name__)
def test_moments(
    program: Callable[..., tuple[ts.Tensor, ts.Tensor]], shape: tuple[int, int], dtype: str
) -> None:
    x = np.random.default_rng(1).standard_normal(shape).astype(dtype)
    spread, mean = _moments(program, x)
    exact = BOTH[program](x.astype("f8"))
    assert spread.dtype == mean.dtype == x.dtype
    assert spread.shape == mean.shape == exact.shape
    near = {"f4": 1e-6, "f8": 1e-13}[dtype]
    np.testing.assert_allclose(spread, exact, rtol=near)
    np.testing.assert_allclose(mean, x.astype("f8").mean(0).reshape(mean.shape), atol=near)


@pytest.mark.parametrize("shape", [(128, 768), (131, 40), (257, 1024)], ids=str)
@pytest.mark.parametrize("program", BOTH, ids=lambda p: p.__name__)
def test_moments_far_from_zero(
    program: Callable[..., tuple[ts.Tensor, ts.Tensor]], shape: tuple[int, int]
) -> None:
    x = _numbers(*shape) + np.float32(1e4)
    spread, mean = _moments(program, x)
    np.testing.assert_allclose(spread, BOTH[program](x.astype("f8")), rtol=2e-6)
    np.testing.assert_allclose(mean, x.astype("f8").mean(0).reshape(mean.shape), rtol=2e-7)


@pytest.mark.parametrize("shape", [(128, 768), (131, 40)], ids=str)
def test_moments_of_columns_that_are_not_finite(shape: tuple[int, int]) -> None:
    x = _numbers(*shape)
    x[0, 1], x[70, 3], x[-1, 5], x[2, 7] = np.nan, np.inf, -np.inf, np.inf
    x[-1, 7] = -np.inf
    spread, mean = _moments(both, x)
    assert np.flatnonzero(np.isnan(spread)).tolist() == [1, 3, 5, 7]
    assert np.flatnonzero(np.isnan(mean)).tolist() == [1, 7]
    assert mean[3] == np.inf
    assert mean[5] == -np.inf
    rest = np.isfinite(spread)
    np.testing.assert_allclose(spread[rest], x[:, rest].astype("f8").var(0, ddof=1), rtol=1e-6)


@pytest.mark.torch
@pytest.mark.parametrize("shape", MOMENTS, ids=str)
@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
def test_moments_as_pytorch(shape: tuple[int, int]) -> None:
    torch = pytest.importorskip("torch")
    x = _numbers(*shape) + np.float32(1e4)
    x[-1:, 3], x[:1, 4] = np.nan, np.inf
    peers = {
        both: torch.var_mean(torch.tensor(x), 0),
        both_of_all: torch.var_mean(torch.tensor(x), 0, correction=0),
        kept_deviation: torch.std_mean(torch.tensor(x), 0, keepdim=True),
    }
    for program, expected in peers.items():
        spread, mean = _moments(program, x)
        np.testing.assert_allclose(spread, expected[0].numpy(), rtol=2e-6, err_msg=program.__name__)
        # There an infinite column of several rows has NaN as its mean.
        wanted = expected[1].numpy()
        mean, wanted = (np.where(np.isinf(m), np.nan, m) for m in (mean, wanted))
        np.testing.assert_allclose(mean, wanted, rtol=2e-6, err_msg=program.__name__)
