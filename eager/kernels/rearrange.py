"""The same elements in another order, or repeated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import DType, int32, int64
from tensorscript.base.errors import DimensionError, OperatorError
from tensorscript.base.operand_dtypes import unimplemented

from ..storage import Array, array, make, to_storage
from .shapes import check_sizes, normal_dim, normal_dims
from .view import expand

Kernel = Callable[..., Any]


def repeat(self: Any, repeats: Sequence[int]) -> Any:
    a = array(self)
    if len(repeats) < a.ndim:
        raise OperatorError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    return tile(self, repeats)


def tile(self: Any, dims: Sequence[int]) -> Any:
    a = array(self)
    rank = max(a.ndim, len(dims))
    shape, times = ((*[1] * (rank - len(t)), *t) for t in (a.shape, dims))
    check_sizes([n * k for n, k in zip(shape, times, strict=True)])
    return make(np.tile(a, tuple(dims)), self.dtype)


def repeat_interleave(
    self: Any, repeats: Any, dim: int | None = None, output_size: int | None = None
) -> Any:
    """Every slice of `dim`, or of all elements in a row, as often as `repeats` says."""
    a = array(self)
    if dim is None:
        a, dim = a.reshape(-1), 0
    (axis,) = normal_dims((dim,), a.ndim)
    if isinstance(repeats, int):
        return _repeated_alike(self, a, repeats, axis, output_size)
    if not a.ndim:
        raise DimensionError(f"Dimension specified as {dim} but tensor has no dimensions")
    counts = array(repeats)
    if counts.ndim > 1:
        raise OperatorError("repeats must be 0-dim or 1-dim tensor")
    if counts.size != 1 and counts.size != a.shape[axis]:
        raise OperatorError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{counts.size} and input.size({axis}) = {a.shape[axis]}"
        )
    whole = np.broadcast_to(counts.reshape(-1), (a.shape[axis],))
    places = _places(whole, repeats.dtype, output_size)
    return make(np.take(a, places, axis), self.dtype)


def _repeated_alike(self: Any, a: Array, times: int, axis: int, output_size: int | None) -> Any:
    if times < 0:
        raise OperatorError("Repeats must be non-negative")
    expected = (a.shape[axis] if a.ndim else 1) * times
    if output_size not in (None, expected):
        raise OperatorError(
            f"repeat_interleave: Invalid output_size, expected {expected} but got {output_size}"
        )
    return make(np.repeat(a, times, axis if a.ndim else None), self.dtype)


def _places(counts: Array, dtype: DType, output_size: int | None) -> Array:
    """0, 1, ... each as often as `counts` says."""
    if dtype not in (int32, int64):
        raise unimplemented("repeat_interleave_cpu", dtype)
    if (counts < 0).any():
        raise OperatorError("repeats can not be negative")
    if output_size not in (None, counts.sum()):
        raise OperatorError("allocated size does not match required size")
    return np.repeat(np.arange(counts.size, dtype=counts.dtype), counts)


def repeated_places(repeats: Any, output_size: int | None = None) -> Any:
    """0, 1, ... each as often as `repeats` says."""
    counts = array(repeats)
    if counts.ndim != 1:
        raise OperatorError("repeat_interleave only accept 1D vector as repeat")
    return make(_places(counts, repeats.dtype, output_size), repeats.dtype)


def fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Any:
    """The main diagonal set to a number; `wrap` starts it again below the end of tall matrices."""
    a = array(self)
    if a.ndim < 2:
        raise OperatorError("dimensions must larger than 1")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise OperatorError("all dimensions of input must be of equal length")
    np.fill_diagonal(a, to_storage(np.asarray(fill_value), self.dtype), wrap)
    return self


def roll(self: Any, shifts: Sequence[int], dims: Sequence[int] = ()) -> Any:
    a = array(self)
    if not a.size:
        return make(a.copy(), self.dtype)  # its dimensions are not looked at
    axis = tuple(normal_dim(dim, a.ndim) for dim in dims) or None
    return make(np.roll(a, tuple(shifts) if axis else shifts[0], axis), self.dtype)


def flip(self: Any, dims: Sequence[int]) -> Any:
    a = array(self)
    axes = normal_dims(dims, a.ndim)
    return make((np.flip(a, axes) if a.ndim else a).copy(), self.dtype)


def rot90(self: Any, k: int = 1, dims: Sequence[int] = (0, 1)) -> Any:
    """A flip and a transposition; what a flip keeps of the order in memory stays."""
    turned = np.rot90(array(self), k, (dims[0], dims[1]))
    return make(turned.copy(order="K" if k % 4 else "C"), self.dtype)


def meshgrid(tensors: Sequence[Any], indexing: str = "ij") -> list[Any]:
    for x in tensors:
        if array(x).ndim > 1:
            raise OperatorError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {x!r}"
            )
    if not tensors:
        raise OperatorError("meshgrid expects a non-empty TensorList")
    if len({x.dtype for x in tensors}) > 1:
        raise OperatorError("meshgrid expects all tensors to have the same dtype")
    order = list(range(len(tensors)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = 1, 0
    elif indexing not in ("ij", "xy"):
        raise OperatorError(
            'torch.meshgrid: indexing must be one of "xy" or "ij", but received: ' + indexing
        )
    sizes = [array(tensors[k]).size for k in order]
    grids = []
    for k, x in enumerate(tensors):
        shape = [-1 if k == at else 1 for at in order]
        grids.append(expand(make(array(x).reshape(shape), x.dtype), sizes))
    return grids


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


KERNELS: dict[str, Kernel] = {
    "aten::repeat": repeat,
    "aten::tile": tile,
    "aten::repeat_interleave.self_int": repeat_interleave,
    "aten::repeat_interleave.self_Tensor": repeat_interleave,
    "aten::repeat_interleave.Tensor": repeated_places,
    "aten::fill_diagonal_": fill_diagonal_,
    "aten::roll": roll,
    "aten::flip": flip,
    "aten::fliplr": lambda self: flip(self, [1]),
    "aten::flipud": lambda self: flip(self, [0]),
    "aten::rot90": rot90,
    "aten::meshgrid": meshgrid,
    "aten::meshgrid.indexing": meshgrid,
    "aten::pixel_shuffle": pixel_shuffle,
    "aten::pixel_unshuffle": pixel_unshuffle,
    "aten::channel_shuffle": channel_shuffle,
    "aten::native_channel_shuffle": channel_shuffle,
}
