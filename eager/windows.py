"""Window functions of `torch.signal.windows`: symmetric ones, or one period of a longer one.

Every window is a function of its sample's place in [0, 1) of the way to the last sample (or, where
`sym` is false, to the one behind it).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscript.base.dtypes import DType, float32, float64
from tensorscript.base.errors import ValueRangeError

from .device import strided
from .modes import MODES
from .storage import wrap

Float = NDArray[np.float64]
Shape = Callable[[Float, int], Float]
"""A window's values of its sample numbers and of the number of the last one."""


def _made(
    name: str, count: int, sym: bool, dtype: DType | None, layout: Any, fn: Shape, grad: bool
) -> Any:
    out = dtype or MODES.default_dtype
    if layout not in (None, strided):
        raise ValueRangeError(f"{name} is implemented for strided tensors only, got: {layout}")
    if count < 0:
        raise ValueRangeError(f"{name} requires non-negative window length, got M={count}")
    if out not in (float32, float64):
        raise ValueRangeError(f"{name} expects float32 or float64 dtypes, got: {out}")
    if count == 1:
        made = wrap(np.ones(1), out)
    else:
        made = wrap(fn(np.arange(count, dtype=np.float64), count - 1 if sym else count), out)
    return made.requires_grad_(grad)


def _general_cosine(coefficients: Sequence[float]) -> Shape:
    def run(k: Float, last: int) -> Float:
        angle = 2 * np.pi * k / max(last, 1)
        terms = [(-1) ** i * a * np.cos(i * angle) for i, a in enumerate(coefficients)]
        return np.asarray(sum(terms), np.float64)

    return run


def _fixed(checked_as: str, coefficients: Sequence[float]) -> Callable[..., Any]:
    """A window of these cosines; PyTorch refuses in the name of the function that it calls."""

    def run(
        M: int, *, sym: bool = True, dtype: DType | None = None, layout: Any = None,
        device: Any = None, requires_grad: bool = False,
    ) -> Any:  # fmt: skip
        shape = _general_cosine(coefficients)
        return _made(checked_as, M, sym, dtype, layout, shape, requires_grad)

    return run


def general_cosine(
    M: int, *, a: Sequence[float], sym: bool = True, dtype: DType | None = None,
    layout: Any = None, device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    if not isinstance(a, (list, tuple)):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueRangeError("Coefficients cannot be empty")
    return _made("general_cosine", M, sym, dtype, layout, _general_cosine(a), requires_grad)


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, dtype: DType | None = None,
    layout: Any = None, device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    shape = _general_cosine([alpha, 1 - alpha])
    return _made("general_cosine", M, sym, dtype, layout, shape, requires_grad)


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True,
    dtype: DType | None = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    if tau <= 0:
        raise ValueRangeError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueRangeError("Center must be None for symmetric windows")

    def shape(k: Float, last: int) -> Float:
        middle = last / 2 if center is None else center
        return np.asarray(np.exp(-np.abs(k - middle) / tau))

    return _made("exponential", M, sym, dtype, layout, shape, requires_grad)


def cosine(
    M: int, *, sym: bool = True, dtype: DType | None = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    shape: Shape = lambda k, last: np.sin(np.pi * (k + 0.5) / (last + 1))  # noqa: E731
    return _made("cosine", M, sym, dtype, layout, shape, requires_grad)


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: DType | None = None,
    layout: Any = None, device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    if std <= 0:
        raise ValueRangeError(f"Standard deviation must be positive, got: {std} instead.")
    shape: Shape = lambda k, last: np.exp(-(((k - last / 2) / std) ** 2) / 2)  # noqa: E731
    return _made("gaussian", M, sym, dtype, layout, shape, requires_grad)


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: DType | None = None,
    layout: Any = None, device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    if beta < 0:
        raise ValueRangeError(f"beta must be non-negative, got: {beta} instead.")

    def shape(k: Float, last: int) -> Float:
        place = 2 * k / max(last, 1) - 1
        return np.asarray(np.i0(beta * np.sqrt(np.maximum(1 - place**2, 0))) / np.i0(beta))

    return _made("kaiser", M, sym, dtype, layout, shape, requires_grad)


def bartlett(
    M: int, *, sym: bool = True, dtype: DType | None = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    shape: Shape = lambda k, last: 1 - np.abs(2 * k / max(last, 1) - 1)  # noqa: E731
    return _made("bartlett", M, sym, dtype, layout, shape, requires_grad)


FACES: dict[str, Callable[..., Any]] = {
    "bartlett": bartlett,
    "blackman": _fixed("blackman", (0.42, 0.5, 0.08)),
    "cosine": cosine,
    "exponential": exponential,
    "gaussian": gaussian,
    "general_cosine": general_cosine,
    "general_hamming": general_hamming,
    "hamming": _fixed("general_cosine", (0.54, 0.46)),
    "hann": _fixed("general_cosine", (0.5, 0.5)),
    "kaiser": kaiser,
    "nuttall": _fixed("general_cosine", (0.3635819, 0.4891775, 0.1365995, 0.0106411)),
}
