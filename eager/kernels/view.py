"""Shapes and views: results share memory with the input wherever PyTorch's do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided as strided_view

from tensorscript.base.dtypes import BY_CODE, DType
from tensorscript.base.errors import DimensionError, OperatorError, ValueRangeError

from ..storage import Array, array, complex_dtype, make, promoted, real_dtype, to_storage, value
from .shapes import broadcast, normal_dim, normal_dims, whole_shape

Kernel = Callable[..., Any]


def view(self: Any, size: Sequence[int]) -> Any:
    a = array(self)
    out = a.reshape(whole_shape(size, a.size))
    if a.size and not np.may_share_memory(out, a):
        raise OperatorError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return make(out, self.dtype)


def reshape(self: Any, shape: Sequence[int]) -> Any:
    return make(array(self).reshape(whole_shape(shape, array(self).size)), self.dtype)


def view_dtype(self: Any, dtype: DType) -> Any:
    return make(array(self).view(dtype.numpy), dtype)


def flatten(self: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    shape = array(self).shape
    start, end = normal_dim(start_dim, len(shape)), normal_dim(end_dim, len(shape))
    if start > end:
        raise OperatorError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape(self, [1])
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
    return make(a.transpose(normal_dims(dims, a.ndim)), self.dtype)


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
    return make(np.expand_dims(a, normal_dim(dim, a.ndim + 1)), self.dtype)


def expand(self: Any, size: Sequence[int], implicit: bool = False) -> Any:
    a = array(self)
    lead = len(size) - a.ndim
    if lead < 0:
        raise OperatorError(
            f"expand({self.dtype.word}Tensor{{{list(a.shape)}}}, size={list(size)}): the number of "
            f"sizes provided ({len(size)}) must be greater or equal to the number of dimensions in "
            f"the tensor ({a.ndim})"
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
    lead = len(shape) - a.ndim
    strides = [0] * lead + [
        0 if n == 1 and m != 1 else s
        for n, m, s in zip(a.shape, shape[lead:], a.strides, strict=True)
    ]
    return strided_view(a, tuple(shape), strides)


def slice_(
    self: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    if step <= 0:
        raise OperatorError("slice step must be positive")
    a = array(self)
    index = [slice(None)] * normal_dim(dim, a.ndim)
    return make(a[(*index, slice(start, end, step))], self.dtype)


def select(self: Any, dim: int, index: int) -> Any:
    a = array(self)
    if a.ndim == 0:
        raise DimensionError("select() cannot be applied to a 0-dim tensor.")
    axis = normal_dim(dim, a.ndim)
    size = a.shape[axis]
    if not -size <= index < size:
        raise DimensionError(
            f"select(): index {index} out of range for tensor of size {list(a.shape)} at "
            f"dimension {dim}"
        )
    at: Any = (*[slice(None)] * axis, index, ...)
    return make(a[at], self.dtype)


def narrow(self: Any, dim: int, start: int, length: int) -> Any:
    if not array(self).ndim:
        raise OperatorError("narrow() cannot be applied to a 0-dim tensor.")
    size = array(self).shape[normal_dim(dim, array(self).ndim)]
    first = int(start.item()) if hasattr(start, "item") else int(start)
    if length < 0:
        raise OperatorError("narrow(): length must be non-negative.")
    if not -size <= first <= size:
        raise DimensionError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {first})"
        )
    first = first + size if first < 0 else first
    if first + length > size:
        raise OperatorError(f"start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return slice_(self, dim, first, first + length)


def split(self: Any, split_size: int, dim: int = 0) -> list[Any]:
    n = array(self).shape[normal_dim(dim, array(self).ndim)]
    if split_size < 0:
        raise OperatorError(
            f"split expects split_size be non-negative, but got split_size={split_size}"
        )
    if n == 0 or split_size == 0:
        return [slice_(self, dim)]
    return [slice_(self, dim, k, k + split_size) for k in range(0, n, split_size)]


def split_with_sizes(self: Any, sizes: Sequence[int], dim: int = 0) -> list[Any]:
    n = array(self).shape[normal_dim(dim, array(self).ndim)]
    if sum(sizes) != n:
        raise OperatorError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at "
            f"dimension {dim}), but got split_sizes={list(sizes)}"
        )
    ends = np.cumsum(sizes).tolist()
    return [slice_(self, dim, e - s, e) for s, e in zip(sizes, ends, strict=True)]


def chunk(self: Any, chunks: int, dim: int = 0) -> list[Any]:
    if chunks <= 0:
        raise OperatorError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = array(self).shape[normal_dim(dim, array(self).ndim)]
    if n == 0:
        return [slice_(self, dim) for _ in range(chunks)]
    return split(self, -(-n // chunks), dim)


def tensor_split(self: Any, sections: int, dim: int = 0) -> list[Any]:
    n = array(self).shape[normal_dim(dim, array(self).ndim)]
    if sections <= 0:
        raise OperatorError(f"number of sections must be larger than 0, got {sections}")
    small, larger = divmod(n, sections)
    return split_with_sizes(self, [small + (k < larger) for k in range(sections)], dim)


def tensor_split_at(self: Any, indices: Sequence[int], dim: int = 0) -> list[Any]:
    bounds = [0, *indices, None]
    return [slice_(self, dim, a, b) for a, b in pairwise(bounds)]


def tensor_split_by(self: Any, where: Any, dim: int = 0) -> list[Any]:
    """`where` holds the number of parts, or the places between them."""
    found = array(where)
    if found.ndim == 0:
        return tensor_split(self, int(found), dim)
    return tensor_split_at(self, found.tolist(), dim)


def resize_(self: Any, size: Sequence[int], memory_format: Any = None) -> Any:
    """A new shape over the elements in order; what is added is not initialised."""
    flat, count = array(self).reshape(-1), int(np.prod(size, dtype=np.int64))
    if count > flat.size:
        longer = np.empty(count, flat.dtype)
        longer[: flat.size] = flat
        flat = longer
    self._array = flat[:count].reshape(tuple(size))
    return self


def set_(self: Any, source: Any = None) -> Any:
    """From now on `self` is a view of all of `source`, or of nothing."""
    if source is None:
        self._array = np.empty(0, array(self).dtype)
        return self
    if source.dtype is not self.dtype:
        raise OperatorError(
            f"Could not set tensor of type {source.dtype.word} to a tensor of type "
            f"{self.dtype.word}"
        )
    self._array = array(source)
    return self


def set_strided(
    self: Any, source: Any, offset: int, size: Sequence[int], stride: Sequence[int] = ()
) -> Any:
    steps = list(stride) or [int(np.prod(size[k + 1 :], dtype=int)) for k in range(len(size))]
    return set_(self, as_strided(source, size, steps, offset))


def unbind(self: Any, dim: int = 0) -> list[Any]:
    a = array(self)
    if a.ndim == 0:
        raise DimensionError("Dimension specified as 0 but tensor has no dimensions")
    return [select(self, dim, k) for k in range(a.shape[normal_dim(dim, a.ndim)])]


def diagonal(self: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    a = array(self)
    out = np.diagonal(a, offset, normal_dim(dim1, a.ndim), normal_dim(dim2, a.ndim))
    out.setflags(write=a.flags.writeable)
    return make(out, self.dtype)


def unfold(self: Any, dimension: int, size: int, step: int) -> Any:
    a = array(self)
    axis = normal_dim(dimension, a.ndim)
    n = a.shape[axis] if a.ndim else 1
    if size < 0:
        raise OperatorError(f"size is {size} but must be >= 0")
    if size > n:
        raise OperatorError(
            f"maximum size for tensor at dimension {axis} is {n} but size is {size}"
        )
    if step <= 0:
        raise OperatorError(f"step is {step} but must be > 0")
    if a.ndim == 0:
        return make(strided_view(a, (size,), (a.itemsize,)), self.dtype)
    shape = [*a.shape, size]
    strides = [*a.strides, a.strides[axis]]
    shape[axis] = (n - size) // step + 1
    strides[axis] *= step
    return make(strided_view(a, shape, strides), self.dtype)


def as_strided(
    self: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Any:
    """A view by explicit strides (in elements) of the memory that `self` is a view of; it must
    stay inside. The default offset is that of `self`."""
    if len(size) != len(stride):
        raise OperatorError("mismatch in length of strides and shape")
    memory, own = memory_of(array(self))
    flat = memory[own if storage_offset is None else storage_offset :]
    reach = sum((n - 1) * s for n, s in zip(size, stride, strict=True)) + 1
    if all(size) and reach > flat.size:
        raise OperatorError(
            f"setStorage: sizes {list(size)}, strides {list(stride)} are out of bounds for storage"
        )
    out = strided_view(flat, tuple(size), tuple(s * flat.itemsize for s in stride))
    return make(out, self.dtype)


def memory_of(a: Array) -> tuple[Array, int]:
    """The elements that `a` is a view of in the order of memory, and where `a` starts in them."""
    owner = a
    while isinstance(owner.base, np.ndarray) and owner.base.dtype == a.dtype:
        owner = owner.base
    if not owner.flags.forc:
        return a.reshape(-1), 0
    start = a.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return owner.reshape(-1, order="A"), start // max(a.itemsize, 1)


def adjoint(self: Any) -> Any:
    """The conjugate transpose of the last two dimensions."""
    turned = transpose(self, -2, -1)
    return make(np.conj(array(turned)), self.dtype) if self.dtype.is_complex else turned


def contiguous(self: Any, memory_format: Any = None) -> Any:
    a = array(self)
    return self if a.flags.c_contiguous else make(np.ascontiguousarray(a), self.dtype)


def cat(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Concatenate; tensors of shape (0,) are passed over."""
    if not tensors:
        raise ValueRangeError("torch.cat(): expected a non-empty list of Tensors")
    dtype = promoted(*tensors)
    arrays = [_converted(x, dtype) for x in tensors]
    kept = [a for a in arrays if a.shape != (0,)] or arrays[:1]
    axis = normal_dim(dim, kept[0].ndim)
    for k, a in enumerate(kept):
        if a.ndim == 0:
            raise OperatorError(f"zero-dimensional tensor (at position {k}) cannot be concatenated")
        if a.ndim != kept[0].ndim:
            raise OperatorError(
                f"Tensors must have same number of dimensions: got {kept[0].ndim} and {a.ndim}"
            )
        for d, (m, n) in enumerate(zip(kept[0].shape, a.shape, strict=True)):
            if d != axis and m != n:
                raise OperatorError(
                    f"Sizes of tensors must match except in dimension {axis}. Expected size {m} "
                    f"but got size {n} for tensor number {k} in the list."
                )
    return make(np.concatenate(kept, axis), dtype)


