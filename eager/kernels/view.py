"""Shapes and views: results share memory with the input wherever PyTorch's do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided as strided_view

from tensorscript.base.cpp_names import legacy_name
from tensorscript.base.dtypes import DType
from tensorscript.base.errors import OperatorError
from tensorscript.base.reinterpretation import of_no_dimension, of_size, of_stride

from ..memory_format import unsqueezed
from ..storage import Array, array, make
from .shapes import broadcast, normal_dim, normal_dims, whole_shape
from .strided import as_strided

Kernel = Callable[..., Any]


def _viewed_strides(a: Array, shape: Sequence[int]) -> tuple[int, ...] | None:
    """Bytes between the elements of `a` seen in another shape; None if no strides show them.

    Dimensions that lie side by side are one run; those of one element belong to the run after
    them, as PyTorch has it (NumPy keeps their strides where no size changes).
    """
    strides, at = [0] * len(shape), len(shape) - 1
    size, step = 1, a.strides[-1]
    for dim in range(a.ndim - 1, -1, -1):
        size *= a.shape[dim]
        if dim and (a.shape[dim - 1] == 1 or a.strides[dim - 1] == size * step):
            continue
        seen = 1
        while at >= 0 and (seen < size or shape[at] == 1):
            strides[at] = seen * step
            seen *= shape[at]
            at -= 1
        if seen != size:
            return None
        size, step = 1, a.strides[dim - 1]
    return tuple(strides)


def _reshaped(a: Array, shape: tuple[int, ...]) -> Array:
    """`a.reshape`, a view wherever it can be one, with PyTorch's strides."""
    out = a.reshape(shape)
    if 1 not in shape or not a.ndim or not a.size or not np.may_share_memory(out, a):
        return out
    strides = _viewed_strides(a, shape)
    if strides is None or strides == out.strides:
        return out
    return strided_view(a, shape, strides)


def view(self: Any, size: Sequence[int]) -> Any:
    a = array(self)
    out = _reshaped(a, whole_shape(size, a.size))
    if a.size and not np.may_share_memory(out, a):
        raise OperatorError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return make(out, self.dtype)


def reshape(self: Any, shape: Sequence[int]) -> Any:
    return make(_reshaped(array(self), whole_shape(shape, array(self).size)), self.dtype)


