"""Decompositions of matrices in machine code: what they multiply to, and how they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import TensorScriptError


def numbers(*shape: int, seed: int = 0, is_complex: bool = False) -> np.ndarray:
    random = np.random.default_rng([seed, *shape])
    real = random.standard_normal(shape)
    return real + 1j * random.standard_normal(shape) if is_complex else real


def adjoint(x: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(x, -1, -2))


def orthonormal(x: np.ndarray) -> None:
    gram = adjoint(x) @ x
    np.testing.assert_allclose(
        gram, np.broadcast_to(np.eye(gram.shape[-1]), gram.shape), atol=1e-12
    )


def eigen(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    return ts.linalg.eigh(x)


def singular(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor, ts.Tensor]:
    return ts.linalg.svd(x)


def reduced(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor, ts.Tensor]:
    return ts.linalg.svd(x, full_matrices=False)


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("shape", [(5, 5), (3, 8, 8), (1, 1)])
def test_eigenvectors(shape: tuple[int, ...], is_complex: bool) -> None:
    x = numbers(*shape, is_complex=is_complex)
    x = x + adjoint(x)
    values, vectors = ts.compile(eigen, fallback="error")(x)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(x), atol=1e-12)
    np.testing.assert_allclose(vectors * values[..., None, :] @ adjoint(vectors), x, atol=1e-12)
    orthonormal(vectors)


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("shape", [(6, 4), (2, 3, 7), (5, 5)])
@pytest.mark.parametrize("rank", [None, 2])
def test_singular_vectors(shape: tuple[int, ...], rank: int | None, is_complex: bool) -> None:
    x = numbers(*shape, is_complex=is_complex)
    if rank is not None:
        x[..., rank:] = x[..., :1]
    m, n = shape[-2:]
    k = min(m, n)
    for fn in (singular, reduced):
        left, values, right = ts.compile(fn, fallback="error")(x)
        np.testing.assert_allclose(values, np.linalg.svd(x, compute_uv=False), atol=1e-12)
        product = left[..., :k] * values[..., None, :] @ right[..., :k, :]
        np.testing.assert_allclose(product, x, atol=1e-12)
        orthonormal(left)


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("shape", [(6, 6), (3, 7, 7), (1, 1), (2, 0, 0)])
def test_indefinite_systems(shape: tuple[int, ...], is_complex: bool, hermitian: bool) -> None:
    """Small diagonals ask for pivots of order 2."""
    x = numbers(*shape, is_complex=is_complex)
    x = x + (adjoint(x) if hermitian else np.swapaxes(x, -1, -2))
    n = shape[-1]
    x[..., range(n), range(n)] *= 0.1
    y = numbers(*shape[:-1], 2, seed=1, is_complex=is_complex)

    def solution(x: ts.Tensor, y: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
        factors, pivots = ts.linalg.ldl_factor(x, hermitian=hermitian)
        return ts.linalg.ldl_solve(factors, pivots, y, hermitian=hermitian), pivots

    found, pivots = ts.compile(ts.jit.trace(solution, (x, y)), fallback="error")(x, y)
    np.testing.assert_allclose(found, np.linalg.solve(x, y), rtol=1e-10)
    expected, same = solution(ts.tensor(x), ts.tensor(y))
    np.testing.assert_array_equal(pivots, same.numpy())
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-10)


def test_an_indefinite_matrix_without_inverse() -> None:
    def factored(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor, ts.Tensor]:
        return ts.linalg.ldl_factor_ex(x)

    def refusing(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
        return ts.linalg.ldl_factor(x)

    x = np.diag([2.0, 0.0, 3.0])
    for run in (lambda x: factored(ts.tensor(x)), ts.compile(factored, fallback="error")):
        assert [int(t) for t in run(x)[2:]] == [2]
    for stop in (lambda x: refusing(ts.tensor(x)), ts.compile(refusing, fallback="error")):
        with pytest.raises(TensorScriptError, match=r"ldl_factor_ex: Unknown error code: 2"):
            stop(x)


def test_singular_matrices_are_refused_by_place() -> None:
    def inverse(x: ts.Tensor) -> ts.Tensor:
        return ts.linalg.inv(x)

    def solution(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
        return ts.linalg.solve(x, y)

    def factor(x: ts.Tensor) -> ts.Tensor:
        return ts.linalg.cholesky(x)

    run = ts.compile(inverse, fallback="error")
    assert run(np.eye(2)).tolist() == [[1, 0], [0, 1]]
    with pytest.raises(TensorScriptError, match=r"linalg\.inv: The diagonal element 2 is zero"):
        run(np.ones((2, 2)))
    with pytest.raises(TensorScriptError, match=r"\(Batch element 1\): The diagonal element 1 is"):
        run(np.stack([np.eye(2), np.zeros((2, 2))]))
    with pytest.raises(TensorScriptError, match="the input matrix is singular"):
        run(np.zeros((9, 9, 9)))
    with pytest.raises(TensorScriptError, match=r"torch\.linalg\.solve: The solver failed"):
        ts.compile(solution, fallback="error")(np.ones((2, 2)), np.ones(2))
    with pytest.raises(TensorScriptError, match="the leading minor of order 2 is not positive"):
        ts.compile(factor, fallback="error")(np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_named_sizes() -> None:
    def f(x: ts.Tensor, y: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor, ts.Tensor]:
        return ts.linalg.solve(x, y), ts.linalg.cholesky(x), ts.linalg.det(x)

    specs = (ts.TensorSpec(("N", "N"), ts.float64), ts.TensorSpec(("N", 2), ts.float64))
    run = ts.compile(f, specs, fallback="error")
    for n in (2, 7):
        x, y = numbers(n, n), numbers(n, 2)
        whole = x @ x.T + np.eye(n)
        found = run(whole, y)
        wanted = np.linalg.solve(whole, y), np.linalg.cholesky(whole), np.linalg.det(whole)
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-10)
    assert len(run.stats.native) == 1


@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 3), (1, 1)])
@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("left", [True, False])
def test_factored_systems(shape: tuple[int, ...], left: bool, adjoint: bool) -> None:
    """The solution of a system whose matrix has been factored, and the factors themselves."""

    def solved(x: ts.Tensor, y: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
        lu, pivots = ts.linalg.lu_factor(x)
        p, lower, upper = ts.lu_unpack(lu, pivots)
        found = ts.linalg.lu_solve(lu, pivots, y, left=left, adjoint=adjoint)
        return found, p @ lower @ upper

    n = shape[-1]
    x, y = numbers(*shape), numbers(*shape[:-2], *((n, 2) if left else (2, n)), seed=1)
    traced = ts.jit.trace(solved, (x, y))
    found, product = ts.compile(traced, fallback="error")(x, y)
    a = np.swapaxes(x, -1, -2) if adjoint else x
    np.testing.assert_allclose(a @ found if left else found @ a, y, atol=1e-11)
    np.testing.assert_allclose(product, x, atol=1e-12)


def test_factors_of_named_sizes() -> None:
    """L and U meet in the smaller of two sizes, whichever that is."""

    def unpacked(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor, ts.Tensor]:
        p, lower, upper = ts.linalg.lu(x)
        return p, lower, upper

    run = ts.compile(unpacked, (ts.TensorSpec(("M", "N"), ts.float64),), fallback="error")
    for shape in ((6, 5), (3, 4), (4, 4)):
        x = numbers(*shape)
        p, lower, upper = run(x)
        assert lower.shape == (shape[0], min(shape)) and upper.shape == (min(shape), shape[1])
        np.testing.assert_allclose(p @ lower @ upper, x, atol=1e-12)
    assert len(run.stats.native) == 1


def exponential(x: ts.Tensor) -> ts.Tensor:
    return ts.matrix_exp(x)


def without_finite(value: float) -> np.ndarray:
    """The identity, and a symmetric matrix with two elements of that value."""
    x = np.stack([np.eye(3), np.ones((3, 3))])
    x[1, 0, 1] = x[1, 1, 0] = value
    return x


@pytest.mark.parametrize("fn", [eigen, singular, reduced])
def test_decompositions_of_nan_are_refused(fn: Callable[..., Any]) -> None:
    x = without_finite(np.nan)
    for run in (ts.compile(fn, fallback="error"), lambda x: fn(ts.from_numpy(x))):
        run(without_finite(3.0))
        with pytest.raises(TensorScriptError, match=r"\(Batch element 1\): The algorithm failed"):
            run(x)
        with pytest.raises(TensorScriptError, match=r"linalg\.\w+: The algorithm failed"):
            run(x[1])


@pytest.mark.parametrize("fn", [eigen, singular, exponential])
def test_infinities_are_unknown_and_leave_others_alone(fn: Callable[..., Any]) -> None:
    """LAPACK's iterations may never end with them."""
    x = without_finite(np.inf)
    found = ts.compile(fn, fallback="error")(x), fn(ts.from_numpy(x))
    for parts in found:
        part = np.asarray(parts[0] if fn is eigen else parts[1] if fn is singular else parts)
        assert np.isfinite(part[0]).all() and np.isnan(part[1]).any()
