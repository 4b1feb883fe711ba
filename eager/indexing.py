"""Indexing in all of PyTorch's forms, on NumPy arrays.

Ints, slices, None and Ellipsis select first (giving a view); bool masks and index tensors then
gather on what is left. NumPy does both at once and treats an int as an index tensor, which puts
dimensions elsewhere, so the two steps stay apart.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tensorscript.base.dtypes import DType, bool_, int64, uint8
from tensorscript.base.errors import ArgumentError, DimensionError, ValueRangeError

from .parts import part
from .storage import Array, TensorBase

_SLICE = slice(None)


def split(array: Array, index: Any) -> tuple[Array, tuple[Any, ...] | None]:
    """Apply the basic part of `index`.

    Returns:
        The view it selects, and the advanced part left over (a NumPy index) or None.

    Raises:
        DimensionError: too many indices, or an int out of range.
        ValueRangeError: a slice with a step below 1.
    """
    items = _items(index)
    warn_of_bytes(index, 3)
    consumed = sum(map(_width, items))
    if consumed > array.ndim:
        raise DimensionError(_too_many(array.ndim, index))
    basic: list[Any] = []
    advanced: list[Any] = []
    dim = 0
    left_out = array.ndim - consumed
    added: dict[int, int] = {}
    for given in items:
        item = _plain(given)
        if item is Ellipsis:
            count, left_out = left_out, 0
            basic += [_SLICE] * count
            advanced += [_SLICE] * count
            dim += count
        elif item is None:
            added[len(advanced)] = _step_before(array, dim)
            basic.append(None)
            advanced.append(_SLICE)
        elif isinstance(item, int):
            size = array.shape[dim]
            if not -size <= item < size:
                raise DimensionError(_out_of_bounds(item, len(basic), size))
            basic.append(item)
            dim += 1
        elif isinstance(item, slice):
            basic.append(_checked(item))
            advanced.append(_SLICE)
            dim += 1
        else:
            width = _width(item)
            basic += [_SLICE] * width if width else [None]
            advanced.append(item if width else np.zeros(int(item), np.int64))
            dim += width
    view = part(array, (*basic, Ellipsis))
    if added:
        strides = [added.get(at, step) for at, step in enumerate(view.strides)]
        view = as_strided(view, view.shape, strides)
    if all(isinstance(a, slice) for a in advanced):
        return view, None
    _check_masks(view, advanced)
    return view, tuple(advanced)


def _step_before(array: Array, dim: int) -> int:
    """The stride of a new dimension in front of `dim`: as if it held all of that one."""
    return array.shape[dim] * array.strides[dim] if dim < array.ndim else array.itemsize


def _too_many(ndim: int, index: Any) -> str:
    """Why an index of more than `ndim` dimensions is refused."""
    if ndim == 0 and isinstance(index, slice):
        return "slice() cannot be applied to a 0-dim tensor."
    if ndim == 0 and isinstance(index, int):
        return _out_of_bounds(index, 0, 0) if index else _NO_NUMBER
    return f"too many indices for tensor of dimension {ndim}"


_NO_NUMBER = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ "
    "to convert a 0-dim tensor to a number"
)


def _out_of_bounds(index: int, dim: int, size: int) -> str:
    return f"index {index} is out of bounds for dimension {dim} with size {size}"


def _items(index: Any) -> list[Any]:
    items = list(items_of(index))
    if not any(i is Ellipsis for i in items):
        items.append(Ellipsis)
    return items


def items_of(index: Any) -> tuple[Any, ...]:
    """The items of `x[index]`: a short list that holds more than numbers is read as a tuple."""
    if isinstance(index, tuple):
        return index
    if isinstance(index, list) and len(index) < _FEWEST and any(map(_is_item, index)):
        return tuple(index)
    return (index,)


_FEWEST = 32
"""Lists of this length are index tensors, as in NumPy of old."""


def _is_item(v: Any) -> bool:
    return v is None or isinstance(v, (slice, EllipsisType, TensorBase, Sequence, np.ndarray))


def _byte_masks(index: Any) -> int:
    """How many masks of bytes with dimensions there are; one without counts as a bool."""
    tensors = (i for i in items_of(index) if isinstance(i, TensorBase))
    return sum(t.dtype is uint8 and t._array.ndim > 0 for t in tensors)


def kinds_of(index: Any, advanced: Sequence[Any]) -> list[DType]:
    """The dtypes of the index tensors that `split` left over of `index`."""
    mask = uint8 if _byte_masks(index) else bool_
    return [mask if a.dtype == bool else int64 for a in advanced if isinstance(a, np.ndarray)]


def warn_of_bytes(index: Any, stacklevel: int) -> None:
    """Warn of each mask of bytes: they are deprecated."""
    for _ in range(_byte_masks(index)):
        warnings.warn(_BYTES, UserWarning, stacklevel=stacklevel + 1)


_BYTES = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."


_CAST: dict[str, Callable[[Array], Array]] = {
    "i": lambda found: found.astype(np.int64, copy=False),
    "f": lambda found: found.astype(np.int64),
    "u": lambda found: found.astype(bool if found.dtype == np.uint8 else np.int64),
}
"""What arrays are as an index, by NumPy's letter."""
_NO_INDEX = "tensors used as indices must be long, int, byte or bool tensors"


