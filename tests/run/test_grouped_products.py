"""Products of groups: PyTorch's results for each pair of ranks, and its refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import OperatorError
from tensorscript.nn.functional import grouped_mm

RANDOM = np.random.default_rng(0)
A, B = (RANDOM.standard_normal(s).astype(np.float32) for s in ((16, 8), (3, 8, 8)))
ENDS = np.array([5, 5, 16], np.int32)


def tensors(*arrays: np.ndarray) -> list[Any]:
    return [ts.from_numpy(a) for a in arrays]


def test_rows() -> None:
    a, b, offs = tensors(A, B, ENDS)
    wanted = np.concatenate([A[:5] @ B[0], A[5:] @ B[2]])
    np.testing.assert_allclose(grouped_mm(a, b, offs=offs).numpy(), wanted, rtol=1e-5)
    half = grouped_mm(a.bfloat16(), b.bfloat16(), offs=offs)
    assert half.dtype is ts.bfloat16
    np.testing.assert_allclose(half.float().numpy(), wanted, atol=0.1)


def test_columns_parts_and_batches() -> None:
    a, b, offs = tensors(A.reshape(2, 8, 8), A[:8], np.array([2, 8], np.int32))
    columns = grouped_mm(a, b, offs=offs).numpy()
    wide = A.reshape(2, 8, 8)
    np.testing.assert_allclose(columns[:, :2], wide[0] @ A[:8, :2], rtol=1e-5)
    np.testing.assert_allclose(columns[:, 2:], wide[1] @ A[:8, 2:], rtol=1e-5)
    parts = grouped_mm(b, b, offs=offs).numpy()
    np.testing.assert_allclose(parts[1], A[:8, 2:] @ A[2:8], rtol=1e-5)
    np.testing.assert_allclose(grouped_mm(a, a).numpy(), wide @ wide, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((A, B, None), "Have to provide offsets"),
        ((A[:, :4].copy(), B, ENDS), "contraction dimension"),
        ((A, B, ENDS.astype(np.int64)), "Offsets have to be int32"),
        ((A, B, ENDS[:2]), "matrix batch sizes have to match"),
        ((A[:, :6].copy(), B[:, :6].copy(), ENDS), "multiple of 16 bytes"),
        ((A.astype(np.float64), B.astype(np.float64), ENDS), "got Double"),
    ],
)
def test_refusals(arguments: tuple[Any, ...], message: str) -> None:
    a, b, offs = (None if v is None else ts.from_numpy(v) for v in arguments)
    with pytest.raises(OperatorError, match=message):
        ts._grouped_mm(a, b, offs)
