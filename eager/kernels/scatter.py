"""Gathering and scattering along a dimension: one index for each element, or one for a slice.

Reductions are calculated on values (half types widened) and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.cpp_names import cpp_name
from tensorscript.base.dtypes import bool_, int64
from tensorscript.base.errors import DimensionError, OperatorError

from ..storage import Array, array, compute, make, wrap
from .bag import reduce_at
from .index import add_at, index_array, source_of
from .reduction import vector_norm
from .shapes import broadcast, normal_dim

Kernel = Callable[..., Any]
Put = Callable[[Array, Any, Array], Any]
"""Writes values into the places of an array, in place."""


def _along(axis: int, at: Array) -> tuple[Any, ...]:
    """The NumPy index that names, for each element of `at`, its own place on the other axes."""
    grids = list(np.ogrid[tuple(slice(n) for n in at.shape)])
    grids[axis] = at
    return tuple(grids)


def _checked(
    size: int, axis: int, at: Array, kind: type[OperatorError] = OperatorError, before: str = ""
) -> None:
    bad = at[(at < 0) | (at >= size)] if at.size else at
    if bad.size:
        index = int(bad.flat[0])
        raise kind(f"{before}index {index} is out of bounds for dimension {axis} with size {size}")


def gather(self: Any, dim: int, index: Any, sparse_grad: bool = False) -> Any:
    a = array(self)
    if not array(index).size:
        return make(np.zeros(array(index).shape, a.dtype), self.dtype)
    at = index_array(index, "gather")
    axis = normal_dim(dim, a.ndim)
    if max(a.ndim, 1) != max(at.ndim, 1):
        raise OperatorError("Index tensor must have the same number of dimensions as input tensor")
    rows, places = np.atleast_1d(a), np.atleast_1d(at)
    for d, (m, n) in enumerate(zip(rows.shape, places.shape, strict=True)):
        if d != axis and n > m:
            raise OperatorError(
                f"Size does not match at dimension {d} expected index {list(at.shape)} to be no "
                f"larger than self {list(a.shape)} apart from dimension {axis}"
            )
    _checked(rows.shape[axis], axis, places)
    return make(rows[_along(axis, places)].reshape(at.shape), self.dtype)


def _scatter(fn: Put, name: str) -> Kernel:
    """`fn(values, places, sources)` on a copy of `self`."""

    def run(self: Any, dim: int, index: Any, src: Any) -> Any:
        a = compute(self).copy()
        axis = normal_dim(dim, a.ndim)
        if not array(index).size:
            return wrap(a, self.dtype)
        at = np.atleast_1d(index_array(index, name))
        _check_sizes(a, axis, at, src, name)
        target = a.reshape(a.shape or (1,))
        _checked(target.shape[axis], axis, at)
        source = compute(make(source_of(src, self), self.dtype))
        if hasattr(src, "dtype") and array(src).ndim:
            source = source[tuple(slice(n) for n in at.shape)]
        fn(target, _along(axis, at), source)
        return wrap(target.reshape(a.shape), self.dtype)

    return run


def _check_sizes(a: Array, axis: int, at: Array, src: Any, name: str) -> None:
    if at.ndim != max(a.ndim, 1):
        raise OperatorError("Index tensor must have the same number of dimensions as self tensor")
    shape = array(src).shape if hasattr(src, "dtype") else None
    if shape is not None and len(shape) != at.ndim and not (len(shape) == 0 and at.ndim == 1):
        raise OperatorError("Index tensor must have the same number of dimensions as src tensor")
    for d, n in enumerate(at.shape):
        own = a.shape[d] if a.ndim else 1
        if (d != axis and n > own) or (shape and n > shape[d]):
            beside = f" and to be no larger size than src {list(shape)}" if shape else ""
            raise OperatorError(
                f"Expected index {list(at.shape)} to be no larger than self {list(a.shape)} apart "
                f"from dimension {axis}{beside}"
            )


def _same_dtype(name: str, fn: Kernel) -> Kernel:
    def run(self: Any, dim: int, index: Any, src: Any, *rest: Any) -> Any:
        if src.dtype is not self.dtype:
            raise OperatorError(f"{name}(): Expected self.dtype to be equal to src.dtype")
        return fn(self, dim, index, src, *rest)

    return run


def _assign(a: Array, at: Any, source: Array) -> None:
    a[at] = source


def _reducing(reduce: str, include_self: bool) -> Put:
    def run(a: Array, at: Any, source: Array) -> None:
        a[...] = reduce_at(a, at, source, reduce, include_self)

    return run


def scatter_reduce(
    self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool = True
) -> Any:
    """sum, prod, mean, amax or amin of what lands on a place."""
    return _scatter(_reducing(reduce, include_self), "scatter")(self, dim, index, src)


def scatter_with(self: Any, dim: int, index: Any, src: Any, reduce: str) -> Any:
    words = {"add": "sum", "multiply": "prod"}
    if reduce not in words:
        raise OperatorError("reduce argument must be either add or multiply.")
    return scatter_reduce(self, dim, index, src, words[reduce])


_INDEX_REDUCTIONS = ("mean", "prod", "amax", "amin")


def index_reduce(
    self: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool = True
) -> Any:
    """scatter_reduce of whole slices along `dim`."""
    if reduce not in _INDEX_REDUCTIONS:
        raise OperatorError(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    return _slices(_reducing(reduce, include_self), "index_reduce")(self, dim, index, source)


def _slices(fn: Put, name: str, wraps: bool = False) -> Kernel:
    """index_add, index_copy, index_fill: whole slices along a dimension."""

    def run(self: Any, dim: int, index: Any, source: Any, alpha: Any = 1) -> Any:
        a = compute(self).copy()
        axis = normal_dim(dim, a.ndim)
        if array(index).ndim > 1:
            raise DimensionError(f"{name}(): Index is supposed to be a vector, but got dim: "
                                 f"{array(index).ndim}")  # fmt: skip
        at = index_array(index, name).reshape(-1)
        target = a.reshape(a.shape or (1,))
        if wraps and at.size:
            at = np.where(at < 0, at + target.shape[axis], at)
        folds = name in ("index_add", "index_reduce")
        if folds and a.ndim < 2 and ((at < 0) | (at >= target.size)).any():
            raise DimensionError("index out of range in self")
        kind = OperatorError if folds else DimensionError
        before = "index_copy_(): " if name == "index_copy" else ""
        _checked(target.shape[axis], axis, at, kind, before)
        new = compute(make(source_of(source, self), self.dtype))
        if hasattr(source, "dtype") and new.ndim:
            _check_slices(target, axis, at, new, name)
        new = new if alpha == 1 else (new * np.asarray(alpha).astype(new.dtype)).astype(new.dtype)
        fn(np.moveaxis(target, axis, 0), at, np.moveaxis(new, axis, 0) if new.ndim else new)
        return wrap(target.reshape(a.shape), self.dtype)

    return run


def _check_slices(target: Array, axis: int, at: Array, new: Array, name: str) -> None:
    if new.ndim != target.ndim or any(
        m != n for d, (m, n) in enumerate(zip(target.shape, new.shape, strict=True)) if d != axis
    ):
        raise OperatorError(
            f"{name}(): Source/destination tensor must have same slice shapes except at dimension "
            f"{axis}. Destination slice shape: {list(target.shape)} and source slice shape: "
            f"{list(new.shape)}."
        )
    if new.shape[axis] != at.size:
        raise DimensionError(
            f"{name}_(): Number of indices ({at.size}) should be equal to source.size(dim) "
            f"({new.shape[axis]})"
        )


def masked_scatter(self: Any, mask: Any, source: Any) -> Any:
    """Elements of `source` in order at the true places of `mask`, which broadcasts with `self`."""
    if mask.dtype is not bool_:
        raise OperatorError(
            "masked_scatter_ only supports boolean masks, but got mask with dtype "
            f"{cpp_name(mask.dtype)}"
        )
    if source.dtype is not self.dtype:
        raise OperatorError(
            "masked_scatter: expected self and source to have same dtypes but got"
            f"{self.dtype.word} and {source.dtype.word}"
        )
    shape = broadcast(array(self).shape, array(mask).shape)
    a = np.array(np.broadcast_to(array(self), shape))
    m = np.broadcast_to(array(mask), shape)
    count, flat = int(m.sum()), array(source).reshape(-1)
    if flat.size < count:
        raise OperatorError("Number of elements of source < number of ones in mask")
    a[m] = flat[:count]
    return make(a, self.dtype)


def take(self: Any, index: Any) -> Any:
    """Elements by their place in a flat order; negative places count from the end."""
    flat, at = array(self).reshape(-1), array(index)
    if index.dtype is not int64:
        raise OperatorError(f"take(): Expected a long tensor for index, but got {index.dtype.word}")
    return make(np.asarray(flat[_wrapped(at, flat.size, "take")]), self.dtype)


def _wrapped(at: Array, size: int, name: str) -> Array:
    if at.size and not size:
        raise DimensionError(f"{name}(): tried to take from an empty tensor")
    bad = at[(at < -size) | (at >= size)] if at.size else at
    if bad.size:
        raise DimensionError(
            f"out of range: tried to access index {int(bad.flat[0])} on a tensor of {size} "
            "elements."
        )
    return np.where(at < 0, at + size, at)


def put(self: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """A copy with `source` in order at places of the flat order."""
    if index.dtype is not int64:
        raise OperatorError(f"put_(): Expected a long tensor for index, but got {index.dtype.word}")
    if source.dtype is not self.dtype:
        raise OperatorError("put_(): self and source expected to have the same dtype, but got "
                            f"self.dtype = {self.dtype.word} and source.dtype = "
                            f"{source.dtype.word}")  # fmt: skip
    if array(source).size != array(index).size:
        raise OperatorError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {array(source).size}, index.numel() = {array(index).size}"
        )
    out = make(array(self).copy(order="C"), self.dtype)
    flat = make(array(out).reshape(-1), self.dtype)
    at = _wrapped(array(index).reshape(-1), array(flat).size, "put_")
    if accumulate:
        add_at(flat, (at,), compute(source).reshape(-1))
    else:
        array(flat)[at] = array(source).reshape(-1)
    return out


def take_along_dim(self: Any, indices: Any, dim: int | None = None) -> Any:
    """`gather` that broadcasts the other dimensions and counts negative places from the end."""
    if indices.dtype is not int64:
        raise OperatorError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.word}"
        )
    a, at = array(self), array(indices)
    if dim is None:
        a, at, dim = a.reshape(-1), at.reshape(-1), 0
    if a.ndim != at.ndim:
        raise OperatorError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {a.ndim} dimensions for input, and {at.ndim} dimensions for indices"
        )
    axis = normal_dim(dim, a.ndim)
    shape = broadcast([1 if d == axis else n for d, n in enumerate(a.shape)],
                      [1 if d == axis else n for d, n in enumerate(at.shape)])  # fmt: skip
    own, asked = list(shape), list(shape)
    own[axis], asked[axis] = a.shape[axis], at.shape[axis]
    places = np.broadcast_to(_from_end(at, a.shape[axis]), asked)
    _checked(a.shape[axis], axis, places)
    return make(np.take_along_axis(np.broadcast_to(a, own), places, axis), self.dtype)


def _from_end(at: Array, size: int) -> Array:
    return np.where(at < 0, at + size, at)


def renorm(self: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    """Slices along `dim` whose p-norm is above `maxnorm` shortened to it."""
    x = compute(self)
    if p <= 0:
        raise OperatorError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise OperatorError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    axis = normal_dim(dim, x.ndim)
    over = tuple(d for d in range(x.ndim) if d != axis)
    size = compute(vector_norm(self, p, over, keepdim=True))
    scale = np.where(size > maxnorm, maxnorm / (size + 1e-7), 1).astype(size.dtype)
    return wrap(x * scale, self.dtype)


KERNELS: dict[str, Kernel] = {
    "aten::gather": gather,
    "aten::scatter.src": _same_dtype("scatter", _scatter(_assign, "scatter")),
    "aten::scatter.value": _scatter(_assign, "scatter"),
    "aten::scatter.reduce": scatter_with,
    "aten::scatter.value_reduce": scatter_with,
    "aten::scatter_add": _same_dtype("scatter", _scatter(np.add.at, "scatter_add")),
    "aten::scatter_reduce.two": _same_dtype("scatter", scatter_reduce),
    "aten::index_add": _slices(np.add.at, "index_add"),
    "aten::index_copy": _slices(_assign, "index_copy"),
    "aten::index_reduce": index_reduce,
    "aten::index_fill.int_Scalar": _slices(_assign, "index_fill", wraps=True),
    "aten::index_fill.int_Tensor": _slices(_assign, "index_fill", wraps=True),
    "aten::masked_scatter": masked_scatter,
    "aten::take": take,
    "aten::put": put,
    "aten::take_along_dim": take_along_dim,
    "aten::renorm": renorm,
}