def _plain(item: Any) -> Any:
    """Index tensors and lists as int64 or bool arrays, numbers as int, the rest as it is."""
    if item is None or item is Ellipsis:
        return item
    if isinstance(item, (bool, np.bool_)):
        return np.asarray(bool(item))
    if isinstance(item, (int, np.integer)):
        return int(item)
    if isinstance(item, slice):
        return slice(
            *(None if s is None else _bound(s) for s in (item.start, item.stop, item.step))
        )
    if isinstance(item, TensorBase):
        found = item._array.astype(bool) if item.dtype is uint8 else item._array
        if found.ndim == 0 and item.dtype.is_integral and item.dtype is not uint8:
            return int(found)
    elif isinstance(item, np.ndarray):
        if item.ndim == 0 and item.dtype.kind in "iu":
            return int(item)
        found = _CAST[item.dtype.kind](item) if item.dtype.kind in _CAST else item
    elif isinstance(item, (list, tuple, range)):
        found = np.asarray(item, dtype=None if len(item) else np.int64)
        found = found.astype(np.int64) if found.dtype.kind == "f" else found
    elif isinstance(item, str):
        raise ArgumentError("new(): invalid data type 'str'")
    else:
        raise DimensionError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
            f"valid indices (got {type(item).__name__})"
        )
    return found


def _width(item: Any) -> int:
    """How many dimensions of the tensor `item` uses up."""
    if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
        return 0
    if isinstance(item, TensorBase):
        return item._array.ndim if item.dtype in (bool_, uint8) else 1
    if isinstance(item, (list, tuple, range)):
        item = np.asarray(item)
    return item.ndim if isinstance(item, np.ndarray) and item.dtype in _MASKS else 1


_MASKS = (np.dtype(bool), np.dtype(np.uint8))


def _bound(value: Any) -> int:
    if not hasattr(value, "__index__"):
        raise ArgumentError("slice indices must be integers or None or have an __index__ method")
    return operator.index(value)


def _checked(item: slice) -> slice:
    if item.step is not None:
        check_step(item.step)
    return item


def check_step(step: int) -> None:
    """Raise ValueRangeError for a step of a slice that is not positive."""
    if step <= 0:
        raise ValueRangeError(
            "step must be greater than zero" if step else "slice step cannot be zero"
        )


def check_kinds(advanced: Sequence[Any]) -> None:
    """Raise DimensionError where an index tensor is of no dtype of places or masks."""
    if not all(isinstance(a, slice) or a.dtype in _PLACES for a in advanced):
        raise DimensionError(_NO_INDEX)


def _check_masks(view: Array, advanced: Sequence[Any]) -> None:
    check_kinds(advanced)
    dim = 0
    for item in advanced:
        if isinstance(item, np.ndarray) and item.dtype == bool:
            check_mask(view, item, dim)
            dim += item.ndim
        else:
            dim += 1