def _converted(x: Any, dtype: DType) -> Any:
    return array(x) if x.dtype is dtype else to_storage(value(x), dtype)


def stack(tensors: Sequence[Any], dim: int = 0) -> Any:
    if not tensors:
        raise OperatorError("stack expects a non-empty TensorList")
    dtype = promoted(*tensors)
    arrays = [_converted(x, dtype) for x in tensors]
    for k, a in enumerate(arrays):
        if a.shape != arrays[0].shape:
            raise OperatorError(
                f"stack expects each tensor to be equal size, but got {list(arrays[0].shape)} at "
                f"entry 0 and {list(a.shape)} at entry {k}"
            )
    return make(np.stack(arrays, normal_dim(dim, arrays[0].ndim + 1)), dtype)


def repeat(self: Any, repeats: Sequence[int]) -> Any:
    a = array(self)
    if len(repeats) < a.ndim:
        raise OperatorError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    return make(np.tile(a, tuple(repeats)), self.dtype)


def tile(self: Any, dims: Sequence[int]) -> Any:
    return make(np.tile(array(self), tuple(dims)), self.dtype)


def repeat_interleave(
    self: Any, repeats: Any, dim: int | None = None, output_size: int | None = None
) -> Any:
    count = repeats if isinstance(repeats, int) else array(repeats)
    return make(np.repeat(array(self), count, dim), self.dtype)


