"""Memory that is written and read at once: what operators ask of two tensors.

Pointwise operators may write to the very tensor that they read, not to one that overlaps it in
part; those that scatter may not read the memory at all. As in PyTorch, only tensors that fill a
block of memory are compared: of others nothing is said.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorscript.base.errors import OperatorError
from tensorscript.base.overlap import SHARED
from tensorscript.base.schema import Schema

from .demand import Demand
from .kernels import POINTWISE
from .memory_format import element_strides, is_dense
from .storage import Array, TensorBase


def check_partial(written: Array, read: Array) -> None:
    """Refuse blocks of memory that overlap without being the same.

    Raises:
        OperatorError: they do.
    """
    if _blocks_meet(written, read) and not _is_same(written, read):
        raise OperatorError(SHARED)


def check_apart(written: Array, read: Array) -> None:
    """Refuse blocks of memory that overlap.

    Raises:
        OperatorError: they do.
    """
    if _blocks_meet(written, read):
        raise OperatorError(SHARED)


def _blocks_meet(a: Array, b: Array) -> bool:
    """Whether both are blocks without gaps and share an element."""
    return bool(
        a.size
        and b.size
        and np.may_share_memory(a, b)
        and is_dense(a.shape, element_strides(a))
        and is_dense(b.shape, element_strides(b))
    )


def _is_same(a: Array, b: Array) -> bool:
    start = a.__array_interface__["data"][0] == b.__array_interface__["data"][0]
    return start and _steps(a) == _steps(b)


def _steps(a: Array) -> list[tuple[int, int]]:
    """Size and stride of each dimension; one of size 1 may have any stride."""
    return [(n, step) for n, step in zip(a.shape, element_strides(a), strict=True) if n != 1]


def _partly(self: TensorBase, *others: Any) -> None:
    for other in others:
        if isinstance(other, TensorBase) and other is not self:
            check_partial(self._array, other._array)


def _apart(self: TensorBase, *others: Any) -> None:
    for other in others:
        if isinstance(other, TensorBase):
            check_apart(self._array, other._array)


_SCATTERS = frozenset(
    ("scatter_", "scatter_add_", "scatter_reduce_", "index_add_", "index_copy_", "index_put_",
     "put_")
)  # fmt: skip
_POINTWISE = frozenset(f"{name.partition('.')[0]}_" for name in POINTWISE) | {"aten::copy_"}


def overlap_demand(declared: Schema) -> Demand | None:
    """What an in-place overload asks of the memory of its tensors, if anything."""
    if declared.name in _POINTWISE:
        return _partly
    return _apart if declared.base_name in _SCATTERS else None
