"""Copies and pickles of tensors: those that share memory share it afterwards, too.

A tensor is taken apart into the storage that it views, which `copy` and `pickle` know again by its
identity, and into where its elements stand in it.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np

from tensorscript.base.dtypes import DType
from tensorscript.base.errors import OperatorError

from .memory_format import element_strides
from .storage import TensorBase, shown
from .storages import UntypedStorage, storage_of

_READINGS = ("_lengths", "_quantizer", "_sign", "_sparse")


def copied(tensor: Any, memo: dict[int, Any]) -> Any:
    """What `copy.deepcopy` makes: a tensor in the same strides over a copy of its storage.

    Raises:
        OperatorError: a result that requires a gradient.
    """
    if tensor._computed:
        raise OperatorError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment."
        )
    if tensor._reads_otherwise():
        made = _copied_alone(tensor)
    else:
        storage, dtype, shape, strides, offset = _parts(tensor)
        made = _over(type(tensor), deepcopy(storage, memo), dtype, shape, strides, offset)
    made._requires_grad = tensor.requires_grad
    memo[id(tensor)] = made
    made.__dict__.update(deepcopy(tensor.__dict__, memo))
    return made


def _copied_alone(tensor: Any) -> Any:
    """A copy of what is read through a sign, a quantizer or places; a sign is carried out."""
    array = tensor._array.copy() if tensor._sign is None else shown(tensor).copy(order="K")
    made = _made(type(tensor), array, tensor.dtype)
    made._lengths, made._quantizer = tensor._lengths, tensor._quantizer
    made._sparse = deepcopy(tensor._sparse)
    return made


def reduced(tensor: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """What `pickle` and `copy.copy` make a tensor again from."""
    readings = {name: found for name in _READINGS if (found := getattr(tensor, name)) is not None}
    return _rebuilt, (
        type(tensor), *_parts(tensor), tensor.requires_grad, dict(tensor.__dict__), readings,
    )  # fmt: skip


def _rebuilt(
    kind: type[TensorBase], storage: UntypedStorage, dtype: DType, shape: tuple[int, ...],
    strides: tuple[int, ...], offset: int, requires_grad: bool, attributes: dict[str, Any],
    readings: dict[str, Any],
) -> Any:  # fmt: skip
    made = _over(kind, storage, dtype, shape, strides, offset)
    made._requires_grad = requires_grad
    for name, reading in readings.items():
        setattr(made, name, reading)
    made.__dict__.update(attributes)
    return made


def _parts(tensor: Any) -> tuple[UntypedStorage, DType, tuple[int, ...], tuple[int, ...], int]:
    """Storage, dtype, shape, steps in elements, and the byte where the first element stands."""
    array, storage = tensor._array, storage_of(tensor)
    offset = array.__array_interface__["data"][0] - storage.data_ptr() if array.size else 0
    return storage, tensor.dtype, array.shape, element_strides(array), offset


def _over(
    kind: type[TensorBase], storage: UntypedStorage, dtype: DType, shape: tuple[int, ...],
    strides: tuple[int, ...], offset: int,
) -> Any:  # fmt: skip
    steps = tuple(step * dtype.itemsize for step in strides)
    return _made(kind, np.ndarray(shape, dtype.numpy, storage._array, offset, steps), dtype)


def _made(kind: type[TensorBase], array: Any, dtype: DType) -> Any:
    made: Any = kind.__new__(kind)
    TensorBase.__init__(made, array, dtype)
    return made