def roll(self: Any, shifts: Sequence[int], dims: Sequence[int] = ()) -> Any:
    if not shifts:
        raise OperatorError("`shifts` required")
    if len(shifts) != len(dims) and (dims or len(shifts) > 1):
        raise OperatorError(
            f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}"
        )
    axis = normal_dims(dims, array(self).ndim) or None
    shift = tuple(shifts) if axis else shifts[0]
    return make(np.roll(array(self), shift, axis), self.dtype)


def flip(self: Any, dims: Sequence[int]) -> Any:
    a = array(self)
    return make(np.flip(a, normal_dims(dims, a.ndim)).copy(), self.dtype)


def rot90(self: Any, k: int = 1, dims: Sequence[int] = (0, 1)) -> Any:
    return make(np.rot90(array(self), k, (dims[0], dims[1])).copy(), self.dtype)


def meshgrid(tensors: Sequence[Any], indexing: str = "ij") -> list[Any]:
    grids = np.meshgrid(*(array(x) for x in tensors), indexing=indexing)  # type: ignore[call-overload]  # checked by numpy
    return [make(g, x.dtype) for g, x in zip(grids, tensors, strict=True)]


def broadcast_tensors(tensors: Sequence[Any]) -> list[Any]:
    shape: tuple[int, ...] = ()
    for x in tensors:
        shape = broadcast(shape, array(x).shape)
    return [expand(x, shape) for x in tensors]


