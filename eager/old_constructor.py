"""PyTorch's old constructors: `Tensor(2, 3)` of sizes, `FloatTensor([1.0])` of data, `x.new(..)`.

A trace goes on with what they make: `aten::empty` of sizes, a constant of data, an alias of a
tensor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorscript.base.dtypes import DType
from tensorscript.base.errors import ArgumentError
from tensorscript.base.schema import schema

from .call_texts import type_name
from .device import CPU
from .exchange import from_numpy as shared
from .kernels.shapes import check_sizes
from .storage import TensorBase, make, shown, to_storage, value
from .storages import UntypedStorage
from .tracing import Tracer, active_tracer, tell_read, traced_by
from .tracking import shares
from .typed_storages import TypedStorage, elements_of

_STRIDED = 0
"""The layout as a number: the operator is called by none of the program's, whose memory is pinned
or is not."""


def fill(
    made: TensorBase, data: tuple[Any, ...], dtype: DType, kind: DType | None = None,
    copies: bool = False,
) -> None:  # fmt: skip
    """Make `made` what an old constructor gives for `data`.

    Args:
        dtype: of the elements, unless they come from a tensor.
        kind: the dtype that a tensor has to have, where one is asked for.
        copies: whether an array of that dtype is copied, too; traces say so.

    Raises:
        ArgumentError: a tensor of another dtype, or neither sizes nor elements.
        OperatorError: a negative size, or a storage of elements of another dtype.
    """
    tracer = active_tracer()
    first = data[0] if data else 0
    if isinstance(first, TensorBase) and len(data) == 1:
        if kind is not None and first.dtype is not kind:
            raise ArgumentError(f"expected {kind.word}Tensor (got {first.dtype.word}Tensor)")
        TensorBase.__init__(made, shown(first), first.dtype)
        shares(first, made)
        if tracer is not None:
            tracer.ran(schema("aten::alias"), (first,), made)
        return
    if isinstance(first, (UntypedStorage, TypedStorage)) and len(data) == 1:
        TensorBase.__init__(made, elements_of(first, dtype), dtype)
        return
    _check_data(first)
    with traced_by(None):
        sizes = _sizes(data)
        check_sizes(sizes or ())
        if sizes is None:
            found = value(first) if isinstance(first, TensorBase) else np.asarray(first)
            TensorBase.__init__(made, np.array(to_storage(found, dtype)), dtype)
        else:
            TensorBase.__init__(made, np.zeros(sizes, dtype.numpy), dtype)
    if tracer is not None:
        tell_read(_tensors_in(first) if sizes is None else (), dtype)
        _tell(tracer, made, sizes, first, copies)


def _tensors_in(data: Any) -> Iterator[TensorBase]:
    """The tensors that stand for numbers in nested lists."""
    if isinstance(data, (list, tuple)):
        for part in data:
            yield from [part] if isinstance(part, TensorBase) else _tensors_in(part)


def _check_data(first: Any) -> None:
    """Refuse what is neither sizes nor elements.

    Raises:
        ArgumentError: a text, or no sequence.
    """
    is_array = isinstance(first, np.ndarray)
    if isinstance(first, str) or (is_array and first.dtype.kind == "U"):
        raise ArgumentError("new(): invalid data type 'str'")
    is_size = isinstance(first, int | np.integer | TensorBase) and not isinstance(first, bool)
    if not (is_size or is_array or hasattr(first, "__getitem__")) or isinstance(first, dict):
        raise ArgumentError(f"new(): data must be a sequence (got {type_name(first)})")


def _sizes(data: tuple[Any, ...]) -> list[int] | None:
    """The sizes that are asked for, or None: `data` is the elements."""
    first = data[0] if data else 0
    if isinstance(first, int | np.integer | TensorBase):
        return [int(n) for n in data] or [0]
    is_size = isinstance(first, tuple) and type(first) is not tuple
    return [int(n) for n in first] if is_size else None


def _tell(
    tracer: Tracer, made: TensorBase, sizes: list[int] | None, first: Any, copies: bool
) -> None:
    given: tuple[Any, ...]
    if sizes is not None:
        given = (sizes, made.dtype, _STRIDED, CPU, None, None)
        tracer.ran(schema("aten::empty.memory_format"), given, made)
        return
    is_array = isinstance(first, np.ndarray) and first.ndim > 0
    with traced_by(None):
        data = shared(first) if is_array else make(made._array, made.dtype)
        lifted = make(data._array, data.dtype)
    if is_array:
        tracer.ran(schema("aten::lift_fresh"), (data,), lifted)
        data = lifted
    given = (data, CPU, made.dtype, False, is_array and copies, None)
    tracer.ran(schema("aten::to.device"), given, made)
