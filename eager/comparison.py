"""`testing.assert_close`: equal up to rounding, with PyTorch's tolerances and report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import DType
from tensorscript.base.records import dataclass

from .data import as_tensor
from .foreign import converted
from .storage import TensorBase

_TOLERANCES = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7), "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}  # fmt: skip
"""Relative and absolute tolerance by dtype, as PyTorch documents them."""


@dataclass(frozen=True)
class _Terms:
    """What two tensors have to agree in."""

    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_stride: bool
    msg: str | Callable[[str], str] | None

    def require(self, holds: bool, otherwise: str) -> None:
        if holds:
            return
        raise AssertionError(
            self.msg(otherwise)
            if callable(self.msg)
            else otherwise
            if self.msg is None
            else self.msg
        )


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere.

    Args:
        actual, expected: tensors, arrays or numbers of one shape; or sequences or mappings of them.
        rtol, atol: tolerances; by default those of the dtype (of the wider tolerance of two).
        equal_nan: whether NaN equals NaN.
        allow_subclasses, check_layout: taken; there is one class of tensors, all are strided.
        check_device: whether tensors have to be on one device.
        check_dtype, check_stride: whether dtypes, or strides, have to be equal.
        msg: what to say instead, or what makes that of the usual text.

    Raises:
        ValueError: only one of `rtol` and `atol` is given.
    """
    if (rtol is None) != (atol is None):
        raise ValueError("Both 'rtol' and 'atol' must be either specified or unspecified.")
    terms = _Terms(rtol, atol, equal_nan, check_device, check_dtype, check_stride, msg)
    _compare_all(actual, expected, terms)


def _compare_all(actual: Any, expected: Any, terms: _Terms) -> None:
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        terms.require(actual.keys() == expected.keys(), "The keys of the mappings do not match")
        pairs = [(actual[key], expected[key]) for key in actual]
    elif isinstance(actual, Sequence) and isinstance(expected, Sequence):
        lengths = f"{len(actual)} != {len(expected)}"
        terms.require(
            len(actual) == len(expected), f"The length of the sequences mismatch: {lengths}"
        )
        pairs = list(zip(actual, expected, strict=True))
    else:
        _compare(actual, expected, terms)
        return
    for one, other in pairs:
        _compare_all(one, other, terms)


def _compare(actual: Any, expected: Any, terms: _Terms) -> None:
    one, other = (as_tensor(converted(x)) for x in (actual, expected))
    a, b = one.cpu(), other.cpu()
    are_tensors = isinstance(actual, TensorBase) and isinstance(expected, TensorBase)
    _require_same("shape", tuple(a.shape), tuple(b.shape), (a.shape, b.shape), terms)
    if terms.check_device and are_tensors:
        _require_same("device", one.device, other.device, (one.device, other.device), terms)
    if terms.check_dtype and are_tensors:
        _require_same("dtype", a.dtype, b.dtype, (a.dtype, b.dtype), terms)
    if terms.check_stride and are_tensors:
        _require_same("stride()", a.stride(), b.stride(), (a.stride(), b.stride()), terms)
    rtol, atol = terms.rtol, terms.atol
    if rtol is None or atol is None:
        rtol, atol = (max(t) for t in zip(_tolerance(a.dtype), _tolerance(b.dtype), strict=True))
    x, y = _wide(a), _wide(b)
    with np.errstate(all="ignore"):
        close = np.isclose(x, y, rtol=rtol, atol=atol, equal_nan=terms.equal_nan)
        off = np.abs(x - y)
        relative = off / np.abs(y)
    if close.all():
        return
    wrong = int((~close).sum())
    terms.require(
        False,
        f"Tensor-likes are not close!\n\nMismatched elements: {wrong} / {close.size} "
        f"({100 * wrong / close.size:.1f}%)\n"
        f"Greatest absolute difference: {_greatest(off)} (up to {atol} allowed)\n"
        f"Greatest relative difference: {_greatest(relative)} (up to {rtol} allowed)",
    )


def _require_same(what: str, one: Any, other: Any, shown: tuple[Any, Any], terms: _Terms) -> None:
    terms.require(
        one == other,
        f"The values for attribute '{what}' do not match: {shown[0]} != {shown[1]}.",
    )


def _greatest(values: Any) -> str:
    at = tuple(int(i) for i in np.unravel_index(np.argmax(values), values.shape))
    return f"{float(values[at])} at index {at}" if at else f"{float(values)}"


def _tolerance(dtype: DType) -> tuple[float, float]:
    return _TOLERANCES.get(str(dtype).rpartition(".")[2], (0.0, 0.0))


def _wide(tensor: Any) -> Any:
    kind = np.complex128 if tensor.dtype.is_complex else np.float64
    return np.asarray(tensor.double().numpy() if kind is np.float64 else tensor.numpy(), kind)
