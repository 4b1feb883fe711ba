"""Conjugates and negatives, which are views: the same memory, read with another sign.

The rows here know the sign of what they are given; of all other operators `eager/signs.py` says
what becomes of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.lib.stride_tricks import as_strided

from tensorscript.base.dtypes import real_dtype
from tensorscript.base.errors import OperatorError

from ..storage import Sign, array, make, shown

Kernel = Callable[..., Any]
_PLAIN = Sign()


def _read(stored: Any, dtype: Any, conjugated: bool, negated: bool) -> Any:
    """A view of `stored` with a sign, if it has any."""
    made = make(stored, dtype)
    if conjugated or negated:
        made._sign = Sign(conjugated, negated)
    return made


def _sign(t: Any) -> Sign:
    return t._sign or _PLAIN


def conj(self: Any) -> Any:
    """The conjugate as a view; a real tensor itself."""
    if not self.dtype.is_complex:
        return self
    sign = _sign(self)
    return _read(array(self), self.dtype, not sign.conjugated, sign.negated)


def neg_view(self: Any) -> Any:
    """The negative as a view."""
    sign = _sign(self)
    return _read(array(self), self.dtype, sign.conjugated, not sign.negated)


def real(self: Any) -> Any:
    """The real part as a view; a real tensor itself."""
    if not self.dtype.is_complex:
        return self
    return _read(array(self).real, real_dtype(self.dtype), False, _sign(self).negated)


def imag(self: Any) -> Any:
    """The imaginary part as a view; that of a conjugate is a negative."""
    if not self.dtype.is_complex:
        raise OperatorError("imag is not implemented for tensors with non-complex dtypes.")
    sign = _sign(self)
    dtype = real_dtype(self.dtype)
    return _read(array(self).imag, dtype, False, sign.negated is not sign.conjugated)


def view_as_real(self: Any) -> Any:
    """A view: the parts along a new last dimension."""
    if not self.dtype.is_complex:
        raise OperatorError("view_as_real is only supported for complex tensors")
    sign = _sign(self)
    if sign.conjugated:
        raise OperatorError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate "
            "tensor so you can view it as real, use self.resolve_conj(); however, be warned that "
            "the resulting tensor will NOT alias the original."
        )
    a = array(self)
    dtype = real_dtype(self.dtype)
    parts = as_strided(a.real, (*a.shape, 2), (*a.strides, dtype.itemsize))
    return _read(parts, dtype, False, sign.negated)


def resolve_conj(self: Any) -> Any:
    """The same elements, the conjugates among them stored."""
    sign = _sign(self)
    if not sign.conjugated:
        return self
    return make(shown(self), self.dtype)


def resolve_neg(self: Any) -> Any:
    """The same elements, the negatives among them stored."""
    return make(shown(self), self.dtype) if _sign(self).negated else self


def matrix_transpose(name: str, conjugated: bool) -> Kernel:
    """The last two dimensions exchanged: `mT`, and `mH` with the conjugate; scalars stay."""

    def run(self: Any) -> Any:
        a = array(self)
        if a.ndim == 1:
            raise OperatorError(
                f"tensor.{name} is only supported on matrices or batches of matrices. Got "
                f"{a.ndim}-D tensor."
            )
        sign = _sign(self)
        turns = conjugated and self.dtype.is_complex
        swapped = a.swapaxes(-1, -2) if a.ndim else a[...]
        return _read(swapped, self.dtype, sign.conjugated is not turns, sign.negated)

    return run


def matrix_h(self: Any) -> Any:
    """The conjugate transpose of one matrix; of a scalar its conjugate."""
    a = array(self)
    if a.ndim not in (0, 2):
        more = " For batches of matrices, consider using tensor.mH" if a.ndim > 2 else ""
        raise OperatorError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {a.ndim}-D tensor.{more}"
        )
    sign = _sign(self)
    return _read(a.T, self.dtype, sign.conjugated is not self.dtype.is_complex, sign.negated)


KERNELS: dict[str, Kernel] = {
    "aten::conj": conj,
    "aten::_conj": conj,
    "aten::_neg_view": neg_view,
    "aten::real": real,
    "aten::imag": imag,
    "aten::view_as_real": view_as_real,
    "aten::resolve_conj": resolve_conj,
    "aten::resolve_neg": resolve_neg,
    "aten::is_conj": lambda self: _sign(self).conjugated,
    "aten::is_neg": lambda self: _sign(self).negated,
    "aten::mT": matrix_transpose("mT", conjugated=False),
    "aten::mH": matrix_transpose("mH", conjugated=True),
    "aten::adjoint": matrix_transpose("adjoint()", conjugated=True),
    "aten::matrix_H": matrix_h,
}
