"""Sampling images at given places: grid_sampler and the affine grids that feed it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from tensorscript.base.dtypes import DType
from tensorscript.base.errors import OperatorError

from ..storage import Array, compute, rounded, wrap

Kernel = Callable[..., Any]
BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2
_CUBIC_A = -0.75


def _unnormalised(g: Array, size: int, align: bool, dtype: DType) -> Array:
    """[-1, 1] to cell numbers: -1 and 1 are centres of corner cells, or their outer edges. Half
    types round at every step, as PyTorch calculates places in them."""
    above = rounded(g + g.dtype.type(1), dtype)
    if align:
        return rounded(rounded(above / 2, dtype) * (size - 1), dtype)
    return rounded(rounded(rounded(above * size, dtype) - g.dtype.type(1), dtype) / 2, dtype)


def _reflected(x: Array, size: int, align: bool, n: int) -> Array:
    low, span = (0.0, size - 1.0) if align else (-0.5, float(size))
    if span == 0:
        return np.zeros_like(x)
    distance = np.abs(x - low)
    if n == 2:  # by whole turns there and back, which far away rounds in another way
        turn = x.dtype.type(2 * span)
        extra = distance - np.trunc(distance / turn) * turn
        return np.asarray(np.minimum(extra, turn - extra) + low, x.dtype)
    extra, flips = np.fmod(distance, span), np.floor(distance / span)
    return np.asarray(np.where(flips % 2 == 0, extra + low, span - extra + low), x.dtype)


def _placed(x: Array, size: int, padding: int, align: bool, n: int) -> Array:
    """Places after the padding rule; only zeros leaves some outside. NaN is the first cell of an
    image and the last of a volume, or outside of it: PyTorch has a vector code for images."""
    if padding == ZEROS:
        return x if n == 2 else np.where(np.isfinite(x), x, x.dtype.type(-2))
    if padding == REFLECTION:
        x = _reflected(x, size, align, n)
    unknown = x.dtype.type(0 if n == 2 else size - 1)
    return np.clip(np.where(np.isnan(x), unknown, x), 0, size - 1)


def _fetch(image: Array, at: Sequence[Array]) -> Array:
    """image (N, C, *sizes) at integer places (N, *out) -> (N, C, *out); zero outside."""
    sizes = image.shape[2:]
    inside = np.ones(at[0].shape, bool)
    safe = []
    for place, size in zip(at, sizes, strict=True):
        inside &= (place >= 0) & (place < size)
        safe.append(np.clip(np.nan_to_num(place, nan=0.0), 0, size - 1).astype(np.int64))
    batch = np.arange(image.shape[0]).reshape(-1, *[1] * (at[0].ndim - 1))
    found = np.moveaxis(image, 1, -1)[(batch, *safe)]
    return np.asarray(np.moveaxis(np.where(inside[..., None], found, 0), -1, 1), image.dtype)


def _linear(image: Array, at: Sequence[Array], dtype: DType) -> Array:
    out = np.zeros((*image.shape[:2], *at[0].shape[1:]), image.dtype)
    floors = [np.floor(p) for p in at]
    for corner in product((0, 1), repeat=len(at)):
        weight = np.ones_like(at[0])
        for p, f, c in zip(at, floors, corner, strict=True):
            part = rounded((p - f) if c else (f + 1 - p), dtype)
            weight = rounded(weight * part, dtype)
        cells = [f + c for f, c in zip(floors, corner, strict=True)]
        out = rounded(out + rounded(_fetch(image, cells) * weight[:, None], dtype), dtype)
    return out


def _cubic_weights(t: Array, dtype: DType) -> list[Array]:
    a = _CUBIC_A

    def step(found: Array) -> Array:
        return rounded(np.asarray(found, t.dtype), dtype)

    def near(x: Array) -> Array:
        inner = step(step((a + 2) * x) - (a + 3))
        return step(step(step(inner * x) * x) + 1)

    def far(x: Array) -> Array:
        inner = step(step(step(a * x) - 5 * a) * x)
        return step(step(step(inner + 8 * a) * x) - 4 * a)

    return [far(step(t + 1)), near(t), near(step(1 - t)), far(step(2 - t))]


def _cubic(image: Array, at: Sequence[Array], padding: int, align: bool, dtype: DType) -> Array:
    """Four cells of each of four rows, then the four rows; half types round at every step."""
    y, x = at
    fy, fx = np.floor(y), np.floor(x)
    wy, wx = (_cubic_weights(rounded(p - f, dtype), dtype) for p, f in ((y, fy), (x, fx)))
    height, width = image.shape[2:]
    columns = [_placed(rounded(fx + j, dtype), width, padding, align, 2) for j in range(-1, 3)]

    def weighed(parts: Iterable[Array], weights: Sequence[Array]) -> Array:
        products = (rounded(p * w[:, None], dtype) for p, w in zip(parts, weights, strict=True))
        return reduce(lambda total, part: rounded(total + part, dtype), products)

    rows = []
    for i in range(-1, 3):
        row = _placed(rounded(fy + i, dtype), height, padding, align, 2)
        rows.append(weighed((_fetch(image, [row, column]) for column in columns), wx))
    return weighed(rows, wy)


def grid_sampler(
    self: Any, grid: Any, interpolation: int, padding: int, align_corners: bool
) -> Any:
    """self (N, C, [D,] H, W), grid (N, *out, 2 or 3) of (x, y[, z]) in [-1, 1] -> (N, C, *out)."""
    image, g = compute(self), compute(grid)
    n = image.ndim - 2
    if g.shape[-1] != n or g.ndim != image.ndim:
        raise OperatorError(
            f"grid_sampler(): expected grid to have size {n} in last dimension, but got grid with "
            f"sizes {list(g.shape)}"
        )
    if g.shape[0] != image.shape[0]:
        raise OperatorError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with "
            f"sizes {list(image.shape)} and grid with sizes {list(g.shape)}"
        )
    raw = [
        _unnormalised(g[..., n - 1 - k], image.shape[2 + k], align_corners, self.dtype)
        for k in range(n)
    ]
    if interpolation == BICUBIC:
        if n != 2:
            raise OperatorError("grid_sampler(): bicubic interpolation only supports 4D input")
        return wrap(_cubic(image, raw, padding, align_corners, self.dtype), self.dtype)
    sizes = image.shape[2:]
    at = [_placed(p, s, padding, align_corners, n) for p, s in zip(raw, sizes, strict=True)]
    if interpolation == NEAREST:
        return wrap(_fetch(image, [np.rint(p) for p in at]), self.dtype)
    return wrap(_linear(image, at, self.dtype), self.dtype)


def affine_grid(theta: Any, size: Sequence[int], align_corners: bool) -> Any:
    """theta (N, 2, 3) or (N, 3, 4), size (N, C, [D,] H, W) -> (N, [D,] H, W, 2 or 3)."""
    t = compute(theta)
    spatial = list(size[2:])
    axes = []
    for count in spatial:
        line = np.linspace(-1, 1, count, dtype=t.dtype) if count > 1 else np.zeros(1, t.dtype)
        axes.append(line if align_corners else line * t.dtype.type((count - 1) / count))
    mesh = np.meshgrid(*axes, indexing="ij")
    points = np.stack([*reversed(mesh), np.ones_like(mesh[0])], -1)
    flat = points.reshape(1, -1, len(spatial) + 1) @ np.swapaxes(t, 1, 2)
    return wrap(flat.reshape(t.shape[0], *spatial, len(spatial)), theta.dtype)


KERNELS: dict[str, Kernel] = {
    "aten::grid_sampler": grid_sampler,
    "aten::grid_sampler_2d": grid_sampler,
    "aten::grid_sampler_3d": grid_sampler,
    "aten::affine_grid_generator": affine_grid,
}
