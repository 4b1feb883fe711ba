"""Pooling that is told by places: fractional windows (Graham, 2014), unpooling, the gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import int64
from tensorscript.base.errors import OperatorError

from ..storage import Array, array, compute, make, wrap
from .window import spread

Kernel = Callable[..., Any]


def _starts(sample: Array, size: int, outputs: int, window: int) -> Array:
    """sample (*) in [0, 1) -> first cells (*, outputs); the last window ends the dimension."""
    found = np.zeros((*sample.shape, outputs), np.int64)
    if outputs > 1:
        alpha = sample.dtype.type((size - window) / (outputs - 1))
        steps = np.arange(outputs - 1).astype(sample.dtype)
        shifted = ((steps + sample[..., None]) * alpha).astype(np.int64)
        found[..., :-1] = shifted - (sample[..., None] * alpha).astype(np.int64)
    found[..., outputs - 1 : outputs] = size - window
    return found


def fractional_max_pool(n: int) -> Kernel:
    """x (N, C, *sizes) or (C, *sizes), samples (N, C, n) -> values and their places."""

    def run(self: Any, kernel: Sequence[int], output_size: Sequence[int], samples: Any) -> Any:
        x, draws = compute(self), compute(samples)
        single = x.ndim == n + 1
        x = x[None] if single else x
        if len(draws) < len(x):
            raise OperatorError("Expect _random_samples.size(0) no less then input batch size.")
        draws = draws[: len(x)]
        k, sizes = spread(kernel, n), spread(output_size, n)
        spatial = x.shape[2:]
        for m, o, w in zip(spatial, sizes, k, strict=True):
            if o + w - 1 > m:
                raise OperatorError(
                    f"fractional_max_pool{n}d(): pool size {w} too large relative to input size {m}"
                )
        cells: list[Array] = []
        for axis in range(n):
            # Of the draws of one channel the first belongs to the last dimension in two
            # dimensions, and to the first one in three.
            draw = draws[..., n - 1 - axis] if n == 2 else draws[..., axis]
            first = _starts(draw, spatial[axis], sizes[axis], k[axis])
            at = first[..., None] + np.arange(k[axis])
            shape = [1] * (2 + 2 * n)
            shape[:2], shape[2 + axis], shape[2 + n + axis] = at.shape[:2], sizes[axis], k[axis]
            cells.append(at.reshape(shape))
        places = np.zeros((), np.int64)
        for at, size in zip(cells, spatial, strict=True):
            places = np.asarray(places * size + at)
        window = int(np.prod(k))
        places = places.reshape(*x.shape[:2], *sizes, window)
        flat = x.reshape(*x.shape[:2], int(np.prod(spatial)))
        inside = np.take_along_axis(
            flat, places.reshape(*x.shape[:2], int(np.prod(sizes)) * window), -1
        )
        inside = inside.reshape(places.shape)
        best = inside.argmax(-1)[..., None]
        values = np.take_along_axis(inside, best, -1)[..., 0]
        found = np.take_along_axis(places, best, -1)[..., 0]
        if single:
            values, found = values[0], found[0]
        return wrap(values, self.dtype), wrap(found, int64)

    return run


def max_unpool(n: int) -> Kernel:
    """Values back to the places they were pooled from; zero elsewhere."""

    def run(self: Any, indices: Any, output_size: Sequence[int], *_: Any) -> Any:
        x, at = array(self), array(indices)
        if indices.dtype is not int64:
            raise OperatorError(
                f"elements in indices should be type int64 but got: {indices.dtype.word}"
            )
        if x.shape != at.shape:
            raise OperatorError(
                "Expected shape of indices to be same as that of the input tensor "
                f"({list(x.shape)}) but got indices tensor with shape: {list(at.shape)}"
            )
        if len(output_size) != n:
            raise OperatorError(
                f"There should be exactly {n} elements in output_size, but got {len(output_size)} "
                "elements."
            )
        lead = x.shape[:-n]
        count = int(np.prod(x.shape[-n:], dtype=np.int64))
        out = np.zeros((*lead, int(np.prod(output_size))), x.dtype)
        flat = at.reshape(*lead, count)
        if flat.size and (flat.min() < 0 or flat.max() >= out.shape[-1]):
            bad = flat[(flat < 0) | (flat >= out.shape[-1])].reshape(-1)[-1]
            volume = "x".join(map(str, output_size))
            raise OperatorError(
                f"Found an invalid max index: {bad} (output volumes are of size {volume})"
            )
        np.put_along_axis(out, flat, x.reshape(*lead, count), -1)
        return make(out.reshape(*lead, *output_size), self.dtype)

    return run


def max_pool2d_backward(
    grad: Any, self: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool,
    indices: Any,
) -> Any:  # fmt: skip
    """The gradient added up at the places of the maxima."""
    g, at, shape = compute(grad), array(indices), array(self).shape
    lead = int(np.prod(shape[:-2], dtype=np.int64))
    out = np.zeros((lead, shape[-2] * shape[-1]), g.dtype)
    np.add.at(out, (np.arange(lead)[:, None], at.reshape(lead, -1)), g.reshape(lead, -1))
    return wrap(out.reshape(shape), self.dtype)


KERNELS: dict[str, Kernel] = {
    "aten::fractional_max_pool2d": fractional_max_pool(2),
    "aten::fractional_max_pool3d": fractional_max_pool(3),
    "aten::max_unpool2d": max_unpool(2),
    "aten::max_unpool3d": max_unpool(3),
    "aten::max_pool2d_with_indices_backward": max_pool2d_backward,
}
