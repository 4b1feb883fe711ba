"""Eigenvalues and eigenvectors of general matrices in machine code."""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import TensorScriptError
from tensorscript.compiler.export import export_library


def eigen(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor, ts.Tensor]:
    values, vectors = ts.linalg.eig(x)
    return values, vectors, ts.linalg.eigvals(x)


RUN = ts.compile(eigen, fallback="error")


def numbers(shape: Sequence[int], dtype: str) -> np.ndarray:
    random = np.random.default_rng(list(shape))
    real = random.standard_normal(shape)
    imag = 1j * random.standard_normal(shape) if np.dtype(dtype).kind == "c" else 0
    return (real + imag).astype(dtype)


def checked(x: np.ndarray | ts.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """What the compiled function answers: vectors of length 1 that A maps to multiples, and what
    is special about real matrices."""
    values, vectors, alone = (np.asarray(t) for t in RUN(x))
    a = np.asarray(x)
    assert values.dtype == vectors.dtype == np.result_type(a.dtype, np.complex64)
    np.testing.assert_array_equal(values, alone)
    step = np.finfo(a.dtype).eps
    scale = np.abs(a).max(initial=0) * max(a.shape[-1], 1)
    gap = np.abs(a @ vectors - vectors * values[..., None, :])
    assert gap.max(initial=0) <= 20 * step * scale
    lengths = np.linalg.norm(vectors, axis=-2)
    np.testing.assert_allclose(lengths, np.ones_like(lengths), rtol=10 * step)
    if a.dtype.kind == "f":
        np.testing.assert_array_equal(vectors.imag[values.imag[..., None, :] + 0 * vectors == 0], 0)
        for k, row in np.ndenumerate(values.imag):
            if row > 0:
                *lead, at = k
                assert values[(*lead, at + 1)] == values[k].conj()
                pair = vectors[(*lead, slice(None), slice(at, at + 2))]
                np.testing.assert_array_equal(pair[:, 1], pair[:, 0].conj())
        assert np.sum(values.imag > 0) == np.sum(values.imag < 0)
    return values, vectors


def same_sets(found: np.ndarray, expected: np.ndarray, atol: float) -> None:
    """Whether one order of `expected` is near `found`."""
    for mine, others in zip(np.atleast_2d(found), np.atleast_2d(expected), strict=True):
        rest = list(others)
        for value in mine:
            near = min(range(len(rest)), key=lambda k: abs(rest[k] - value))
            assert abs(rest.pop(near) - value) <= atol


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (5, 5), (3, 8, 8), (24, 24)])
def test_eigenvalues(shape: tuple[int, ...], dtype: str) -> None:
    x = numbers(shape, dtype)
    values, _ = checked(x)
    same_sets(values, np.linalg.eigvals(x), 2000 * float(np.finfo(x.dtype).eps))


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3, 3), (0, 0, 0)])
def test_no_matrices_and_matrices_without_rows(shape: tuple[int, ...]) -> None:
    for dtype in ("float32", "complex128"):
        values, vectors = checked(numbers(shape, dtype))
        assert (values.shape, vectors.shape) == (shape[:-1], shape)


def _companion(roots: Sequence[complex]) -> np.ndarray:
    found = np.eye(len(roots), k=-1, dtype=np.poly(roots).dtype)
    found[0] = -np.poly(roots)[1:]
    return found


_BLOCKS = np.kron(np.eye(2), [[0.0, 2.0], [-2.0, 0.0]])
_ROOTS = [1j, -1j, 2 + 1j, 2 - 1j, 3]
_EVEN = np.ones((3, 3)) + np.diag([0, 1, 2])
_STEPS = 2.0 ** np.array([40, 0, -40])


SPECIAL: dict[str, tuple[np.ndarray, Sequence[complex] | np.ndarray]] = {
    "zeros": (np.zeros((4, 4)), [0] * 4),
    "identity": (np.eye(5), [1] * 5),
    "diagonal": (np.diag([3.0, -1.0, 2.0]), [3, -1, 2]),
    "imaginary": (np.eye(3) * 1j, [1j] * 3),
    "upper": (np.triu(numbers((6, 6), "f8")), np.diag(numbers((6, 6), "f8"))),
    "lower": (np.tril(numbers((6, 6), "f8")), np.diag(numbers((6, 6), "f8"))),
    "lower, complex": (np.tril(numbers((4, 4), "c16")), np.diag(numbers((4, 4), "c16"))),
    "defective": (np.triu(np.ones((4, 4))), [1] * 4),
    "defective below": (np.tril(np.ones((4, 4))), [1] * 4),
    "nilpotent": (np.eye(40, k=1), [0] * 40),
    "turned by a third": (np.eye(3)[[1, 2, 0]], np.roots([1, 0, 0, -1])),
    "turned by a quarter": (np.eye(4)[[1, 2, 3, 0]], [1, -1, 1j, -1j]),
    "turned, complex": (np.eye(4)[[1, 2, 3, 0]] + 0j, [1, -1, 1j, -1j]),
    "of rank 1": (np.ones((5, 5)), [5, 0, 0, 0, 0]),
    "blocks with pairs": (_BLOCKS, [2j, 2j, -2j, -2j]),
    "companion": (_companion([1, 2, 3, 4]), [1, 2, 3, 4]),
    "companion with pairs": (_companion(_ROOTS), _ROOTS),
    "company of one": (np.array([[1.0, 2, 0], [2, 1, 0], [5, 6, 7]]), [3, -1, 7]),
    "of unlike rows": (_EVEN * (_STEPS[:, None] / _STEPS), np.linalg.eigvalsh(_EVEN).tolist()),
}  # fmt: skip


