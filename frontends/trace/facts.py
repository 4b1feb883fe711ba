"""What a trace notes of a tensor: its type, its memory, whether gradients flow through it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorscript.dialects.ts.types import TensorInfo, TensorType
from tensorscript.eager.storage import TensorBase


def memory_of(tensor: TensorBase) -> int:
    """The id of the object that owns the memory of `tensor`."""
    owner: Any = tensor._array
    while (base := getattr(owner, "base", None)) is not None:  # not all views are of arrays
        owner = base
    return id(owner)


def type_of(tensor: TensorBase, requires_grad: bool | None = None) -> TensorType:
    """The complete type of a tensor: dtype, sizes, strides, gradient flag, device; as in PyTorch
    without sizes and strides if it is sparse or nested."""
    shape = tensor._array.shape
    grad = tensor.requires_grad if requires_grad is None else requires_grad
    if tensor._sparse is not None or tensor._lengths is not None:
        return TensorType(TensorInfo(tensor.dtype, None, None, grad, "cpu"))
    return TensorType(TensorInfo(tensor.dtype, shape, _strides(tensor._array), grad, "cpu"))


def _strides(array: np.ndarray) -> tuple[int, ...] | None:
    """Strides in elements; where NumPy made them up (`x[None]`, no elements), PyTorch's."""
    if not array.ndim:
        return None
    if not array.size:
        ends = [max(n, 1) for n in array.shape[1:]] + [1]
        return tuple(math.prod(ends[at:]) for at in range(array.ndim))
    found = [s // array.itemsize for s in array.strides]
    for dim in reversed(range(array.ndim)):
        if array.shape[dim] == 1 and found[dim] == 0:
            last = dim == array.ndim - 1
            found[dim] = 1 if last else found[dim + 1] * array.shape[dim + 1]
    return tuple(found)


def is_differentiable(tensor: TensorBase) -> bool:
    return tensor.dtype.is_floating_point or tensor.dtype.is_complex


def has_tensor(result: Any) -> bool:
    if isinstance(result, list | tuple):
        return any(map(has_tensor, result))
    return isinstance(result, TensorBase)