def _check_bounds(view: Array, advanced: Sequence[Any]) -> None:
    """Index tensors are counted by themselves, as the dimensions that they select from go first."""
    dim = count = 0
    for item in advanced:
        if isinstance(item, slice):
            dim += 1
        elif item.dtype == bool:
            dim += item.ndim
            count += item.ndim
        else:
            check_index(item, view.shape[dim], count)
            dim += 1
            count += 1


def check_mask(view: Array, mask: Array, dim: int) -> None:
    """Raise DimensionError unless `mask` has the shape of the dimensions it selects from."""
    for k, size in enumerate(mask.shape):
        if size != view.shape[dim + k]:
            raise DimensionError(
                f"The shape of the mask {list(mask.shape)} at index {k} does not match the shape "
                f"of the indexed tensor {list(view.shape)} at index {dim + k}"
            )


def check_index(index: Array, size: int, dim: int) -> None:
    """Raise DimensionError unless every element of `index` lies in [-size, size)."""
    bad = index[(index < -size) | (index >= size)] if index.size else index
    if not bad.size:
        return
    if not size:
        raise DimensionError("index is out of bounds for dimension with size 0")
    raise DimensionError(_out_of_bounds(int(bad.flat[0]), dim, size))


def selected(view: Array, advanced: Sequence[Any]) -> tuple[int, ...]:
    """The shape of what an advanced index names, whether or not its places are there.

    Raises:
        DimensionError: index tensors do not broadcast together.
    """
    sizes: list[int] = []
    for item in advanced:
        at = len(sizes)
        if isinstance(item, slice):
            sizes.append(view.shape[at])
        else:
            sizes += item.shape if item.dtype == bool else (1,)
    anywhere = [a if isinstance(a, slice) or a.dtype == bool else np.zeros_like(a, np.int64)
                for a in advanced]  # fmt: skip
    try:
        stand_in = np.broadcast_to(np.False_, (*sizes, *view.shape[len(sizes) :]))
        return np.asarray(stand_in[tuple(anywhere)]).shape
    except IndexError as error:
        raise DimensionError(
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            + ", ".join(str(list(shape)) for a in advanced for shape in _index_shapes(a))
        ) from error


_PLACES = tuple(map(np.dtype, (bool, np.int32, np.int64)))


def _index_shapes(item: Any) -> list[tuple[int, ...]]:
    """The shapes of the index tensors that an item stands for: of a mask, one a dimension."""
    if isinstance(item, slice):
        return []
    return [(int(np.count_nonzero(item)),)] * item.ndim if item.dtype == bool else [item.shape]


def check_places(view: Array, advanced: Sequence[Any], shape: Sequence[int]) -> None:
    """Raise DimensionError unless index tensors, which select `shape`, name what is there.

    Where they select nothing they may name anything.
    """
    if 0 not in shape:
        _check_bounds(view, advanced)
        return
    chosen = [at for at, a in enumerate(_widened(advanced)) if a is not None]
    places = [a for a in _widened(advanced) if a is not None]
    if any(view.shape[at] == 0 for at in chosen) and all(n for n in places):
        raise DimensionError("index is out of bounds for dimension with size 0")


def _widened(advanced: Sequence[Any]) -> list[int | None]:
    """How many places are named in each dimension, None in one that is not selected from."""
    found: list[int | None] = []
    for item in advanced:
        found += [math.prod(s) for s in _index_shapes(item)] or [None]
    return found


def gather(view: Array, advanced: tuple[Any, ...]) -> Array:
    """A copy of the elements an advanced index names, in PyTorch's dimension order.

    Raises:
        DimensionError: the index tensors do not broadcast together, or name what is not there.
    """
    shape = selected(view, advanced)
    check_places(view, advanced, shape)
    if 0 in shape:
        return np.empty(shape, view.dtype)
    found = np.asarray(view[advanced], order="C")
    # NumPy leaves dimensions of one element with any stride.
    return found.copy() if 1 in found.shape else found
