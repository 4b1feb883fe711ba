"""Small linear algebra: triangles, diagonals, distances, powers; products are in `products.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.errors import OperatorError

from ..storage import Array, array, cast, compute, make, promoted, sum_dtype, value, wrap
from .elementwise import sub
from .reduction import vector_norm
from .shapes import check_broadcast
from .view import diagonal

Kernel = Callable[..., Any]


def triangle(fn: Callable[..., Any]) -> Kernel:
    def run(self: Any, diagonal: int = 0) -> Any:
        if array(self).ndim < 2:
            raise OperatorError(f"{fn.__name__}: input tensor must have at least 2 dimensions")
        return make(fn(array(self), diagonal), self.dtype)

    return run


def diag(self: Any, diagonal: int = 0) -> Any:
    return make(np.array(np.diag(array(self), diagonal)), self.dtype)


def diag_embed(self: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    a = array(self)
    n = a.shape[-1] + abs(offset)
    out = np.zeros((*a.shape[:-1], n, n), a.dtype)
    k = np.arange(a.shape[-1])
    out[..., k + max(0, -offset), k + max(0, offset)] = a
    return make(np.moveaxis(out, (-2, -1), (dim1, dim2)), self.dtype)


def trace(self: Any) -> Any:
    if array(self).ndim != 2:
        raise OperatorError(f"trace: expected a matrix, but got tensor with dim {array(self).ndim}")
    out = sum_dtype(self.dtype)
    return wrap(np.trace(cast(self, out)), out)


def cdist(first: Any, second: Any, p: float = 2.0, mode: Any = None) -> Any:
    """first (*, P, M), second (*, R, M) -> p-norms of all differences (*, P, R)."""
    difference = np.abs(compute(first)[..., :, None, :] - compute(second)[..., None, :, :])
    return wrap(distances(difference, p), first.dtype)


def distances(difference: Array, p: float) -> Array:
    """The p-norm of absolute differences over the last dimension."""
    if p == float("inf"):
        return np.asarray(difference.max(-1, initial=0))
    if p == 0:
        return np.asarray((difference != 0).sum(-1))
    if p in (1.0, 2.0):
        total = (difference if p == 1 else difference * difference).sum(-1)
        return np.asarray(total if p == 1 else np.sqrt(total))
    return np.asarray((difference**p).sum(-1) ** (1 / p))


def pdist(self: Any, p: float = 2.0) -> Any:
    """(N, M) -> p-norms of the differences of all pairs of rows (N (N - 1) / 2)."""
    x = compute(self)
    if x.ndim != 2:
        raise OperatorError(f"pdist only supports 2D tensors, got: {x.ndim}D")
    i, j = np.triu_indices(x.shape[0], 1)
    return wrap(distances(np.abs(x[i] - x[j]), p), self.dtype)


def dist(self: Any, other: Any, p: Any = 2) -> Any:
    """The p-norm of the difference of all elements."""
    return vector_norm(sub(self, other), p)


def kron(self: Any, other: Any) -> Any:
    dtype = promoted(self, other)
    return wrap(np.kron(cast(self, dtype), cast(other, dtype)), dtype)


def cross(self: Any, other: Any, dim: int | None = None) -> Any:
    shape = array(self).shape
    if dim is None and 3 not in shape:
        raise OperatorError("no dimension of size 3 in input")
    axis = shape.index(3) if dim is None else dim
    if shape[axis] != 3 or array(other).shape[axis] != 3:
        raise OperatorError(
            f"linalg.cross: inputs dimension {axis} must have length 3. Got {shape[axis]} and"
            f" {array(other).shape[axis]}"
        )
    if array(other).ndim != len(shape):
        raise OperatorError("linalg.cross: inputs must have the same number of dimensions.")
    a, b = np.moveaxis(compute(self), axis, -1), np.moveaxis(compute(other), axis, -1)
    check_broadcast(a, b)
    out = np.roll(a, -1, -1) * np.roll(b, 1, -1) - np.roll(a, 1, -1) * np.roll(b, -1, -1)
    return wrap(np.moveaxis(out, -1, axis), self.dtype)


def vecdot(x: Any, y: Any, dim: int = -1) -> Any:
    """sum of conj(x) * y along `dim`."""
    dtype = promoted(x, y)
    a, b = cast(x, dtype), cast(y, dtype)
    check_broadcast(a, b)
    return wrap((np.conj(a) * b).sum(dim), dtype)


def vander(x: Any, n: int | None = None, increasing: bool = True) -> Any:
    """Powers 0 to n - 1 of each element along a new last dimension."""
    a = np.atleast_1d(value(x))
    count = a.shape[-1] if n is None else n
    dtype = sum_dtype(x.dtype)
    powers = np.atleast_1d(cast(x, dtype))[..., None] ** np.arange(count)
    return wrap(powers if increasing else np.flip(powers, -1), dtype)


def linalg_vander(x: Any, n: int | None = None) -> Any:
    if n is not None and n <= 1:
        raise OperatorError("N must be greater than 1.")
    return vander(x, n)


def matrix_power(self: Any, n: int) -> Any:
    base = compute(self)
    power = np.linalg.matrix_power(base, n)
    return wrap(base.copy() if power is base else power, self.dtype)


KERNELS: dict[str, Kernel] = {
    "aten::tril": triangle(np.tril),
    "aten::triu": triangle(np.triu),
    "aten::diag": diag,
    "aten::diag_embed": diag_embed,
    "aten::trace": trace,
    "aten::cdist": cdist,
    "aten::pdist": pdist,
    "aten::dist": dist,
    "aten::kron": kron,
    "aten::cross": cross,
    "aten::linalg_cross": lambda a, b, dim=-1: cross(a, b, dim),
    "aten::matrix_power": matrix_power,
    "aten::linalg_vecdot": vecdot,
    "aten::linalg_vander": linalg_vander,
    "aten::vander": lambda x, n=None, increasing=False: vander(x, n, increasing),
    "aten::linalg_diagonal": lambda self, offset=0, dim1=-2, dim2=-1: diagonal(
        self, offset, dim1, dim2
    ),
    "aten::linalg_matrix_power": matrix_power,
}