def atleast(ndim: int) -> Kernel:
    fns = {1: np.atleast_1d, 2: np.atleast_2d, 3: np.atleast_3d}
    return lambda self: make(np.asarray(fns[ndim](array(self))), self.dtype)


def stacked(prepare: Kernel, dim: Callable[[Any], int]) -> Kernel:
    def run(tensors: Sequence[Any]) -> Any:
        ready = [prepare(x) for x in tensors]
        return cat(ready, dim(ready[0]))

    return run


def pixel_shuffle(self: Any, upscale_factor: int) -> Any:
    a, r = array(self), upscale_factor
    *lead, c, h, w = a.shape
    n = len(lead)
    grid = a.reshape(*lead, c // (r * r), r, r, h, w)
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return make(grid.transpose(order).reshape(*lead, c // (r * r), h * r, w * r), self.dtype)


def pixel_unshuffle(self: Any, downscale_factor: int) -> Any:
    a, r = array(self), downscale_factor
    *lead, c, h, w = a.shape
    n = len(lead)
    grid = a.reshape(*lead, c, h // r, r, w // r, r)
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return make(grid.transpose(order).reshape(*lead, c * r * r, h // r, w // r), self.dtype)


def channel_shuffle(self: Any, groups: int) -> Any:
    a = array(self)
    n, c, *rest = a.shape
    grid = a.reshape(n, groups, c // groups, *rest).swapaxes(1, 2)
    return make(grid.reshape(a.shape), self.dtype)


def to(self: Any, dtype: DType | int | None, copy: bool = False) -> Any:
    """The tensor itself where nothing changes, unless a copy is asked for."""
    wanted = BY_CODE[dtype] if isinstance(dtype, int) else (dtype or self.dtype)
    if wanted is self.dtype and not copy:
        return self
    found = to_storage(value(self), wanted) if wanted is not self.dtype else array(self)
    return make(np.array(found, order="K", copy=True), wanted)


def to_layout(
    self: Any, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None,
    non_blocking: bool = False, copy: bool = False, memory_format: Any = None,
) -> Any:  # fmt: skip
    return to(self, dtype, copy)


def _parts(name: str) -> Kernel:
    def run(self: Any) -> Any:
        a = array(self)
        if not self.dtype.is_complex and name == "imag":
            raise OperatorError("imag is not implemented for tensors with non-complex dtypes.")
        return make(a.real if name == "real" else a.imag, real_dtype(self.dtype))

    return run


def view_as_real(self: Any) -> Any:
    a = array(self)
    dtype = real_dtype(self.dtype)
    return make(np.ascontiguousarray(a).view(dtype.numpy).reshape(*a.shape, 2), dtype)


def view_as_complex(self: Any) -> Any:
    a = np.ascontiguousarray(array(self))
    dtype = complex_dtype(self.dtype)
    return make(a.view(dtype.numpy).reshape(a.shape[:-1]), dtype)


def is_contiguous(self: Any, memory_format: Any = None) -> bool:
    return bool(array(self).flags.c_contiguous)


def _alias(self: Any, *_: Any) -> Any:
    return make(array(self)[...], self.dtype)


def size_at(self: Any, dim: int) -> int:
    shape = array(self).shape
    if not shape:
        raise DimensionError(f"dimension specified as {dim} but tensor has no dimensions")
    return int(shape[normal_dim(dim, len(shape))])


def strides(self: Any) -> list[int]:
    a = array(self)
    if not a.size:  # NumPy has no strides for these
        return [int(np.prod([max(n, 1) for n in a.shape[d + 1 :]])) for d in range(a.ndim)]
    return [s // a.itemsize for s in a.strides]


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
    "aten::unsafe_chunk": chunk,
    "aten::unsafe_split.Tensor": split,
    "aten::unsafe_split_with_sizes": split_with_sizes,
    "aten::_shape_as_tensor": lambda self: make(np.array(array(self).shape, np.int64), BY_CODE[4]),
    "aten::view": view,
    "aten::view.dtype": view_dtype,
    "aten::reshape": reshape,
    "aten::_unsafe_view": reshape,
    "aten::view_as": lambda self, other: view(self, array(other).shape),
    "aten::reshape_as": lambda self, other: reshape(self, array(other).shape),
    "aten::flatten.using_ints": flatten,
    "aten::unflatten.int": unflatten,
    "aten::ravel": lambda self: reshape(self, [-1]),
    "aten::permute": permute,
    "aten::transpose.int": transpose,
    "aten::swapaxes": transpose,
    "aten::swapdims": transpose,
    "aten::t": t,
    "aten::numpy_T": lambda self: make(array(self).T, self.dtype),
    "aten::adjoint": adjoint,
    "aten::mH": adjoint,
    "aten::row_stack": stacked(atleast(2), lambda x: 0),
    "aten::mT": lambda self: transpose(self, -2, -1),
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
    "aten::slice.Tensor": slice_,
    "aten::select.int": select,
    "aten::narrow": narrow,
    "aten::narrow.Tensor": narrow,
    "aten::split.Tensor": split,
    "aten::split": split_with_sizes,
    "aten::split.sizes": split_with_sizes,
    "aten::split_with_sizes": split_with_sizes,
    "aten::chunk": chunk,
    "aten::tensor_split.sections": tensor_split,
    "aten::tensor_split.indices": tensor_split_at,
    "aten::tensor_split.tensor_indices_or_sections": tensor_split_by,
    "aten::resize_": resize_,
    "aten::resize_as_": lambda self, other, memory_format=None: resize_(self, array(other).shape),
    "aten::set_": set_,
    "aten::set_.source_Tensor": set_,
    "aten::set_.source_Tensor_storage_offset": set_strided,
    "aten::unbind.int": unbind,
    "aten::diagonal": diagonal,
    "aten::unfold": unfold,
    "aten::as_strided": as_strided,
    "aten::contiguous": contiguous,
    "aten::cat": cat,
    "aten::concat": cat,
    "aten::concatenate": cat,
    "aten::stack": stack,
    "aten::hstack": stacked(atleast(1), lambda x: 0 if array(x).ndim == 1 else 1),
    "aten::vstack": stacked(atleast(2), lambda x: 0),
    "aten::dstack": stacked(atleast(3), lambda x: 2),
    "aten::atleast_1d": atleast(1),
    "aten::atleast_2d": atleast(2),
    "aten::atleast_3d": atleast(3),
    "aten::repeat": repeat,
    "aten::tile": tile,
    "aten::repeat_interleave.self_int": repeat_interleave,
    "aten::repeat_interleave.self_Tensor": repeat_interleave,
    "aten::roll": roll,
    "aten::flip": flip,
    "aten::fliplr": lambda self: flip(self, [1]),
    "aten::flipud": lambda self: flip(self, [0]),
    "aten::rot90": rot90,
    "aten::meshgrid": meshgrid,
    "aten::meshgrid.indexing": meshgrid,
    "aten::broadcast_tensors": broadcast_tensors,
    "aten::pixel_shuffle": pixel_shuffle,
    "aten::pixel_unshuffle": pixel_unshuffle,
    "aten::channel_shuffle": channel_shuffle,
    "aten::to.dtype": lambda self, dtype, nb=False, copy=False, mf=None: to(self, dtype, copy),
    "aten::to.dtype_layout": to_layout,
    "aten::to.device": lambda self, device, dtype, nb=False, copy=False, mf=None: to(
        self, dtype, copy
    ),
    "aten::to.other": lambda self, other, nb=False, copy=False, mf=None: to(
        self, other.dtype, copy
    ),
    "aten::to.prim_Device": lambda self, device, dtype=None, nb=False, copy=False: to(
        self, dtype, copy
    ),
    "aten::to.prim_dtype": lambda self, dtype=None, nb=False, copy=False: to(self, dtype, copy),
    "aten::to.prim_other": lambda self, nb=False, copy=False: to(self, None, copy),
    "aten::type_as": lambda self, other: to(self, other.dtype),
    "aten::_cast_Float": lambda self, nb=False: to(self, 6),
    "aten::_cast_Long": lambda self, nb=False: to(self, 4),
    "aten::cpu": lambda self: self,
    "aten::detach": _alias,
    "aten::detach_": lambda self: self,
    "aten::alias": _alias,
    "aten::lift_fresh": lambda self: self,
    "aten::real": _parts("real"),
    "aten::imag": _parts("imag"),
    "aten::view_as_real": view_as_real,
    "aten::view_as_complex": view_as_complex,
    "aten::size": lambda self: list(array(self).shape),
    "aten::size.int": size_at,
    "aten::sym_size.int": size_at,
    "aten::stride": strides,
    "aten::stride.int": lambda self, dim: strides(self)[normal_dim(dim, array(self).ndim)],
    "aten::numel": lambda self: array(self).size,
    "aten::dim": lambda self: array(self).ndim,
    "aten::is_contiguous": is_contiguous,
    "aten::is_contiguous.memory_format": is_contiguous,
    "aten::is_floating_point": lambda self: self.dtype.is_floating_point,
    "aten::is_complex": lambda self: self.dtype.is_complex,
    "aten::is_nonzero": lambda self: bool(self),
    "aten::is_same_size": lambda self, other: array(self).shape == array(other).shape,
    "aten::item": lambda self: self.item(),
    "aten::_local_scalar_dense": lambda self: self.item(),
    "aten::result_type.Tensor": lambda a, b: promoted(a, b),
    "aten::result_type.Scalar": lambda a, b: promoted(a, b),
    "aten::result_type.Scalar_Tensor": lambda a, b: promoted(a, b),
}
