"""Ways into a tensor that share memory: NumPy arrays and buffers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorscript.base import dtypes
from tensorscript.base.dtypes import DType
from tensorscript.base.errors import ArgumentError, ValueRangeError

from .growth import keep_size
from .storage import Array, make


def from_numpy(array: Array) -> Any:
    """A tensor that shares memory with `array`.

    Raises:
        ArgumentError: not an array, or no tensor dtype corresponds.
        ValueRangeError: strides that are negative or no multiples of an element's size, or bytes in
            another order than the machine's.
    """
    if not isinstance(array, np.ndarray):
        raise ArgumentError(f"expected np.ndarray (got {type(array).__name__})")
    if any(s < 0 for s in array.strides):
        raise ValueRangeError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported. (You can probably work around this by making a "
            "copy of your array  with array.copy().) "
        )
    if not array.dtype.isnative:
        raise ValueRangeError(
            "given numpy array has byte order different from the native byte order. Conversion "
            "between byte orders is currently not supported."
        )
    dtype = dtypes.from_numpy(array.dtype)
    if any(step % array.itemsize for step in array.strides):
        raise ValueRangeError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy "
            "array to reallocate the memory."
        )
    # Compiled code knows arrays by NumPy's own dtype objects; those of unpickled arrays equal them.
    keep_size(array)
    return make(array if array.dtype is dtype.numpy else array.view(dtype.numpy), dtype)


def frombuffer(
    buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Any:
    """A tensor of one dimension over an object's buffer, from byte `offset` on.

    Raises:
        ValueRangeError: nothing is left behind the offset, or it holds no whole elements.
    """
    size = memoryview(buffer).nbytes
    if not 0 <= offset < size:
        raise ValueRangeError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({size} bytes) minus 1"
        )
    if count < 0 and (size - offset) % dtype.itemsize:
        raise ValueRangeError(
            f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a "
            f"multiple of element size ({dtype.itemsize})"
        )
    made = make(keep_size(np.frombuffer(buffer, dtype.numpy, count, offset)), dtype)
    made.requires_grad = requires_grad
    return made
