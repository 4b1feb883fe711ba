"""Products that a program rounds are rounded natively, too, before something is taken off them."""

import numpy as np
import pytest

import tensorscript as ts

LOWEST = float(np.finfo(np.float32).min)


def masked(x: ts.Tensor, mask: ts.Tensor, dim: int) -> ts.Tensor:
    return ts.softmax(x.masked_fill(mask, -3.4028234663852886e38) * 0.1443, dim)


def logs(x: ts.Tensor, mask: ts.Tensor, dim: int) -> ts.Tensor:
    return ts.log_softmax(x.masked_fill(mask, -3.4028234663852886e38) * 0.1443, dim)


def sums(x: ts.Tensor, mask: ts.Tensor, dim: int) -> ts.Tensor:
    return ts.logsumexp(x.masked_fill(mask, -3.4028234663852886e38) * 0.1443, dim)


@pytest.mark.parametrize("fn", [masked, logs, sums])
@pytest.mark.parametrize("shape", [(10, 10), (64, 100), (8, 512), (512, 8), (4, 3000)])
def test_rows_that_are_masked_as_a_whole(fn: object, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal(shape).astype(np.float32)
    mask = rng.random(shape) < 0.3
    mask[2], mask[:, 3] = True, True
    compiled = ts.compile(fn, fallback="error", cache=False)
    for dim in (0, 1):
        expected = fn(ts.from_numpy(x), ts.from_numpy(mask), dim).numpy()  # type: ignore[operator]
        assert np.isfinite(expected).all()
        np.testing.assert_allclose(compiled(x, mask, dim), expected, rtol=2e-6, atol=1e-7)


def differences(
    x: ts.Tensor, y: ts.Tensor, row: ts.Tensor
) -> tuple[ts.Tensor, ts.Tensor, ts.Tensor]:
    scaled = x * row
    top = scaled - scaled.amax(-1, keepdim=True)
    return x * x - y * y, ts.sqrt(x * y * 4 - (x + y) * (x + y)), top.amax(-1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [5, 64, 1000])
def test_differences_of_equal_products_are_zero(dtype: type, columns: int) -> None:
    rng = np.random.default_rng(4)
    x: np.ndarray = rng.standard_normal((7, columns)).astype(dtype)
    row: np.ndarray = rng.random(columns).astype(dtype)
    compiled = ts.compile(differences, fallback="error", cache=False)
    for result in compiled(x, x.copy(), row):
        np.testing.assert_array_equal(result, np.zeros_like(result))


Six = tuple[ts.Tensor, ts.Tensor, ts.Tensor, ts.Tensor, ts.Tensor, ts.Tensor]


def spreads(x: ts.Tensor) -> Six:
    deviation, mean = ts.std_mean(x, -1, keepdim=True)
    return x.var(-1), x.var(0), x.var(), x.std(0, keepdim=True), deviation, mean


@pytest.mark.parametrize("shape", [(70, 90), (3, 40), (2000, 5), (6, 5000)])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_variances_far_from_zero(shape: tuple[int, int], offset: float) -> None:
    """float32 as precisely as in float64, also where the mean has no room for the differences."""
    rng = np.random.default_rng(5)
    x = (rng.standard_normal(shape) + offset).astype(np.float32)
    exact = x.astype(np.float64)
    expected = [
        exact.var(-1, ddof=1), exact.var(0, ddof=1), exact.var(ddof=1),
        exact.std(0, ddof=1, keepdims=True), exact.std(-1, ddof=1, keepdims=True),
        exact.mean(-1, keepdims=True),
    ]  # fmt: skip
    compiled = ts.compile(spreads, fallback="error", cache=False)
    for results in (compiled(x), [r.numpy() for r in spreads(ts.from_numpy(x))]):
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, wanted, rtol=4e-7, atol=1e-7)
