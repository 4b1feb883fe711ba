"""Whether two tensors are close, and if not, how far apart: in the words of `torch.testing`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensorscript.base.dtypes import DType, bfloat16, complex128, float16, float64
from tensorscript.eager.storage import TensorBase, value

_RELATIVE = {float16: 1e-3, bfloat16: 1.6e-2, float64: 1e-7, complex128: 1e-7}


def default_tolerances(*dtypes: DType) -> tuple[float, float]:
    """Relative and absolute tolerance for tensors of these dtypes, the widest of each."""
    pairs = [_tolerances(dtype) for dtype in dtypes]
    return max(r for r, _ in pairs), max(a for _, a in pairs)


def _tolerances(dtype: DType) -> tuple[float, float]:
    if not (dtype.is_floating_point or dtype.is_complex):
        return 0.0, 0.0
    return _RELATIVE.get(dtype, 1.3e-6), 1e-7 if dtype in (float64, complex128) else 1e-5


def difference(actual: TensorBase, expected: TensorBase, rtol: float, atol: float) -> str | None:
    """How two tensors differ, compared in double precision with NaN equal; None if they are close.

    Close is |actual - expected| <= atol + rtol * |expected|, as in `torch.testing.assert_close`.
    """
    if actual._array.shape != expected._array.shape:
        return (
            "The values for attribute 'shape' do not match: "
            f"torch.Size({list(actual._array.shape)}) != torch.Size({list(expected._array.shape)})."
        )
    wide = complex if actual.dtype.is_complex or expected.dtype.is_complex else float
    a, b = value(actual).astype(wide), value(expected).astype(wide)
    same = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
    if same.all():
        return None
    return _scalars(a, b, rtol, atol) if a.ndim == 0 else _tensors(a, b, same, rtol, atol)


def _relative(gap: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(all="ignore"):
        return np.asarray(gap / np.abs(b))


def _scalars(a: NDArray[np.float64], b: NDArray[np.float64], rtol: float, atol: float) -> str:
    gap = np.abs(a - b)
    return (
        f"Scalars are not close!\n\nExpected {b.item()} but got {a.item()}.\n"
        f"Absolute difference: {gap.item()} (up to {atol} allowed)\n"
        f"Relative difference: {_relative(gap, b).item()} (up to {rtol} allowed)"
    )


def _tensors(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    same: NDArray[np.bool_],
    rtol: float,
    atol: float,
) -> str:
    gap = np.where(same, 0, np.abs(a - b))
    relative = np.where(same, 0, _relative(gap, b))
    wrong = int((~same).sum())
    return (
        "Tensor-likes are not close!\n\n"
        f"Mismatched elements: {wrong} / {a.size} ({wrong / a.size:.1%})\n"
        f"Greatest absolute difference: {_greatest(gap)} (up to {atol} allowed)\n"
        f"Greatest relative difference: {_greatest(relative)} (up to {rtol} allowed)"
    )


def _greatest(gaps: NDArray[np.float64]) -> str:
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(gaps)), gaps.shape))
    return f"{gaps[at].item()} at index {at}"
