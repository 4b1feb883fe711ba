"""The geometry and the filters of resampling one dimension of an image (`interpolate`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .records import dataclass

Array = np.ndarray
_DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True)
class Filter:
    """A kernel of resampling: `weight(distance in cells)`, zero beyond `taps` / 2."""

    taps: int
    weight: Callable[[Array], Array]


def step(size: int, outputs: int, scale: float | None, align: bool) -> float:
    """Distance in the input between neighbouring outputs.

    Args:
        scale: outputs per cell as the caller gave it; None takes the quotient of the sizes.
        align: The centres of the first and the last cell stay where they are.
    """
    if align:
        return (size - 1) / (outputs - 1) if outputs > 1 else 0.0
    return 1.0 / scale if scale else size / outputs


def _hat(distance: Array) -> Array:
    return np.asarray(np.maximum(1 - distance, 0))


def _cubic(a: float) -> Callable[[Array], Array]:
    """Keys' cubic convolution (IEEE Trans. ASSP 29(6), 1981)."""

    def weight(t: Array) -> Array:
        near = ((a + 2) * t - (a + 3)) * t * t + 1
        far = ((t - 5) * t + 8) * t * a - 4 * a
        return np.where(t < 1, near, np.where(t < 2, far, 0.0))

    return weight


def _lanczos(t: Array) -> Array:
    """A sinc in the window of a wider one (Duchon, J. Appl. Meteor. 18(8), 1979)."""
    return np.where(t < 3, np.sinc(t) * np.sinc(t / 3), 0.0)


HAT = Filter(2, _hat)
LANCZOS = Filter(6, _lanczos)
KEYS = Filter(4, _cubic(-0.5))
"""The cubic of antialiasing."""
CUBIC = Filter(4, _cubic(-0.75))
"""The cubic without it."""


def antialiased_weights(
    filter: Filter,
    size: int,
    outputs: int,
    scale: float | None,
    align: bool,
    dtype: np.dtype[Any] = _DOUBLE,
) -> Array:
    """How much each of `size` cells counts in each of the outputs: (outputs, size) of `dtype`, in
    which places are rounded.

    Shrinking widens the filter by the factor, as in Pillow's `Image.resize`.
    """
    each = dtype.type(step(size, outputs, scale, align))
    wide = max(each, dtype.type(1))
    centre = (np.float64(each) * (np.arange(outputs) + 0.5)).astype(dtype)
    reach = dtype.type(filter.taps / 2) * wide
    low = np.maximum((centre - reach + 0.5).astype(np.int64), 0)
    high = np.minimum((centre + reach + 0.5).astype(np.int64), size)
    cells = np.arange(size)
    apart = (cells.astype(dtype) - centre[:, None] + np.float64(0.5)) / wide
    weights = filter.weight(np.abs(apart).astype(dtype))
    weights = np.where((cells >= low[:, None]) & (cells < high[:, None]), weights, 0)
    return np.asarray(weights / weights.sum(1, keepdims=True, dtype=dtype))


def interpolated_weights(
    filter: Filter, size: int, outputs: int, scale: float | None, align: bool
) -> Array:
    """As `antialiased_weights`, of the `filter.taps` cells around an output's place alone; cells
    beyond the border count as the one at it."""
    each = step(size, outputs, scale, align)
    at = np.arange(outputs) * each if align else (np.arange(outputs) + 0.5) * each - 0.5
    if filter.taps == 2:
        at = np.maximum(at, 0)
    low = np.minimum(np.floor(at).astype(np.int64), size - 1)
    rest = np.clip(at - low, 0, 1)
    weights = np.zeros((outputs, size))
    for offset in range(1 - filter.taps // 2, 1 + filter.taps // 2):
        cells = np.clip(low + offset, 0, size - 1)
        np.add.at(weights, (np.arange(outputs), cells), filter.weight(np.abs(offset - rest)))
    return weights


@dataclass(frozen=True)
class FixedPoint:
    """Weights of bytes: int32 `weights` / 2**`bits`, each of at most 16 bits."""

    weights: Array
    bits: int


def fixed_point(weights: Array) -> FixedPoint:
    """`weights` as Pillow's `Image.resize` rounds them for images of bytes, with as many bits as
    the largest leaves."""
    largest = float(weights.max())
    bits = next((n for n in range(22) if int(0.5 + largest * 2 ** (n + 1)) >= 1 << 15), 22)
    scaled = weights * 2**bits
    return FixedPoint(np.trunc(scaled + np.copysign(0.5, scaled)).astype(np.int32), bits)