@pytest.mark.parametrize("name", SPECIAL)
def test_special_matrices(name: str) -> None:
    matrix, expected = SPECIAL[name]
    values, _ = checked(matrix)
    same_sets(values, np.asarray(expected), 1e-9)


def test_orthogonal_matrices_have_eigenvalues_on_the_unit_circle() -> None:
    q, _ = np.linalg.qr(numbers((4, 9, 9), "f8"))
    values, _ = checked(q)
    np.testing.assert_allclose(np.abs(values), np.ones((4, 9)), rtol=1e-13)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_numbers_whose_squares_are_none(scale: float, dtype: str) -> None:
    x = numbers((5, 5), dtype)
    values, _ = checked(x * scale)
    same_sets(values / scale, np.linalg.eigvals(x), 1e-12)


def test_many_small_matrices_of_whole_numbers() -> None:
    """Of 0, 1 and 2: many that are singular, defective, reducible, or have equal eigenvalues."""
    x = np.random.default_rng(0).integers(0, 3, (400, 4, 4)).astype(float)
    values, _ = checked(x)
    np.testing.assert_allclose(values.sum(-1), np.trace(x, axis1=1, axis2=2), atol=1e-12)
    np.testing.assert_allclose(values.prod(-1), np.linalg.det(x), atol=1e-6)


def test_views() -> None:
    x = ts.tensor(numbers((3, 6, 6), "f8"))
    for view in (x.mT, x[1, ::2, ::2], x[:1].expand(3, 6, 6), x[..., :4, 1:5]):
        values, _ = checked(view)
        same_sets(values, np.linalg.eigvals(view.numpy()), 1e-12)


def test_named_sizes() -> None:
    spec = ts.TensorSpec(("B", "N", "N"), ts.float64)
    run = ts.compile(eigen, (spec,), fallback="error")
    for shape in ((2, 4, 4), (1, 1, 1), (3, 7, 7), (2, 0, 0), (0, 2, 2)):
        x = numbers(shape, "f8")
        values, vectors, alone = run(x)
        np.testing.assert_array_equal(values, alone)
        np.testing.assert_allclose(x @ vectors, vectors * values[..., None, :], atol=1e-12)


def test_written_results() -> None:
    def into(x: ts.Tensor, values: ts.Tensor) -> ts.Tensor:
        return ts.linalg.eigvals(x, out=values)

    x, values = numbers((4, 4), "f8"), ts.zeros(4, dtype=ts.complex128)
    ts.compile(into, fallback="error")(ts.tensor(x), values)
    np.testing.assert_array_equal(values.numpy(), checked(x)[0])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite(bad: float) -> None:
    def values(x: ts.Tensor) -> ts.Tensor:
        return ts.linalg.eigvals(x)

    x = numbers((2, 3, 3), "f8")
    x[1, 2, 0] = bad
    for run in (values, ts.compile(values, fallback="error"), RUN):
        with pytest.raises(TensorScriptError, match="should not contain infs or NaNs"):
            run(ts.tensor(x))


def test_other_operands() -> None:
    for x, message in (
        (ts.ones(2, 3), "must be batches of square matrices, but they are 2 by 3 matrices"),
        (ts.ones(3), "must have at least 2 dimensions"),
        (ts.ones(2, 2, dtype=ts.int64), "Unknown Complex ScalarType for Long"),
    ):
        with pytest.raises(TensorScriptError, match=message):
            RUN(x)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_in_a_library_of_its_own(tmp_path: Path) -> None:
    """A C function with pointers, without Python."""
    run = ts.compile(eigen, (ts.TensorSpec((3, 3), ts.float64),), fallback="error")
    export_library(run, tmp_path / "eigen.so")
    x = np.array([[0.0, 1, 0], [-1, 0, 0], [0, 0, 5]])
    values, vectors, alone = np.empty(3, "c16"), np.empty((3, 3), "c16"), np.empty(3, "c16")
    places = [ctypes.c_void_p(a.ctypes.data) for a in (x, values, vectors, alone)]
    assert ctypes.CDLL(str(tmp_path / "eigen.so")).eigen_raw(*places) == 0
    np.testing.assert_allclose(sorted(values, key=lambda v: v.imag), [-1j, 5, 1j])
    np.testing.assert_allclose(x @ vectors, vectors * values, atol=1e-15)
    np.testing.assert_array_equal(values, alone)
