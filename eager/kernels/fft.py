"""Discrete Fourier transforms along one or several dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import DType, complex_dtype, real_dtype
from tensorscript.base.errors import OperatorError

from ..modes import MODES
from ..storage import Array, array, cast, floating, wrap
from .fft_order import from_real, from_real_last, of_complex, ordered, to_real

Kernel = Callable[..., Any]


def _result(self: Any, real: bool) -> DType:
    dtype = floating(self.dtype)
    if dtype.is_floating_point and dtype.bits < 32:
        raise OperatorError(f"Unsupported dtype {dtype.word}")
    return real_dtype(dtype) if real else complex_dtype(dtype)


def _only_real(self: Any, name: str) -> None:
    if name and self.dtype.is_complex:
        raise OperatorError(f"{name} expects a real input tensor, but got {self.dtype.word}")


def one(fn: Callable[..., Any], real: bool = False, of_real: str = "") -> Kernel:
    """A transform along `dim`; `real` says that the result is real, `of_real`, its name, that the
    operand has to be."""
    rule = to_real if real else of_complex

    def run(self: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
        if n is not None and n < 1:
            raise OperatorError(f"Invalid number of data points ({n}) specified")
        _only_real(self, of_real)
        _check_points(self, n, dim, real)
        dtype, x = _result(self, real), cast(self, floating(self.dtype))
        out = fn(x, n, dim, norm)
        return wrap(ordered(out, x, rule, [dim], _sizes(out, x, n and [n], [dim], real)), dtype)

    return run


def _check_points(self: Any, n: int | None, dim: int, real: bool) -> None:
    """There is something to transform; a real result has two points for each but the first."""
    cells = array(self).shape[dim] if array(self).ndim else 1
    points = 2 * (cells - 1) if real else cells
    if n is None and points < 1:
        raise OperatorError(f"Invalid number of data points ({points}) specified")


def _sizes(out: Array, x: Array, asked: Any, dims: Sequence[int], real: bool) -> list[int]:
    """How many elements are transformed along each of `dims`."""
    if asked:
        return [x.shape[d] if n == -1 else n for n, d in zip(asked, dims, strict=True)]
    return [out.shape[d] if real else x.shape[d] for d in dims]


_FROM_REAL = {"rfftn": from_real, "ihfftn": from_real_last}


def several(
    fn: Callable[..., Any], default: Sequence[int] | None, real: bool = False, of_real: str = ""
) -> Kernel:
    rule = to_real if real else _FROM_REAL.get(of_real, of_complex)

    def run(self: Any, s: Any = None, dim: Any = default, norm: str | None = None) -> Any:
        _only_real(self, of_real)
        dtype, x = _result(self, real), cast(self, floating(self.dtype))
        out = fn(x, s, None if dim is None else tuple(dim), norm)
        dims = list(dim) if dim is not None else list(range(-len(s or x.shape), 0))
        return wrap(ordered(out, x, rule, dims, _sizes(out, x, s, dims, real)), dtype)

    return run


_SWAPPED: dict[str | None, Any] = {
    None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho",
}  # fmt: skip


def _hfftn(x: Any, s: Any, dims: Any, norm: str | None) -> Any:
    """The real transform of a half-Hermitian signal: an inverse of its conjugate."""
    return np.fft.irfftn(np.conj(x), s, dims, _SWAPPED[norm])


def _ihfftn(x: Any, s: Any, dims: Any, norm: str | None) -> Any:
    return np.conj(np.fft.rfftn(x, s, dims, _SWAPPED[norm]))


def shifted(fn: Callable[..., Any]) -> Kernel:
    return lambda self, dim=None: wrap(fn(cast(self, self.dtype), dim), self.dtype)


def frequencies(fn: Callable[..., Any]) -> Kernel:
    return lambda n, d=1.0, dtype=None, *_: wrap(fn(n, d), dtype or MODES.default_dtype)


# The lambdas put off `np.fft`, which NumPy imports at its first use.
KERNELS: dict[str, Kernel] = {
    "aten::fft_fft": one(lambda *a: np.fft.fft(*a)),
    "aten::fft_ifft": one(lambda *a: np.fft.ifft(*a)),
    "aten::fft_rfft": one(lambda *a: np.fft.rfft(*a), of_real="rfft"),
    "aten::fft_irfft": one(lambda *a: np.fft.irfft(*a), real=True),
    "aten::fft_hfft": one(lambda *a: np.fft.hfft(*a), real=True),
    "aten::fft_ihfft": one(lambda *a: np.fft.ihfft(*a), of_real="ihfft"),
    "aten::fft_fft2": several(lambda *a: np.fft.fft2(*a), (-2, -1)),
    "aten::fft_ifft2": several(lambda *a: np.fft.ifft2(*a), (-2, -1)),
    "aten::fft_rfft2": several(lambda *a: np.fft.rfft2(*a), (-2, -1), of_real="rfftn"),
    "aten::fft_irfft2": several(lambda *a: np.fft.irfft2(*a), (-2, -1), real=True),
    "aten::fft_fftn": several(lambda *a: np.fft.fftn(*a), None),
    "aten::fft_ifftn": several(lambda *a: np.fft.ifftn(*a), None),
    "aten::fft_rfftn": several(lambda *a: np.fft.rfftn(*a), None, of_real="rfftn"),
    "aten::fft_irfftn": several(lambda *a: np.fft.irfftn(*a), None, real=True),
    "aten::fft_hfftn": several(lambda *a: _hfftn(*a), None, real=True),
    "aten::fft_hfft2": several(lambda *a: _hfftn(*a), (-2, -1), real=True),
    "aten::fft_ihfftn": several(lambda *a: _ihfftn(*a), None, of_real="ihfftn"),
    "aten::fft_ihfft2": several(lambda *a: _ihfftn(*a), (-2, -1), of_real="ihfftn"),
    "aten::fft_fftshift": shifted(lambda *a: np.fft.fftshift(*a)),
    "aten::fft_ifftshift": shifted(lambda *a: np.fft.ifftshift(*a)),
    "aten::fft_fftfreq": frequencies(lambda *a: np.fft.fftfreq(*a)),
    "aten::fft_rfftfreq": frequencies(lambda *a: np.fft.rfftfreq(*a)),
}
