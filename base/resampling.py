"""The geometry and the filters of resampling one dimension of an image (`interpolate`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Array = np.ndarray


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


def _keys(distance: Array) -> Array:
    t, a = distance, -0.5
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((t - 5) * t + 8) * t * a - 4 * a
    return np.where(t < 1, near, np.where(t < 2, far, 0.0))


HAT = Filter(2, _hat)
KEYS = Filter(4, _keys)
"""Keys' cubic with a = -1/2, the one of antialiasing (IEEE Trans. ASSP 29(6), 1981)."""


def antialiased_weights(
    filter: Filter, size: int, outputs: int, scale: float | None, align: bool
) -> Array:
    """How much each of `size` cells counts in each of the outputs: float64 (outputs, size).

    Shrinking widens the filter by the factor, as in Pillow's `Image.resize`.
    """
    each = step(size, outputs, scale, align)
    wide = max(each, 1.0)
    centre = each * (np.arange(outputs) + 0.5)
    reach = filter.taps / 2 * wide
    low = np.maximum((centre - reach + 0.5).astype(np.int64), 0)
    high = np.minimum((centre + reach + 0.5).astype(np.int64), size)
    cells = np.arange(size)
    weights = filter.weight(np.abs((cells - centre[:, None] + 0.5) / wide))
    weights = np.where((cells >= low[:, None]) & (cells < high[:, None]), weights, 0)
    return np.asarray(weights / weights.sum(1, keepdims=True))
