"""Whether two tensors are close, and if not, how far apart: in the words of `torch.testing`."""

from __future__ import annotations

from typing import Any

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


def exact_difference(actual: TensorBase, expected: TensorBase) -> str | None:
    """How two tensors differ in dtype or by more than the tolerances of their dtypes; integers
    must be equal."""
    if actual._array.shape == expected._array.shape and actual.dtype is not expected.dtype:
        return (
            "The values for attribute 'dtype' do not match: "
            f"torch.{actual.dtype.name} != torch.{expected.dtype.name}."
        )
    return difference(actual, expected, *default_tolerances(actual.dtype, expected.dtype))


def difference(actual: TensorBase, expected: TensorBase, rtol: float, atol: float) -> str | None:
    """How two tensors differ, compared in double precision with NaN equal; None if they are close.

    Close is |actual - expected| <= atol + rtol * |expected|, as in `torch.testing.assert_close`.
    Without tolerances the numbers are compared and told as they are.
    """
    if actual._array.shape != expected._array.shape:
        return (
            "The values for attribute 'shape' do not match: "
            f"torch.Size({list(actual._array.shape)}) != torch.Size({list(expected._array.shape)})."
        )
    wide: type = complex if actual.dtype.is_complex or expected.dtype.is_complex else float
    if not (rtol or atol) and actual.dtype.is_integral and expected.dtype.is_integral:
        wide = int
    a: NDArray[Any] = value(actual).astype(wide)
    b: NDArray[Any] = value(expected).astype(wide)
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
        f"Scalars are not {_word(rtol, atol)}!\n\nExpected {b.item()} but got {a.item()}.\n"
        f"Absolute difference: {gap.item()}{_allowed(atol, rtol, atol)}\n"
        f"Relative difference: {_relative(gap, b).item()}{_allowed(rtol, rtol, atol)}"
    )


def _word(rtol: float, atol: float) -> str:
    return "close" if rtol or atol else "equal"


def _allowed(tolerance: float, rtol: float, atol: float) -> str:
    return f" (up to {tolerance} allowed)" if rtol or atol else ""


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
        f"Tensor-likes are not {_word(rtol, atol)}!\n\n"
        f"Mismatched elements: {wrong} / {a.size} ({wrong / a.size:.1%})\n"
        f"Greatest absolute difference: {_greatest(gap)}{_allowed(atol, rtol, atol)}\n"
        f"Greatest relative difference: {_greatest(relative)}{_allowed(rtol, rtol, atol)}"
    )


def _greatest(gaps: NDArray[np.float64]) -> str:
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(gaps)), gaps.shape))
    return f"{gaps[at].item()} at index {at}"
