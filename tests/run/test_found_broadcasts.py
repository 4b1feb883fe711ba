"""Tensors of sizes that the program finds are broadcast where one is 1, and refused where they
differ: the same as of known sizes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tensorscript as ts


def added(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return x + y


def shifted(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return x[:, :-1] * y[:, 1:]


def masked(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    hidden = y[: x.size(0), : x.size(1)] > 0
    return ts.softmax(x.masked_fill(hidden, -1e9), -1)


def lengths(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return (x - y).sum(-1)


SIZES = (
    (3, 1), (1, 3), (3, 3), (2, 70), (70, 2), (5, 100), (1, 1), (2, 1), (1, 70), (100, 100),
)  # fmt: skip
PROGRAMS = (added, shifted, masked, lengths)


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("f4")


@pytest.mark.parametrize("program", PROGRAMS)
def test_sizes_that_may_be_1(program: Callable[..., ts.Tensor]) -> None:
    specs = [ts.TensorSpec(("N", "M")), ts.TensorSpec(("K", "L"))]
    native = ts.compile(program, specs, fallback="error")
    for first in SIZES:
        for second in SIZES:
            x, y = draw(*first), draw(*second)
            try:
                wanted = program(ts.from_numpy(x), ts.from_numpy(y)).numpy()
            except RuntimeError as error:
                with pytest.raises(RuntimeError) as refused:
                    native(x, y)
                assert str(error).splitlines()[-1] in str(refused.value)
            else:
                np.testing.assert_allclose(native(x, y), wanted, 1e-4, 1e-5)


def squeezed(x: ts.Tensor) -> ts.Tensor:
    return (x + 1).squeeze(0) * 2


def covariances(x: ts.Tensor) -> ts.Tensor:
    return ts.cov(x) + 1


def written(x: ts.Tensor) -> ts.Tensor:
    y = ts.zeros(4, 3)
    y[:4] = x
    return y


def scaled(x: ts.Tensor) -> ts.Tensor:
    return ts.prelu(ts.ones(2, 4), x[:, 0]) + x.sum()


def expanded(x: ts.Tensor) -> ts.Tensor:
    return x.expand(4, 3) + 1


@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("program", [squeezed, covariances, written, scaled, expanded])
def test_a_named_size_may_be_1(program: Callable[..., ts.Tensor], cache: bool) -> None:
    """What is squeezed or broadcast then is other code."""
    options = ts.CompileOptions(fallback="error", cache=cache)
    native = ts.compile(program, (ts.TensorSpec(("N", 3)),), options=options)
    for rows in (4, 1, 4, 1, 4):
        x = draw(rows, 3)
        wanted = program(ts.from_numpy(x)).numpy()
        assert native(x).shape == wanted.shape
        np.testing.assert_allclose(native(x), wanted, 1e-5, 1e-5)
    assert native.stats.native == ["(Nx3:f32)", "(1x3:f32)"]


def test_batches_of_one_product() -> None:
    def product(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
        return x @ y

    specs = [ts.TensorSpec(("B", 2, 3)), ts.TensorSpec(("C", 3, 2))]
    native = ts.compile(product, specs, fallback="error")
    for first, second in ((3, 3), (1, 3), (3, 1), (3, 3)):
        x, y = draw(first, 2, 3), draw(second, 3, 2)
        np.testing.assert_allclose(native(x, y), x @ y, 1e-5, 1e-5)


def test_1_is_as_good_as_any_size_where_nothing_minds() -> None:
    def program(x: ts.Tensor) -> ts.Tensor:
        return ts.softmax(x, 1) + x.mean(0)

    native = ts.compile(program, (ts.TensorSpec(("N", 3)),), fallback="error")
    for rows in (1, 4, 1):
        x = draw(rows, 3)
        wanted = program(ts.from_numpy(x)).numpy()
        np.testing.assert_allclose(native(x), wanted, 1e-5, 1e-5)
    assert native.stats.native == ["(Nx3:f32)"]


def test_0_is_code_of_its_own() -> None:
    """Operators have rules of their own for what is empty."""

    def program(x: ts.Tensor) -> ts.Tensor:
        return (x * 2).amax(0)

    native = ts.compile(program, (ts.TensorSpec(("N", 3)),), fallback="error")
    assert native(draw(4, 3)).shape == (3,)
    for _ in range(2):
        with pytest.raises(IndexError, match="Expected reduction dim 0 to have non-zero size"):
            native(draw(0, 3))
    assert native(draw(4, 3)).shape == (3,)
