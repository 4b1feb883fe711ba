"""`finfo` and `iinfo`: the limits of dtypes."""

from __future__ import annotations

import numpy as np

from tensorscript.base.dtypes import DType, bfloat16, of_python, real_dtype
from tensorscript.base.records import dataclass

from .modes import MODES


@dataclass(frozen=True, repr=False)
class FloatLimits:
    """Limits of a floating-point dtype (of a complex one, those of its parts)."""

    bits: int
    eps: float
    max: float
    min: float
    tiny: float
    smallest_normal: float
    resolution: float
    dtype: str

    def __repr__(self) -> str:
        fields = (
            f"{name}={getattr(self, name):g}"
            for name in ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        )
        return f"finfo({', '.join(fields)}, dtype={self.dtype})"


@dataclass(frozen=True, repr=False)
class IntegerLimits:
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: str

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


_FLOAT8 = {
    "float8_e4m3fn": (0.125, 448.0, -448.0, 2.0**-6),
    "float8_e4m3fnuz": (0.125, 240.0, -240.0, 2.0**-7),
    "float8_e5m2": (0.25, 57344.0, -57344.0, 2.0**-14),
    "float8_e5m2fnuz": (0.125, 57344.0, -57344.0, 2.0**-15),
    "float8_e8m0fnu": (1.0, 2.0**127, 2.0**-127, 2.0**-127),
}
"""Spacing above 1, largest, smallest and least normal number of dtypes that only have a name."""


def _check_dtype(name: str, wanted: object) -> None:
    if not isinstance(wanted, DType):
        kind = wanted.__class__.__name__
        raise TypeError(f"{name}(): argument 'type' (position 1) must be torch.dtype, not {kind}")


def finfo(type: DType | None = None) -> FloatLimits:
    """The limits of a floating-point or complex dtype, by default of the default dtype.

    Raises:
        TypeError: an integer dtype.
    """
    wanted = of_python(type) or type or MODES.default_dtype
    _check_dtype("finfo", wanted)
    dtype = real_dtype(wanted)
    if (known := _FLOAT8.get(dtype.name)) is not None:
        eps, top, low, tiny = known
        return FloatLimits(8, eps, top, low, tiny, tiny, 1.0, dtype.name)
    if not dtype.is_floating_point:
        raise TypeError(
            "torch.finfo() requires a floating point input type. Use torch.iinfo to handle "
            "'torch.finfo'"
        )
    if dtype is bfloat16:
        top, tiny = 3.3895313892515355e38, 2.0**-126
        return FloatLimits(16, 2.0**-7, top, -top, tiny, tiny, 0.01, dtype.name)
    found = np.finfo(dtype.numpy)
    tiny = float(found.tiny)
    return FloatLimits(
        dtype.bits, float(found.eps), float(found.max), float(found.min), tiny, tiny,
        10.0**-found.precision, dtype.name,
    )  # fmt: skip


def iinfo(type: DType) -> IntegerLimits:
    """The limits of an integer dtype.

    Raises:
        TypeError: another dtype.
    """
    type = of_python(type) or type
    if not type.is_integral:
        raise TypeError(
            "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'"
        )
    found = np.iinfo(type.numpy)
    return IntegerLimits(type.bits, int(found.max), int(found.min), type.name)
