"""Norms of matrices and what is read off singular values: condition, rank, pseudo-inverse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import int64, real_dtype
from tensorscript.base.errors import DimensionError, OperatorError

from ..storage import Array, cast, compute, is_tensor, wrap, wrap_like
from .matrices import (
    matrix,
    ranks,
    singular,
    singular_values,
    square,
    symmetric,
    symmetric_values,
    turned,
)
from .reduction import vector_norm
from .shapes import normal_dims

Kernel = Callable[..., Any]


def matrix_norm(
    self: Any, order: Any, dim: Sequence[int] = (-2, -1), keepdim: bool = False, dtype: Any = None
) -> Any:
    """fro, nuc, 1, -1, 2, -2, inf, -inf of the matrices that two dimensions span."""
    source = dtype or self.dtype
    if not (source.is_floating_point or source.is_complex):
        raise OperatorError(
            "linalg.matrix_norm: Expected a floating point or complex tensor as input. Got "
            f"{source.word}"
        )
    if order in ("nuc", 2, -2) and self.dtype.bits < 32:
        raise OperatorError(
            f"linalg.matrix_norm: Low precision dtypes not supported. Got {self.dtype.word}"
        )
    x = cast(self, source)
    rows, columns = normal_dims(dim, x.ndim)
    word: Any = (
        {"inf": np.inf, "-inf": -np.inf}.get(order, order) if isinstance(order, str) else order
    )
    if word not in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        raise OperatorError(f"linalg.matrix_norm: Order {order} not supported.")
    if not x.shape[rows] * x.shape[columns]:
        return wrap(_of_nothing(x, word, rows, columns, keepdim), real_dtype(source))
    if word in ("nuc", 2, -2):
        found = _by_singular_values(x, word, rows, columns)
        found = np.expand_dims(found, (rows, columns)) if keepdim else found
    else:
        found = np.linalg.norm(x, word, (rows, columns), keepdim)
    return wrap(found, real_dtype(source))


def _by_singular_values(x: Array, order: Any, rows: int, columns: int) -> Array:
    values = singular_values(np.moveaxis(x, (rows, columns), (-2, -1)))
    if order == "nuc":
        return np.asarray(values.sum(-1))
    return values[..., 0 if order == 2 else -1]


def _of_nothing(x: Array, order: Any, rows: int, columns: int, keepdim: bool) -> Array:
    """Sums of nothing are 0, and so is the largest; there is no smallest of nothing."""
    least_of = {-1: columns, -np.inf: rows}.get(order)
    if order == -2 or (least_of is not None and not x.shape[least_of]):
        at = -1 if order == -2 else least_of
        raise DimensionError(f"amin(): Expected reduction dim {at} to have non-zero size.")
    return np.asarray(np.zeros_like(x.real).sum((rows, columns), keepdims=keepdim))


def norm(
    self: Any, order: Any = None, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    """The 2-norm of everything, or a vector or matrix norm by the number of dimensions."""
    ndim = compute(self).ndim
    dims = None if dim is None else list(dim)
    if order is None:
        return vector_norm(self, 2, dims, keepdim, dtype)
    over = list(range(ndim)) if dims is None else dims
    if len(over) == 2:
        return matrix_norm(self, order, over, keepdim, dtype)
    if len(over) != 1 or (isinstance(order, str) and order in ("fro", "nuc")):
        raise OperatorError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{ndim}D."
        )
    return vector_norm(self, order, over, keepdim, dtype)


def condition(self: Any, order: Any = None) -> Any:
    """The ratio of the extreme singular values, or |A| |A^-1| in another norm."""
    x = matrix(self, "linalg.cond")
    if not x.size:
        return wrap_like(np.zeros(x.shape[:-2], x.real.dtype))
    if order in (None, 2, -2):
        values = singular_values(x)
        ratio = values[..., 0] / values[..., -1]
        return wrap_like(1 / ratio if order == -2 else ratio)
    x = square(self, "linalg.cond")
    is_singular = ranks(x) < x.shape[-1]
    safe = np.where(is_singular[..., None, None], np.eye(x.shape[-1], dtype=x.dtype), x)
    sizes = [compute(matrix_norm(wrap_like(a), order)) for a in (x, np.linalg.inv(safe))]
    return wrap_like(np.where(is_singular, np.inf, sizes[0] * sizes[1]).astype(sizes[0].dtype))


def _spectrum(x: Array, hermitian: bool) -> Array:
    """Singular values in descending order, or the sizes of eigenvalues."""
    if hermitian:
        return np.asarray(-np.sort(-np.abs(symmetric_values(x)), axis=-1))
    return singular_values(x)


def _cutoff(x: Array, values: Array, atol: Any, rtol: Any) -> Array:
    """The size at and below which a singular value counts as zero."""
    absolute = _number(atol, 0.0)
    if rtol is None:
        relative: Any = np.finfo(x.dtype).eps * max(x.shape[-2:])
        relative = np.where(absolute > 0, 0.0, relative) if atol is not None else relative
    else:
        relative = _number(rtol, 0.0)
    largest = values.max(-1, initial=0)
    return np.asarray(np.maximum(absolute, relative * largest))


def _number(x: Any, default: float) -> Any:
    if x is None:
        return default
    return compute(x) if is_tensor(x) else x


def rank(self: Any, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    x = compute(self)
    if x.ndim < 2:
        raise OperatorError(
            "torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions."
        )
    values = _spectrum(matrix(self, "linalg.matrix_rank"), hermitian)
    limit = _cutoff(x, values, atol, rtol)
    return wrap((values > limit[..., None]).sum(-1), int64)


def pinv(self: Any, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """Through the singular (hermitian: eigen) values above the cut-off."""
    x = matrix(self, "linalg.pinv")
    if 0 in x.shape:
        return wrap(np.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2])), self.dtype)
    if hermitian:
        values, left = symmetric(x)
        right = turned(left)
    else:
        left, values, right = singular(x)
    limit = _cutoff(x, np.abs(values), atol, rtol)[..., None]
    kept = np.abs(values) > limit
    scale = np.where(kept, 1 / np.where(kept, values, 1), 0).astype(x.dtype)
    return wrap((turned(right) * scale[..., None, :]) @ turned(left), self.dtype)


def _hermitian_third(fn: Kernel) -> Kernel:
    """The older overloads: one relative tolerance, then `hermitian`."""
    return lambda self, tolerance, hermitian=False: fn(self, None, tolerance, hermitian)


def _rank_within(self: Any, tolerance: Any, hermitian: bool = False) -> Any:
    return rank(self, tolerance, 0.0, hermitian)


def nuclear_norm(self: Any, dim: Sequence[int] = (-2, -1), keepdim: bool = False) -> Any:
    return matrix_norm(self, "nuc", dim, keepdim)


KERNELS: dict[str, Kernel] = {
    "aten::linalg_matrix_norm": matrix_norm,
    "aten::linalg_matrix_norm.str_ord": lambda self, order="fro", *rest: matrix_norm(
        self, order, *rest
    ),
    "aten::linalg_norm": norm,
    "aten::linalg_norm.ord_str": norm,
    "aten::nuclear_norm": lambda self, keepdim=False: nuclear_norm(self, (-2, -1), keepdim),
    "aten::nuclear_norm.dim": nuclear_norm,
    "aten::frobenius_norm.dim": lambda self, dim, keepdim=False: vector_norm(self, 2, dim, keepdim),
    "aten::linalg_cond": condition,
    "aten::linalg_cond.p_str": condition,
    "aten::linalg_matrix_rank": _rank_within,
    "aten::linalg_matrix_rank.tol_tensor": _rank_within,
    "aten::linalg_matrix_rank.atol_rtol_float": rank,
    "aten::linalg_matrix_rank.atol_rtol_tensor": rank,
    "aten::linalg_pinv": _hermitian_third(pinv),
    "aten::linalg_pinv.rcond_tensor": _hermitian_third(pinv),
    "aten::linalg_pinv.atol_rtol_float": pinv,
    "aten::linalg_pinv.atol_rtol_tensor": pinv,
    "aten::pinverse": lambda self, rcond=1e-15: pinv(self, None, rcond),
}
