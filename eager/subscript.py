"""Indexing spelled as operators: what `x[i, 1:, mask]` is in a traced program.

Numbers select, slices slice, None unsqueezes, one dimension after the other; what tensors remain is
one `aten::index`. Outside a trace eager mode does the same on arrays in one step (`indexing.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorscript.base.dtypes import bool_, int64, uint8
from tensorscript.base.errors import DimensionError

from .device import CPU
from .dispatch import call_overload
from .exchange import from_numpy as shared
from .indexing import check_step, items_of
from .storage import TensorBase, value, wrap, wrap_like
from .tracing import active_tracer, number_of

_END = 2**63 - 1
_STRIDED = 0
"""The layout as scripts have it."""


def get(x: TensorBase, index: Any) -> Any:
    """`x[index]`.

    Raises:
        DimensionError: too many indices, or one out of range.
        ValueRangeError: a slice with a step below 1.
    """
    if _is_all(index):
        return call_overload("aten::alias", (x,))
    part, tensors = _selected(x, index)
    return call_overload("aten::index.Tensor", (part, tensors)) if tensors else part


def put(x: TensorBase, index: Any, source: Any) -> None:
    """`x[index] = source`.

    Raises:
        DimensionError: as `get`.
        OperatorError: the shapes do not broadcast.
    """
    if not isinstance(source, TensorBase):
        source = wrap(np.asarray(source), x.dtype)
    if index is False:
        return
    part, tensors = _target(x, index)
    if tensors:
        call_overload("aten::index_put_", (part, tensors, _without_ones(source), False))
    elif part._array.shape == source._array.shape:
        call_overload("aten::copy_", (part, source, False))
    elif source._array.ndim == 0:
        call_overload("aten::fill_.Tensor", (part, source))
    else:
        sizes = list(part._array.shape)
        wide = call_overload("aten::expand", (_without_ones(source), sizes, False))
        call_overload("aten::copy_", (part, wide, False))


def _target(x: Any, index: Any) -> tuple[Any, list[TensorBase | None]]:
    """What `x[index] = ..` writes to: a view, and index tensors into it."""
    if _is_all(index):
        return x, []
    return (call_overload("aten::unsqueeze", (x, 0)), []) if index is True else _selected(x, index)


def _is_all(index: Any) -> bool:
    return index is Ellipsis or (isinstance(index, tuple) and not index)


def _without_ones(source: TensorBase) -> Any:
    """`source` without leading dimensions of size 1."""
    shape = source._array.shape
    first = next((at for at, n in enumerate(shape) if n != 1), len(shape))
    return source if first == 0 else call_overload("aten::view", (source, list(shape[first:])))


def _selected(x: Any, index: Any) -> tuple[Any, list[TensorBase | None]]:
    """`x` after numbers, slices and Nones, and the index tensor of each dimension (None: all)."""
    items = items_of(index)
    skipped = x._array.ndim - sum(map(_width, items))
    if skipped < 0:
        raise DimensionError(f"too many indices for tensor of dimension {x._array.ndim}")
    tensors: list[TensorBase | None] = []
    dim = 0
    for item in items:
        if item is Ellipsis:
            dim += skipped
        elif _is_position(item):
            x = call_overload("aten::select.int", (x, dim, _number(item)))
        elif isinstance(item, slice):
            x = call_overload("aten::slice.Tensor", (x, dim, *_bounds(item)))
            dim += 1
        elif item is None:
            x = call_overload("aten::unsqueeze", (x, dim))
            dim += 1
        else:
            tensors += [None] * (dim - len(tensors))
            if (chosen := _truth(item)) is None:
                tensors.append(_index_tensor(item))
            else:
                x = call_overload("aten::unsqueeze", (x, dim))
                tensors.append(_all_or_none(chosen))
            dim += 1
    return x, tensors


def _truth(item: Any) -> bool | None:
    """A bool, or a 0-dim mask: whether all of a new dimension of size 1 is selected."""
    if isinstance(item, TensorBase):
        is_one = item._array.ndim == 0 and item.dtype in (bool_, uint8)
        return bool(item._array) if is_one else None
    return bool(item) if isinstance(item, bool | np.bool_) else None


def _all_or_none(chosen: bool) -> TensorBase:
    """The index tensor of the only position, or of none."""
    options = (int64, _STRIDED, CPU, None, None)
    made: TensorBase = call_overload("aten::empty.memory_format", ([int(chosen)], *options))
    return call_overload("aten::fill_.Scalar", (made, 0.0)) if chosen else made


_MASKS = (np.dtype(bool), np.dtype(np.uint8))


def _width(item: Any) -> int:
    """How many dimensions of the tensor `item` uses up."""
    if item is None or item is Ellipsis or isinstance(item, bool | np.bool_):
        return 0
    if isinstance(item, TensorBase):
        return item._array.ndim if item.dtype in (bool_, uint8) else 1
    return item.ndim if isinstance(item, np.ndarray) and item.dtype in _MASKS else 1


def _is_position(item: Any) -> bool:
    """Whether `item` selects one position: an int, or a 0-dim tensor of integers."""
    if isinstance(item, TensorBase):
        return item._array.ndim == 0 and item.dtype.is_integral and item.dtype is not uint8
    if isinstance(item, np.ndarray):
        return item.ndim == 0 and item.dtype.kind in "iu"
    return isinstance(item, int | np.integer) and not isinstance(item, bool)


def _number(item: Any) -> Any:
    if isinstance(item, TensorBase):
        return number_of(item, int(value(item).item()))
    return int(item)


def _bounds(item: slice) -> tuple[Any, Any, Any]:
    step = 1 if item.step is None else _number(item.step)
    check_step(step)
    start = 0 if item.start is None else _number(item.start)
    return start, _END if item.stop is None else _number(item.stop), step


def _is_places(found: Any) -> bool:
    return found.dtype.kind in "iuf" and found.dtype not in _MASKS


def _index_tensor(item: Any) -> TensorBase:
    """The index tensor that a bool, a sequence or an array stands for."""
    if isinstance(item, TensorBase):
        return item
    found = np.asarray(item)
    made: TensorBase = wrap_like(found.astype(np.int64) if _is_places(found) else found)
    tracer = active_tracer()
    if tracer is None:
        return made
    source = shared(item) if isinstance(item, np.ndarray) else None
    entered: TensorBase = tracer.enters("index", made, source)
    return entered
