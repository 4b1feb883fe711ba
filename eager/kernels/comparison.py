"""Comparisons and logic: every result is bool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.dtypes import bool_, scalar_dtype
from tensorscript.base.errors import OperatorError

from ..storage import Array, TensorBase, array, cast, compute, promoted, value, wrap
from .pointwise import apply2

Kernel = Callable[..., Any]


def comparison(fn: Callable[[Array, Array], Any]) -> Kernel:
    def run(self: Any, other: Any) -> Any:
        return wrap(apply2(fn, self, other, promoted(self, other)), bool_)

    return run


def logical(fn: Callable[[Array, Array], Any]) -> Kernel:
    return lambda self, other: wrap(apply2(fn, self, other, bool_), bool_)


def predicate(fn: Callable[[Array], Any]) -> Kernel:
    return lambda self: wrap(fn(compute(self)), bool_)


def isclose(
    self: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    if self.dtype is not other.dtype:
        raise OperatorError(f"{self.dtype.word} did not match {other.dtype.word}")
    if self.dtype is bool_:
        return wrap(array(self) == array(other), bool_)
    a, b = compute(self), compute(other)
    finite = np.isfinite(a) & np.isfinite(b)
    close = (a == b) | (finite & (np.abs(a - b) <= atol + np.abs(rtol * b)))
    return wrap(close | (np.isnan(a) & np.isnan(b)) if equal_nan else close, bool_)


def allclose(
    self: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    return bool(isclose(self, other, rtol, atol, equal_nan)._array.all())


def equal(self: Any, other: Any) -> bool:
    return self._array.shape == other._array.shape and bool((value(self) == value(other)).all())


def isin(elements: Any, test: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    if bool_ in (elements.dtype, test.dtype):
        raise OperatorError("Unsupported input type encountered for isin(): Bool")
    dtype = promoted(elements, test)
    return wrap(np.isin(cast(elements, dtype), cast(test, dtype), invert=invert), bool_)


def _number_beside(x: Any, number: Any) -> Any:
    """A number as a tensor of its own category's dtype, which is that of `x` if both are floats."""
    if isinstance(number, TensorBase):
        return number
    is_float = isinstance(number, float) and x.dtype.is_floating_point
    return wrap(np.asarray(number), x.dtype if is_float else scalar_dtype(number))


_COMPARISONS = {
    "eq": np.equal, "ne": np.not_equal, "not_equal": np.not_equal, "lt": np.less,
    "less": np.less, "le": np.less_equal, "less_equal": np.less_equal, "gt": np.greater,
    "greater": np.greater, "ge": np.greater_equal, "greater_equal": np.greater_equal,
}  # fmt: skip
_FALSE: Callable[[Array], Any] = lambda x: np.zeros(x.shape, bool)  # noqa: E731 - a table cell

KERNELS: dict[str, Kernel] = {
    **{f"aten::{n}.Tensor": comparison(fn) for n, fn in _COMPARISONS.items()},
    **{f"aten::{n}.Scalar": comparison(fn) for n, fn in _COMPARISONS.items()},
    "aten::logical_and": logical(np.logical_and),
    "aten::logical_or": logical(np.logical_or),
    "aten::logical_xor": logical(np.logical_xor),
    "aten::logical_not": predicate(np.logical_not),
    "aten::isnan": predicate(np.isnan),
    "aten::isinf": predicate(np.isinf),
    "aten::isfinite": predicate(np.isfinite),
    "aten::isposinf": predicate(lambda x: np.isposinf(x) if x.dtype.kind == "f" else _FALSE(x)),
    "aten::isneginf": predicate(lambda x: np.isneginf(x) if x.dtype.kind == "f" else _FALSE(x)),
    "aten::isreal": predicate(np.isreal),
    "aten::signbit": predicate(lambda x: np.signbit(x) if x.dtype.kind == "f" else x < 0),
    "aten::isclose": isclose,
    "aten::allclose": allclose,
    "aten::equal": equal,
    "aten::isin.Scalar_Tensor": lambda e, t, assume_unique=False, invert=False: isin(
        _number_beside(t, e), t, assume_unique, invert
    ),
    "aten::isin.Tensor_Tensor": lambda e, t, assume_unique=False, invert=False: isin(
        e, t, assume_unique, invert
    ),
    "aten::isin.Tensor_Scalar": lambda e, t, assume_unique=False, invert=False: isin(
        e, _number_beside(e, t), assume_unique, invert
    ),
}
