"""`testing.assert_close`: equal up to rounding, with PyTorch's tolerances and report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import DType

from .foreign import converted
from .namespace import as_tensor
from .storage import TensorBase

_TOLERANCES = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7), "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}  # fmt: skip
"""Relative and absolute tolerance by dtype, as PyTorch documents them."""


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_dtype: bool = True,
    msg: str | None = None,
) -> None:
    """Raise AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere.

    Args:
        actual, expected: tensors, arrays or numbers of one shape; or sequences or mappings of them.
        rtol, atol: tolerances; by default those of the dtype (of the wider tolerance of two).
        equal_nan: whether NaN equals NaN.
        check_dtype: whether dtypes have to be equal.
        msg: what to say instead.

    Raises:
        ValueError: only one of `rtol` and `atol` is given.
    """
    if (rtol is None) != (atol is None):
        raise ValueError("Both 'rtol' and 'atol' must be either specified or unspecified.")
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        _require(actual.keys() == expected.keys(), "The keys of the mappings do not match", msg)
        pairs = [(actual[key], expected[key]) for key in actual]
    elif isinstance(actual, Sequence) and isinstance(expected, Sequence):
        lengths = f"{len(actual)} != {len(expected)}"
        _require(
            len(actual) == len(expected), f"The length of the sequences mismatch: {lengths}", msg
        )
        pairs = list(zip(actual, expected, strict=True))
    else:
        _compare(actual, expected, rtol, atol, equal_nan, check_dtype, msg)
        return
    for one, other in pairs:
        assert_close(
            one, other, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=check_dtype, msg=msg
        )


def _require(holds: bool, otherwise: str, msg: str | None) -> None:
    if not holds:
        raise AssertionError(otherwise if msg is None else msg)


def _compare(
    actual: Any,
    expected: Any,
    rtol: float | None,
    atol: float | None,
    equal_nan: bool,
    check_dtype: bool,
    msg: str | None,
) -> None:
    a, b = (as_tensor(converted(x)) for x in (actual, expected))
    are_tensors = isinstance(actual, TensorBase) and isinstance(expected, TensorBase)
    shapes = f"{a.shape} != {b.shape}"
    _require(
        tuple(a.shape) == tuple(b.shape),
        f"The values for attribute 'shape' do not match: {shapes}.",
        msg,
    )
    if check_dtype and are_tensors:
        dtypes = f"{a.dtype} != {b.dtype}"
        _require(
            a.dtype is b.dtype, f"The values for attribute 'dtype' do not match: {dtypes}.", msg
        )
    if rtol is None or atol is None:
        rtol, atol = (max(t) for t in zip(_tolerance(a.dtype), _tolerance(b.dtype), strict=True))
    x, y = _wide(a), _wide(b)
    with np.errstate(all="ignore"):
        close = np.isclose(x, y, rtol=rtol, atol=atol, equal_nan=equal_nan)
        off = np.abs(x - y)
        relative = off / np.abs(y)
    if close.all():
        return
    wrong = int((~close).sum())
    _require(
        False,
        f"Tensor-likes are not close!\n\nMismatched elements: {wrong} / {close.size} "
        f"({100 * wrong / close.size:.1f}%)\n"
        f"Greatest absolute difference: {_greatest(off)} (up to {atol} allowed)\n"
        f"Greatest relative difference: {_greatest(relative)} (up to {rtol} allowed)",
        msg,
    )


def _greatest(values: Any) -> str:
    at = tuple(int(i) for i in np.unravel_index(np.argmax(values), values.shape))
    return f"{float(values[at])} at index {at}" if at else f"{float(values)}"


def _tolerance(dtype: DType) -> tuple[float, float]:
    return _TOLERANCES.get(str(dtype).rpartition(".")[2], (0.0, 0.0))


def _wide(tensor: Any) -> Any:
    kind = np.complex128 if tensor.dtype.is_complex else np.float64
    return np.asarray(tensor.double().numpy() if kind is np.float64 else tensor.numpy(), kind)