def view_dtype(self: Any, dtype: DType) -> Any:
    """The same memory.

    Raises:
        OperatorError: of another size of elements, which do not lie side by side or fit.
    """
    a, source = array(self), self.dtype
    if source.itemsize != dtype.itemsize:
        if not a.ndim:
            raise OperatorError(of_no_dimension(source, dtype))
        if (stride := a.strides[-1] // a.itemsize) != 1:
            raise OperatorError(of_stride(source, dtype, stride))
        if a.shape[-1] * source.itemsize % dtype.itemsize:
            raise OperatorError(of_size(source, dtype, a.shape[-1]))
    return make(a.view(dtype.numpy), dtype)


def flatten(self: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    shape = array(self).shape
    start, end = normal_dim(start_dim, len(shape)), normal_dim(end_dim, len(shape))
    if start > end:
        raise OperatorError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape(self, [1])
    if start == end:
        return self
    middle = int(np.prod(shape[start : end + 1], dtype=np.int64))
    return reshape(self, [*shape[:start], middle, *shape[end + 1 :]])


def unflatten(self: Any, dim: int, sizes: Sequence[int]) -> Any:
    shape = array(self).shape
    at = normal_dim(dim, len(shape))
    return reshape(self, [*shape[:at], *whole_shape(sizes, shape[at]), *shape[at + 1 :]])


def permute(self: Any, dims: Sequence[int]) -> Any:
    a = array(self)
    if len(dims) != a.ndim:
        raise OperatorError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {a.ndim} is not "
            f"equal to len(dims) = {len(dims)}"
        )
    found = [normal_dim(dim, a.ndim) for dim in dims]
    if len(set(found)) < a.ndim:
        raise OperatorError("permute(): duplicate dims are not allowed.")
    return make(a.transpose(found), self.dtype)


def transpose(self: Any, dim0: int, dim1: int) -> Any:
    a = array(self)
    i, j = normal_dim(dim0, a.ndim), normal_dim(dim1, a.ndim)
    return make(a.swapaxes(i, j) if a.ndim else a, self.dtype)


def t(self: Any) -> Any:
    if array(self).ndim > 2:
        raise OperatorError(
            f"t() expects a tensor with <= 2 dimensions, but self is {array(self).ndim}D"
        )
    return make(array(self).T, self.dtype)


def movedim(self: Any, source: Any, destination: Any) -> Any:
    a = array(self)
    pair = [(d,) if isinstance(d, int) else tuple(d) for d in (source, destination)]
    old, new = (normal_dims(dims, a.ndim) for dims in pair)
    return make(np.moveaxis(a, old, new) if a.ndim else a, self.dtype)


def squeeze(self: Any) -> Any:
    return make(array(self).squeeze(), self.dtype)


def squeeze_dims(self: Any, dim: int | Sequence[int]) -> Any:
    a = array(self)
    dims = normal_dims((dim,) if isinstance(dim, int) else dim, a.ndim)
    drop = tuple(d for d in dims if a.ndim and a.shape[d] == 1)
    return make(a.squeeze(drop) if drop else a[...], self.dtype)


def unsqueeze(self: Any, dim: int) -> Any:
    a = array(self)
    at = normal_dim(dim, a.ndim + 1)
    return make(unsqueezed(a[(*[slice(None)] * at, None)], a, (at,)), self.dtype)


def expand(self: Any, size: Sequence[int], implicit: bool = False) -> Any:
    a = array(self)
    lead = len(size) - a.ndim
    if lead < 0:
        raise OperatorError(
            f"expand({legacy_name(self.dtype)}{{{list(a.shape)}}}, size={list(size)}): the number "
            f"of sizes provided ({len(size)}) must be greater or equal to the number of dimensions "
            f"in the tensor ({a.ndim})"
        )
    shape = []
    for k, n in enumerate(size):
        have = a.shape[k - lead] if k >= lead else 1
        if n == -1 and k < lead:
            raise OperatorError(
                f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
                f"dimension {k}"
            )
        if n not in (-1, have) and have != 1:
            raise OperatorError(
                f"The expanded size of the tensor ({n}) must match the existing size ({have}) at "
                f"non-singleton dimension {k}.  Target sizes: {list(size)}.  Tensor sizes: "
                f"{list(a.shape)}"
            )
        shape.append(have if n == -1 else n)
    return make(_writable_broadcast(a, shape), self.dtype)


def _writable_broadcast(a: Any, shape: Sequence[int]) -> Any:
    """A view of `a` repeated along sizes of 1; a new size of 1 has the stride of what it holds."""
    lead = len(shape) - a.ndim
    strides = [
        0 if n == 1 and m != 1 else s
        for n, m, s in zip(a.shape, shape[lead:], a.strides, strict=True)
    ]
    for n in reversed(shape[:lead]):
        inner = shape[len(shape) - len(strides)] * strides[0] if strides else a.itemsize
        strides.insert(0, inner if n == 1 else 0)
    return strided_view(a, tuple(shape), strides)


def diagonal(self: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    a = array(self)
    out = np.diagonal(a, offset, normal_dim(dim1, a.ndim), normal_dim(dim2, a.ndim))
    out.setflags(write=a.flags.writeable)
    return make(out, self.dtype)


def broadcast_tensors(tensors: Sequence[Any]) -> list[Any]:
    shape: tuple[int, ...] = ()
    for x in tensors:
        shape = broadcast(shape, array(x).shape)
    return [x if array(x).shape == shape else expand(x, shape) for x in tensors]


def _alias(self: Any, *_: Any) -> Any:
    return make(array(self)[...], self.dtype)


def reshaping(fn: Kernel) -> Kernel:
    """`transpose_` and its kind: the tensor itself becomes the view."""

    def run(self: Any, *rest: Any) -> Any:
        self._array = array(fn(self, *rest))
        return self

    return run


KERNELS: dict[str, Kernel] = {
    "aten::transpose_": reshaping(transpose),
    "aten::swapaxes_": reshaping(transpose),
    "aten::swapdims_": reshaping(transpose),
    "aten::t_": reshaping(t),
    "aten::squeeze_": reshaping(squeeze),
    "aten::squeeze_.dim": reshaping(squeeze_dims),
    "aten::squeeze_.dims": reshaping(squeeze_dims),
    "aten::unsqueeze_": reshaping(unsqueeze),
    "aten::as_strided_": reshaping(as_strided),
    "aten::view": view,
    "aten::view.dtype": view_dtype,
    "aten::reshape": reshape,
    "aten::_unsafe_view": reshape,
    "aten::view_as": lambda self, other: view(self, array(other).shape),
    "aten::reshape_as": lambda self, other: reshape(self, array(other).shape),
    "aten::flatten.using_ints": flatten,
    "aten::unflatten.int": unflatten,
    "aten::ravel": lambda self: make(array(self).ravel(), self.dtype),
    "aten::permute": permute,
    "aten::transpose.int": transpose,
    "aten::swapaxes": transpose,
    "aten::swapdims": transpose,
    "aten::t": t,
    "aten::numpy_T": lambda self: make(array(self).T, self.dtype),
    "aten::movedim.intlist": movedim,
    "aten::movedim.int": movedim,
    "aten::moveaxis.intlist": movedim,
    "aten::moveaxis.int": movedim,
    "aten::squeeze": squeeze,
    "aten::squeeze.dim": squeeze_dims,
    "aten::squeeze.dims": squeeze_dims,
    "aten::unsqueeze": unsqueeze,
    "aten::expand": expand,
    "aten::expand_as": lambda self, other: expand(self, array(other).shape),
    "aten::broadcast_to": expand,
    "aten::diagonal": diagonal,
    "aten::broadcast_tensors": broadcast_tensors,
    "aten::detach": _alias,
    "aten::detach_": lambda self: self,
    "aten::alias": _alias,
    "aten::lift_fresh": lambda self: self,
}
