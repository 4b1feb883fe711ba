"""What Fourier transforms ask of the dimensions they run along."""

from __future__ import annotations

from typing import Any

from tensorscript.base.errors import DimensionError

from ..kernels.shapes import normal_dim
from ..storage import array
from .words import Demand, Ints, each, require

_SCALES = ("backward", "forward", "ortho")


def _transform(self: Any, n: Any = None, dim: Any = -1, norm: Any = None) -> None:
    """The scale is one of three, there is a dimension to run along, and each is named once."""
    require(norm is None or norm in _SCALES, f'Invalid normalization mode: "{norm}"')
    rank = array(self).ndim
    dims = [dim] if isinstance(dim, int) else list(dim or ())
    if rank == 0 and dims:
        raise DimensionError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    found = {normal_dim(d, rank) for d in dims}
    require(len(found) == len(dims), "FFT dims must be unique")


def _shift(self: Any, dim: Ints | int | None = None) -> None:
    require(dim is None or isinstance(dim, int) or len(dim) > 0, "`shifts` required")


def _roll(self: Any, shifts: Ints, dims: Ints = ()) -> None:
    require(len(shifts) > 0, "`shifts` required")
    require(
        len(shifts) == len(dims) or (len(shifts) == 1 and not dims),
        f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}",
    )
    if array(self).ndim == 0 and dims:
        raise DimensionError(f"Dimension specified as {dims[0]} but tensor has no dimensions")


_NAMES = [
    f"fft_{name}{several}"
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    for several in ("", "2", "n")
]
SPECTRA: dict[str, Demand] = {
    **each(_transform, *_NAMES),
    **each(_shift, "fft_fftshift", "fft_ifftshift"),
    **each(_roll, "roll"),
}
"""Overloads to what they ask, in the words of PyTorch."""
