"""Complex numbers of their parts, and their angles."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorscript.base.dtypes import (
    complex_dtype,
    real_dtype,
)
from tensorscript.base.errors import OperatorError

from ..storage import Array, cast, compute, floating, wrap


def make_complex(real: Any, imag: Any) -> Any:
    _check_parts(real, imag)
    return wrap(_from_parts(compute(real), compute(imag)), complex_dtype(real.dtype))


def polar(abs_: Any, angle: Any) -> Any:
    _check_parts(abs_, angle)
    r, a = compute(abs_), compute(angle)
    return wrap(_from_parts(r * np.cos(a), r * np.sin(a)), complex_dtype(abs_.dtype))


def _check_parts(real: Any, imag: Any) -> None:
    for part in (real, imag):
        if part.dtype.short not in ("f16", "f32", "f64"):
            raise OperatorError(
                "Expected both inputs to be Half, Float or Double tensors but got "
                f"{real.dtype.word} and {imag.dtype.word}"
            )
    if real.dtype is not imag.dtype:
        raise OperatorError(
            f"Expected object of scalar type {real.dtype.word} but got scalar type "
            f"{imag.dtype.word} for second argument"
        )


def _from_parts(real: Array, imag: Array) -> Array:
    """Not a sum with 1j * imag, which makes NaN of infinities."""
    out = np.empty(np.broadcast_shapes(real.shape, imag.shape), np.result_type(real, imag, "c8"))
    out.real, out.imag = real, imag
    return out


def angle(self: Any) -> Any:
    dtype = real_dtype(floating(self.dtype))
    x = cast(self, floating(self.dtype))
    if x.dtype.kind == "c":
        return wrap(np.angle(x), dtype)
    return wrap(np.where(np.isnan(x), x, np.where(x < 0, np.pi, 0)), dtype)
